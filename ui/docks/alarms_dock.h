// SPDX-License-Identifier: GPL-3.0-or-later
// The alarms of the run with their evidence.
#pragma once

#include "ui/source/run_source.h"

#include <QLabel>
#include <QListWidget>
#include <QPointer>
#include <QToolButton>
#include <map>

namespace stillroom::ui {

class AlarmsDock : public QWidget {
    Q_OBJECT
public:
    explicit AlarmsDock(QWidget* parent = nullptr);
    void show_run(RunSource* run);

Q_SIGNALS:
    /// Show the rollouts of these steps.
    void shown(qint64 first_step, qint64 last_step);

private:
    enum Data { FirstStep = Qt::UserRole, LastStep, Name, Active };
    void update_alarms();

    QPointer<RunSource> run_;
    QLabel* empty_;
    QListWidget* list_;
    QToolButton *show_, *mute_;
    std::map<std::string, int64_t> muted_until_; // steps, by name
};

} // namespace stillroom::ui
