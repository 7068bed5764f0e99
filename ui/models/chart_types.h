// SPDX-License-Identifier: GPL-3.0-or-later
// What a chart is given to draw and what it can say about it: plain data between the models and the plot.
#pragma once

#include <QList>
#include <QString>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace stillroom::ui {

/// A colour by meaning; the plot knows which one that is in the palette at hand.
enum class Tone {
    Student,
    Teacher,
    WithoutAnswer,
    First,
    Second,
    Third,
    Fourth,
    Fifth,
    Sixth,
    Seventh,
    Eighth
};
enum class Dash { Solid, Dashed, Dotted, DashDot };
enum class Shape { None, Circle, Square, Diamond };
/// Area: filled down to the series before it (a stack), the first one to zero. Points: marks, joined by a
/// thin line within a segment.
enum class Form { Line, Area, Points };

struct SeriesStyle {
    QString name; // in the legend
    QString what; // formula and unit, its tooltip
    Tone tone = Tone::First;
    Dash dash = Dash::Solid;
    Shape shape = Shape::None;
    Form form = Form::Line;
};

struct DrawnPoint {
    double x = 0, y = 0;
    int64_t step = 0; // where it was recorded
    bool operator==(const DrawnPoint&) const = default;
};
using Segment = std::vector<DrawnPoint>;

/// One series within a window. Segments are broken at gaps and at values that a line can't show.
struct DrawnData {
    std::vector<Segment> segments;
    std::vector<Segment> raw;                     // of a smoothed series: what it was made of
    std::vector<double> not_positive, not_finite; // X of a mark in a rail, one a pixel column where dense
    int64_t drawn = 0, total = 0;                 // points in the window: drawn, recorded
    int64_t not_positive_count = 0;               // on a logarithmic axis
    int64_t not_finite_count = 0;                 // NaN and infinities; undefined values are none of them
};

struct ErrorBar {
    double x = 0, low = 0, high = 0;
};
struct Level {
    double y = 0;
    QString name; // "cap 7,168"
    Dash dash = Dash::Dashed;
};
enum class MarkerKind { Checkpoint, Evaluation, Change, Alarm, Pause, Resume };
struct Marker {
    MarkerKind kind = MarkerKind::Checkpoint;
    double x = 0;
    int64_t step = 0;
    QString text;
    int64_t last_step = 0; // of an alarm
    bool operator==(const Marker&) const = default;
};
struct Band {
    double first = 0, last = 0;
    QString text; // why: "paused 4 min"
    bool operator==(const Band&) const = default;
};
using XRange = std::pair<double, double>;

} // namespace stillroom::ui
