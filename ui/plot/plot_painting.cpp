// SPDX-License-Identifier: GPL-3.0-or-later
// Painting around the curves.
#include "ui/plot/plot_scene.h"
#include "ui/window/theme.h"

#include <QPainterPath>
#include <algorithm>
#include <cmath>

namespace stillroom::ui {

namespace {

QColor mixed(const QColor& a, const QColor& b, double share) {
    return QColor::fromRgbF(float(a.redF() * (1 - share) + b.redF() * share),
                            float(a.greenF() * (1 - share) + b.greenF() * share),
                            float(a.blueF() * (1 - share) + b.blueF() * share));
}

QColor shade(const QColor& colour, int alpha) {
    QColor with = colour;
    with.setAlpha(alpha);
    return with;
}

QColor faint(const QPalette& palette) {
    return mixed(palette.color(QPalette::Base), palette.color(QPalette::Text), 0.66);
}

/// A vertical stripe of the plot, from X to X, two pixels wide at least.
QRectF stripe(const PlotScene& scene, double first, double last) {
    const double left = std::clamp(scene.px(first), scene.area.left(), scene.area.right());
    const double right = std::clamp(scene.px(last), scene.area.left(), scene.area.right());
    return {left, scene.area.top(), std::max(2.0, right - left), scene.area.height()};
}

bool within(const PlotScene& scene, double x) { return x >= scene.x_first && x <= scene.x_last; }

void paint_grid(QPainter& painter, const PlotScene& scene, const QPalette& palette, const QFont& font) {
    const QColor line = mixed(palette.color(QPalette::Base), palette.color(QPalette::Text), 0.12);
    const QFontMetricsF metrics(font);
    const QRectF& area = scene.area;
    painter.setFont(font);
    for (const Tick& tick : scene.y_ticks()) {
        const double y = std::round(scene.py(tick.at)) + 0.5;
        painter.setPen(QPen(line, 1));
        painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y));
        painter.setPen(faint(palette));
        const double top = std::clamp(y - metrics.height() / 2, area.top() - metrics.height() / 3,
                                      area.bottom() - metrics.height() + 3);
        painter.drawText(QRectF(0, top, label_column - 6, metrics.height()),
                         Qt::AlignRight | Qt::AlignVCenter, tick.label);
    }
    const double labels_top = area.bottom() + 2 + (scene.has_rail_below() ? rail_height : 0);
    double free_from = 0;
    for (const Tick& tick : scene.x_axis_ticks(font)) {
        const double x = std::round(scene.px(tick.at)) + 0.5;
        painter.setPen(QPen(line, 1));
        painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()));
        const double width = metrics.horizontalAdvance(tick.label) + 4;
        const double left = std::min(x - width / 2, area.right() + right_margin - width);
        if (left < free_from) continue;
        painter.setPen(faint(palette));
        painter.drawText(QRectF(left, labels_top, width, metrics.height()), Qt::AlignCenter, tick.label);
        free_from = left + width + 4;
    }
    const QString axis = scene.axis == XAxis::Step         ? "step"
                         : scene.axis == XAxis::WallTime   ? "wall"
                         : scene.axis == XAxis::ActiveTime ? "active"
                                                           : "tokens";
    painter.setPen(faint(palette));
    painter.drawText(QRectF(0, labels_top, label_column - 6, metrics.height()),
                     Qt::AlignRight | Qt::AlignVCenter, axis);
}

void paint_bands(QPainter& painter, const PlotScene& scene, const QPalette& palette) {
    for (const Band& band : scene.bands) {
        if (band.last < scene.x_first || band.first > scene.x_last) continue;
        painter.fillRect(stripe(scene, band.first, band.last),
                         QBrush(shade(palette.color(QPalette::Text), 60), Qt::BDiagPattern));
    }
    const auto shaded = [&](const XRange& range, int alpha) {
        const QRectF rect = stripe(scene, range.first, range.second);
        painter.fillRect(rect, shade(palette.color(QPalette::Highlight), alpha));
        painter.setPen(QPen(shade(palette.color(QPalette::Highlight), 200), 1));
        painter.drawLine(rect.topLeft(), rect.bottomLeft());
        painter.drawLine(rect.topRight(), rect.bottomRight());
    };
    if (scene.selection && scene.selection->second >= scene.x_first && scene.selection->first <= scene.x_last)
        shaded(*scene.selection, 45);
    if (scene.drag) shaded(*scene.drag, scene.drag_selects ? 70 : 30);
}

