// SPDX-License-Identifier: GPL-3.0-or-later
// The events of a run as lines: repeated ones folded into one with a count. Knows no widget.
#pragma once

#include "record/queries.h"

#include <QAbstractTableModel>

namespace stillroom::ui {

class LogModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { Time, Step, Kind, Text, ColumnCount };
    enum Role { StepRole = Qt::UserRole, SevereRole };

    using QAbstractTableModel::QAbstractTableModel;

    void set_events(const std::vector<record::StoredEvent>& events);
    /// Keeps lines that hold this text and, if set, only warnings and failures.
    void set_filter(const QString& text, bool problems_only);

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    struct Line {
        double time = 0;
        int64_t step = 0, count = 1;
        QString kind, text;
    };
    void rebuild();
    static bool severe(const Line& line);

    std::vector<Line> lines_, shown_;
    QString filter_;
    bool problems_only_ = false;
};

} // namespace stillroom::ui
