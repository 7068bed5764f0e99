// SPDX-License-Identifier: GPL-3.0-or-later
// What the remaining time of an evaluation can resolve, and when a comparison is clear enough to stop.
#pragma once

#include "stats/paired.h"
#include "stats/planning.h"

#include <optional>
#include <span>
#include <string>

namespace stillroom::eval {

/// Looking again and again at a difference finds one by chance, so the bound is set before the start: an
/// evaluation stops early only where p is below this (Haybittle 1971, Peto 1976); at its end the usual 0.05
/// holds, almost unchanged.
constexpr double early_stop_p = 0.001;

/// Whether the difference is clear before the planned end. Not before two rounds: one has no error within
/// questions.
bool is_clear(const stats::Paired& difference, int64_t rounds);

struct Plan {
    int64_t rounds = 0, more_rounds = 0; // answers a question so far; how many more the time allows
    double seconds_a_round = 0;
    std::optional<double> resolves_now;   // smallest difference, two-sided 5 %, power 80 %
    std::optional<double> resolves_then;  // after the rounds that the time allows
    std::optional<double> resolves_never; // the bound that more answers to the same questions cannot pass
};

/// Of a single score; against a baseline, of the paired difference. `most_rounds`: of the protocol.
Plan plan(std::span<const stats::QuestionCounts> questions, const std::optional<stats::Paired>& against,
          int64_t rounds, int64_t most_rounds, double seconds_spent, double seconds_left);

/// "4 of 32 rounds in 2.1 min; resolves 0.081 now, 0.043 after 24 more in the 12 min left; no number of
/// answers to these questions resolves less than 0.035".
std::string to_text(const Plan& plan, int64_t most_rounds, double seconds_spent, double seconds_left);

} // namespace stillroom::eval
