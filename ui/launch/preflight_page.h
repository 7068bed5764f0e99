// SPDX-License-Identifier: GPL-3.0-or-later
// The findings of a preflight: a table, and below it the chosen one in full with what can be done about it.
#pragma once

#include "ui/models/preflight_model.h"

#include <QCheckBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSortFilterProxyModel>
#include <QTreeView>

class QHBoxLayout;

namespace stillroom::ui {

class PreflightPage : public QWidget {
    Q_OBJECT
public:
    explicit PreflightPage(PreflightModel& model, QWidget* parent = nullptr);

    void set_running(bool running);
    /// What is said above the table: a fault, or that fields were changed since; empty: nothing.
    void set_notice(const QString& text);
    /// Summary and details anew; chooses the first failure where no row is chosen.
    void update_findings();
    /// Puts the focus on the table.
    void focus_table() { table_->setFocus(); }

Q_SIGNALS:
    void runWanted();
    void cancelWanted();
    /// A finding's remedy that sets a key.
    void fixWanted(const QString& key, const QString& value);
    /// A failure was overridden, or no longer.
    void overridden();

private:
    void show_details();
    int chosen() const; // row of the model; -1: none

    PreflightModel& model_;
    QSortFilterProxyModel problems_;
    QTreeView* table_;
    QLabel *summary_, *notice_, *title_, *evidence_, *why_;
    QPushButton *run_, *cancel_, *copy_;
    QCheckBox* only_problems_;
    QWidget *details_, *override_;
    QLineEdit* reason_;
    QHBoxLayout* fixes_;
};

} // namespace stillroom::ui
