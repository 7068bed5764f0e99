// SPDX-License-Identifier: GPL-3.0-or-later
// The checkpoints of a run as a table, newest first. Removed ones stay as lines.
#pragma once

#include "session/checkpoints.h"

#include <QAbstractTableModel>

namespace stillroom::ui {

class CheckpointsModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { Pin, Step, Saved, Score, Size, State, Hash, Kept, ColumnCount };

    using QAbstractTableModel::QAbstractTableModel;

    /// `checkpoints` ascending by step, as session::checkpoint_facts gives them.
    void show(std::vector<session::CheckpointFacts> checkpoints);
    const session::CheckpointFacts* checkpoint(int row) const;
    int row_of(int64_t step) const; // -1: none, or only a removed one
    /// "3 of 9 kept, 29.8 GiB".
    QString summary() const;

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
    Qt::ItemFlags flags(const QModelIndex& index) const override;
    bool setData(const QModelIndex& index, const QVariant& value, int role) override;

Q_SIGNALS:
    /// The mark of a row was clicked; show() follows when it is done.
    void pinWanted(qint64 step, bool pinned);

private:
    std::vector<session::CheckpointFacts> rows_;
};

} // namespace stillroom::ui
