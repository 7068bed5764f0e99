// SPDX-License-Identifier: GPL-3.0-or-later
// The pages of the Help menu: quick tour, metric glossary, keyboard map, about.
#pragma once

#include "ui/source/engine.h"
#include "ui/window/actions.h"

#include <QDialog>

namespace stillroom::ui {

/// A modeless page of HTML.
QDialog* help_page(const QString& name, const QString& title, const QString& html, QWidget* parent);

QString tour_html();
/// From resources/help/metrics.md.
QString glossary_html();
/// Every action with its menu and key.
QString keys_html(const Actions& actions);
/// Versions of all that is linked, the device, and where files lie; `plain` for the clipboard.
QString diagnostics(const Engine& engine, const QString& runs_folder, const QString& config_folder);
QString about_html(const QString& diagnostics);
QString licences_html();

} // namespace stillroom::ui