/// The areas of a stack, each down to the one before it.
void paint_stack(QPainter& painter, const PlotScene& scene, const QPalette& palette) {
    const std::vector<Segment>* below = nullptr;
    painter.setPen(Qt::NoPen);
    for (const auto& one : scene.series) {
        if (one.style.form != Form::Area) continue;
        for (size_t i = 0; i < one.data.segments.size(); ++i) {
            QPolygonF outline;
            for (const auto& point : one.data.segments[i])
                outline << QPointF(scene.px(point.x), scene.py(point.y));
            if (below && i < below->size() && !below->at(i).empty()) {
                const Segment& floor = below->at(i);
                for (auto point = floor.rbegin(); point != floor.rend(); ++point)
                    outline << QPointF(scene.px(point->x), scene.py(point->y));
            } else if (!outline.isEmpty()) {
                const double floor = scene.log ? scene.area.bottom() : scene.py(0);
                outline << QPointF(outline.last().x(), floor) << QPointF(outline.first().x(), floor);
            }
            painter.setBrush(shade(colour_of(one.style.tone, palette), 85));
            painter.drawPolygon(outline);
        }
        below = &one.data.segments;
    }
    painter.setBrush(Qt::NoBrush);
}

/// Their names are in the legend: here they would hide curves.
void paint_levels(QPainter& painter, const PlotScene& scene, const QPalette& palette) {
    painter.setPen(QPen(faint(palette), 1, Qt::DashLine));
    for (const Level& level : scene.levels) {
        if (level.y < scene.y_low || level.y > scene.y_high) continue;
        const double y = std::round(scene.py(level.y)) + 0.5;
        painter.drawLine(QPointF(scene.area.left(), y), QPointF(scene.area.right(), y));
    }
}

void paint_points(QPainter& painter, const PlotScene& scene, const QPalette& palette) {
    painter.save();
    painter.setClipRect(scene.area.adjusted(-4, -4, 4, 4));
    for (const auto& one : scene.series) {
        const QColor colour = colour_of(one.style.tone, palette);
        const auto at = [&](const DrawnPoint& point) {
            return QPointF(scene.px(point.x), scene.py(point.y));
        };
        painter.setPen(QPen(colour, 1.3));
        for (const ErrorBar& bar : one.bars) {
            const double x = scene.px(bar.x), top = scene.py(bar.high);
            const double bottom = scene.log && !(bar.low > 0) ? scene.area.bottom() : scene.py(bar.low);
            painter.drawLine(QPointF(x, top), QPointF(x, bottom));
            painter.drawLine(QPointF(x - 3, top), QPointF(x + 3, top));
            painter.drawLine(QPointF(x - 3, bottom), QPointF(x + 3, bottom));
        }
        for (size_t i = 0; i < one.data.segments.size(); ++i) {
            const Segment& segment = one.data.segments[i];
            if (one.style.form == Form::Points) {
                for (const auto& point : segment)
                    paint_shape(painter, one.style.shape, at(point), 3.5, colour,
                                palette.color(QPalette::Base));
                continue;
            }
            if (segment.size() == 1) { // a line has no length here
                painter.setPen(Qt::NoPen);
                painter.setBrush(colour);
                painter.drawEllipse(at(segment[0]), 2, 2);
            } else if (i >= scene.curves_elsewhere) {
                QPolygonF line;
                for (const auto& point : segment) line << at(point);
                painter.setPen(pen_of(one.style, palette));
                painter.drawPolyline(line);
            }
        }
    }
    painter.restore();
}

