// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/docks/log_dock.h"

#include <QHeaderView>
#include <QScrollBar>
#include <QVBoxLayout>

namespace stillroom::ui {

LogDock::LogDock(StepCursor& cursor, QWidget* parent)
    : QWidget(parent), filter_(new QLineEdit), problems_(new QCheckBox("Problems only")),
      table_(new QTableView) {
    filter_->setObjectName("fld.log.filter");
    filter_->setPlaceholderText("search the log");
    filter_->setAccessibleName("Search the log");
    filter_->setClearButtonEnabled(true);
    problems_->setObjectName("chk.log.problems");
    table_->setObjectName("table.log");
    table_->setAccessibleName("Log");
    table_->setModel(&model_);
    table_->setSelectionBehavior(QAbstractItemView::SelectRows);
    table_->setShowGrid(false);
    table_->setWordWrap(false);
    table_->verticalHeader()->hide();
    table_->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 4);
    table_->horizontalHeader()->setStretchLastSection(true);
    table_->horizontalHeader()->setHighlightSections(false);
    table_->setColumnWidth(LogModel::Time, 70);
    table_->setColumnWidth(LogModel::Step, 60);
    table_->setColumnWidth(LogModel::Kind, 90);

    auto* top = new QHBoxLayout;
    top->addWidget(filter_, 1);
    top->addWidget(problems_);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(4, 2, 4, 2);
    layout->setSpacing(2);
    layout->addLayout(top);
    layout->addWidget(table_);

    const auto refilter = [this] { model_.set_filter(filter_->text(), problems_->isChecked()); };
    connect(filter_, &QLineEdit::textChanged, this, refilter);
    connect(problems_, &QCheckBox::toggled, this, refilter);
    connect(table_, &QTableView::clicked, this,
            [&cursor](const QModelIndex& at) { cursor.set_step(at.data(LogModel::StepRole).toLongLong()); });
}

void LogDock::show_run(RunSource* run) {
    if (run_) run_->disconnect(this);
    run_ = run;
    if (run_) connect(run_, &RunSource::listsChanged, this, &LogDock::update_lines);
    update_lines();
}

void LogDock::update_lines() {
    QScrollBar* bar = table_->verticalScrollBar();
    const bool at_end = bar->value() == bar->maximum();
    model_.set_events(run_ ? run_->events() : std::vector<record::StoredEvent>{});
    if (at_end) table_->scrollToBottom();
}

} // namespace stillroom::ui
