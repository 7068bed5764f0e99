// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/launch/launch_side.h"

#include "ui/models/chart_numbers.h"

#include <QDateTime>
#include <QFormLayout>
#include <QHeaderView>
#include <QLocale>
#include <QPushButton>
#include <QVBoxLayout>

namespace stillroom::ui {

namespace {

const char* const unknown = "unknown until the dry run";

QLabel* heading(const QString& text) {
    auto* label = new QLabel(text);
    QFont font = label->font();
    font.setBold(true);
    label->setFont(font);
    return label;
}

} // namespace

LaunchSide::LaunchSide(RecipeDraft& draft, QWidget* parent) : QWidget(parent), draft_(draft) {
    setObjectName("panel.launch.side");
    title_ = heading({});
    title_->setObjectName("lbl.diffPreset");
    none_ = new QLabel("Every field is the preset's.");
    none_->setWordWrap(true);
    table_ = new QTreeView;
    table_->setObjectName("table.diffPreset");
    table_->setAccessibleName("Differs from preset");
    table_->setModel(&differences_);
    table_->setRootIsDecorated(false);
    table_->setTextElideMode(Qt::ElideMiddle);
    table_->header()->setStretchLastSection(false);
    table_->header()->setSectionResizeMode(RecipeDifferencesModel::Key, QHeaderView::Stretch);
    table_->setColumnWidth(RecipeDifferencesModel::Preset, 58);
    table_->setColumnWidth(RecipeDifferencesModel::Yours, 58);
    table_->header()->setMinimumSectionSize(20);
    table_->setColumnWidth(RecipeDifferencesModel::Undo, 50);
    connect(&differences_, &QAbstractItemModel::modelReset, this, &LaunchSide::add_buttons);

    const auto forecast = [this](const char* name) {
        auto* label = new QLabel(QString::fromUtf8(unknown));
        label->setObjectName(name);
        label->setWordWrap(true);
        label->setTextInteractionFlags(Qt::TextSelectableByMouse);
        return label;
    };
    time_ = forecast("lbl.forecast.time");
    memory_ = forecast("lbl.forecast.memory");
    disk_ = forecast("lbl.forecast.disk");
    end_ = forecast("lbl.forecast.end");
    auto* form = new QFormLayout;
    form->setHorizontalSpacing(10);
    form->addRow("time", time_);
    form->addRow("memory", memory_);
    form->addRow("disk", disk_);
    form->addRow("end", end_);

    auto* layout = new QVBoxLayout(this);
    layout->addWidget(title_);
    layout->addWidget(none_);
    layout->addWidget(table_, 1);
    layout->addStretch();
    layout->addWidget(heading("FORECAST"));
    layout->addLayout(form);
    setFixedWidth(290);
}

void LaunchSide::add_buttons() {
    for (int row = 0; row < differences_.rowCount(); ++row) {
        const std::string key = differences_.difference(row).key;
        auto* undo = new QPushButton("undo");
        undo->setObjectName("btn.launch.undo." + QString::fromStdString(key));
        undo->setAccessibleName("Undo " + QString::fromStdString(key));
        undo->setFlat(true);
        undo->setAutoDefault(false);
        connect(undo, &QPushButton::clicked, this, [this, key] { draft_.undo(key); });
        table_->setIndexWidget(differences_.index(row, RecipeDifferencesModel::Undo), undo);
    }
}

void LaunchSide::update_draft() {
    differences_.show(draft_.differences());
    const int count = differences_.rowCount();
    title_->setText(QString("DIFFERS FROM PRESET (%1)").arg(count));
    none_->setVisible(count == 0);
    table_->setVisible(count > 0);
    update_end();
}

void LaunchSide::show_forecast(const formats::Recipe& recipe, const session::MemoryForecast& forecast) {
    const bool tight = forecast.peak > forecast.available;
    memory_->setText(QString("%1 at the peak, in %2; %3 %4 (estimated from shapes)")
                         .arg(bytes_text(forecast.peak), QString::fromStdString(forecast.peak_phase),
                              bytes_text(forecast.available), tight ? "are all there is" : "available"));
    QStringList classes;
    const std::pair<const char*, double> parts[] = {{"weights", forecast.weights},
                                                    {"teacher", forecast.teacher},
                                                    {"optimiser", forecast.optimiser},
                                                    {"gradients", forecast.gradients},
                                                    {"activations", forecast.activations},
                                                    {"head", forecast.head},
                                                    {"cache", forecast.cache}};
    for (const auto& [name, bytes] : parts)
        classes.push_back(QString::fromUtf8(name) + " " + bytes_text(bytes));
    memory_->setToolTip(classes.join("\n"));
    memory_->setAccessibleDescription(classes.join(", "));
    // A checkpoint holds the weights and the optimiser's state; one more is written before one is removed.
    const double checkpoint = forecast.weights + forecast.optimiser;
    const int64_t kept = recipe.checkpoint.keep_last + recipe.checkpoint.keep_best + 1;
    const double rollouts = recipe.record.rollouts ? double(recipe.record.byte_budget) : 0;
    disk_->setText(
        QString("%1 for %2 checkpoints%3 (estimated)")
            .arg(bytes_text(checkpoint * double(kept)))
            .arg(kept)
            .arg(rollouts > 0 ? ", at most " + bytes_text(rollouts) + " for rollouts" : QString()));
}

void LaunchSide::show_time(const formats::Recipe& recipe, double step_seconds) {
    const double whole = step_seconds * double(recipe.run.steps);
    time_->setText(step_seconds > 0
                       ? QString("at most %1 for %2 steps, %3 s a step (measured, without evaluations)")
                             .arg(duration_text(whole), count_text(recipe.run.steps),
                                  QString::number(step_seconds, 'g', 2))
                       : QString::fromUtf8(unknown));
    measured_ = whole;
    update_end();
}

void LaunchSide::update_end() {
    const QLocale english(QLocale::English);
    const auto now = QDateTime::currentDateTime();
    QStringList ends;
    if (measured_ > 0)
        ends.push_back("about " + english.toString(now.addSecs(qint64(measured_)), "ddd d MMM HH:mm") +
                       " at the latest if started now");
    const auto deadline = formats::deadline_at(draft_.recipe().run.deadline, now.toSecsSinceEpoch());
    if (deadline && *deadline)
        ends.push_back("deadline " +
                       english.toString(QDateTime::fromSecsSinceEpoch(**deadline), "ddd d MMM HH:mm"));
    end_->setText(ends.isEmpty() ? QString::fromUtf8(unknown) : ends.join("; "));
}

void LaunchSide::show_no_forecast(const QString& why) {
    memory_->setText(why);
    memory_->setToolTip({});
    disk_->setText(QString::fromUtf8(unknown));
}

} // namespace stillroom::ui
