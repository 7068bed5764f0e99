// SPDX-License-Identifier: GPL-3.0-or-later
// Every token of a rollout with every column that was recorded of it: the raw ids. Knows no widget.
#pragma once

#include "ui/models/token_rollout.h"

#include <QAbstractTableModel>

namespace stillroom::ui {

class TokenTableModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column {
        Index,
        Offset,
        Id,
        Text,
        Student,
        Teacher,
        TeacherPlain,
        Gap,
        Gain,
        StudentEntropy,
        TeacherEntropy,
        Kl,
        Clipped,
        Overlap,
        Flags,
        ColumnCount
    };

    using QAbstractTableModel::QAbstractTableModel;

    void show(TokenRolloutPtr rollout);

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    TokenRolloutPtr rollout_;
};

/// "clamped, end, not in the loss"; empty without flags.
QString flag_words(uint8_t flags);

} // namespace stillroom::ui
