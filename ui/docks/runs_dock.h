// SPDX-License-Identifier: GPL-3.0-or-later
// The list of runs with its filter.
#pragma once

#include "ui/models/runs_model.h"

#include <QLabel>
#include <QLineEdit>
#include <QSortFilterProxyModel>
#include <QTreeView>
#include <QWidget>

namespace stillroom::ui {

class RunsDock : public QWidget {
    Q_OBJECT
public:
    explicit RunsDock(RunsModel& model, QWidget* parent = nullptr);
    /// Marks the run that is open.
    void set_current(const QString& run);
    /// The run under the cursor; empty: none.
    QString selected() const;

Q_SIGNALS:
    void opened(const QString& run);
    void selectionChanged();

protected:
    bool eventFilter(QObject* object, QEvent* event) override;

private:
    void refilter();

    class Filter;
    RunsModel& model_;
    Filter* filter_;
    QLineEdit* words_;
    QTreeView* list_;
    QLabel* footer_;
    QString current_;
};

} // namespace stillroom::ui
