// SPDX-License-Identifier: GPL-3.0-or-later
// The families of objectives, each giving row values and gradients before clamp, weights and temperature
// factor. Internal to objective/.
#pragma once

#include "objective/divergence.h"
#include "objective/rows.h"

namespace stillroom::objective {

/// D and g = dD/dx, x the tempered student logits.
struct Unweighted {
    torch::Tensor value;    // [N]
    torch::Tensor gradient; // [N, V_real]
};

/// evaluate_rows() where the distributions are at hand; `teacher` may be empty where the objective does not
/// read it.
RowResult evaluate_rows(const Spec& spec, const Distribution& student, const Distribution& teacher,
                        const RowInputs& inputs);

/// Section 3, with the per_entry clamp (which acts inside the sum) applied where the spec has it.
Unweighted exact_rows(const Spec& spec, const Distribution& student, const Distribution& teacher,
                      RowResult& result, Unweighted* unclamped);
/// Section 4.
Unweighted topk_rows(const Spec& spec, const Distribution& student, const TopK& teacher, RowResult& result);
/// Sections 5 and 10.
Unweighted sampled_rows(const Spec& spec, const Distribution& student, const RowInputs& inputs,
                        RowResult& result);

} // namespace stillroom::objective
