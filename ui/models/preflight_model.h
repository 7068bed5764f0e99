// SPDX-License-Identifier: GPL-3.0-or-later
// The findings of a preflight as a table, in the order of its checks; those not made yet say so.
#pragma once

#include "session/preflight.h"

#include <QAbstractTableModel>
#include <map>
#include <optional>

namespace stillroom::ui {

class PreflightModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { Verdict, Id, Title, Evidence, Seconds, ColumnCount };
    enum Role { ProblemRole = Qt::UserRole }; // true: FAIL or WARN

    using QAbstractTableModel::QAbstractTableModel;

    /// Forgets all findings; `checks` are those to come, ids and titles.
    void clear(const std::vector<std::pair<std::string, std::string>>& checks);
    void add(session::Finding finding);
    /// The finding in a row, if that check was made.
    const session::Finding* finding(int row) const;
    int row_of(const std::string& id) const;
    /// Starts anyway, though this check failed; an empty reason takes that back.
    void override_failure(const std::string& id, const QString& reason);
    QString reason(const std::string& id) const;
    /// What is to be stored with the run: id and reason of every overridden failure.
    std::vector<std::pair<std::string, QString>> overridden() const;

    int count(session::Verdict verdict) const;
    /// "18 pass, 2 warn, 1 fail, 2 not run (41 s)".
    QString summary() const;
    /// The failures that stand against a start: "PF07 Teacher prompt"; empty: none.
    QStringList blocking() const;
    /// Everything as text, for the clipboard.
    QString as_text() const;

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    struct Row {
        std::string id, title;
        std::optional<session::Finding> finding;
    };
    std::vector<Row> rows_;
    std::map<std::string, QString> reasons_;
};

} // namespace stillroom::ui
