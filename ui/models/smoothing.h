// SPDX-License-Identifier: GPL-3.0-or-later
// Smoothing by half-life in steps, debiased: the value at t is sum(w y) / sum(w) over what was recorded until
// t, with w = 2^(-age / half-life). So the first value is the raw one, constants stay, and the past never
// changes.
#pragma once

#include "ui/models/decimation.h"

namespace stillroom::ui {

class Smoothing {
public:
    /// `log`: the logarithms are averaged; values that have none are skipped.
    Smoothing(int half_life, bool log) : half_life_(half_life), log_(log) {}

    /// Takes in `budget` points at most of those that are new; false: there are more. Averages start afresh
    /// after a gap and after a resume. Where the raw value can't be drawn, the smoothed one is undefined.
    bool extend(const Series& raw, const Breaks& breaks, size_t budget);
    /// As long as what was taken in.
    const Series& series() const { return series_; }
    int half_life() const { return half_life_; }
    bool log() const { return log_; }

private:
    int half_life_;
    bool log_;
    Series series_;
    double sum_ = 0, weight_ = 0; // as of the last step
};

} // namespace stillroom::ui
