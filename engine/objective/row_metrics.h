// SPDX-License-Identifier: GPL-3.0-or-later
// The distribution metrics of rows (metrics.md section 2), from the logits of both models. Internal to
// objective/.
#pragma once

#include "objective/divergence.h"
#include "objective/rows.h"

#include <map>
#include <string>
#include <torch/torch.h>

namespace stillroom::objective {

/// A column a quantity, [n] each, by the metric's name; means over rows are the metrics.
using Columns = std::map<std::string, torch::Tensor>;

/// The k best tokens of both models with the log-probs of both.
struct BestOfBoth {
    torch::Tensor student_ids, teacher_ids;                 // [n, k] int64, best first, ties by lower id
    torch::Tensor student_ids_student, student_ids_teacher; // [n, k] log-probs
    torch::Tensor teacher_ids_student, teacher_ids_teacher;
    torch::Tensor student_tail, teacher_tail; // [n] log of the mass outside the own k
    torch::Tensor overlap;                    // [n] shared ids, a count
};
BestOfBoth best_of_both(const Distribution& student, const Distribution& teacher, int64_t k);

/// entropy_student and student_logprob of the sampled token.
Columns student_columns(const Distribution& student, const torch::Tensor& sampled);
/// Everything that needs both: kl_reverse_exact, kl_forward_exact, jsd_half, kl_reverse_k1, kl_reverse_k3,
/// entropy_teacher, overlap_top16, the masses, top1_agreement, teacher_rank_of_sample,
/// out_of_support_fraction.
Columns pair_columns(const Distribution& student, const Distribution& teacher, const torch::Tensor& sampled,
                     const BestOfBoth& best);

/// What the objective itself says of its rows: value, defined, clamp, top-k and ratio statistics. `unit`:
/// what its gradients are still to be multiplied with.
void add_statistics(Columns& columns, const RowResult& result, const torch::Tensor& unit);

} // namespace stillroom::objective
