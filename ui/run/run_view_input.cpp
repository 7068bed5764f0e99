// SPDX-License-Identifier: GPL-3.0-or-later
// The cursor, the selection and the zoom that all charts share, by mouse and by keys.
#include "ui/run/chart_bar.h"
#include "ui/run/chart_grid.h"
#include "ui/run/run_view.h"

#include <QDateTime>
#include <QKeyEvent>
#include <algorithm>
#include <cmath>

namespace stillroom::ui {

void RunView::connect_plot(Pane& pane, size_t index) {
    PlotWidget* plot = pane.plot;
    connect(plot, &PlotWidget::xRangeChanged, this, [this](double first, double last) {
        set_zoom(XRange{first, last});
    });
    connect(plot, &PlotWidget::cursorMoved, this, &RunView::probe);
    connect(plot, &PlotWidget::selected, this, &RunView::select);
    connect(plot, &PlotWidget::activated, this, [this](int, qint64 step) {
        if (step >= 0) set_cursor_step(step);
    });
    connect(plot, &PlotWidget::markerActivated, this, &RunView::open_marker);
    connect(plot, &PlotWidget::resetWanted, this, [this, plot] {
        plot->set_y_auto();
        set_zoom(std::nullopt);
        update_actions();
    });
    connect(plot, &PlotWidget::yRangeChanged, this, &RunView::update_actions);
    connect(plot, &PlotWidget::linearWanted, this, [this, &pane] { set_log(pane, false); });
    connect(plot, &PlotWidget::menuWanted, this, [this, index](QPoint at) { show_menu(index, at); });
}

bool RunView::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::FocusIn) {
        for (size_t i = 0; i < panes_.size(); ++i) {
            if (panes_[i]->plot == watched) set_current(i);
        }
    }
    if (event->type() == QEvent::KeyPress) {
        const auto* key = static_cast<QKeyEvent*>(event);
        if (press_key(key->key(), key->modifiers())) return true;
    }
    return View::eventFilter(watched, event);
}

bool RunView::press_key(int key, Qt::KeyboardModifiers modifiers) {
    const bool shift = modifiers == Qt::ShiftModifier;
    if (modifiers & ~(Qt::ShiftModifier | Qt::KeypadModifier)) return false;
    switch (key) {
    case Qt::Key_Left:
    case Qt::Key_Right:
        move_cursor(key == Qt::Key_Left ? -1 : 1, shift);
        return true;
    case Qt::Key_Home:
    case Qt::Key_End: {
        if (!run() || run()->series().last_step() < 0) return true;
        const int64_t last = run()->series().last_step();
        set_cursor_step(key == Qt::Key_End ? last : current_pane().model.neighbour(-1, 1).value_or(1));
        return true;
    }
    case Qt::Key_Up:
        move_current(-grid_->columns());
        return true;
    case Qt::Key_Down:
        move_current(grid_->columns());
        return true;
    case Qt::Key_PageUp:
        move_current(-grid_->columns() * grid_->rows_in_view());
        return true;
    case Qt::Key_PageDown:
        move_current(grid_->columns() * grid_->rows_in_view());
        return true;
    case Qt::Key_Return:
    case Qt::Key_Enter:
        want_rollouts();
        return true;
    case Qt::Key_Escape:
        if (cursor().selection()) {
            cursor().select(std::nullopt);
        } else if (zoom_) {
            set_zoom(std::nullopt);
        } else {
            cursor().set_step(std::nullopt);
        }
        return true;
    case Qt::Key_Backspace:
        zoom_back();
        return true;
    default:
        return false;
    }
}

void RunView::set_current(size_t index) {
    panes_[current_]->plot->set_current(false);
    current_ = index;
    panes_[current_]->plot->set_current(true);
    setFocusProxy(panes_[current_]->plot);
    grid_->ensureWidgetVisible(panes_[current_]->plot, 0, 0);
    update_actions();
}

void RunView::move_current(int by) {
    const int target = int(current_) + by;
    if (target < 0 || target >= int(panes_.size())) {
        if (std::abs(by) <= grid_->columns()) return; // no chart above or below
    }
    panes_[size_t(std::clamp(target, 0, int(panes_.size()) - 1))]->plot->setFocus(Qt::OtherFocusReason);
}

void RunView::move_cursor(int direction, bool select) {
    if (!run() || run()->series().last_step() < 0) return;
    const int64_t from = cursor().step().value_or(run()->series().last_step() + (direction < 0 ? 1 : 0));
    const auto to = current_pane().model.neighbour(from, direction);
    if (!to) return;
    if (select && !anchor_) anchor_ = cursor().step().value_or(*to);
    const auto anchor = anchor_;
    set_cursor_step(*to);
    anchor_ = select ? anchor : std::nullopt;
    if (select) cursor().select(StepCursor::Range{std::max<int64_t>(1, *anchor_), std::max<int64_t>(1, *to)});
}

void RunView::set_cursor_step(int64_t step) {
    actions()["act.chart.follow"].setChecked(false);
    anchor_.reset();
    cursor().set_step(step);
}

int64_t RunView::nearest_step(double x) const {
    const SeriesStore& store = run()->series();
    const XAxis axis = options_.window.axis;
    const int64_t before = store.step_at(x, axis), after = std::min(before + 1, store.last_step());
    return store.x_of(after, axis) - x < x - store.x_of(before, axis) ? after : before;
}

void RunView::probe(double x) {
    const auto before = probe_;
    probe_.reset();
    if (std::isfinite(x) && run() && run()->series().last_step() >= 0) probe_ = nearest_step(x);
    if (probe_ != before) show_cursor();
}

