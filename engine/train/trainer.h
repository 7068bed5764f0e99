// SPDX-License-Identifier: GPL-3.0-or-later
// Everything a run computes with, and the step itself: from prompts to new weights (design.md section 3).
#pragma once

#include "data/dataset.h"
#include "data/order.h"
#include "formats/recipe.h"
#include "kernels/device.h"
#include "model/model.h"
#include "objective/head.h"
#include "objective/spec.h"
#include "record/records.h"
#include "rollout/generator.h"
#include "teacher/prompts.h"
#include "teacher/teacher.h"
#include "train/batch.h"
#include "train/optimizer.h"
#include "train/phase_clock.h"

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace stillroom::train {

/// What one step was: its metrics by name (metrics.md), seconds by phase, and every rollout with its token
/// records.
struct StepReport {
    int64_t step = 0;
    bool applied = false;   // false: skipped (a non-finite number, or no row) or cancelled
    bool cancelled = false; // stopped before its update: nothing has moved
    record::Metrics metrics, phase_seconds;
    std::vector<record::RolloutRecord> rollouts;
    std::vector<std::string> warnings;
};

/// Counters that only grow; saved with every checkpoint.
struct Counters {
    int64_t tokens_trained = 0, sequences_trained = 0, skipped_steps = 0;
};

/// The K tokens that topk_token_pg rewards at each position of a sequence, row-major.
struct RewardedTokens {
    std::vector<int64_t> ids;   // [L K]
    std::vector<float> logprob; // [L K], the student's
};

/// What section 5's ratios compare with where a batch has several updates: the trainer's own log-probs before
/// the first of them, by sequence.
struct OldPolicy {
    std::vector<std::vector<float>> logprob; // [B][L]
    std::vector<RewardedTokens> rewarded;    // [B], for topk_token_pg; else empty
    /// That of sequences begin..begin+count-1.
    OldPolicy part(int64_t begin, int64_t count) const;
};

/// Called within a step with the phase, how far it is (0..1) and its figures in words; false cancels the
/// step.
using StepProgress = std::function<bool(Phase phase, double done, const std::string& text)>;

class Trainer {
public:
    /// Loads data, student, teacher, base. `device` and `dtype` as on the command line; the recipe's dtype
    /// counts where `dtype` is "auto". `say` hears what is being loaded.
    static Result<std::unique_ptr<Trainer>> create(const formats::Recipe& recipe, const std::string& device,
                                                   const std::string& dtype,
                                                   const std::function<void(const std::string&)>& say);

    /// The learning half alone, on models in memory: no data, no prompts. A `separate` teacher needs its
    /// weights. `masters`: the student's parameters before they were rounded to its type, fp32; undefined:
    /// they were not.
    static Result<std::unique_ptr<Trainer>> of_models(const formats::Recipe& recipe, model::Model student,
                                                      std::optional<model::Model> teacher_weights,
                                                      const torch::Tensor& masters = {});

    /// One step: `updates_per_batch` optimizer updates on one batch of rollouts. Steps count from 1.
    Result<StepReport> step(int64_t step, const StepProgress& progress = {});

    const formats::Recipe& recipe() const { return recipe_; }
    model::Model& student() { return student_; }
    model::Arena& gradients() { return gradients_; }
    const teacher::Teacher* teacher() const { return teacher_ ? &*teacher_ : nullptr; }
    const teacher::PromptBuilder& prompts() const { return *builder_; }
    const data::Dataset& dataset() const { return dataset_; }
    rollout::Generator& generator() { return *generator_; }
    rollout::SamplingPolicy sampling_policy() const;
    int64_t real_vocab() const { return real_vocab_; }
    const objective::Spec& spec() const { return spec_; }
    /// What the device can do in the student's type, where that is known.
    const std::optional<kernels::DevicePeaks>& peaks() const { return peaks_; }

    /// The state that a checkpoint holds beside the weights.
    AdamW& optimizer() { return *optimizer_; }
    teacher::Teacher* mutable_teacher() { return teacher_ ? &*teacher_ : nullptr; }
    data::PromptOrder& order() { return *order_; }
    Counters& counters() { return counters_; }

    /// Loss of given sequences under the current weights, with gradients in `gradients` (zeroed first): what
    /// a step computes between sampling and the update. Used by step(), by the checks at a run's start and by
    /// tests. An error: a target whose probabilities do not sum to 1.
    struct Variant {
        bool student_as_teacher = false; // property T1; the student reads its own prompt twice
        int64_t micro_tokens = 0;        // another budget than the recipe's (T7); 0: the recipe's
        const OldPolicy* old = nullptr;  // of the batch's first update, for later ones
    };
    struct Evaluated {
        double loss = 0;
        bool cancelled = false;
        int64_t nonfinite_rows = 0;
        record::Metrics metrics;
        std::vector<record::TokenRecord> tokens;               // by sequence
        std::vector<std::optional<record::Top16Record>> top16; // by sequence
        std::vector<RewardedTokens> rewarded;                  // by sequence, topk_token_pg
    };
    Result<Evaluated> loss_and_gradients(const std::vector<Sequence>& sequences, const ResponseRows& rows,
                                         model::Arena& gradients, int64_t step, PhaseClock& clock,
                                         const StepProgress& progress, const Variant& variant);

    /// Prompts of `count` usable examples from the data's order; dropped ones are counted by reason.
    Result<std::vector<std::shared_ptr<const teacher::PreparedPrompt>>>
    next_prompts(int64_t count, int64_t step, std::map<std::string, int64_t>& dropped);
    /// Rollouts of the student on `prompts`, samples_per_prompt each. Cancelled ones end as such.
    Result<std::vector<Sequence>>
    sample(const std::vector<std::shared_ptr<const teacher::PreparedPrompt>>& prompts, int64_t step,
           rollout::GenerationReport& generation, const StepProgress& progress);

    /// Gives back memory that only generation needs.
    void release_generation() { generator_->release(); }

private:
    Trainer() = default;
    Result<std::vector<Sequence>>
    given_answers(const std::vector<std::shared_ptr<const teacher::PreparedPrompt>>& prompts,
                  int64_t step) const;
    /// mfu_learn, mfu_teacher, mbu_rollout; none where the device's peaks are not known. `passes`: of the
    /// student over the batch.
    record::Metrics efficiency(const std::vector<Sequence>& sequences,
                               std::span<const record::RolloutRecord> rollouts,
                               const rollout::GenerationReport& generation, double passes,
                               const PhaseClock& clock) const;
    Result<OldPolicy> old_policy(const std::vector<Sequence>& sequences, const ResponseRows& rows,
                                 int64_t step, PhaseClock& clock, const StepProgress& progress);

    formats::Recipe recipe_;
    objective::Spec spec_;
    data::Dataset dataset_;
    model::Model student_;
    std::optional<teacher::Teacher> teacher_;
    std::optional<model::Model> base_; // gopd_pg
    std::optional<teacher::PromptBuilder> builder_;
    std::unique_ptr<data::PromptOrder> order_;
    std::unique_ptr<rollout::Generator> generator_;
    std::unique_ptr<AdamW> optimizer_;
    model::Arena gradients_;
    int64_t real_vocab_ = 0;
    std::optional<kernels::DevicePeaks> peaks_;
    Counters counters_;
};

} // namespace stillroom::train
