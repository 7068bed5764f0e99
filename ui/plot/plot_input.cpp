// SPDX-License-Identifier: GPL-3.0-or-later
// The mouse in a plot: drag zooms or selects, wheel zooms X (with Ctrl Y), middle drag pans, double click
// resets, a click sets the cursor or opens a marker.
#include "ui/plot/plot_widget.h"

#include <QLineF>
#include <QMouseEvent>
#include <QWheelEvent>
#include <cmath>

namespace stillroom::ui {

namespace {

constexpr double click_distance = 4, near = 8; // pixels

} // namespace

const Marker* PlotWidget::marker_at(QPointF at) const {
    if (at.y() > marker_strip + 2) return nullptr;
    const Marker* found = nullptr;
    double best = near;
    const auto places = scene_.marker_places();
    for (size_t i = 0; i < places.size(); ++i) {
        const Marker& marker = scene_.markers[i];
        const double distance = std::abs(places[i].x() - at.x());
        if (marker.x < scene_.x_first || marker.x > scene_.x_last || distance > best) continue;
        best = distance;
        found = &marker;
    }
    return found;
}

QString PlotWidget::tip_at(QPointF at) const {
    QStringList names;
    if (at.y() <= marker_strip + 2) { // several may stand at one place
        const auto places = scene_.marker_places();
        for (size_t i = 0; i < places.size(); ++i) {
            if (std::abs(places[i].x() - at.x()) <= near && names.size() < 8)
                names.push_back(scene_.markers[i].text);
        }
        return names.join('\n');
    }
    if (scene_.area.contains(at)) {
        for (const Band& band : scene_.bands) {
            if (scene_.px(band.first) - 2 <= at.x() && at.x() <= scene_.px(band.last) + 2)
                names.push_back(band.text);
        }
    }
    return names.join('\n');
}

void PlotWidget::press(QMouseEvent* event) {
    setFocus(Qt::MouseFocusReason);
    event->accept();
    if (event->button() == Qt::MiddleButton) {
        panning_ = true;
        pan_from_ = {scene_.x_first, scene_.x_last};
    } else if (event->button() != Qt::LeftButton) {
        return;
    }
    pressed_ = event->position();
}

void PlotWidget::move(QMouseEvent* event) {
    const double x = std::clamp(scene_.x_at(event->position().x()), scene_.x_first, scene_.x_last);
    if (!pressed_) {
        Q_EMIT cursorMoved(scene_.area.contains(event->position()) ? x : std::nan(""));
        return;
    }
    if (panning_) {
        const double shift = (pressed_->x() - event->position().x()) / scene_.area.width() *
                             (pan_from_.second - pan_from_.first);
        Q_EMIT xRangeChanged(pan_from_.first + shift, pan_from_.second + shift);
        return;
    }
    if (std::abs(event->position().x() - pressed_->x()) < click_distance && !scene_.drag) return;
    const double from = std::clamp(scene_.x_at(pressed_->x()), scene_.x_first, scene_.x_last);
    scene_.drag = XRange{std::min(from, x), std::max(from, x)};
    scene_.drag_selects = mode_ == Mode::Select || event->modifiers().testFlag(Qt::ShiftModifier);
    redraw();
}

void PlotWidget::release(QMouseEvent* event) {
    if (!pressed_) return;
    const QPointF from = *pressed_;
    pressed_.reset();
    if (std::exchange(panning_, false)) return;
    const auto drag = std::exchange(scene_.drag, std::nullopt);
    redraw();
    if (!drag) return click(from);
    if (std::abs(event->position().x() - from.x()) < click_distance) return; // dragged back: nothing meant
    if (scene_.drag_selects) {
        Q_EMIT selected(drag->first, drag->second);
    } else {
        Q_EMIT xRangeChanged(drag->first, drag->second);
    }
}

void PlotWidget::leave() {
    if (!pressed_) Q_EMIT cursorMoved(std::nan(""));
}

void PlotWidget::click(QPointF at) {
    if (const Marker* marker = marker_at(at)) {
        const Marker copy = *marker; // whoever hears of it may replace the markers
        Q_EMIT markerActivated(copy);
        return;
    }
    // The nearest drawn point; else the nearest in X.
    int series = -1;
    int64_t step = -1, step_in_x = -1;
    double best = near, best_in_x = HUGE_VAL;
    for (size_t i = 0; i < scene_.series.size(); ++i) {
        for (const auto& segment : scene_.series[i].data.segments) {
            for (const auto& point : segment) {
                if (point.x < scene_.x_first || point.x > scene_.x_last) continue;
                const QLineF line(at, QPointF(scene_.px(point.x), scene_.py(point.y)));
                if (line.length() < best) {
                    best = line.length();
                    series = int(i);
                    step = point.step;
                }
                if (std::abs(line.dx()) < best_in_x) {
                    best_in_x = std::abs(line.dx());
                    step_in_x = point.step;
                }
            }
        }
    }
    Q_EMIT activated(series, series >= 0 ? step : step_in_x);
}

void PlotWidget::turn(QWheelEvent* event) {
    const double turns = event->angleDelta().y() / 120.0;
    // Outside of the curves the wheel scrolls the page of charts.
    if (turns == 0 || !scene_.area.contains(event->position())) return event->ignore();
    event->accept();
    const double factor = std::pow(0.8, turns);
    if (!event->modifiers().testFlag(Qt::ControlModifier)) {
        const double at = scene_.x_at(event->position().x());
        Q_EMIT xRangeChanged(at - (at - scene_.x_first) * factor, at + (scene_.x_last - at) * factor);
        return;
    }
    const double at = scene_.y_at(event->position().y());
    if (scene_.log) {
        set_y_range(at * std::pow(scene_.y_low / at, factor), at * std::pow(scene_.y_high / at, factor));
    } else {
        set_y_range(at - (at - scene_.y_low) * factor, at + (scene_.y_high - at) * factor);
    }
    Q_EMIT yRangeChanged();
}

} // namespace stillroom::ui
