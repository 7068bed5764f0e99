// SPDX-License-Identifier: GPL-3.0-or-later
// Wall time of a step by phase (metrics.md section 5). The phases partition the step: entering one leaves the
// other.
#pragma once

#include "record/records.h"

#include <array>
#include <chrono>
#include <torch/torch.h>

namespace stillroom::train {

enum class Phase { Rollout, Teacher, Learn, Optimise, Save, Evaluate, Other };
const char* to_string(Phase phase);

class PhaseClock {
public:
    explicit PhaseClock(torch::Device device) : device_(device), entered_(Clock::now()) {}

    /// From now on time counts for `phase`. Waits for the device, so that its work is charged where it
    /// belongs.
    void enter(Phase phase);
    double seconds(Phase phase) const { return seconds_[size_t(phase)]; }
    /// Every phase by name.
    record::Metrics all() const;
    double total() const;

private:
    using Clock = std::chrono::steady_clock;
    torch::Device device_;
    Phase phase_ = Phase::Other;
    Clock::time_point entered_;
    std::array<double, 7> seconds_{};
};

} // namespace stillroom::train
