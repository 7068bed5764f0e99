// SPDX-License-Identifier: GPL-3.0-or-later
// The loss of rows and its gradient by the student's logits, in closed form (objectives.md sections 3 to 6
// and 10). Everything that trains and everything that is tested goes through evaluate_rows().
#pragma once

#include "objective/spec.h"

#include <optional>
#include <torch/torch.h>

namespace stillroom::objective {

/// The teacher at one position: its K most likely tokens, best first, and what is left for all others.
struct TopK {
    torch::Tensor ids;       // [N, K] int64, distinct within a row
    torch::Tensor log_probs; // [N, K], of the full softmax over V_real at `temperature`
    torch::Tensor
        log_tail; // [N], log of the summed probability of all other tokens; undefined: from log_probs
    double temperature = 1; // T_T at which it was made
};

/// The K best of each row of log-probs [N, V]; equal ones by lower id. Returns values and ids [N, K].
std::pair<torch::Tensor, torch::Tensor> best(const torch::Tensor& log_probs, int64_t k);
/// The record of a teacher that is at hand: log-probs [N, V_real] at `temperature`.
TopK top_k_record(const torch::Tensor& log_probs, int64_t k, double temperature);

/// N rows. Floating tensors are fp32 or fp64, all of one type. What an objective does not read may be
/// undefined.
struct RowInputs {
    torch::Tensor student_logits; // [N, V], before temperature
    torch::Tensor
        teacher_logits; // [N, V'], before temperature: sections 3, and 4 where `teacher` is not given
    std::optional<TopK> teacher;   // section 4
    torch::Tensor sampled;         // [N] int64, y: sections 5 and 10
    torch::Tensor old_logprob;     // [N] lp_old; undefined: the current log-prob
    torch::Tensor teacher_logprob; // [N] log q(y)
    torch::Tensor base_logprob;    // [N] log b(y): gopd_pg
    torch::Tensor task_advantage;  // [N], times `task_coefficient` (5.7)
    double task_coefficient = 0;
    torch::Tensor student_topk_ids, old_topk_logprob, teacher_topk_logprob; // [N, K]: topk_token_pg
    torch::Tensor weight;   // [N] w; rows with 0 get no gradient, whatever they hold
    torch::Tensor scale;    // [N] what the reduction multiplies with
    int64_t real_vocab = 0; // V_real; entries past it are not read
};

/// Per row. Statistics that the objective does not have are undefined tensors.
struct RowResult {
    torch::Tensor value;     // [N] D after the clamp, times kappa and the rescaling of jsd
    torch::Tensor gradient;  // [N, V_real] dLoss/dz = scale w kappa g / T_S
    torch::Tensor defined;   // [N] bool: value and gradient are finite
    torch::Tensor removed;   // [N] (D - D') kappa rescale, what the clamp took, nats
    torch::Tensor unclamped; // [N] D kappa rescale
    torch::Tensor clamped;   // [N] bool: an entry, or the row, was clamped
    torch::Tensor negative;  // [N] bool: D' < -1e-6
    torch::Tensor clipped_entries, clipped_teacher_mass; // [N], per_entry
    torch::Tensor dot, norm2,
        clamped_norm2; // [N]: G.G', G.G, G'.G' of the row's dLoss/dz without and with the clamp
    torch::Tensor student_mass, teacher_mass;                         // [N] S and A on the teacher's K
    torch::Tensor kl_head, kl_tail, floor_fired, log_tau, target_sum; // [N] rule E
    torch::Tensor advantage, ratio, clip_active, dual_clip_active, reward_clipped; // [N] or [N, K], section 5
};

RowResult evaluate_rows(const Spec& spec, const RowInputs& inputs);

} // namespace stillroom::objective
