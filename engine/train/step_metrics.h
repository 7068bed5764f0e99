// SPDX-License-Identifier: GPL-3.0-or-later
// The step's own metrics: over its updates, over its rollouts' tokens, of time and memory.
#pragma once

#include "record/records.h"
#include "rollout/generator.h"
#include "train/batch.h"
#include "train/optimizer.h"
#include "train/phase_clock.h"

#include <optional>
#include <span>

namespace stillroom::train {

class Trainer;

/// Puts the metrics of a step's updates together: means weighted by rows, maxima by maximum, counts by sum.
class StepTotals {
public:
    explicit StepTotals(record::Metrics& metrics) : metrics_(metrics) {}
    /// `update`: nothing where none was tried, for a loss that was not finite or had no row.
    void add(const record::Metrics& update_metrics, const ResponseRows& rows,
             const std::optional<UpdateReport>& update);
    void finish();

private:
    record::Metrics& metrics_;
    std::map<std::string, double> weights_;
    double rows_ = 0;
};

/// An error where target_sum_error is beyond 1e-6: such a target is no distribution (objectives.md 4.1).
Result<void> check_target(const record::Metrics& metrics);
/// Means over a rollout's rows under the metrics' names, for the table of rollouts.
record::Metrics token_means(const record::TokenRecord& tokens);
/// gain_mean, gain_right, gain_wrong over the rows that were also scored without the answer-aware part.
record::Metrics gain_metrics(std::span<const record::RolloutRecord> rollouts);
/// batch_occupancy, kv_occupancy, preemptions, tokens_per_second_rollout.
record::Metrics generation_metrics(const rollout::GenerationReport& generation, const model::Model& student,
                                   double seconds);
/// tokens_per_second_teacher, _learn, _step and time_step. `valid_tokens`: rows of the step's loss.
record::Metrics speed_metrics(std::span<const record::RolloutRecord> rollouts, double valid_tokens,
                              const PhaseClock& clock);
/// mem_peak_* by class and in all, mem_capacity; on a CPU the sizes of the arenas and the process's peak.
record::Metrics memory_metrics(Trainer& trainer);

} // namespace stillroom::train
