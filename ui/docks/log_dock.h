// SPDX-License-Identifier: GPL-3.0-or-later
// The events of the run, newest at the bottom.
#pragma once

#include "ui/models/log_model.h"
#include "ui/models/step_cursor.h"
#include "ui/source/run_source.h"

#include <QCheckBox>
#include <QLineEdit>
#include <QPointer>
#include <QTableView>

namespace stillroom::ui {

class LogDock : public QWidget {
    Q_OBJECT
public:
    explicit LogDock(StepCursor& cursor, QWidget* parent = nullptr);
    void show_run(RunSource* run);

private:
    void update_lines();

    LogModel model_;
    QPointer<RunSource> run_;
    QLineEdit* filter_;
    QCheckBox* problems_;
    QTableView* table_;
};

} // namespace stillroom::ui
