// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/state.h"

#include <array>

namespace stillroom::session {

namespace {

using enum RunState;

struct Transition {
    RunState from;
    std::array<RunState, 8> to;
    size_t count;
};

template <typename... States>
constexpr Transition transition(RunState from, States... to) {
    return {from, {to...}, sizeof...(to)};
}

// A run of another process that died is `interrupted` by evidence, whatever it was doing (record/liveness.h).
constexpr std::array transitions{
    transition(Preparing, Running, Evaluating, Stopping, Failed, Interrupted),
    transition(Running, Pausing, Evaluating, Saving, Stopping, Finished, Failed, Interrupted),
    transition(Pausing, Paused, Running, Evaluating, Saving, Stopping, Failed, Interrupted),
    transition(Paused, Running, Evaluating, Saving, Stopping, Failed, Interrupted),
    transition(Evaluating, Running, Paused, Pausing, Saving, Stopping, Failed, Interrupted),
    transition(Saving, Running, Paused, Pausing, Evaluating, Finished, Stopped, Failed),
    transition(Stopping, Running, Evaluating, Saving, Stopped, Failed, Interrupted),
    transition(Finished, Preparing),
    transition(Stopped, Preparing),
    transition(Failed, Preparing),
    transition(Interrupted, Preparing),
};

} // namespace

bool may_follow(RunState from, RunState to) {
    for (const Transition& row : transitions) {
        if (row.from != from) continue;
        for (size_t i = 0; i < row.count; ++i) {
            if (row.to[i] == to) return true;
        }
    }
    return false;
}

bool is_final(RunState state) {
    return state == Finished || state == Stopped || state == Failed || state == Interrupted;
}

} // namespace stillroom::session
