// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/docks/alarms_dock.h"

#include "ui/window/theme.h"

#include <QHBoxLayout>
#include <QVBoxLayout>

namespace stillroom::ui {

AlarmsDock::AlarmsDock(QWidget* parent)
    : QWidget(parent), empty_(new QLabel), list_(new QListWidget), show_(new QToolButton),
      mute_(new QToolButton) {
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
    auto* row = new QHBoxLayout;
    row->addWidget(show_);
    row->addWidget(mute_);
    row->addStretch();
    layout->addLayout(row);
    show_->setObjectName("btn.alarms.show");
    show_->setText("Show");
    show_->setToolTip("Selects the alarm's steps and shows their rollouts (Enter)");
    mute_->setObjectName("btn.alarms.mute");
    mute_->setText("Mute 50 steps");
    mute_->setToolTip("Puts the alarm behind the others for 50 steps; it is still recorded and counted");
    const auto show = [this](const QListWidgetItem* item) {
        if (item) Q_EMIT shown(item->data(FirstStep).toLongLong(), item->data(LastStep).toLongLong());
    };
    connect(list_, &QListWidget::itemActivated, this, show);
    connect(show_, &QToolButton::clicked, this, [this, show] { show(list_->currentItem()); });
    connect(mute_, &QToolButton::clicked, this, [this] {
        if (!run_ || !list_->currentItem()) return;
        constexpr int64_t steps = 50;
        muted_until_[list_->currentItem()->data(Name).toString().toStdString()] = run_->status().step + steps;
        update_alarms();
    });
    connect(list_, &QListWidget::currentItemChanged, this, [this](const QListWidgetItem* item) {
        show_->setEnabled(item);
        mute_->setEnabled(item && item->data(Active).toBool());
    });
    update_alarms();
}

void AlarmsDock::show_run(RunSource* run) {
    if (run_) run_->disconnect(this);
    run_ = run;
    muted_until_.clear();
    if (run_) connect(run_, &RunSource::listsChanged, this, &AlarmsDock::update_alarms);
    update_alarms();
}

void AlarmsDock::update_alarms() {
    const auto alarms = run_ ? run_->alarms() : std::vector<record::AlarmRecord>{};
    empty_->setVisible(alarms.empty());
    empty_->setText(run_ ? "No alarms." : "No run is open.");
    list_->setVisible(!alarms.empty());
    show_->setVisible(!alarms.empty());
    mute_->setVisible(!alarms.empty());
    const QString chosen = list_->currentItem() ? list_->currentItem()->data(Name).toString() : QString();
    const int64_t step = run_ ? run_->status().step : 0;
    const auto muted = [&](const record::AlarmRecord& alarm) {
        const auto until = muted_until_.find(alarm.name);
        return until != muted_until_.end() && step < until->second ? until->second : 0;
    };
    // What goes on, what is muted, what is past; newest first.
    const auto place = [&](const record::AlarmRecord& alarm) {
        return !alarm.active ? 2 : muted(alarm) ? 1 : 0;
    };
    list_->clear();
    for (const int wanted : {0, 1, 2}) {
        for (auto alarm = alarms.rbegin(); alarm != alarms.rend(); ++alarm) {
            if (place(*alarm) != wanted) continue;
            const Role role = alarm->level == "severe" ? Role::Stop
                              : alarm->level == "info" ? Role::Info
                                                       : Role::Wait;
            const QString name = QString::fromStdString(alarm->name);
            const QString steps = alarm->first_step == alarm->last_step
                                      ? QString("step %1").arg(alarm->first_step)
                                      : QString("steps %1-%2").arg(alarm->first_step).arg(alarm->last_step);
            const QString state = wanted == 2   ? QString(" (past)")
                                  : wanted == 1 ? QString(" (muted to step %1)").arg(muted(*alarm))
                                                : QString();
            auto* item = new QListWidgetItem(
                icon(alarm->level == "info" ? "info" : "warning",
                     colour(wanted == 0 ? role : Role::Idle, palette())),
                QString("%1, %2%3\n%4").arg(name, steps, state, QString::fromStdString(alarm->evidence)));
            item->setData(FirstStep, qlonglong(alarm->first_step));
            item->setData(LastStep, qlonglong(alarm->last_step));
            item->setData(Name, name);
            item->setData(Active, alarm->active);
            item->setToolTip(QString("%1, %2, %3 times").arg(name, steps).arg(alarm->count));
            list_->addItem(item);
            if (name == chosen) list_->setCurrentItem(item);
        }
    }
    if (!list_->currentItem() && list_->count() > 0) list_->setCurrentRow(0);
}

} // namespace stillroom::ui
