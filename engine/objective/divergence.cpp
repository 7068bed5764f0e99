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

Distribution Distribution::of(const torch::Tensor& logits, int64_t real, double temperature) {
    const auto kept = logits.narrow(-1, 0, real);
    return of(temperature == 1 ? kept : kept / temperature);
}

Divergence divergence(Direction direction, double beta, const Distribution& student,
                      const Distribution& teacher) {
    if (direction == Direction::Jsd && beta == 0) direction = Direction::Forward;
    if (direction == Direction::Jsd && beta == 1) direction = Direction::Reverse;
    // The difference of logits first: equal logits give exactly 0 (section 8).
    const auto log_ratio = (student.logits - teacher.logits) - (student.lse - teacher.lse);
    const auto zero = torch::zeros({}, log_ratio.options());
    const auto &p = student.probs, &q = teacher.probs;
    // An entry of probability 0 contributes 0 by selection, never as 0 * inf.
    const auto p_live = student.logits != -INFINITY, q_live = teacher.logits > -INFINITY;
    switch (direction) {
    case Direction::Reverse: {
        const auto entries = torch::where(p_live, p * log_ratio, zero);
        return {entries, entries, entries.sum(-1, true)}; // h = p (l + 1) less p
    }
    case Direction::Forward:
        return {torch::where(q_live, -q * log_ratio, zero), -q, -torch::ones_like(student.lse)};
    case Direction::Jsd:
        break;
    }
    // log(mu/p) from -l and the teacher's share; log(mu/q) from l and the student's.
    const auto log_mixture = [](const torch::Tensor& log_other, double share) {
        const auto own = torch::full({}, std::log1p(-share), log_other.options());
        const auto other = torch::full({}, std::log(share), log_other.options());
        // Near l = 0 the second form keeps all digits, and is 0 at 0.
        return torch::where(log_other.abs() < 1, torch::log1p(share * torch::expm1(log_other)),
                            torch::logaddexp(own, other + log_other));
    };
    const auto from_student = torch::where(p_live, -(1 - beta) * p * log_mixture(-log_ratio, beta), zero);
    const auto from_teacher = torch::where(q_live, -beta * q * log_mixture(log_ratio, 1 - beta), zero);
    return {from_student + from_teacher, from_student, from_student.sum(-1, true)};
}

} // namespace stillroom::objective
