// SPDX-License-Identifier: GPL-3.0-or-later
// The rules that watch a run (ui.md 3.6): after every step each looks at the step's metrics and says whether
// its condition holds. An alarm stays active until its condition has been gone for ten steps.
#pragma once

#include "record/records.h"

#include <deque>
#include <limits>

namespace stillroom::session {

class Alarms {
public:
    /// `real_vocab`: tokens that can be drawn, for the entropy of a uniform teacher.
    explicit Alarms(int64_t real_vocab);

    /// The alarms that changed with this step: new, going on, or past.
    std::vector<record::AlarmRecord> after_step(const record::StepRecord& step);

private:
    struct Watched {
        record::AlarmRecord alarm;
        int64_t quiet_steps = 0;
    };
    struct Finding {
        std::string name, level, evidence;
    };
    std::vector<Finding> findings(const record::StepRecord& step);
    /// Whether a condition has held for the last `steps` steps, this one included.
    bool lasting(const std::string& name, bool holds, int64_t steps);

    double vocabulary_log_;
    double golden_teacher_ =
        std::numeric_limits<double>::quiet_NaN(); // golden_nll_teacher of the step before
    std::map<std::string, Watched> watched_;      // active ones, by name
    std::map<std::string, int64_t> held_;         // steps in a row that a condition has held
    std::map<std::string, double> at_start_;      // means over steps 1 to 5, and their counts
    std::map<std::string, int64_t> counted_;
    std::deque<double> grad_norms_, step_times_; // of the last 50 steps
};

} // namespace stillroom::session
