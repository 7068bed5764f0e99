// SPDX-License-Identifier: GPL-3.0-or-later
// What a plot shows and how its surroundings are painted: grid, labels, bands, stacks behind the curves;
// points, whiskers, rails, markers and the cursor before them. The curves themselves are the plot widget's.
#pragma once

#include "ui/models/chart_numbers.h"
#include "ui/models/chart_types.h"

#include <QColor>
#include <QFont>
#include <QPainter>
#include <QPalette>
#include <QPen>
#include <QRectF>
#include <QStringList>

namespace stillroom::ui {

struct PlotSeries {
    SeriesStyle style;
    DrawnData data;
    std::vector<ErrorBar> bars;
    QString value; // in the legend
    int replaced = 0;
};

struct YLimits {
    bool from_zero = false;
    std::optional<double> at_most;
};

struct PlotScene {
    QRectF area; // of the curves, in the canvas' pixels
    XAxis axis = XAxis::Step;
    double x_first = 0, x_last = 1, y_low = 0, y_high = 1;
    bool log = false;
    std::vector<PlotSeries> series;
    std::vector<Level> levels;
    std::vector<Marker> markers;
    std::vector<Band> bands;
    std::optional<double> cursor, probe; // clicked; under the pointer
    std::optional<XRange> selection, drag;
    bool drag_selects = false;
    QString message; // in place of curves
    size_t curves_elsewhere =
        0; // segments a series that the widget draws itself; the painter draws the others

    double px(double x) const;
    double py(double y) const;
    double x_at(double px) const;
    double y_at(double py) const;

    bool has_rail_below() const; // "<= 0"
    bool has_rail_above() const; // NaN and infinities
    int64_t not_positive() const;
    int64_t not_finite() const;
    /// Points drawn above and below the Y range.
    std::pair<int, int> off_scale() const;
    /// Sets the Y range to what lies within the X range, with a margin of 5 %. Levels far off stay outside.
    void fit_y(const YLimits& limits);
    /// Where each marker's shape stands in the strip above; those of one place stand side by side.
    std::vector<QPointF> marker_places() const;
    /// In the legend: "cap 64", with an arrow where it lies outside of the Y range.
    QStringList level_names() const;
    std::vector<Tick> y_ticks() const;
    std::vector<Tick> x_axis_ticks(const QFont& font) const;
};

/// The space around the curves. The label column is as wide in all charts, so that they align.
inline constexpr int label_column = 52, right_margin = 12, marker_strip = 12, rail_height = 12;
QRectF plot_area(const QSizeF& canvas, const PlotScene& scene, const QFont& font);

QColor colour_of(Tone tone, const QPalette& palette);
QPen pen_of(const SeriesStyle& style, const QPalette& palette);
QFont small_font(const QFont& font);

void paint_behind(QPainter& painter, const PlotScene& scene, const QPalette& palette, const QFont& font);
void paint_before(QPainter& painter, const PlotScene& scene, const QPalette& palette, const QFont& font);
/// The shape of a marker kind, 9 pixels across.
void paint_marker(QPainter& painter, MarkerKind kind, QPointF at, const QPalette& palette);
void paint_shape(QPainter& painter, Shape shape, QPointF at, double radius, const QColor& colour,
                 const QColor& inside);
QString name_of(MarkerKind kind); // "checkpoint"

} // namespace stillroom::ui
