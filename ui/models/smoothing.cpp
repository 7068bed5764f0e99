// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/smoothing.h"

#include <algorithm>
#include <cmath>

namespace stillroom::ui {

bool Smoothing::extend(const Series& raw, const Breaks& breaks, size_t budget) {
    const size_t end = std::min(raw.step.size(), series_.step.size() + budget);
    const double one_step = std::exp2(-1.0 / half_life_);
    series_.step.reserve(end);
    series_.value.reserve(end);
    for (size_t i = series_.step.size(); i < end; ++i) {
        if (i > 0) {
            const int64_t before = raw.step[i - 1], step = raw.step[i];
            const double decay =
                step - before == 1 ? one_step : std::exp2(-double(step - before) / half_life_);
            sum_ *= decay;
            weight_ *= decay;
            if (breaks.resume_between(before, step) || breaks.gap_between(before, step)) sum_ = weight_ = 0;
        }
        const double value = raw.value[i];
        double smooth = record::Undefined;
        if (std::isfinite(value) && (!log_ || value > 0)) {
            sum_ += log_ ? std::log(value) : value;
            weight_ += 1;
            smooth = log_ ? std::exp(sum_ / weight_) : sum_ / weight_;
        }
        series_.step.push_back(raw.step[i]);
        series_.value.push_back(smooth);
    }
    return series_.step.size() == raw.step.size();
}

} // namespace stillroom::ui
