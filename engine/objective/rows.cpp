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
    case Kind::Jsd: return FamilyOf::Exact;
    case Kind::K1Pg:
    case Kind::K2Loss:
    case Kind::TopkTokenPg:
    case Kind::GopdPg:
    case Kind::Sft: return FamilyOf::Sampled;
    default: return FamilyOf::TopK;
    }
}

void check_record(const TopK& record, const Spec& spec, int64_t real_vocab) {
    if (record.temperature != spec.options.teacher_temperature) {
        throw ErrorException({"top-k record made at T_T " + std::to_string(record.temperature) + ", the objective has " +
                              std::to_string(spec.options.teacher_temperature)});
    }
    if (record.ids.size(-1) > real_vocab) throw ErrorException({"top-k record of more entries than the vocabulary has"});
    const auto sorted = std::get<0>(record.ids.sort(-1));
    if ((sorted.narrow(-1, sorted.size(-1) - 1, 1) >= real_vocab).any().item<bool>()) {
        throw ErrorException({"top-k record with an id past the vocabulary of " + std::to_string(real_vocab)});
    }
    if (sorted.size(-1) > 1 && (sorted.slice(-1, 1) == sorted.slice(-1, 0, -1)).any().item<bool>()) {
        throw ErrorException({"top-k record with an id twice in one row"});
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
    if (spec.clamp == Clamp::PerToken) return {value.clamp_max(c), one.masked_fill(over, 0)};
    return {value.clamp_max(c), torch::where(over, c / value, one)};
}

} // namespace

RowResult evaluate_rows(const Spec& spec, const RowInputs& inputs) {
    const torch::NoGradGuard no_grad;
    const auto& options = spec.options;
    const auto tempered = [&](const torch::Tensor& logits, double temperature) {
        const auto real = logits.narrow(-1, 0, inputs.real_vocab);
        return temperature == 1 ? real : real / temperature;
    };
    RowResult result;
    const auto student = Distribution::of(tempered(inputs.student_logits, options.student_temperature));
    Unweighted rows, plain;
    switch (family(spec.kind)) {
    case FamilyOf::Exact:
        rows = exact_rows(spec, student, Distribution::of(tempered(inputs.teacher_logits, options.teacher_temperature)), result, &plain);
        break;
    case FamilyOf::TopK: {
        const TopK record = inputs.teacher ? *inputs.teacher
                                           : top_k_record(tempered(inputs.teacher_logits, options.teacher_temperature).log_softmax(-1),
                                                          options.top_k, options.teacher_temperature);
        check_record(record, spec, inputs.real_vocab);
        rows = topk_rows(spec, student, record, result);
        break;
    }
    case FamilyOf::Sampled: rows = sampled_rows(spec, student, inputs, result); break;
    }

    const double kappa = options.t2_factor ? options.student_temperature * options.student_temperature : 1;
    const bool rescaled = spec.kind == Kind::Jsd && options.rescale && options.beta > 0 && options.beta < 1;
    const double factor = kappa * (rescaled ? 1 / (options.beta * (1 - options.beta)) : 1);
    const auto counts = inputs.weight != 0;
    const auto row_factor = (inputs.scale * inputs.weight * factor / options.student_temperature).unsqueeze(-1);
    const auto zero = torch::zeros({}, rows.gradient.options());
    const auto weighted = [&](const torch::Tensor& gradient) {
        // By selection: what a row without weight holds, NaN too, must not reach a sum.
        return torch::where(counts.unsqueeze(-1) & (student.logits > -INFINITY), gradient * row_factor, zero);
    };
    if (spec.clamp != Clamp::None) {
        if (spec.clamp == Clamp::PerEntry) {
            result.clamped = result.clipped_entries > 0;
        } else {
            plain = rows;
            const auto clamp = row_clamp(spec, rows.value);
            result.clamped = rows.value > options.clamp.c;
            rows = {clamp.value, rows.gradient * clamp.factor.unsqueeze(-1)};
        }
        result.removed = (plain.value - rows.value) * factor;
        result.unclamped = plain.value * factor;
        result.negative = rows.value < -1e-6;
        const auto without = weighted(plain.gradient), with = weighted(rows.gradient);
        result.dot = (without * with).sum(-1);
        result.norm2 = without.square().sum(-1);
        result.clamped_norm2 = with.square().sum(-1);
        result.gradient = with;
    } else {
        result.gradient = weighted(rows.gradient);
    }
    result.value = rows.value * factor;
    result.defined = result.value.isfinite() & result.gradient.isfinite().all(-1);
    return result;
}

} // namespace stillroom::objective
