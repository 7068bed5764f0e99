// SPDX-License-Identifier: GPL-3.0-or-later
// The rollouts of a run that fit a filter, sorted by SQLite and read page by page on the reader's thread;
// never all of them at once, never changed without being asked. Knows no widget.
#pragma once

#include "record/queries.h"
#include "ui/source/store_reader.h"

#include <QAbstractTableModel>
#include <QPointer>

namespace stillroom::ui {

class RolloutsModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column {
        Pin,
        Step,
        Id,
        Verdict,
        MeanKl,
        Length,
        Cut,
        MaxKl,
        Prompt,
        Sample,
        Entropy,
        Overlap,
        Gain,
        Clipped,
        Format,
        Finish,
        Kept,
        ColumnCount
    };
    enum Role { IdRole = Qt::UserRole };
    static constexpr int page_rows = 256;

    using QAbstractTableModel::QAbstractTableModel;

    /// The store to read from; null: an empty list. Keeps filter and order.
    void show(StoreReader* reader);
    /// Conditions of a query (its order and page are this model's); reads again.
    void set_filter(const record::RolloutFilter& conditions);
    /// Reads again, as many rows as there were, at least a page.
    void reload();

    const record::RolloutFilter& filter() const { return filter_; }
    const record::RolloutSummary& rollout(int row) const { return rows_[size_t(row)]; }
    std::optional<int> row_of(int64_t id) const;
    /// -1: not counted yet.
    int64_t matching() const { return matching_; }
    bool reading() const { return reading_; }
    const QString& fault() const { return fault_; }
    bool is_sortable(int column) const;
    int sort_column() const { return sort_column_; }

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
    void sort(int column, Qt::SortOrder order) override;
    bool canFetchMore(const QModelIndex& parent) const override;
    void fetchMore(const QModelIndex& parent) override;

    /// Shows a rollout as pinned or not, as it was written to the store.
    void set_pinned(int64_t id, bool pinned);

Q_SIGNALS:
    /// After a reload (rows were replaced) or a page (rows were added).
    void loaded(bool replaced);
    void counted();

private:
    void read(bool replace);
    void count();
    QString cell(const record::RolloutSummary& rollout, int column) const;

    QPointer<StoreReader> reader_;
    record::RolloutFilter filter_{.order = record::RolloutOrder::Recorded, .descending = true};
    int sort_column_ = Id;
    std::vector<record::RolloutSummary> rows_;
    int64_t matching_ = -1;
    int generation_ = 0; // of answers; late ones are dropped
    bool reading_ = false, ended_ = false;
    QString fault_;
};

} // namespace stillroom::ui
