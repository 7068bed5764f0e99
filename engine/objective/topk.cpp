// SPDX-License-Identifier: GPL-3.0-or-later
// Targets from a teacher's top-k record (objectives.md section 4): rules E, D, C, and A, B, F behind their
// override.
#include "base/ensure.h"
#include "objective/families.h"

#include <cmath>

namespace stillroom::objective {

namespace {

// log(1 - e^x) for x <= 0; -inf at 0.
torch::Tensor log1mexp(const torch::Tensor& x) {
    const auto near = torch::log(-torch::expm1(x)), far = torch::log1p(-torch::exp(x));
    const auto value = torch::where(x > -M_LN2, near, far);
    return torch::where(x >= 0, torch::full_like(x, -INFINITY), value);
}

// The record so that its masses sum to 1, in log space and fp64 (it is small): log a [N, K], log R [N].
struct Normalised {
    torch::Tensor log_kept, log_tail;
};
Normalised normalised(const TopK& teacher, int64_t tail_tokens) {
    const auto log_kept = teacher.log_probs.to(torch::kFloat64);
    const auto log_head = log_kept.logsumexp(-1);
    if (tail_tokens == 0) return {log_kept - log_head.unsqueeze(-1), torch::full_like(log_head, -INFINITY)};
    const auto log_tail =
        teacher.log_tail.defined() ? teacher.log_tail.to(torch::kFloat64) : log1mexp(log_head);
    const auto log_total = torch::logaddexp(log_head, log_tail);
    return {log_kept - log_total.unsqueeze(-1), log_tail - log_total};
}

// sum over entries of p (log p - log q), entries with p = 0 giving 0.
torch::Tensor weighted_ratio(const Distribution& student, const torch::Tensor& log_target) {
    const auto live = student.logits != -INFINITY;
    return torch::where(live, student.probs * (student.log_probs - log_target),
                        torch::zeros_like(student.probs));
}

// Reverse KL to a target over the whole vocabulary, normalised or not: D and p (log p - log q - D).
Unweighted dense_reverse(const Distribution& student, const torch::Tensor& log_target,
                         torch::Tensor* entries) {
    *entries = weighted_ratio(student, log_target);
    const auto value = entries->sum(-1);
    return {value, *entries - student.probs * value.unsqueeze(-1)};
}

// Rule E, 4.1.
Unweighted uniform_tail(const Spec& spec, const Distribution& student, const TopK& teacher,
                        RowResult& result) {
    const int64_t V = student.logits.size(-1), M = V - teacher.ids.size(-1);
    const double tau_min = spec.options.tau_min;
    if (double(M) * tau_min >= 1) {
        throw ErrorException({"tau_min " + std::to_string(tau_min) + " for each of " + std::to_string(M) +
                                  " tail tokens leaves the others nothing",
                              "objective.tau_min"});
    }
    auto [log_kept, log_tail] = normalised(teacher, M);
    auto log_tau = log_tail - std::log(double(std::max<int64_t>(M, 1)));
    const auto floored = (M > 0) & (log_tau < std::log(tau_min));
    if (M > 0) {
        const auto shrunk = log_kept + std::log1p(-double(M) * tau_min) - log_kept.logsumexp(-1, true);
        log_kept = torch::where(floored.unsqueeze(-1), shrunk, log_kept);
        log_tau = torch::where(floored, torch::full_like(log_tau, std::log(tau_min)), log_tau);
    }
    const auto type = student.logits.scalar_type();
    const auto log_target =
        log_tau.to(type).unsqueeze(-1).expand_as(student.logits).scatter(-1, teacher.ids, log_kept.to(type));
    torch::Tensor entries;
    const auto rows = dense_reverse(student, log_target, &entries);
    result.kl_head = entries.gather(-1, teacher.ids).sum(-1);
    result.kl_tail = entries.scatter(-1, teacher.ids, 0).sum(-1);
    result.floor_fired = floored;
    result.log_tau = log_tau;
    result.target_sum =
        log_kept.exp().sum(-1) + (M > 0 ? double(M) * log_tau.exp() : torch::zeros_like(log_tau));
    return rows;
}

Direction direction_of(const Spec& spec) {
    if (spec.options.direction == "forward") return Direction::Forward;
    return spec.options.direction == "jsd" ? Direction::Jsd : Direction::Reverse;
}

// Rule D, 4.2: K + 1 classes.
Unweighted tail_bucket(const Spec& spec, const Distribution& student, const TopK& teacher) {
    const int64_t M = student.logits.size(-1) - teacher.ids.size(-1);
    const auto [log_kept, log_tail] = normalised(teacher, M);
    const auto tail_logits = student.logits.scatter(-1, teacher.ids, -INFINITY);
    const auto student_tail = tail_logits.logsumexp(-1, true);
    const auto classes =
        Distribution::of(torch::cat({student.logits.gather(-1, teacher.ids), student_tail}, -1));
    const auto target =
        Distribution::of(torch::cat({log_kept, log_tail.unsqueeze(-1)}, -1).to(student.logits.scalar_type()));
    const auto parts = divergence(direction_of(spec), spec.options.beta, classes, target);
    const auto class_gradient = logit_gradient(parts.slope, parts.total, classes.probs);
    const auto K = teacher.ids.size(-1);
    // A tail entry's share of the tail class.
    const auto share = torch::where(tail_logits != -INFINITY, (tail_logits - student_tail).exp(),
                                    torch::zeros_like(tail_logits));
    const auto gradient =
        (share * class_gradient.narrow(-1, K, 1)).scatter(-1, teacher.ids, class_gradient.narrow(-1, 0, K));
    return {parts.entries.sum(-1), gradient};
}

// Rule C, 4.3: renormalised over K.
Unweighted renormalised(const Spec& spec, const Distribution& student, const TopK& teacher) {
    const auto kept = Distribution::of(student.logits.gather(-1, teacher.ids));
    const auto parts =
        divergence(direction_of(spec), spec.options.beta, kept, Distribution::of(teacher.log_probs));
    const auto gradient = torch::zeros_like(student.logits)
                              .scatter(-1, teacher.ids, logit_gradient(parts.slope, parts.total, kept.probs));
    return {parts.entries.sum(-1), gradient};
}

} // namespace

std::pair<torch::Tensor, torch::Tensor> best(const torch::Tensor& log_probs, int64_t k) {
    // A stable sort keeps the lower id of equal values first. At a real vocabulary it costs too much, and a
    // selection with its ties put in order is the same but where a tie crosses the k-th place.
    constexpr int64_t sortable = 4096;
    if (log_probs.size(-1) <= sortable) {
        const auto [values, ids] = torch::sort(log_probs, /*stable=*/true, -1, /*descending=*/true);
        return {values.narrow(-1, 0, k), ids.narrow(-1, 0, k)};
    }
    const auto [values, ids] = torch::topk(log_probs, k, -1);
    const auto by_id = std::get<1>(torch::sort(ids, -1));
    const auto [sorted, order] =
        torch::sort(values.gather(-1, by_id), /*stable=*/true, -1, /*descending=*/true);
    return {sorted, ids.gather(-1, by_id).gather(-1, order)};
}

TopK top_k_record(const torch::Tensor& log_probs, int64_t k, double temperature) {
    TopK record;
    std::tie(record.log_probs, record.ids) = best(log_probs, std::min(k, log_probs.size(-1)));
    record.log_tail = log_probs.scatter(-1, record.ids, -INFINITY).logsumexp(-1);
    record.temperature = temperature;
    return record;
}

Unweighted topk_rows(const Spec& spec, const Distribution& student, const TopK& teacher, RowResult& result) {
    const auto kept = student.probs.gather(-1, teacher.ids),
               log_kept = student.log_probs.gather(-1, teacher.ids);
    const auto mass = teacher.log_probs.exp();
    result.student_mass = kept.sum(-1);
    result.teacher_mass = mass.sum(-1);
    const auto A = result.teacher_mass.unsqueeze(-1), S = result.student_mass.unsqueeze(-1);
    const auto live = log_kept != -INFINITY;
    const auto zero = torch::zeros({}, kept.options());
    switch (spec.kind) {
    case Kind::TopkTailBucket:
        return tail_bucket(spec, student, teacher);
    case Kind::TopkRenorm:
        return renormalised(spec, student, teacher);
    case Kind::TopkUnnormForward: // rule A
        return {torch::where(mass > 0, mass * (teacher.log_probs - log_kept), zero).sum(-1),
                (A * student.probs).scatter_add(-1, teacher.ids, -mass)};
    case Kind::TopkUnnormReverse: { // rule B
        const auto entries = torch::where(live, kept * (log_kept - teacher.log_probs), zero);
        const auto value = entries.sum(-1);
        return {value,
                (-student.probs * (value.unsqueeze(-1) + S)).scatter_add(-1, teacher.ids, entries + kept)};
    }
    case Kind::TopkConstTail: { // rule F
        const auto log_target = torch::full_like(student.logits, spec.options.log_floor)
                                    .scatter(-1, teacher.ids, teacher.log_probs);
        torch::Tensor entries;
        return dense_reverse(student, log_target, &entries);
    }
    default:
        return uniform_tail(spec, student, teacher, result);
    }
}

} // namespace stillroom::objective
