// SPDX-License-Identifier: GPL-3.0-or-later
// Shares over samples (not over question means) and lengths of an evaluation (metrics.md 6.1).
#pragma once

#include "stats/scores.h"

#include <optional>
#include <span>

namespace stillroom::stats {

struct Lengths {
    std::optional<double> mean, p50, p95, max; // tokens
    std::optional<double> mean_right, mean_wrong;
};

struct Rates {
    int64_t samples = 0;
    std::optional<double> format_rate;        // with an answer in the asked form
    std::optional<double> truncated_fraction; // ended by the length limit
    std::optional<double> undecided_fraction;
    std::optional<double> correct_fraction;
    std::optional<double> correct_given_answer;   // undefined if no sample has an answer
    std::optional<double> correct_given_finished; // undefined if all are truncated
    int64_t questions_with_truncation = 0;
    Lengths lengths; // over the samples whose length is known
};

/// Undecided counts as not correct, as in the headline.
Rates rates_of(std::span<const Question> questions);

} // namespace stillroom::stats
