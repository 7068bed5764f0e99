// SPDX-License-Identifier: GPL-3.0-or-later
#include "objective/row_metrics.h"

#include "objective/rows.h"

#include <cmath>

namespace stillroom::objective {

namespace {

torch::Tensor entropy(const Distribution& distribution) {
    const auto live = distribution.logits != -INFINITY;
    return -torch::where(live, distribution.probs * distribution.log_probs,
                         torch::zeros_like(distribution.probs))
                .sum(-1);
}

torch::Tensor chosen(const torch::Tensor& values, const torch::Tensor& ids) {
    return values.gather(-1, ids.unsqueeze(-1)).squeeze(-1);
}

} // namespace

BestOfBoth best_of_both(const Distribution& student, const Distribution& teacher, int64_t k) {
    BestOfBoth both;
    std::tie(both.student_ids_student, both.student_ids) = best(student.log_probs, k);
    std::tie(both.teacher_ids_teacher, both.teacher_ids) = best(teacher.log_probs, k);
    both.student_ids_teacher = teacher.log_probs.gather(-1, both.student_ids);
    both.teacher_ids_student = student.log_probs.gather(-1, both.teacher_ids);
    both.student_tail = student.log_probs.scatter(-1, both.student_ids, -INFINITY).logsumexp(-1);
    both.teacher_tail = teacher.log_probs.scatter(-1, both.teacher_ids, -INFINITY).logsumexp(-1);
    both.overlap = (both.student_ids.unsqueeze(-1) == both.teacher_ids.unsqueeze(-2)).any(-1).sum(-1);
    return both;
}

Columns student_columns(const Distribution& student, const torch::Tensor& sampled) {
    return {{"entropy_student", entropy(student)}, {"student_logprob", chosen(student.log_probs, sampled)}};
}

Columns pair_columns(const Distribution& student, const Distribution& teacher, const torch::Tensor& sampled,
                     const BestOfBoth& best) {
    Columns columns;
    const auto reverse = divergence(Direction::Reverse, 0, student, teacher),
               forward = divergence(Direction::Forward, 0, student, teacher);
    columns["kl_reverse_exact"] = reverse.entries.sum(-1);
    columns["kl_forward_exact"] = forward.entries.sum(-1);
    columns["jsd_half"] = divergence(Direction::Jsd, 0.5, student, teacher).entries.sum(-1);
    columns["entropy_teacher"] = entropy(teacher);
    const auto student_logprob = chosen(student.log_probs, sampled),
               teacher_logprob = chosen(teacher.log_probs, sampled);
    columns["teacher_logprob"] = teacher_logprob;
    const auto k1 = (student_logprob - teacher_logprob).to(torch::kFloat64);
    columns["kl_reverse_k1"] = k1;
    columns["kl_reverse_k3"] = torch::expm1(-k1) + k1;
    columns["gap_abs_mean"] = k1.abs();
    const double k = double(best.student_ids.size(-1));
    columns["overlap_top16"] = best.overlap.to(student_logprob.scalar_type()) / k;
    columns["student_mass_top16"] = best.student_ids_student.exp().sum(-1);
    columns["student_mass_on_teacher_top16"] = best.teacher_ids_student.exp().sum(-1);
    columns["teacher_mass_top16"] = best.teacher_ids_teacher.exp().sum(-1);
    columns["top1_agreement"] =
        (best.student_ids.select(-1, 0) == best.teacher_ids.select(-1, 0)).to(student_logprob.scalar_type());
    const auto places = torch::arange(teacher.log_probs.size(-1), sampled.options()).unsqueeze(0);
    const auto own = teacher_logprob.unsqueeze(-1);
    const auto ahead =
        (teacher.log_probs > own) | ((teacher.log_probs == own) & (places < sampled.unsqueeze(-1)));
    columns["teacher_rank_of_sample"] = ahead.sum(-1).to(student_logprob.scalar_type());
    columns["out_of_support_fraction"] = (teacher_logprob < std::log(1e-4)).to(student_logprob.scalar_type());
    return columns;
}

void add_statistics(Columns& columns, const RowResult& result, const torch::Tensor& unit) {
    const auto put = [&](const char* name, const torch::Tensor& values) {
        if (values.defined()) columns[name] = values;
    };
    put("value", result.value);
    put("removed", result.removed);
    put("unclamped", result.unclamped);
    put("clamped", result.clamped);
    put("negative_token_fraction", result.negative);
    put("clip_entries_per_token", result.clipped_entries);
    put("clip_teacher_mass", result.clipped_teacher_mass);
    if (result.dot.defined()) {
        columns["dot"] = result.dot * unit.square();
        columns["norm2"] = result.norm2 * unit.square();
        columns["clamped_norm2"] = result.clamped_norm2 * unit.square();
    }
    put("kl_head", result.kl_head);
    put("kl_tail", result.kl_tail);
    put("tau_floor_fraction", result.floor_fired);
    if (result.target_sum.defined()) put("target_sum_error", (result.target_sum - 1).abs());
    const auto mean_over_k = [&](const torch::Tensor& values) {
        const auto numbers = values.to(torch::kFloat64);
        return numbers.dim() > 1 ? numbers.mean(-1) : numbers;
    };
    if (result.advantage.defined()) {
        const auto advantage = result.advantage.to(torch::kFloat64);
        columns["advantage_mean"] = mean_over_k(advantage);
        columns["advantage_square"] = mean_over_k(advantage.square());
        columns["pg_ratio_mean"] = mean_over_k(result.ratio);
        columns["pg_ratio_max"] = result.ratio.dim() > 1 ? std::get<0>(result.ratio.max(-1)) : result.ratio;
        columns["pg_clip_fraction"] = mean_over_k(result.clip_active);
        columns["pg_dual_clip_fraction"] = mean_over_k(result.dual_clip_active);
    }
    if (result.reward_clipped.defined())
        columns["pg_reward_clip_fraction"] = mean_over_k(result.reward_clipped);
    columns["defined"] = result.defined;
}

} // namespace stillroom::objective
