// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/checkpoints_model.h"

#include "ui/models/chart_numbers.h"

#include <QDateTime>
#include <QLocale>
#include <algorithm>

namespace stillroom::ui {

namespace {

bool is_there(const session::CheckpointFacts& facts) { return facts.on_disk && !facts.record.removed; }

QString state_of(const session::CheckpointFacts& facts) {
    return facts.record.removed ? "removed" : facts.on_disk ? "resumable" : "missing on disk";
}

QString cell(const session::CheckpointFacts& facts, int column) {
    const auto& record = facts.record;
    switch (column) {
    case CheckpointsModel::Step:
        return QString::number(record.step);
    case CheckpointsModel::Saved:
        return facts.saved > 0
                   ? QLocale(QLocale::English)
                         .toString(QDateTime::fromSecsSinceEpoch(qint64(facts.saved)), "ddd d MMM HH:mm")
                   : QString();
    case CheckpointsModel::Score:
        return record.score ? short_number(*record.score) : "not evaluated";
    case CheckpointsModel::Size:
        return bytes_text(double(record.bytes));
    case CheckpointsModel::State:
        return state_of(facts);
    case CheckpointsModel::Hash:
        return QString::fromStdString(record.sha256.substr(0, 12));
    case CheckpointsModel::Kept:
        return record.removed ? QString()
               : facts.pinned ? "pinned"
                              : QString::fromStdString(record.kept_because);
    default:
        return {};
    }
}

} // namespace

void CheckpointsModel::show(std::vector<session::CheckpointFacts> checkpoints) {
    beginResetModel();
    std::reverse(checkpoints.begin(), checkpoints.end());
    rows_ = std::move(checkpoints);
    endResetModel();
}

const session::CheckpointFacts* CheckpointsModel::checkpoint(int row) const {
    return row >= 0 && row < int(rows_.size()) ? &rows_[size_t(row)] : nullptr;
}

int CheckpointsModel::row_of(int64_t step) const {
    const auto found = std::find_if(rows_.begin(), rows_.end(), [&](const auto& facts) {
        return facts.record.step == step && !facts.record.removed;
    });
    return found == rows_.end() ? -1 : int(found - rows_.begin());
}

QString CheckpointsModel::summary() const {
    int64_t kept = 0;
    double bytes = 0;
    for (const auto& facts : rows_) {
        if (!is_there(facts)) continue;
        ++kept;
        bytes += double(facts.record.bytes);
    }
    return QString("%1 of %2 kept, %3").arg(kept).arg(rows_.size()).arg(bytes_text(bytes));
}

int CheckpointsModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : int(rows_.size());
}

int CheckpointsModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : ColumnCount;
}

QVariant CheckpointsModel::data(const QModelIndex& index, int role) const {
    const auto* facts = index.isValid() ? checkpoint(index.row()) : nullptr;
    if (!facts) return {};
    if (role == Qt::DisplayRole) return cell(*facts, index.column());
    if (role == Qt::CheckStateRole && index.column() == Pin && is_there(*facts))
        return int(facts->pinned ? Qt::Checked : Qt::Unchecked);
    if (role == Qt::ToolTipRole) {
        if (index.column() == Hash) return QString::fromStdString(facts->record.sha256);
        if (index.column() == State) return QString::fromStdString(facts->folder.string());
    }
    if (role == Qt::TextAlignmentRole && (index.column() == Step || index.column() == Size))
        return int(Qt::AlignRight | Qt::AlignVCenter);
    return {};
}

QVariant CheckpointsModel::headerData(int section, Qt::Orientation orientation, int role) const {
    constexpr const char* names[ColumnCount] = {"Pin",  "Step",  "Saved",   "Score",
                                                "Size", "State", "SHA-256", "Kept because"};
    if (orientation == Qt::Horizontal && role == Qt::DisplayRole) return names[section];
    return {};
}

Qt::ItemFlags CheckpointsModel::flags(const QModelIndex& index) const {
    auto flags = QAbstractTableModel::flags(index);
    const auto* facts = index.isValid() ? checkpoint(index.row()) : nullptr;
    if (facts && index.column() == Pin && is_there(*facts)) flags |= Qt::ItemIsUserCheckable;
    return flags;
}

bool CheckpointsModel::setData(const QModelIndex& index, const QVariant& value, int role) {
    const auto* facts = index.isValid() ? checkpoint(index.row()) : nullptr;
    if (!facts || role != Qt::CheckStateRole || index.column() != Pin || !is_there(*facts)) return false;
    Q_EMIT pinWanted(facts->record.step, value.toInt() == Qt::Checked);
    return true;
}

} // namespace stillroom::ui
