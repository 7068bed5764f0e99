// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/source/engine.h"
#include "ui/source/run_source.h"

#include <QDialog>

namespace stillroom::ui {

/// The checkpoints of a run, and their export as Hugging Face folders. Modeless.
class CheckpointsDialog : public QDialog {
    Q_OBJECT
public:
    CheckpointsDialog(Engine& engine, RunSource& run, QWidget* parent = nullptr) : QDialog(parent) {
        setObjectName("dlg.checkpoints");
    }
    /// Puts the focus on the export of the newest verified checkpoint.
    void offer_export() {}

Q_SIGNALS:
    void resumeWanted(const QString& run, qint64 step);
};

} // namespace stillroom::ui
