// SPDX-License-Identifier: GPL-3.0-or-later
// The head pass: logits of both models, loss, gradient and statistics, by chunks of rows, so that memory does
// not grow with the number of rows (objectives.md section 8).
#pragma once

#include "objective/spec.h"

#include <torch/torch.h>

namespace stillroom::objective {

/// The rows of one micro-batch. N rows; all tensors on one device.
struct HeadInputs {
    torch::Tensor student_hidden;         // [N, d]
    torch::Tensor student_head;           // [V, d]
    torch::Tensor teacher_hidden;         // [N, d'] ; undefined for sft
    torch::Tensor teacher_head;           // [V', d']
    torch::Tensor base_hidden, base_head; // gopd_pg with lambda != 1; else undefined
    torch::Tensor sampled;                // [N] int64
    torch::Tensor weight; // [N] fp32, w of section 0; a row with 0 gets no gradient and enters no sum
    torch::Tensor
        scale; // [N] fp32, what the reduction of section 7 multiplies w kappa D with (1/N_global, ...)
    torch::Tensor decile;          // [N] int64, 10 t / L, for the by_decile metrics
    torch::Tensor sampler_logprob; // [N] fp32, as drawn; undefined where nothing was sampled
    torch::Tensor
        old_logprob; // [N] fp32, lp_old of section 5; undefined: the current one (first update of a batch)
    torch::Tensor old_topk_ids,
        old_topk_logprob;   // [N, K], topk_token_pg after the first update; else undefined
    int64_t real_vocab = 0; // V_real of both
};

/// Per row, on the CPU; what the rollout records keep. NaN where not computed.
struct RowRecord {
    torch::Tensor loss;                             // [N] D after clamp, times kappa
    torch::Tensor student_logprob, teacher_logprob; // [N] of the sampled token, at T_S and T_T
    torch::Tensor student_entropy, teacher_entropy; // [N]
    torch::Tensor kl_reverse, kl_forward;           // [N] exact
    torch::Tensor clipped;                          // [N] nats removed by the clamp
    torch::Tensor overlap;                          // [N] uint8, |S16 and T16|
    torch::Tensor clamped;                          // [N] bool
    // Top-16 of both, best first, [N, 16]; tails [N]: log of the mass outside the own 16.
    torch::Tensor student_ids, teacher_ids;
    torch::Tensor student_ids_student, student_ids_teacher, teacher_ids_student, teacher_ids_teacher;
    torch::Tensor student_tail, teacher_tail;
    torch::Tensor token_ids,
        token_logprob; // [N, K], topk_token_pg: the tokens it rewards, student's log-probs
};

struct HeadOutputs {
    torch::Tensor d_hidden; // [N, d] fp32, gradient of the loss by student_hidden
    double loss = 0;        // sum of scale w kappa D
    RowRecord rows;
};

/// Adds the head's weight gradient to `d_head` [V, d] fp32 (undefined: the head is not trained), and every
/// sum and count of metrics.md sections 2 and 3 to `sums`. `chunk_rows` rows at a time.
HeadOutputs head_pass(const Spec& spec, const HeadInputs& inputs, torch::Tensor d_head, StepSums& sums,
                      int64_t chunk_rows);

} // namespace stillroom::objective