void RunView::show_cursor() {
    const auto place = [&](std::optional<int64_t> step) -> std::optional<double> {
        if (!step || !run()) return std::nullopt;
        return run()->series().x_of(*step, options_.window.axis);
    };
    for (auto& pane : panes_) {
        pane->plot->set_cursor(place(cursor().step()));
        pane->plot->set_probe(place(probe_));
        if (in_view(*pane)) update_values(*pane); // the others get theirs when they come into view
    }
    update_actions();
}

void RunView::select(double first, double last) {
    if (!run() || run()->series().last_step() < 1) return;
    const SeriesStore& store = run()->series();
    const XAxis axis = options_.window.axis;
    int64_t from = store.first_step_from(first, axis), to = store.step_at(last, axis);
    if (from > to) from = to = nearest_step((first + last) / 2); // between two steps
    from = std::clamp<int64_t>(from, 1, store.last_step());
    cursor().select(StepCursor::Range{from, std::clamp<int64_t>(to, from, store.last_step())});
}

void RunView::show_selection() {
    const auto range = cursor().selection();
    std::optional<XRange> place;
    const int asked = ++selection_asked_;
    if (range && run()) {
        const SeriesStore& store = run()->series();
        const XAxis axis = options_.window.axis;
        // A step's time and tokens lie before its end; on the axis of steps it is a point.
        place = axis == XAxis::Step
                    ? XRange{double(range->first) - 0.5, double(range->second) + 0.5}
                    : XRange{store.x_of(range->first - 1, axis), store.x_of(range->second, axis)};
        const QString steps = range->first == range->second
                                  ? QString("Step %1").arg(range->first)
                                  : QString("Steps %1-%2").arg(range->first).arg(range->second);
        bar_->set_selection(steps);
        record::RolloutFilter filter;
        filter.first_step = range->first;
        filter.last_step = range->second;
        run()->reader().ask(
            this, [filter](record::RunReader& reader) { return reader.rollout_count(filter); },
            [this, asked, steps](const Result<int64_t>& count) {
                if (asked == selection_asked_ && count)
                    bar_->set_selection(steps + ", " + count_text(*count) +
                                        (*count == 1 ? " rollout" : " rollouts"));
            });
    } else {
        bar_->set_selection({});
    }
    for (auto& pane : panes_) pane->plot->set_selection(place);
    update_actions();
}

void RunView::set_zoom(std::optional<XRange> range, bool remember) {
    const XRange whole = whole_range();
    if (range) {
        const double span = whole.second - whole.first;
        const double least = options_.window.axis == XAxis::Step ? 2 : span * 1e-7;
        double width = std::max(range->second - range->first, least);
        const double middle = (range->first + range->second) / 2;
        double first = width == range->second - range->first ? range->first : middle - width / 2;
        first = std::clamp(first, whole.first, std::max(whole.first, whole.second - width));
        range = XRange{first, first + width};
        if (width >= span * 0.999) range.reset();
    }
    if (range == zoom_) return;
    const qint64 now = QDateTime::currentMSecsSinceEpoch();
    constexpr qint64 one_gesture = 400; // milliseconds between turns of a wheel
    if (remember && now - zoomed_at_ > one_gesture) {
        history_.push_back(zoom_);
        if (history_.size() > history_kept) history_.pop_front();
    }
    if (remember) zoomed_at_ = now;
    zoom_ = range;
    // Who looks at the past stays there while the run goes on.
    if (zoom_ && run() &&
        zoom_->second < run()->series().x_of(run()->series().last_step(), options_.window.axis))
        actions()["act.chart.follow"].setChecked(false);
    const XRange shown = shown_range();
    for (auto& pane : panes_) pane->plot->set_x_range(shown.first, shown.second, options_.window.axis);
    update_actions();
    mark_dirty();
}

void RunView::zoom_back() {
    if (history_.empty()) return;
    const auto before = history_.back();
    history_.pop_back();
    set_zoom(before, false);
}

void RunView::zoom(int direction) {
    if (direction == 0) {
        for (auto& pane : panes_) pane->plot->set_y_auto();
        set_zoom(std::nullopt);
        return update_actions();
    }
    const XRange range = shown_range();
    const double factor = direction > 0 ? 0.5 : 2;
    double middle = (range.first + range.second) / 2;
    if (const auto step = cursor().step(); step && run()) {
        const double at = run()->series().x_of(*step, options_.window.axis);
        if (at >= range.first && at <= range.second) middle = at;
    }
    set_zoom(XRange{middle - (middle - range.first) * factor, middle + (range.second - middle) * factor});
}

/// Keeps the newest step in a zoomed window.
void RunView::follow() {
    if (!zoom_ || !actions()["act.chart.follow"].isChecked()) return;
    const double end = whole_range().second, width = zoom_->second - zoom_->first;
    set_zoom(XRange{end - width, end}, false);
}

void RunView::want_rollouts() {
    if (cursor().selection() || cursor().step()) Q_EMIT rolloutsWanted();
}

void RunView::open_marker(const Marker& marker) {
    set_cursor_step(marker.last_step);
    if (marker.kind == MarkerKind::Alarm)
        cursor().select(
            StepCursor::Range{std::max<int64_t>(1, marker.step), std::max<int64_t>(1, marker.last_step)});
    if (marker.kind == MarkerKind::Checkpoint) actions()["act.exp.checkpoints"].trigger();
}

} // namespace stillroom::ui
