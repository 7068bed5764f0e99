// SPDX-License-Identifier: GPL-3.0-or-later
// Every figure of an evaluation (metrics.md 6) as one JSON object, and that object as a table for people.
#pragma once

#include "stats/scores.h"

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

namespace stillroom::cli {

/// An evaluation's samples, and which optional keys all of them had.
struct ScoredSamples {
    std::vector<stats::Question> questions;
    bool has_answers = false, has_format = false, has_truncated = false, has_tokens = false;
};

struct StatisticsOptions {
    std::vector<int64_t> ks; // for pass@k and maj@k; empty: powers of two up to the fewest samples
    uint64_t seed = 42;
    int64_t resamples = 10000;
    std::optional<double> effect; // to plan for, a share
};

/// Figures of one evaluation. Undefined ones are null, those without their input are absent.
nlohmann::json statistics_of(const ScoredSamples& samples, const StatisticsOptions& options);

/// `samples` minus `baseline`: paired over the questions that both have, unpaired where they share none.
nlohmann::json comparison_of(const ScoredSamples& samples, const ScoredSamples& baseline,
                             const StatisticsOptions& options);

/// The same for people.
void print_statistics(std::ostream& out, const nlohmann::json& report);

} // namespace stillroom::cli
