// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/recipe_differences_model.h"

namespace stillroom::ui {

namespace {

/// In one line, as a cell shows it.
QString line(const QString& value) {
    if (value.isEmpty()) return "(empty)";
    return QString(value).replace('\n', ", ");
}

} // namespace

void RecipeDifferencesModel::show(std::vector<Difference> differences) {
    if (differences == differences_) return;
    const bool same_keys =
        std::equal(differences.begin(), differences.end(), differences_.begin(), differences_.end(),
                   [](const Difference& a, const Difference& b) { return a.key == b.key; });
    if (same_keys) {
        differences_ = std::move(differences);
        Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, ColumnCount - 1));
        return;
    }
    beginResetModel();
    differences_ = std::move(differences);
    endResetModel();
}

int RecipeDifferencesModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : int(differences_.size());
}

int RecipeDifferencesModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : int(ColumnCount);
}

QVariant RecipeDifferencesModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid()) return {};
    const Difference& difference = differences_[size_t(index.row())];
    const QString key = QString::fromStdString(difference.key);
    if (role == Qt::ToolTipRole)
        return key + ": " + line(difference.preset) + QString::fromUtf8(" → ") + line(difference.yours);
    if (role != Qt::DisplayRole) return {};
    switch (index.column()) {
    case Key:
        return key;
    case Preset:
        return line(difference.preset);
    case Yours:
        return line(difference.yours);
    default:
        return {};
    }
}

QVariant RecipeDifferencesModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
    static const char* const names[] = {"key", "preset", "yours", ""};
    return QString::fromUtf8(names[section]);
}

} // namespace stillroom::ui
