// SPDX-License-Identifier: GPL-3.0-or-later
// Exact decimation: of each pixel column the first, lowest, highest and last point are kept where they were
// recorded, so no spike is lost at any zoom (ui.md 3.3). A pyramid of buckets makes a window's cost that of
// its columns, however many points the run has.
#pragma once

#include "ui/models/chart_types.h"
#include "ui/models/series_store.h"

#include <array>

namespace stillroom::ui {

/// Where a curve is interrupted.
struct Breaks {
    std::vector<std::pair<int64_t, int64_t>> gaps; // first and last step that weren't recorded
    std::vector<int64_t> resumes;                  // later steps are another session's
    bool operator==(const Breaks&) const = default;

    /// Whether steps between two neighbouring points were lost.
    bool gap_between(int64_t before, int64_t after) const;
    bool resume_between(int64_t before, int64_t after) const;
};

/// What is kept of a run of points: indices into the series, `none` where no value fits.
struct Bucket {
    static constexpr uint32_t none = 0xffffffff;
    uint32_t first = none, low = none, high = none, last = none; // of finite values
    uint32_t first_positive = none, low_positive = none, last_positive = none;
    uint32_t count = 0, not_positive = 0, not_finite = 0, undefined = 0;
};

class Pyramid {
public:
    /// Takes in `budget` points at most of those that are new; false: there are more.
    bool extend(const Series& series, size_t budget);
    size_t size() const { return size_; }
    /// The points [first, last) in one bucket. Costs O(log n).
    Bucket range(const Series& series, size_t first, size_t last) const;

private:
    static constexpr size_t fan = 16, level_count = 7;    // 16^8 points and more have no index anyway
    std::array<std::vector<Bucket>, level_count> levels_; // whole buckets of 16, 256, ... points
    size_t size_ = 0;
};

struct PlotWindow {
    XAxis axis = XAxis::Step;
    double first = 0, last = 1; // on the axis, both included
    int columns = 500;          // pixels across
    bool log = false;
};

/// The points of the window, and the neighbours on both sides that the line comes from and goes to (which
/// aren't counted). At most 4 points a column; all of them where no more were recorded. Values are multiplied
/// by `scale` > 0.
DrawnData decimate(const Series& series, const Pyramid& pyramid, const SeriesStore& clocks,
                   const PlotWindow& window, const Breaks& breaks, double scale = 1);

} // namespace stillroom::ui
