// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "session/session.h"
#include "ui/source/engine.h"
#include "ui/window/actions.h"

#include <QDialog>

namespace stillroom::ui {

/// A new run: presets, fields, preflight, forecast. Modeless; closing keeps the draft.
class LaunchDialog : public QDialog {
    Q_OBJECT
public:
    LaunchDialog(Engine& engine, Actions& actions, QString runs_folder, QWidget* parent = nullptr)
        : QDialog(parent) {
        setObjectName("dlg.launch");
    }
    /// Starts from this recipe instead of the first preset.
    void set_recipe(const formats::Recipe& recipe) {}
    /// The command that runs the fields as they stand, where they are valid.
    QString command_line() const { return {}; }

Q_SIGNALS:
    void startWanted(const stillroom::session::RunRequest& request);
};

} // namespace stillroom::ui