void paint_rails(QPainter& painter, const PlotScene& scene, const QPalette& palette, const QFont& font) {
    const QRectF& area = scene.area;
    painter.setFont(font);
    const auto label = [&](const QString& text, double top) {
        painter.setPen(faint(palette));
        painter.drawText(QRectF(0, top, label_column - 6, rail_height), Qt::AlignRight | Qt::AlignVCenter,
                         text);
    };
    const auto rail = [&](double top) {
        painter.fillRect(QRectF(area.left(), top, area.width(), rail_height - 1),
                         shade(palette.color(QPalette::Text), 18));
    };
    if (scene.has_rail_below()) {
        const double top = area.bottom() + 1;
        rail(top);
        label("<= 0", top);
        for (const auto& one : scene.series) {
            painter.setPen(QPen(colour_of(one.style.tone, palette), 1.2));
            painter.setBrush(Qt::NoBrush);
            for (const double x : one.data.not_positive) {
                if (!within(scene, x)) continue;
                const double at = scene.px(x);
                painter.drawPolygon(
                    QPolygonF({{at - 3.5, top + 2.5}, {at + 3.5, top + 2.5}, {at, top + rail_height - 3}}));
            }
        }
    }
    if (scene.has_rail_above()) {
        const double top = area.top() - rail_height;
        rail(top);
        label("NaN, inf", top);
        for (const auto& one : scene.series) {
            painter.setPen(QPen(colour_of(one.style.tone, palette), 1.4));
            for (const double x : one.data.not_finite) {
                if (!within(scene, x)) continue;
                const QPointF at(scene.px(x), top + rail_height / 2.0 - 0.5);
                painter.drawLine(at - QPointF(3, 3), at + QPointF(3, 3));
                painter.drawLine(at - QPointF(3, -3), at + QPointF(3, -3));
            }
        }
    }
    const auto [above, below] = scene.off_scale();
    painter.setPen(palette.color(QPalette::Text));
    if (above > 0)
        painter.drawText(area.adjusted(4, 1, 0, 0), Qt::AlignLeft | Qt::AlignTop,
                         QString("▲ %1 above").arg(above));
    if (below > 0)
        painter.drawText(area.adjusted(4, 0, 0, -1), Qt::AlignLeft | Qt::AlignBottom,
                         QString("▼ %1 below").arg(below));
}

} // namespace

void paint_shape(QPainter& painter, Shape shape, QPointF at, double radius, const QColor& colour,
                 const QColor& inside) {
    painter.setPen(QPen(colour, 1.5));
    painter.setBrush(inside);
    switch (shape) {
    case Shape::None:
        break;
    case Shape::Circle:
        painter.drawEllipse(at, radius, radius);
        break;
    case Shape::Square:
        painter.drawRect(QRectF(at.x() - radius, at.y() - radius, 2 * radius, 2 * radius));
        break;
    case Shape::Diamond:
        painter.drawPolygon(QPolygonF({at + QPointF(0, -radius), at + QPointF(radius, 0),
                                       at + QPointF(0, radius), at + QPointF(-radius, 0)}));
        break;
    }
    painter.setBrush(Qt::NoBrush);
}

