// SPDX-License-Identifier: GPL-3.0-or-later
// A chart as a table: one row a recorded step, with every line's raw value and, where it is smoothed, the one
// that is drawn.
#pragma once

#include "ui/models/chart_model.h"

#include <QAbstractTableModel>

namespace stillroom::ui {

class ChartTableModel : public QAbstractTableModel {
    Q_OBJECT
public:
    /// Both outlive the model.
    ChartTableModel(const ChartModel& chart, const SeriesStore& store, QObject* parent = nullptr);

    /// The chart has more points, other lines or another axis.
    void refresh(XAxis axis);

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

private:
    struct Column {
        size_t line = 0;
        bool smoothed = false;
        bool operator==(const Column&) const = default;
    };
    std::vector<int64_t> steps_after(int64_t step) const;

    const ChartModel& chart_;
    const SeriesStore& store_;
    XAxis axis_ = XAxis::Step;
    std::vector<int64_t> steps_;
    std::vector<Column> columns_; // after the step and, on another axis, the place on it
};

} // namespace stillroom::ui
