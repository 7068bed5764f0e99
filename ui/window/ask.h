// SPDX-License-Identifier: GPL-3.0-or-later
// Questions to the person, modeless: one button an answer.
#pragma once

#include "ui/window/settings.h"

#include <QDialog>
#include <functional>

namespace stillroom::ui {

struct Choice {
    QString name, text; // objectName and label of its button
    std::function<void()> act;
};
/// Shows the question; Escape and closing do nothing. `by_default` is the button with the focus.
QDialog* ask(QWidget& parent, const QString& name, const QString& title, const QString& text,
             std::vector<Choice> choices, size_t by_default);

/// What a path is asked for.
enum class Pick { File, Folder, NewFile };
struct PathQuestion {
    QString name, title; // objectName and heading of the dialog
    Pick pick = Pick::File;
    QString suffix; // "toml"; empty: of any kind
    QString start;  // a folder, or the name of a new file
};
/// Asks for a path; Escape and closing do nothing. Drawn by Qt, not by the desktop, as the rest of the
/// window.
void ask_path(QWidget& parent, const PathQuestion& question, std::function<void(const QString&)> chosen);

/// File > Settings; `changed` after each change.
QDialog* ask_settings(QWidget& parent, Settings& settings, std::function<void()> changed);

} // namespace stillroom::ui
