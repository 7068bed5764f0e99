// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/preflight_model.h"

namespace stillroom::ui {

using session::Finding;

void PreflightModel::clear(const std::vector<std::pair<std::string, std::string>>& checks) {
    beginResetModel();
    rows_.clear();
    reasons_.clear();
    for (const auto& [id, title] : checks) rows_.push_back({id, title, std::nullopt});
    endResetModel();
}

void PreflightModel::add(Finding finding) {
    int row = row_of(finding.id);
    if (row < 0) {
        row = int(rows_.size());
        beginInsertRows({}, row, row);
        rows_.push_back({finding.id, finding.title, std::move(finding)});
        endInsertRows();
        return;
    }
    rows_[size_t(row)].finding = std::move(finding);
    Q_EMIT dataChanged(index(row, 0), index(row, ColumnCount - 1));
}

const Finding* PreflightModel::finding(int row) const {
    if (row < 0 || row >= int(rows_.size()) || !rows_[size_t(row)].finding) return nullptr;
    return &*rows_[size_t(row)].finding;
}

int PreflightModel::row_of(const std::string& id) const {
    for (size_t row = 0; row < rows_.size(); ++row)
        if (rows_[row].id == id) return int(row);
    return -1;
}

void PreflightModel::override_failure(const std::string& id, const QString& reason) {
    if (reason.trimmed().isEmpty()) {
        reasons_.erase(id);
    } else {
        reasons_[id] = reason.trimmed();
    }
}

QString PreflightModel::reason(const std::string& id) const {
    const auto found = reasons_.find(id);
    return found == reasons_.end() ? QString() : found->second;
}

std::vector<std::pair<std::string, QString>> PreflightModel::overridden() const {
    return {reasons_.begin(), reasons_.end()};
}

int PreflightModel::count(session::Verdict verdict) const {
    return int(std::count_if(rows_.begin(), rows_.end(),
                             [&](const Row& row) { return row.finding && row.finding->verdict == verdict; }));
}

QString PreflightModel::summary() const {
    double seconds = 0;
    int waiting = 0;
    for (const Row& row : rows_) {
        if (row.finding) {
            seconds += row.finding->seconds;
        } else {
            ++waiting;
        }
    }
    if (waiting == int(rows_.size())) return "Not run yet";
    using enum session::Verdict;
    return QString("%1 pass, %2 warn, %3 fail, %4 not run (%5 s)")
        .arg(count(Pass))
        .arg(count(Warn))
        .arg(count(Fail))
        .arg(count(Skip) + waiting)
        .arg(seconds, 0, 'f', seconds < 10 ? 1 : 0);
}

QStringList PreflightModel::blocking() const {
    QStringList failures;
    for (const Row& row : rows_) {
        if (!row.finding || row.finding->verdict != session::Verdict::Fail) continue;
        if (row.finding->may_be_overridden && reasons_.count(row.id)) continue;
        failures.push_back(QString::fromStdString(row.id + " " + row.title));
    }
    return failures;
}

QString PreflightModel::as_text() const {
    QString text = summary() + "\n";
    for (const Row& row : rows_) {
        if (!row.finding) continue;
        const Finding& finding = *row.finding;
        text += QString::fromStdString(to_string(finding.verdict) + " " + finding.id + " " + finding.title +
                                       ": " + finding.evidence + "\n");
        if (!finding.why.empty() && finding.verdict != session::Verdict::Pass)
            text += QString::fromStdString("     why: " + finding.why + "\n");
    }
    return text;
}

int PreflightModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : int(rows_.size());
}

int PreflightModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : int(ColumnCount);
}

QVariant PreflightModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid()) return {};
    const Row& row = rows_[size_t(index.row())];
    const Finding* finding = row.finding ? &*row.finding : nullptr;
    if (role == ProblemRole)
        return finding &&
               (finding->verdict == session::Verdict::Fail || finding->verdict == session::Verdict::Warn);
    if (role == Qt::TextAlignmentRole && index.column() == Seconds)
        return int(Qt::AlignRight | Qt::AlignVCenter);
    if (role == Qt::ToolTipRole && finding) return QString::fromStdString(finding->why);
    if (role == Qt::AccessibleTextRole && index.column() == Verdict)
        return finding ? QString::fromStdString(to_string(finding->verdict)) : QString("not run yet");
    if (role != Qt::DisplayRole) return {};
    switch (index.column()) {
    case Verdict:
        return finding ? QString::fromStdString(to_string(finding->verdict)) : QString("-");
    case Id:
        return QString::fromStdString(row.id);
    case Title:
        return QString::fromStdString(row.title);
    case Evidence:
        return finding ? QString::fromStdString(finding->evidence) : QString();
    case Seconds:
        return finding ? QString::number(finding->seconds, 'f', 1) : QString();
    default:
        return {};
    }
}

QVariant PreflightModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
    static const char* const names[] = {"", "id", "check", "evidence", "s"};
    return QString::fromUtf8(names[section]);
}

} // namespace stillroom::ui
