// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/docks/alarms_dock.h"

#include "ui/window/theme.h"

#include <QVBoxLayout>

namespace stillroom::ui {

AlarmsDock::AlarmsDock(QWidget* parent) : QWidget(parent), empty_(new QLabel), list_(new QListWidget) {
    empty_->setObjectName("lbl.alarms.empty");
    empty_->setMargin(6);
    empty_->setWordWrap(true);
    list_->setObjectName("list.alarms");
    list_->setAccessibleName("Alarms");
    list_->setWordWrap(true);
    list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(empty_, 0, Qt::AlignTop);
    layout->addWidget(list_, 1);
    connect(list_, &QListWidget::itemActivated, this, [this](QListWidgetItem* item) {
        Q_EMIT shown(item->data(Qt::UserRole).toLongLong(), item->data(Qt::UserRole + 1).toLongLong());
    });
    update_alarms();
}

void AlarmsDock::show_run(RunSource* run) {
    if (run_) run_->disconnect(this);
    run_ = run;
    if (run_) connect(run_, &RunSource::listsChanged, this, &AlarmsDock::update_alarms);
    update_alarms();
}

void AlarmsDock::update_alarms() {
    const auto alarms = run_ ? run_->alarms() : std::vector<record::AlarmRecord>{};
    empty_->setVisible(alarms.empty());
    empty_->setText(run_ ? "No alarms." : "No run is open.");
    list_->setVisible(!alarms.empty());
    list_->clear();
    for (const bool active : {true, false}) {
        for (auto alarm = alarms.rbegin(); alarm != alarms.rend(); ++alarm) {
            if (alarm->active != active) continue;
            const Role role = alarm->level == "severe" ? Role::Stop
                              : alarm->level == "info" ? Role::Info
                                                       : Role::Wait;
            auto* item = new QListWidgetItem(icon(alarm->level == "info" ? "info" : "warning",
                                                  colour(active ? role : Role::Idle, palette())),
                                             QString("%1%2\n%3")
                                                 .arg(QString::fromStdString(alarm->name),
                                                      active ? QString() : " (past)",
                                                      QString::fromStdString(alarm->evidence)));
            item->setData(Qt::UserRole, qlonglong(alarm->first_step));
            item->setData(Qt::UserRole + 1, qlonglong(alarm->last_step));
            item->setToolTip(QString("steps %1 to %2, %3 times; Enter shows its rollouts")
                                 .arg(alarm->first_step)
                                 .arg(alarm->last_step)
                                 .arg(alarm->count));
            list_->addItem(item);
        }
    }
}

} // namespace stillroom::ui
