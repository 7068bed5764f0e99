// SPDX-License-Identifier: GPL-3.0-or-later
// The list of rollouts with its filter: what fits, of how many, in which order.
#pragma once

#include "ui/models/rollouts_filter.h"
#include "ui/models/rollouts_model.h"
#include "ui/source/run_source.h"

#include <QLabel>
#include <QLineEdit>
#include <QPointer>
#include <QTableView>
#include <QWidget>

class QHBoxLayout;

namespace stillroom::ui {

/// The table: Enter reads, Esc clears the filter; the view keys of the page reach their actions.
class RolloutsTable : public QTableView {
    Q_OBJECT
public:
    using QTableView::QTableView;

Q_SIGNALS:
    void readWanted();
    void escaped();
    void touched();

protected:
    void keyPressEvent(QKeyEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
};

class RolloutsList : public QWidget {
    Q_OBJECT
public:
    explicit RolloutsList(QWidget* parent = nullptr);

    void show_run(RunSource* run);
    RolloutsModel& model() { return model_; }
    RolloutsTable& table() { return *table_; }

    /// The steps that are selected elsewhere; a chip of their own, whose x asks to drop the selection.
    void set_steps(std::optional<std::pair<int64_t, int64_t>> steps);
    void clear_filters();
    bool has_filters() const { return steps_ || !filter_->text().trimmed().isEmpty(); }
    void focus_filter();

    std::optional<int64_t> current() const;
    /// Makes the row of this rollout the current one; none if it is not among those read.
    void set_current(std::optional<int64_t> id);
    /// Down or up the list.
    void move(int rows);

Q_SIGNALS:
    void currentChanged(qint64 id);
    void readWanted();
    void touched();
    void stepsDropped();
    void filterChanged();
    /// Rows were read again, and the current one was found again if it is among them.
    void reloaded();

private:
    void apply_filter();
    void show_chips(const RolloutsFilter& parsed);
    void update_footer();
    void drop_word(const QString& word);
    void choose_columns(const QPoint& position);
    void restore_columns();

    RolloutsModel model_;
    QPointer<RunSource> run_;
    QLineEdit* filter_;
    QWidget* chips_;
    QHBoxLayout* chips_row_;
    QLabel *unknown_, *empty_, *footer_, *top16_;
    RolloutsTable* table_;
    std::optional<std::pair<int64_t, int64_t>> steps_;
    std::optional<int64_t> wanted_; // to be current once it is read
    bool selecting_ = false;
};

} // namespace stillroom::ui
