// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/log_model.h"

#include <QDateTime>

namespace stillroom::ui {

void LogModel::set_events(const std::vector<record::StoredEvent>& events) {
    lines_.clear();
    for (const auto& stored : events) {
        const QString kind = QString::fromStdString(stored.event.kind),
                      text = QString::fromStdString(stored.event.text);
        if (!lines_.empty() && lines_.back().kind == kind && lines_.back().text == text) {
            ++lines_.back().count;
            lines_.back().step = stored.event.step;
            continue;
        }
        lines_.push_back({stored.event.time, stored.event.step, 1, kind, text});
    }
    rebuild();
}

void LogModel::set_filter(const QString& text, bool problems_only) {
    filter_ = text;
    problems_only_ = problems_only;
    rebuild();
}

bool LogModel::severe(const Line& line) {
    return line.kind == "warning" || line.kind == "failure" || line.kind == "gap" ||
           line.kind == "skipped_step";
}

void LogModel::rebuild() {
    std::vector<Line> shown;
    for (const Line& line : lines_) {
        if (problems_only_ && !severe(line)) continue;
        if (!filter_.isEmpty() && !line.text.contains(filter_, Qt::CaseInsensitive) &&
            !line.kind.contains(filter_, Qt::CaseInsensitive))
            continue;
        shown.push_back(line);
    }
    // Lines are only ever added at the end, but for a filter's change.
    const bool grown =
        shown.size() >= shown_.size() &&
        std::equal(shown_.begin(), shown_.end(), shown.begin(), [](const Line& a, const Line& b) {
            return a.time == b.time && a.text == b.text && a.count == b.count;
        });
    if (grown) {
        if (shown.size() == shown_.size()) return;
        beginInsertRows({}, int(shown_.size()), int(shown.size()) - 1);
        shown_ = std::move(shown);
        endInsertRows();
    } else {
        beginResetModel();
        shown_ = std::move(shown);
        endResetModel();
    }
}

int LogModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : int(shown_.size()); }
int LogModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : ColumnCount; }

QVariant LogModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid()) return {};
    const Line& line = shown_[size_t(index.row())];
    if (role == StepRole) return qlonglong(line.step);
    if (role == SevereRole) return severe(line);
    if (role == Qt::ToolTipRole) return line.text;
    if (role == Qt::TextAlignmentRole && index.column() == Step)
        return int(Qt::AlignRight | Qt::AlignVCenter);
    if (role != Qt::DisplayRole) return {};
    switch (index.column()) {
    case Time:
        return QDateTime::fromMSecsSinceEpoch(qint64(line.time * 1000)).toString("HH:mm:ss");
    case Step:
        return qlonglong(line.step);
    case Kind:
        return line.kind;
    case Text:
        return line.count > 1 ? line.text + QString("  x %1").arg(line.count) : line.text;
    default:
        return {};
    }
}

QVariant LogModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
    static const QStringList names{"time", "step", "kind", "what happened"};
    return names.value(section);
}

} // namespace stillroom::ui
