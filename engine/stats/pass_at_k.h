// SPDX-License-Identifier: GPL-3.0-or-later
// pass@k: the chance that at least one of k samples of a question is right.
#pragma once

#include "stats/scores.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace stillroom::stats {

/// A statistic of k samples a question. All undefined unless every question has at least k samples: otherwise
/// different k would average different sets of questions.
struct AtK {
    int64_t k = 0;
    std::optional<double> value; // mean over questions
    std::optional<double> se_clustered;
    std::vector<double> per_question; // empty where undefined
    bool exact = true;                // false: some questions' values come from sampled subsets (maj@k only)
};

/// 1 - C(n - c, k) / C(n, k), the unbiased estimate from n samples of which c are right. 1 <= k <= n.
double pass_at_k(int64_t right, int64_t samples, int64_t k);

/// The same as a reduced fraction "p/q".
std::string pass_at_k_fraction(int64_t right, int64_t samples, int64_t k);

AtK pass_at_k(std::span<const QuestionCounts> questions, int64_t k);

/// 1, 2, 4, ... up to and including the smallest n_q.
std::vector<int64_t> usual_k(std::span<const QuestionCounts> questions);

} // namespace stillroom::stats
