// SPDX-License-Identifier: GPL-3.0-or-later
#include "objective/rows.h"

#include "base/ensure.h"
#include "objective/families.h"

namespace stillroom::objective {

namespace {

enum class FamilyOf { Exact, TopK, Sampled };
FamilyOf family(Kind kind) {
    switch (kind) {
    case Kind::KlReverse:
    case Kind::KlForward:
    case Kind::Jsd:
        return FamilyOf::Exact;
    case Kind::K1Pg:
    case Kind::K2Loss:
    case Kind::TopkTokenPg:
    case Kind::GopdPg:
    case Kind::Sft:
        return FamilyOf::Sampled;
    default:
        return FamilyOf::TopK;
    }
}

// What a record from elsewhere must satisfy before it is a target (4, "refused"); rows without weight are not
// looked at.
void check_record(const TopK& record, const Spec& spec, const torch::Tensor& counts, int64_t real_vocab) {
    if (record.temperature != spec.options.teacher_temperature) {
        throw ErrorException({"top-k record made at T_T " + std::to_string(record.temperature) +
                              ", the objective has " + std::to_string(spec.options.teacher_temperature)});
    }
    const int64_t K = record.ids.size(-1);
    if (K > real_vocab) {
        throw ErrorException({"top-k record of " + std::to_string(K) + " entries for a vocabulary of " +
                              std::to_string(real_vocab)});
    }
    const auto sorted = std::get<0>(record.ids.index({counts}).sort(-1));
    if (((sorted < 0) | (sorted >= real_vocab)).any().item<bool>()) {
        throw ErrorException(
            {"top-k record with an id outside the vocabulary of " + std::to_string(real_vocab)});
    }
    if ((sorted.slice(-1, 1) == sorted.slice(-1, 0, -1)).any().item<bool>()) {
        throw ErrorException({"top-k record with an id twice in one row"});
    }
    auto log_total = record.log_probs.index({counts}).to(torch::kFloat64).logsumexp(-1);
    if (record.log_tail.defined())
        log_total = torch::logaddexp(log_total, record.log_tail.index({counts}).to(torch::kFloat64));
    else
        log_total = log_total.clamp_min(0); // the tail is what is left of 1
    if ((log_total.abs() >= 1e-3).any().item<bool>()) {
        throw ErrorException({"top-k record whose masses do not sum to 1: log of the sum up to " +
                              std::to_string(log_total.abs().max().item<double>()) +
                              ", expected below 0.001"});
    }
}

// per_token and trust_region, 6.2 and 6.3: what multiplies the gradient, and D'.
struct RowClamp {
    torch::Tensor value, factor;
};
RowClamp row_clamp(const Spec& spec, const torch::Tensor& value) {
    const double c = spec.options.clamp.c;
    const auto over = value > c;
    const auto one = torch::ones_like(value);
    return {value.clamp_max(c),
            spec.clamp == Clamp::PerToken ? one.masked_fill(over, 0) : torch::where(over, c / value, one)};
}

} // namespace

RowResult evaluate_rows(const Spec& spec, const RowInputs& inputs) {
    const auto distribution = [&](const torch::Tensor& logits, double temperature) {
        return logits.defined() ? Distribution::of(logits, inputs.real_vocab, temperature) : Distribution();
    };
    return evaluate_rows(spec, distribution(inputs.student_logits, spec.options.student_temperature),
                         distribution(inputs.teacher_logits, spec.options.teacher_temperature), inputs);
}

RowResult evaluate_rows(const Spec& spec, const Distribution& student, const Distribution& teacher,
                        const RowInputs& inputs) {
    const torch::NoGradGuard no_grad;
    const auto& options = spec.options;
    const auto counts = inputs.weight != 0;
    RowResult result;
    Unweighted rows, plain;
    switch (family(spec.kind)) {
    case FamilyOf::Exact:
        rows = exact_rows(spec, student, teacher, result, &plain);
        break;
    case FamilyOf::TopK:
        if (inputs.teacher) check_record(*inputs.teacher, spec, counts, inputs.real_vocab);
        rows = topk_rows(spec, student,
                         inputs.teacher
                             ? *inputs.teacher
                             : top_k_record(teacher.log_probs, options.top_k, options.teacher_temperature),
                         result);
        break;
    case FamilyOf::Sampled:
        rows = sampled_rows(spec, student, inputs, result);
        break;
    }

    const double kappa = options.t2_factor ? options.student_temperature * options.student_temperature : 1;
    const bool rescaled = spec.kind == Kind::Jsd && options.rescale && options.beta > 0 && options.beta < 1;
    const double factor = kappa * (rescaled ? 1 / (options.beta * (1 - options.beta)) : 1);
    const auto row_factor =
        (inputs.scale * inputs.weight * factor / options.student_temperature).unsqueeze(-1);
    const auto reached = counts.unsqueeze(-1) & (student.logits != -INFINITY);
    const auto zero = torch::zeros({}, rows.gradient.options());
    const auto weighted = [&](const torch::Tensor& gradient) {
        // By selection: what a row without weight holds, NaN too, must not reach a sum.
        return torch::where(reached, gradient * row_factor, zero);
    };
    if (spec.clamp == Clamp::None) {
        result.gradient = weighted(rows.gradient);
    } else {
        if (spec.clamp == Clamp::PerEntry) {
            result.clamped = result.clipped_entries > 0;
        } else {
            plain = rows;
            const auto clamp = row_clamp(spec, rows.value);
            result.clamped = rows.value > options.clamp.c;
            rows = {clamp.value, rows.gradient * clamp.factor.unsqueeze(-1)};
        }
        // An undefined row stays undefined: a clamp must not turn an infinite divergence into c.
        rows.value = torch::where(plain.value.isfinite(), rows.value, plain.value);
        result.removed = (plain.value - rows.value) * factor;
        result.unclamped = plain.value * factor;
        result.negative = rows.value < -1e-6;
        const auto without = weighted(plain.gradient), with = weighted(rows.gradient);
        result.dot = (without * with).sum(-1);
        result.norm2 = without.square().sum(-1);
        result.clamped_norm2 = with.square().sum(-1);
        result.gradient = with;
    }
    result.value = rows.value * factor;
    result.defined = result.value.isfinite() & result.gradient.isfinite().all(-1);
    return result;
}

} // namespace stillroom::objective
