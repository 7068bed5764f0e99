// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/chart_table_model.h"

#include "ui/models/chart_numbers.h"

#include <algorithm>
#include <cmath>

namespace stillroom::ui {

ChartTableModel::ChartTableModel(const ChartModel& chart, const SeriesStore& store, QObject* parent)
    : QAbstractTableModel(parent), chart_(chart), store_(store) {}

std::vector<int64_t> ChartTableModel::steps_after(int64_t step) const {
    std::vector<int64_t> steps;
    for (size_t line = 0; line < chart_.styles().size(); ++line) {
        const Series* series = chart_.points(line);
        if (!series) continue;
        const auto first = std::upper_bound(series->step.begin(), series->step.end(), step);
        const auto middle = steps.insert(steps.end(), first, series->step.end());
        std::inplace_merge(steps.begin(), middle, steps.end());
        steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
    }
    return steps;
}

void ChartTableModel::refresh(XAxis axis) {
    std::vector<Column> columns;
    for (size_t line = 0; line < chart_.styles().size(); ++line) {
        if (!chart_.points(line)) continue;
        columns.push_back({line, false});
        if (chart_.smoothed(line)) columns.push_back({line, true});
    }
    if (axis != axis_ || columns != columns_) {
        beginResetModel();
        axis_ = axis;
        columns_ = std::move(columns);
        steps_ = steps_after(std::numeric_limits<int64_t>::min());
        endResetModel();
        return;
    }
    const auto steps = steps_after(steps_.empty() ? std::numeric_limits<int64_t>::min() : steps_.back());
    if (steps.empty()) return;
    beginInsertRows({}, int(steps_.size()), int(steps_.size() + steps.size()) - 1);
    steps_.insert(steps_.end(), steps.begin(), steps.end());
    endInsertRows();
}

int ChartTableModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : int(steps_.size());
}

int ChartTableModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : int(columns_.size()) + (axis_ == XAxis::Step ? 1 : 2);
}

QVariant ChartTableModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid()) return {};
    if (role == Qt::TextAlignmentRole) return int(Qt::AlignRight | Qt::AlignVCenter);
    if (role != Qt::DisplayRole) return {};
    const int64_t step = steps_[size_t(index.row())];
    if (index.column() == 0) return qlonglong(step);
    const int first = axis_ == XAxis::Step ? 1 : 2;
    if (index.column() < first) return x_text(store_.x_of(step, axis_), axis_);
    const Column& column = columns_[size_t(index.column() - first)];
    const auto value = chart_.recorded_at(column.line, step, column.smoothed);
    if (!value) return {}; // not recorded at this step
    if (record::is_undefined(*value)) return "undefined";
    return std::isfinite(*value) ? QString::number(*value, 'g', 7) : short_number(*value);
}

QVariant ChartTableModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
    if (section == 0) return "step";
    const int first = axis_ == XAxis::Step ? 1 : 2;
    if (section < first) return to_string(axis_);
    const size_t at = size_t(section - first);
    if (at >= columns_.size() || columns_[at].line >= chart_.styles().size()) return {};
    return chart_.styles()[columns_[at].line].name + (columns_[at].smoothed ? ", smoothed" : "");
}

} // namespace stillroom::ui
