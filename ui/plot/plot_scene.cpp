// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plot/plot_scene.h"

#include "ui/window/theme.h"

#include <QFontMetrics>
#include <algorithm>
#include <cmath>

namespace stillroom::ui {

double PlotScene::px(double x) const {
    return area.left() + (x - x_first) / std::max(x_last - x_first, 1e-300) * area.width();
}

double PlotScene::py(double y) const {
    const double share =
        log ? std::log(y / y_low) / std::log(y_high / y_low) : (y - y_low) / (y_high - y_low);
    return area.bottom() - share * area.height();
}

double PlotScene::x_at(double px) const {
    return x_first + (px - area.left()) / std::max(1.0, area.width()) * (x_last - x_first);
}

double PlotScene::y_at(double py) const {
    const double share = (area.bottom() - py) / std::max(1.0, area.height());
    return log ? y_low * std::pow(y_high / y_low, share) : y_low + share * (y_high - y_low);
}

int64_t PlotScene::not_positive() const {
    int64_t count = 0;
    for (const auto& one : series) count += one.data.not_positive_count;
    return count;
}

int64_t PlotScene::not_finite() const {
    int64_t count = 0;
    for (const auto& one : series) count += one.data.not_finite_count;
    return count;
}

bool PlotScene::has_rail_below() const { return log && not_positive() > 0; }
bool PlotScene::has_rail_above() const { return not_finite() > 0; }

std::pair<int, int> PlotScene::off_scale() const {
    int above = 0, below = 0;
    for (const auto& one : series) {
        for (const auto& segment : one.data.segments) {
            for (const auto& point : segment) {
                if (point.x < x_first || point.x > x_last) continue;
                above += point.y > y_high;
                below += point.y < y_low;
            }
        }
    }
    return {above, below};
}

void PlotScene::fit_y(const YLimits& limits) {
    double low = HUGE_VAL, high = -HUGE_VAL;
    const auto take = [&](double x, double y) {
        if (x < x_first || x > x_last || (log && !(y > 0))) return;
        low = std::min(low, y);
        high = std::max(high, y);
    };
    for (const auto& one : series) {
        for (const auto* segments : {&one.data.segments, &one.data.raw}) {
            for (const auto& segment : *segments) {
                for (const auto& point : segment) take(point.x, point.y);
            }
        }
        for (const auto& bar : one.bars) {
            take(bar.x, bar.low);
            take(bar.x, bar.high);
        }
    }
    if (!(low <= high)) {
        y_low = log ? 0.1 : 0;
        y_high = 1;
        return;
    }
    constexpr double margin = 0.05;
    if (log) {
        for (const Level& level : levels) {
            if (level.y > 0 && level.y > low / 3 && level.y < high * 3) {
                low = std::min(low, level.y);
                high = std::max(high, level.y);
            }
        }
        const double stretch = std::max(1.2, std::pow(high / low, margin));
        y_low = low / stretch;
        y_high = high * stretch;
        return;
    }
    if (limits.from_zero) low = std::min(low, 0.0);
    double range = high - low;
    for (const Level& level : levels) {
        if (level.y > high + range * 0.7 || level.y < low - range * 0.7) continue;
        low = std::min(low, level.y);
        high = std::max(high, level.y);
    }
    range = high - low;
    if (range <= std::abs(high) * 1e-9) range = std::max(std::abs(high) * 0.2, 1e-9); // one value: some air
    if (range == 1e-9 && high == 0) range = 1;
    y_low = limits.from_zero && low >= 0 ? 0 : low - margin * range;
    y_high = high + margin * range;
    if (limits.at_most) y_high = std::min(y_high, *limits.at_most + 0.02 * range);
}

std::vector<QPointF> PlotScene::marker_places() const {
    constexpr double apart = 10, half = 5; // a shape is 9 pixels across
    std::vector<QPointF> places;
    for (size_t i = 0; i < markers.size();) {
        size_t end = i + 1;
        while (end < markers.size() && markers[end].x == markers[i].x) ++end;
        const double width = apart * double(end - i - 1);
        const double left =
            std::min(px(markers[i].x) - width / 2, area.right() + right_margin - half - width);
        for (size_t n = 0; i < end; ++i, ++n)
            places.emplace_back(std::round(left + apart * double(n)) + 0.5, marker_strip / 2.0);
    }
    return places;
}

QStringList PlotScene::level_names() const {
    QStringList names;
    for (const Level& level : levels)
        names.push_back(level.name + (level.y > y_high ? " ↑" : level.y < y_low ? " ↓" : ""));
    return names;
}

std::vector<Tick> PlotScene::y_ticks() const {
    const int most = std::max(2, int(area.height() / 24));
    return log ? log_ticks(y_low, y_high, most) : linear_ticks(y_low, y_high, most);
}

std::vector<Tick> PlotScene::x_axis_ticks(const QFont& font) const {
    const int width = QFontMetrics(font).horizontalAdvance("00,000 k");
    return x_ticks(x_first, x_last, std::max(2, int(area.width() / width)), axis);
}

QRectF plot_area(const QSizeF& canvas, const PlotScene& scene, const QFont& font) {
    const double top = marker_strip + (scene.has_rail_above() ? rail_height : 0);
    const double bottom = QFontMetricsF(font).height() + 3 + (scene.has_rail_below() ? rail_height : 0);
    return {label_column, top, std::max(10.0, canvas.width() - label_column - right_margin),
            std::max(10.0, canvas.height() - top - bottom)};
}

QColor colour_of(Tone tone, const QPalette& palette) {
    switch (tone) {
    case Tone::Student:
        return colour(Role::Student, palette);
    case Tone::Teacher:
        return colour(Role::Teacher, palette);
    case Tone::WithoutAnswer:
        return colour(Role::WithoutAnswer, palette);
    default:
        return run_mark(int(tone) - int(Tone::First), palette).colour;
    }
}

QPen pen_of(const SeriesStyle& style, const QPalette& palette) {
    QPen pen(colour_of(style.tone, palette), style.form == Form::Points ? 1.0 : 1.5);
    pen.setCapStyle(Qt::FlatCap);
    pen.setJoinStyle(Qt::BevelJoin); // a mitre would rise above the value
    switch (style.dash) {
    case Dash::Solid:
        break;
    case Dash::Dashed:
        pen.setDashPattern({5, 3});
        break;
    case Dash::Dotted:
        pen.setDashPattern({1.5, 2});
        break;
    case Dash::DashDot:
        pen.setDashPattern({7, 2.5, 1.5, 2.5});
        break;
    }
    return pen;
}

QFont small_font(const QFont& font) {
    QFont smaller = font;
    if (font.pointSizeF() > 0) {
        smaller.setPointSizeF(font.pointSizeF() * 0.88);
    } else {
        smaller.setPixelSize(std::max(8, int(font.pixelSize() * 0.88)));
    }
    return smaller;
}

QString name_of(MarkerKind kind) {
    switch (kind) {
    case MarkerKind::Checkpoint:
        return "checkpoint";
    case MarkerKind::Evaluation:
        return "evaluation";
    case MarkerKind::Change:
        return "change";
    case MarkerKind::Alarm:
        return "alarm";
    case MarkerKind::Pause:
        return "pause";
    case MarkerKind::Resume:
        return "resume";
    }
    return {};
}

} // namespace stillroom::ui
