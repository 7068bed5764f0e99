// SPDX-License-Identifier: GPL-3.0-or-later
// The metrics of finished rollouts (metrics.md section 4, column P).
#pragma once

#include "record/records.h"

#include <cstdint>
#include <span>
#include <vector>

namespace stillroom::train {

/// Largest share of tokens that all occurrences of one n-gram, seen at least twice, cover together; 0 if none
/// repeats.
double repetition(std::span<const int32_t> ids, size_t n = 8);
/// Distinct n-grams / n-grams; NaN for fewer than n tokens.
double distinct_ngrams(std::span<const int32_t> ids, size_t n = 4);

/// response_length_*, truncated_fraction, eos_rate, finish_other_fraction, format_rate, repetition,
/// repetition_rate, distinct_4gram, rollout_accuracy, undecided_fraction, group_all_right, group_all_wrong,
/// duplicate_rollouts, leak_rate, hedge_per_1k, prompt_length_mean, teacher_prompt_length_mean,
/// unique_prompts. Undefined ones are NaN. `sampled`: else the answers were given, and only lengths and
/// prompts are measured. What verdicts decide is absent where no rollout has one: the data has no answers.
record::Metrics rollout_metrics(std::span<const record::RolloutRecord> rollouts, bool sampled);
/// Whether a response with the end of its prompt opens and closes exactly one think part.
bool is_think_balanced(const std::string& prompt_end, const std::string& response);

} // namespace stillroom::train
