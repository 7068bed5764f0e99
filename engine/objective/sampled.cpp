// SPDX-License-Identifier: GPL-3.0-or-later
// Estimators from the sampled token (objectives.md section 5) and the cross entropy of given answers (section
// 10). Each gradient is eta (e_y - p); the coefficient eta is what differs.
#include "base/ensure.h"
#include "objective/families.h"

#include <cmath>

namespace stillroom::objective {

namespace {

// The loss of an advantage under a probability ratio, and eta (the table of 5.1).
struct RatioLoss {
    torch::Tensor value, eta, clip_active, dual_active;
};
RatioLoss ratio_loss(const Spec& spec, const torch::Tensor& advantage, const torch::Tensor& ratio,
                     const torch::Tensor& logprob) {
    const auto& options = spec.options;
    const auto none = torch::zeros_like(advantage, torch::kBool);
    switch (spec.ratio) {
    case Ratio::None:
        return {-advantage * logprob, -advantage, none, none};
    case Ratio::ImportanceSampling:
        return {-advantage * ratio, -advantage * ratio, none, none};
    case Ratio::Truncated: {
        const auto capped = ratio.clamp_max(options.ratio_cap);
        return {-advantage * capped * logprob, -advantage * capped, ratio > options.ratio_cap, none};
    }
    case Ratio::PpoClip:
        break;
    }
    const auto clipped = ratio.clamp(1 - options.clip_low, 1 + options.clip_high);
    auto value = torch::maximum(-advantage * ratio, -advantage * clipped);
    const auto active = ((advantage > 0) & (ratio > 1 + options.clip_high)) |
                        ((advantage < 0) & (ratio < 1 - options.clip_low));
    auto dual = none;
    if (options.dual_clip > 0) {
        dual = (advantage < 0) & (ratio > options.dual_clip);
        value = torch::where(advantage < 0, torch::minimum(value, -advantage * options.dual_clip), value);
    }
    return {value, (-advantage * ratio).masked_fill(active | dual, 0), active, dual};
}

torch::Tensor clipped_reward(const Spec& spec, const torch::Tensor& advantage, RowResult& result) {
    const double bound = spec.options.reward_clip;
    if (bound <= 0) return advantage;
    result.reward_clipped = advantage.abs() > bound;
    return advantage.clamp(-bound, bound);
}

// eta (e_y - p) for one token a row.
torch::Tensor token_gradient(const torch::Tensor& eta, const torch::Tensor& ids,
                             const Distribution& student) {
    const auto column = eta.unsqueeze(-1);
    return (-column * student.probs).scatter_add(-1, ids.unsqueeze(-1), column);
}

Unweighted topk_token_pg(const Spec& spec, const Distribution& student, const RowInputs& inputs,
                         RowResult& result) {
    const auto& ids = inputs.student_topk_ids;
    const auto logprob = student.log_probs.gather(-1, ids);
    const auto& old = inputs.old_topk_logprob;
    const auto& teacher = inputs.teacher_topk_logprob;
    torch::Tensor omega;
    if (spec.options.token_weights == "student_p")
        omega = old.softmax(-1);
    else if (spec.options.token_weights == "teacher_p")
        omega = teacher.softmax(-1);
    else
        omega = torch::full_like(old, 1.0 / double(ids.size(-1)));
    const auto advantage = clipped_reward(spec, omega * (teacher - old), result);
    const auto ratio = (logprob - old).exp();
    const auto loss = ratio_loss(spec, advantage, ratio, logprob);
    result.advantage = advantage;
    result.ratio = ratio;
    result.clip_active = loss.clip_active;
    result.dual_clip_active = loss.dual_active;
    const auto gradient = (-student.probs * loss.eta.sum(-1, true)).scatter_add(-1, ids, loss.eta);
    return {loss.value.sum(-1), gradient};
}

} // namespace

Unweighted sampled_rows(const Spec& spec, const Distribution& student, const RowInputs& inputs,
                        RowResult& result) {
    if (spec.kind == Kind::TopkTokenPg) return topk_token_pg(spec, student, inputs, result);
    const auto logprob = student.log_probs.gather(-1, inputs.sampled.unsqueeze(-1)).squeeze(-1);
    if (spec.kind == Kind::Sft)
        return {-logprob, token_gradient(-torch::ones_like(logprob), inputs.sampled, student)};
    const auto& teacher = inputs.teacher_logprob;
    if (spec.kind == Kind::K2Loss) {
        const auto k1 = logprob - teacher;
        return {0.5 * k1.square(), token_gradient(k1, inputs.sampled, student)};
    }
    const auto old = inputs.old_logprob.defined() ? inputs.old_logprob : logprob;
    torch::Tensor advantage;
    if (spec.kind == Kind::GopdPg) {
        const double lambda = spec.options.lambda;
        advantage = lambda * teacher - old;
        if (lambda != 1) advantage = advantage + (1 - lambda) * inputs.base_logprob;
    } else {
        advantage = -spec.options.coef * (old - teacher);
    }
    advantage = clipped_reward(spec, advantage, result);
    if (inputs.task_coefficient != 0) advantage = advantage + inputs.task_coefficient * inputs.task_advantage;
    const auto ratio = (logprob - old).exp();
    const auto loss = ratio_loss(spec, advantage, ratio, logprob);
    result.advantage = advantage;
    result.ratio = ratio;
    result.clip_active = loss.clip_active;
    result.dual_clip_active = loss.dual_active;
    return {loss.value, token_gradient(loss.eta, inputs.sampled, student)};
}

} // namespace stillroom::objective
