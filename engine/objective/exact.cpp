// SPDX-License-Identifier: GPL-3.0-or-later
// Exact divergences over the whole vocabulary, and the per-entry clamp inside them (objectives.md 3 and 6.1).
#include "objective/families.h"

namespace stillroom::objective {

namespace {

Direction direction_of(const Spec& spec) {
    const double beta = spec.options.beta;
    if (spec.kind == Kind::KlForward || (spec.kind == Kind::Jsd && beta == 0)) return Direction::Forward;
    return spec.kind == Kind::Jsd && beta < 1 ? Direction::Jsd : Direction::Reverse;
}

torch::Tensor sum_where(const torch::Tensor& condition, const torch::Tensor& values) {
    return torch::where(condition, values, torch::zeros_like(values)).sum(-1, /*keepdim=*/true);
}

} // namespace

Unweighted exact_rows(const Spec& spec, const Distribution& student, const Distribution& teacher,
                      RowResult& result, Unweighted* unclamped) {
    const Direction direction = direction_of(spec);
    const auto parts = divergence(direction, spec.options.beta, student, teacher);
    const auto &p = student.probs, &q = teacher.probs;
    const Unweighted plain{parts.entries.sum(-1), logit_gradient(parts.slope, parts.total, p)};
    if (spec.clamp != Clamp::PerEntry) return plain;
    *unclamped = plain;
    const auto clipped = parts.entries > spec.options.clamp.c;
    const auto clipped_mass = sum_where(clipped, q);
    result.clipped_entries = clipped.sum(-1).to(plain.value.scalar_type());
    result.clipped_teacher_mass = clipped_mass.squeeze(-1);
    // h of the entries that are left alone, and its sum; what sums to 1 is 1 less its clipped part.
    auto slope = parts.slope.masked_fill(clipped, 0);
    torch::Tensor total;
    switch (direction) {
    case Direction::Reverse: // h = p (l + 1)
        total = slope.sum(-1, true) + (1 - sum_where(clipped, p));
        slope = slope + p.masked_fill(clipped, 0);
        break;
    case Direction::Forward:
        total = clipped_mass - 1;
        break;
    case Direction::Jsd:
        total = slope.sum(-1, true);
        break;
    }
    return {parts.entries.clamp_max(spec.options.clamp.c).sum(-1), logit_gradient(slope, total, p)};
}

} // namespace stillroom::objective
