// SPDX-License-Identifier: GPL-3.0-or-later
// Every metric of one run as the window holds it: raw points by tag, ascending by step, and the clocks that
// give a step its place on the other X axes. Of the window's thread alone.
#pragma once

#include "record/queries.h"

#include <map>
#include <string>
#include <vector>

namespace stillroom::ui {

enum class XAxis { Step, WallTime, ActiveTime, Tokens };

/// One metric: value[i] was recorded at step[i]. Values are as recorded: undefined ones, NaN and infinities
/// too (record::is_undefined tells which).
struct Series {
    std::vector<int64_t> step;
    std::vector<double> value;
};

class SeriesStore {
public:
    /// Adds the points whose step is later than the newest of their tag; older ones are known already.
    void append(const std::string& tag, const std::vector<record::SeriesPoint>& points);
    void append(const record::StepRecord& step);

    /// Null where nothing was recorded under this tag.
    const Series* find(const std::string& tag) const;
    std::vector<std::string> tags() const;
    /// Of all series; -1 without any.
    int64_t last_step() const { return last_step_; }

    /// Where a step stands on an axis: seconds since the run's start, tokens trained, or the step itself.
    /// Steps without a clock of their own (the evaluation before the first step) take the last one before.
    double x_of(int64_t step, XAxis axis) const;
    /// The last step at or before `x` on an axis; the first step where all are later; -1 without any.
    int64_t step_at(double x, XAxis axis) const;
    /// The first step whose place on an axis is at or after `x` (`after`: after it).
    int64_t first_step_from(double x, XAxis axis, bool after = false) const;
    /// Stretches of an axis in which the run stood still for a second or more: nowhere but on wall time.
    std::vector<std::pair<double, double>> pauses(XAxis axis) const;

    /// Grows with every change.
    int64_t revision() const { return revision_; }

private:
    struct Clock {
        int64_t step = 0;
        double wall = 0, active = 0;
        int64_t tokens = 0;
    };
    static double on(const Clock& clock, XAxis axis);
    void tick(const Clock& clock);

    std::map<std::string, Series> series_;
    std::vector<Clock> clocks_; // ascending by step
    int64_t last_step_ = -1, revision_ = 0;
};

} // namespace stillroom::ui
