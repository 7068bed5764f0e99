// SPDX-License-Identifier: GPL-3.0-or-later
// The score of one checkpoint with its errors, and how its variance splits between and within questions
// (metrics.md 6.1 and 6.2). nullopt is "undefined" and is shown as such, never as 0.
#pragma once

#include "stats/estimate.h"
#include "stats/scores.h"

#include <optional>
#include <span>
#include <vector>

namespace stillroom::stats {

/// One-way random-effects analysis of variance of the 0/1 outcomes, question as the factor.
struct VarianceComponents {
    std::optional<double> ms_between;  // sum n_q (m_q - pooled)^2 / (Q - 1)
    std::optional<double> ms_within;   // sum n_q m_q (1 - m_q) / (N - Q); undefined if every n_q is 1
    std::optional<double> n0;          // (N - sum n_q^2 / N) / (Q - 1)
    std::optional<double> between_raw; // (ms_between - ms_within) / n0, may be negative
    std::optional<double> between;     // max(0, between_raw)
    std::optional<double> within;      // ms_within
    std::optional<double> icc;         // between / (between + within)
};

struct Summary {
    int64_t questions = 0; // Q
    int64_t samples = 0;   // N
    std::vector<double> question_means;
    std::optional<double> avg;            // mean of the question means: avg@n
    std::optional<double> pooled;         // right samples / N
    std::optional<double> se_clustered;   // other questions and other samples; the headline error
    std::optional<double> se_pooled;      // the same for the pooled share
    std::optional<double> se_sampling;    // these questions, other samples; needs every n_q >= 2
    std::optional<double> se_naive;       // as if samples were independent, which they are not
    std::optional<double> design_effect;  // (se_clustered / se_naive)^2
    std::optional<Interval> interval_t95; // avg -+ t(0.975; Q - 1) se_clustered
    std::optional<double>
        zero_error_bound; // 3 / Q, in place of an error bar where all samples are right or all wrong
    VarianceComponents variance;
};

/// Every n_q must be at least 1 (counts_of sees to it).
Summary summarise(std::span<const QuestionCounts> questions);

VarianceComponents variance_components(std::span<const QuestionCounts> questions);

} // namespace stillroom::stats
