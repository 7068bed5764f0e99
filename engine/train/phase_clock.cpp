// SPDX-License-Identifier: GPL-3.0-or-later
#include "train/phase_clock.h"

#include <numeric>

namespace stillroom::train {

const char* to_string(Phase phase) {
    constexpr const char* names[] = {"rollout", "teacher", "learn", "optimise", "save", "evaluate", "other"};
    return names[size_t(phase)];
}

void PhaseClock::enter(Phase phase) {
    if (device_.is_cuda()) torch::cuda::synchronize(device_.index());
    const auto now = Clock::now();
    seconds_[size_t(phase_)] += std::chrono::duration<double>(now - entered_).count();
    entered_ = now;
    phase_ = phase;
}

record::Metrics PhaseClock::all() const {
    record::Metrics named;
    for (size_t i = 0; i < seconds_.size(); ++i) named[to_string(Phase(i))] = seconds_[i];
    return named;
}

double PhaseClock::total() const { return std::accumulate(seconds_.begin(), seconds_.end(), 0.0); }

} // namespace stillroom::train
