// SPDX-License-Identifier: GPL-3.0-or-later
#include "record/records.h"

#include <array>

namespace stillroom::record {

namespace {
constexpr std::array<const char*, 11> names{"preparing",  "running", "pausing",    "paused",
                                            "evaluating", "saving",  "stopping",   "finished",
                                            "stopped",    "failed",  "interrupted"};
}

std::string to_string(RunState state) { return names[size_t(state)]; }

std::optional<RunState> run_state(const std::string& name) {
    for (size_t i = 0; i < names.size(); ++i) {
        if (name == names[i]) return RunState(i);
    }
    return std::nullopt;
}

bool is_live(RunState state) { return state <= RunState::Stopping; }

} // namespace stillroom::record
