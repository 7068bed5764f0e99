// SPDX-License-Identifier: GPL-3.0-or-later
// Two checkpoints on the same questions (metrics.md 6.4): the question variance cancels in the differences,
// so their error is far smaller than that of two separate scores.
#pragma once

#include "stats/estimate.h"
#include "stats/scores.h"

#include <optional>
#include <span>
#include <vector>

namespace stillroom::stats {

/// The exact test of gains against losses, where every question has one sample on either side.
struct McNemar {
    int64_t gained = 0, lost = 0, both_right = 0, both_wrong = 0;
    double p_exact = 1; // two-sided
};

/// Variance of the true question differences, where n is the same for all questions within each side.
struct DifferenceVariance {
    double raw = 0;     // Q se_paired^2 - within_baseline / n_baseline - within_checkpoint / n_checkpoint
    double between = 0; // max(0, raw)
    double within_baseline = 0, within_checkpoint = 0;
    double within() const { return (within_baseline + within_checkpoint) / 2; } // what planning takes
};

struct Paired {
    int64_t questions = 0;
    std::vector<double> question_differences; // d_q = m_q(checkpoint) - m_q(baseline)
    std::optional<double> difference;         // mean of d_q
    std::optional<double> se_paired;
    std::optional<double> se_unpaired; // sqrt(se_1^2 + se_2^2): right only for disjoint questions
    std::optional<Interval> interval_t95;
    std::optional<double> t, p_two_sided;
    std::optional<double> correlation; // of the two sets of question means
    std::optional<double>
        questions_factor; // (Z se / difference)^2: times the questions that this difference needs
    std::optional<double> smallest_resolvable; // Z se_paired: two-sided 5 %, power 80 %
    std::optional<bool> resolved;              // the 95 % interval excludes 0
    int64_t questions_better = 0, questions_worse = 0, questions_same = 0;
    std::optional<McNemar> mcnemar;
    std::optional<DifferenceVariance> difference_variance;
};

/// The same questions in the same order, each with at least one sample on either side; n may differ.
Paired compare(std::span<const QuestionCounts> baseline, std::span<const QuestionCounts> checkpoint);

} // namespace stillroom::stats
