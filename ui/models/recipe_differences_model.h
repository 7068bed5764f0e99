// SPDX-License-Identifier: GPL-3.0-or-later
// "Differs from preset": key, the preset's value, yours.
#pragma once

#include "ui/models/recipe_draft.h"

#include <QAbstractTableModel>

namespace stillroom::ui {

class RecipeDifferencesModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { Key, Preset, Yours, Undo, ColumnCount };

    using QAbstractTableModel::QAbstractTableModel;

    /// Rows change only where they have to.
    void show(std::vector<Difference> differences);
    const Difference& difference(int row) const { return differences_[size_t(row)]; }

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    std::vector<Difference> differences_;
};

} // namespace stillroom::ui
