// SPDX-License-Identifier: GPL-3.0-or-later
// The statistics of a row taken over tiles of the vocabulary, and how two of them merge (objectives.md
// section 8). Any kernel that does not see a row at once computes these; host code in fp64 here, the form
// against which it is tested.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

namespace stillroom::objective {

/// Of the live entries (logit > -inf) seen so far: m their largest x, s = sum e^(x - m), u = sum (x - m) e^(x
/// - m), d = sum (x - xt) e^(x - m). The default is the identity of merge().
struct RowState {
    double m = -std::numeric_limits<double>::infinity();
    double s = 0, u = 0, d = 0;

    double lse() const;          // log sum e^x
    double mean_logprob() const; // sum p log p; the entropy is its negative
};

/// One tile: x student logits over T_S, xt teacher logits over T_T, of the same length (or xt empty: d stays
/// 0).
RowState tile_state(std::span<const double> x, std::span<const double> xt);

/// Associative and commutative: tiles, warps and devices may be merged in any order.
RowState merge(const RowState& a, const RowState& b);

/// KL(p || q) of p, whose state has d against q, and lse_q = log sum e^xt. The difference form: exactly 0 for
/// equal logits.
double kl_of(const RowState& p, double lse_q);

} // namespace stillroom::objective
