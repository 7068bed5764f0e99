// SPDX-License-Identifier: GPL-3.0-or-later
// The charts of a run. What is new is only marked; a timer draws the charts that are in view, one
// a turn of the event loop.
#pragma once

#include "ui/models/chart_csv.h"
#include "ui/models/chart_marks.h"
#include "ui/models/chart_table_model.h"
#include "ui/plot/plot_widget.h"
#include "ui/window/view.h"

#include <QElapsedTimer>
#include <QTimer>
#include <deque>

namespace stillroom::ui {

class ChartBar;
struct ChartExport;
class ChartGrid;

class RunView : public View {
    Q_OBJECT
public:
    RunView(ViewContext context, QWidget* parent = nullptr);
    ~RunView() override;

    void show_run(RunSource* run) override;
    /// The current chart's values in its window, as tab-separated text or JSON.
    void copy(bool as_json) override;
    void zoom(int direction) override;

    /// Null: no chart has this id.
    PlotWidget* chart(const QString& id) const;
    /// The chart that keys and menu entries act on.
    PlotWidget* current_chart() const { return panes_[current_]->plot; }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void showEvent(QShowEvent* event) override;
    void hideEvent(QHideEvent* event) override;

private:
    struct Pane {
        PlotWidget* plot;
        ChartModel model;
        bool log, dirty = true;
        std::unique_ptr<ChartTableModel> table;
        QElapsedTimer drawn; // since then
    };
    static constexpr size_t history_kept = 50;

    // run_view.cpp: what is drawn
    void build();
    void tick();
    bool in_view(const Pane& pane) const;
    void mark_dirty();
    void refresh(Pane& pane);
    QString message_of(const Pane& pane, const std::vector<DrawnLine>& drawn) const;
    QString remark_of(const Pane& pane) const;
    void update_values(Pane& pane);
    void update_lists();
    XRange whole_range() const;
    XRange shown_range() const { return zoom_.value_or(whole_range()); }

    // run_view_input.cpp: cursor, selection, zoom
    void connect_plot(Pane& pane, size_t index);
    bool press_key(int key, Qt::KeyboardModifiers modifiers);
    void set_current(size_t index);
    void move_current(int by);
    void move_cursor(int direction, bool select);
    void set_cursor_step(int64_t step);
    void probe(double x);
    void show_cursor();
    void show_selection();
    void select(double first, double last);
    void set_zoom(std::optional<XRange> range, bool remember = true);
    void zoom_back();
    void follow();
    int64_t nearest_step(double x) const;
    void want_rollouts();
    void open_marker(const Marker& marker);

    // run_view_actions.cpp
    void connect_actions();
    void update_actions();
    void set_axis(XAxis axis);
    void set_half_life(int steps);
    void set_raw(bool raw);
    void set_selecting(bool selecting);
    void set_log(Pane& pane, bool log);
    void set_table(Pane& pane, bool table);
    void show_menu(size_t index, QPoint at);
    void show_export();
    void export_pictures(const Pane& pane, const ChartExport& choice);
    void export_values();
    void write_values(CsvRequest request, const QString& file);
    std::vector<std::string> tags_of(const Pane& pane) const;
    void copy_image();
    QString caption_of(const Pane& pane) const;
    Pane& current_pane() const { return *panes_[current_]; }

    ChartBar* bar_;
    ChartGrid* grid_;
    std::vector<std::unique_ptr<Pane>> panes_;
    size_t current_ = 0, next_ = 0;
    QTimer timer_;

    ChartOptions options_; // window.columns and .log are each chart's
    int last_half_life_ = 8;
    std::optional<XRange> zoom_; // none: the whole run
    std::deque<std::optional<XRange>> history_;
    qint64 zoomed_at_ = 0; // milliseconds; turns of a wheel are one zoom
    std::vector<Marker> markers_;
    std::vector<Band> bands_;
    std::optional<int64_t> probe_;
    std::optional<int64_t> anchor_; // of a selection made with keys
    int selection_asked_ = 0;
};

} // namespace stillroom::ui
