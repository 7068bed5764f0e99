// SPDX-License-Identifier: GPL-3.0-or-later
// The list of runs: those of the data folder and those opened by path. Knows no widget.
#pragma once

#include "record/run_summary.h"

#include <QAbstractTableModel>
#include <QStringList>
#include <thread>

namespace stillroom::ui {

class RunsModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { Name, State, Step, Score, ColumnCount };
    enum Role { FolderRole = Qt::UserRole, SummaryRole, FilterTextRole };

    /// Runs of `folder`; empty: none but those added.
    explicit RunsModel(QString folder, QObject* parent = nullptr);
    ~RunsModel() override;

    /// Reads all summaries again on another thread; changed() follows.
    void refresh();
    /// Also shows a run that lies elsewhere.
    void add(const QString& run);
    QString folder_of(int row) const;
    int row_of(const QString& run) const;
    const record::RunSummary& summary(int row) const { return runs_[size_t(row)]; }

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

Q_SIGNALS:
    void changed();

private:
    void take(std::vector<record::RunSummary> runs);

    QString folder_;
    QStringList others_;
    std::vector<record::RunSummary> runs_; // newest first
    std::thread reader_;
    bool reading_ = false, again_ = false;
};

/// Whether a run fits a filter's words, all of which must: parts of its name or state, `state:failed`,
/// `score>0.4`, `step<100`. `unknown` gets words that look like a condition and are none.
bool fits(const record::RunSummary& run, const QString& filter, QStringList* unknown = nullptr);

} // namespace stillroom::ui
