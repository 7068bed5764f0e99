// SPDX-License-Identifier: GPL-3.0-or-later
// maj@k: the chance that the most frequent answer of k samples is right, over all subsets of k without
// replacement (metrics.md 6.3). Samples without an answer do not vote; ties share the credit; no vote at all
// earns nothing.
#pragma once

#include "stats/pass_at_k.h"
#include "stats/scores.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace stillroom::stats {

/// How the samples of one question voted.
struct Votes {
    int64_t gold = 0;            // votes for the right answer
    std::vector<int64_t> others; // votes for each wrong answer
    int64_t silent = 0;          // samples without an answer
    int64_t samples() const;
};

/// Groups `answers` by equal strings; nullopt answers are silent. Without a gold every answer is wrong.
Votes votes_of(const std::optional<std::string>& gold, std::span<const std::optional<std::string>> answers);

/// Mean credit over all C(n, k) subsets, by counting. 1 <= k <= n <= 1000 (binomials in double).
double majority_credit(const Votes& votes, int64_t k);

/// The same as a reduced fraction "p/q".
std::string majority_credit_fraction(const Votes& votes, int64_t k);

/// The same from `subsets` random subsets, for questions where counting costs too much. The draws belong to
/// (`seed`, `question`, k).
double sampled_majority_credit(const Votes& votes, int64_t k, uint64_t seed, uint64_t question = 0,
                               int64_t subsets = 10000);

/// Over all questions. Counted where that takes under a second or so, else from 10,000 seeded subsets (exact
/// = false).
AtK majority_at_k(std::span<const Votes> questions, int64_t k, uint64_t seed = 42);

} // namespace stillroom::stats
