// SPDX-License-Identifier: GPL-3.0-or-later
// Numbers as charts write them (six characters at most on an axis, so that plots align), and round places for
// the marks of an axis.
#pragma once

#include "ui/models/series_store.h"

#include <QString>
#include <vector>

namespace stillroom::ui {

/// Three or four significant digits: ".118", "61.2", "7,168", "12.3k", "3.1e-6"; "nan", "inf".
QString short_number(double value);
/// With separators: "1,000,000".
QString count_text(int64_t count);
/// "3.3 GiB", "24.9 MiB".
QString bytes_text(double bytes);
/// "45 s", "4 min", "1 h 30 min".
QString duration_text(double seconds);

struct Tick {
    double at = 0;
    QString label;
};
/// Round values within [low, high], about `most` of them.
std::vector<Tick> linear_ticks(double low, double high, int most);
/// Decades, and 2 and 5 between where there is room; low > 0.
std::vector<Tick> log_ticks(double low, double high, int most);
/// Steps and tokens are whole; times are round in seconds, minutes or hours.
std::vector<Tick> x_ticks(double low, double high, int most, XAxis axis);

QString to_string(XAxis axis); // "step", "wall time", ...
/// A place on an axis: "437", "1:05 h".
QString x_text(double x, XAxis axis);

} // namespace stillroom::ui
