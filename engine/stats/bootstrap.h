// SPDX-License-Identifier: GPL-3.0-or-later
// The bootstrap by question: resamples of whole questions with replacement (metrics.md 6.4), shown beside the
// t interval, which is approximate below a few hundred questions.
#pragma once

#include "stats/estimate.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace stillroom::stats {

struct Bootstrap {
    int64_t resamples = 0; // B
    uint64_t seed = 0;
    double mean = 0;          // of the resamples' means
    std::optional<double> se; // their standard deviation, divisor B - 1
    Interval interval_95;     // their 2.5 and 97.5 percentiles, type 7
};

/// The mean of `values` (one a question) over each list of question indices.
std::vector<double> resample_means(std::span<const double> values,
                                   std::span<const std::vector<int>> resamples);

/// What the means of the resamples say; at least one.
Bootstrap describe_resamples(std::span<const double> means);

/// `resamples` draws of values.size() questions with replacement; the draws belong to `seed`. For a
/// difference give the question differences. nullopt for no values.
std::optional<Bootstrap> bootstrap_by_question(std::span<const double> values, uint64_t seed,
                                               int64_t resamples = 10000);

} // namespace stillroom::stats
