// SPDX-License-Identifier: GPL-3.0-or-later
// The checks on the loaded models: few short answers of the student, scored as a step scores them. At the
// start of every run four of them are made on its own models (objectives.md section 11). They move nothing:
// their random numbers have counters of their own, no data is consumed, gradients are zero again afterwards.
// Internal to session/.
#pragma once

#include "session/preflight_checks.h"
#include "train/trainer.h"

namespace stillroom::session {

/// Answers drawn for checks alone.
struct Drawn {
    std::vector<train::Sequence> sequences;
    train::ResponseRows rows; // truncated ones count, whatever the recipe does with them
    double seconds = 0;
};
struct Draw {
    int64_t count = 4, max_new = 64;
    double temperature = 1;
    uint64_t seed = 42;
};
using GoOn = std::function<bool()>;

/// `draw.count` answers to the first prompts that can be used (sft: their given solutions, cut to max_new).
/// An error also where `go_on` said false, or no prompt can be used.
Result<Drawn> drawn(train::Trainer& trainer, const Draw& draw, const GoOn& go_on);

/// Their loss and token records under the current weights; gradients in the trainer's arena.
Result<train::Trainer::Evaluated> evaluated(train::Trainer& trainer, const Drawn& batch,
                                            const train::Trainer::Variant& variant = {});

/// log q(y_t), at T_T, of the teacher's row t + `shift`; [B][L], NaN where there is no such row. 0 is how a
/// step pairs rows.
std::vector<std::vector<float>> teacher_logprobs(train::Trainer& trainer, const Drawn& batch, int64_t shift);

/// PF09, T8: the gap of the token records against that of the teacher's neighbouring rows.
Outcome check_alignment(train::Trainer& trainer, const Drawn& batch,
                        const std::vector<record::TokenRecord>& tokens);
/// PF10, T1: with the student as its own teacher nothing is left to learn.
Outcome check_zero(train::Trainer& trainer, const Drawn& batch);
/// PF13, T7: the gradient in one micro-batch, in two, and with each sequence alone.
Outcome check_micro_batches(train::Trainer& trainer, const Drawn& batch);
/// PF14: log-probs as sampled and as trained. The answers were drawn at T_S. `rounded`: the weights are bf16,
/// whose rounding alone (0.026 nats with SmolLM2-135M on an H200) can pass the limit: a warning up to 0.1.
Outcome check_sampler(const Drawn& batch, const std::vector<record::TokenRecord>& tokens, bool rounded);

/// PF09, PF10, PF13 and PF14 on `count` short answers; `each` gets a finding as it is made. Ends early where
/// `go_on` says false.
std::vector<Finding> launch_checks(train::Trainer& trainer, int64_t count, const GoOn& go_on,
                                   const std::function<void(const Finding&)>& each = {});

/// Adds the findings to the run's preflight.json: {"sessions": [{"step", "time", "findings": [...]}, ...]}.
Result<void> keep_findings(const std::filesystem::path& run, int64_t step, std::span<const Finding> findings);

} // namespace stillroom::session