void paint_marker(QPainter& painter, MarkerKind kind, QPointF at, const QPalette& palette) {
    const auto stroke = [&](Role role, double width) { painter.setPen(QPen(colour(role, palette), width)); };
    painter.setBrush(Qt::NoBrush);
    switch (kind) {
    case MarkerKind::Checkpoint:
        paint_shape(painter, Shape::Diamond, at, 4.5, colour(Role::Go, palette),
                    palette.color(QPalette::Base));
        break;
    case MarkerKind::Evaluation:
        painter.setPen(Qt::NoPen);
        painter.setBrush(colour(Role::Info, palette));
        painter.drawEllipse(at, 3.5, 3.5);
        break;
    case MarkerKind::Change:
        stroke(Role::Info, 1.5);
        painter.drawPolygon(QPolygonF({at + QPointF(0, -4), at + QPointF(4, 3.5), at + QPointF(-4, 3.5)}));
        break;
    case MarkerKind::Alarm:
        painter.fillRect(QRectF(at.x() - 1.2, at.y() - 5, 2.4, 6), colour(Role::Stop, palette));
        painter.fillRect(QRectF(at.x() - 1.2, at.y() + 2.6, 2.4, 2.4), colour(Role::Stop, palette));
        break;
    case MarkerKind::Pause:
        stroke(Role::Wait, 2);
        painter.drawLine(at + QPointF(-2, -4), at + QPointF(-2, 4));
        painter.drawLine(at + QPointF(2, -4), at + QPointF(2, 4));
        break;
    case MarkerKind::Resume: {
        stroke(Role::Info, 1.5);
        painter.drawArc(QRectF(at.x() - 4, at.y() - 4, 8, 8), 120 * 16, 290 * 16);
        painter.drawLine(at + QPointF(-2, -3.5), at + QPointF(-5, -3));
        painter.drawLine(at + QPointF(-2, -3.5), at + QPointF(-2.2, -0.5));
        break;
    }
    }
    painter.setBrush(Qt::NoBrush);
}

void paint_behind(QPainter& painter, const PlotScene& scene, const QPalette& palette, const QFont& font) {
    painter.setRenderHint(QPainter::Antialiasing, false);
    paint_grid(painter, scene, palette, font);
    paint_bands(painter, scene, palette);
    painter.setRenderHint(QPainter::Antialiasing, true);
    painter.save();
    painter.setClipRect(scene.area);
    paint_stack(painter, scene, palette);
    // What a smoothed curve was made of.
    for (const auto& one : scene.series) {
        QPen pen = pen_of(one.style, palette);
        pen.setStyle(Qt::SolidLine);
        pen.setWidthF(1);
        pen.setColor(shade(pen.color(), 89)); // 35 %
        painter.setPen(pen);
        for (const auto& segment : one.data.raw) {
            QPolygonF line;
            for (const auto& point : segment) line << QPointF(scene.px(point.x), scene.py(point.y));
            if (line.size() == 1) {
                painter.drawEllipse(line[0], 1.5, 1.5);
            } else {
                painter.drawPolyline(line);
            }
        }
    }
    painter.restore();
}

void paint_before(QPainter& painter, const PlotScene& scene, const QPalette& palette, const QFont& font) {
    const QRectF& area = scene.area;
    painter.setRenderHint(QPainter::Antialiasing, true);
    if (!scene.message.isEmpty()) {
        painter.setFont(font);
        painter.setPen(faint(palette));
        painter.drawText(area, Qt::AlignCenter | Qt::TextWordWrap, scene.message);
    }
    paint_levels(painter, scene, palette);
    paint_points(painter, scene, palette);
    const auto places = scene.marker_places();
    for (size_t i = 0; i < places.size(); ++i) {
        const Marker& marker = scene.markers[i];
        if (!within(scene, marker.x)) continue;
        const double x = std::round(scene.px(marker.x)) + 0.5;
        painter.setPen(QPen(shade(palette.color(QPalette::Text), 45), 1));
        if (i == 0 || scene.markers[i - 1].x != marker.x) // one line a place
            painter.drawLine(QPointF(x, marker_strip), QPointF(x, area.bottom()));
        paint_marker(painter, marker.kind, places[i], palette);
    }
    paint_rails(painter, scene, palette, font);
    const auto vertical = [&](double x, const QPen& pen) {
        if (!within(scene, x)) return;
        painter.setPen(pen);
        const double at = std::round(scene.px(x)) + 0.5;
        painter.drawLine(QPointF(at, area.top()), QPointF(at, area.bottom()));
    };
    if (scene.cursor) vertical(*scene.cursor, QPen(palette.color(QPalette::Text), 1));
    if (scene.probe) vertical(*scene.probe, QPen(faint(palette), 1, Qt::DotLine));
}

} // namespace stillroom::ui
