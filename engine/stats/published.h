// SPDX-License-Identifier: GPL-3.0-or-later
// What can be recomputed from figures that others published: totals, standard errors, several training runs.
#pragma once

#include "stats/estimate.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace stillroom::stats {

/// A published score: Q questions of n samples each, `right` of Q n, and a standard error rounded to
/// `decimals`.
struct PublishedScore {
    int64_t questions = 0, samples_per_question = 0, right = 0;
    double se = 0;
    int decimals = 5;
};

/// What follows from it, with equal n: identities, no assumption.
struct FromPublished {
    double avg = 0, se_naive = 0;
    std::optional<double> design_effect;
    std::optional<double> within;                  // (avg (1 - avg) - (Q - 1) se^2) n / (n - 1); needs n >= 2
    std::optional<double> between;                 // Q se^2 - within / n
    std::optional<double> largest_possible_se;     // reached when every question is all right or all wrong
    std::optional<double> se_with_endless_samples; // sqrt(between / Q), of a between that is not negative
    std::vector<int64_t> sum_of_squared_counts;    // the integers sum c_q^2 that fit the rounded error
    std::vector<int64_t>
        sum_of_squared_counts_if_q_squared; // those if it had been made with Q^2 for Q (Q - 1)
};
FromPublished from_published(const PublishedScore& score);

/// The difference of two published scores of `samples` each, from totals and errors alone.
struct PublishedDifference {
    double difference = 0, se_unpaired = 0;
    std::optional<double> z;
};
PublishedDifference published_difference(int64_t right_baseline, int64_t right_checkpoint, int64_t samples,
                                         double se_baseline, double se_checkpoint);

/// Several training runs of one recipe: the spread between runs, never pooled with the error over questions.
struct Runs {
    std::vector<double> values;
    std::optional<double> mean, sd, sem; // sd with divisor R - 1, sem = sd / sqrt(R)
    std::optional<Interval> interval_t95;
    std::optional<double> gain, gain_in_sem; // over a reference, where one is given
};
Runs summarise_runs(std::span<const double> values, std::optional<double> reference = std::nullopt);

/// 100 part / whole with `decimals` places, rounded half up without floating point: "54.44". whole > 0, part
/// >= 0.
std::string percent(int64_t part, int64_t whole, int decimals = 2);

} // namespace stillroom::stats
