// SPDX-License-Identifier: GPL-3.0-or-later
#include "objective/divergence.h"

#include <cmath>

namespace stillroom::objective {

Distribution Distribution::of(torch::Tensor logits) {
    Distribution result;
    result.lse = logits.logsumexp(-1, /*keepdim=*/true);
    result.log_probs = logits - result.lse;
    result.probs = result.log_probs.exp();
    result.logits = std::move(logits);
    return result;
}

Divergence divergence(Direction direction, double beta, const Distribution& student, const Distribution& teacher) {
    if (direction == Direction::Jsd && beta == 0) direction = Direction::Forward;
    if (direction == Direction::Jsd && beta == 1) direction = Direction::Reverse;
    // The difference of logits first: equal logits give exactly 0 (section 8).
    const auto log_ratio = (student.logits - teacher.logits) - (student.lse - teacher.lse);
    const auto zero = torch::zeros({}, log_ratio.options());
    const auto &p = student.probs, &q = teacher.probs;
    // An entry of probability 0 contributes 0 by selection, never as 0 * inf.
    const auto p_live = student.logits > -INFINITY, q_live = teacher.logits > -INFINITY;
    switch (direction) {
    case Direction::Reverse: {
        const auto entries = torch::where(p_live, p * log_ratio, zero);
        return {entries, entries, entries.sum(-1, true)}; // h = p (l + 1) less p
    }
    case Direction::Forward: return {torch::where(q_live, -q * log_ratio, zero), -q, -torch::ones_like(student.lse)};
    case Direction::Jsd: break;
    }
    const auto log_beta = torch::full({}, std::log(beta), log_ratio.options());
    const auto log_rest = torch::full({}, std::log1p(-beta), log_ratio.options());
    const auto from_student = torch::where(p_live, -(1 - beta) * p * torch::logaddexp(log_rest, log_beta - log_ratio), zero);
    const auto from_teacher = torch::where(q_live, -beta * q * torch::logaddexp(log_beta, log_rest + log_ratio), zero);
    return {from_student + from_teacher, from_student, from_student.sum(-1, true)};
}

} // namespace stillroom::objective
