// SPDX-License-Identifier: GPL-3.0-or-later
#include "objective/head.h"

#include "base/ensure.h"
#include "objective/row_metrics.h"
#include "objective/rows.h"
#include "objective/step_sums.h"

#include <algorithm>
#include <cmath>

namespace stillroom::objective {

namespace {

// rows [n, d] times weight^T, fp32 (fp64 for fp64 weights) whatever the weights' type.
torch::Tensor product(const torch::Tensor& left, const torch::Tensor& right) {
    if (left.scalar_type() == torch::kFloat32 || left.scalar_type() == torch::kFloat64) return at::mm(left, right);
    if (left.is_cuda()) return at::mm(left, right, torch::kFloat32); // bf16 operands, fp32 sums and result
    return at::mm(left.to(torch::kFloat32), right.to(torch::kFloat32));
}

torch::Tensor rows_of(const torch::Tensor& all, int64_t at, int64_t count) {
    return all.defined() ? all.narrow(0, at, count) : torch::Tensor();
}

Distribution distribution(const torch::Tensor& logits, int64_t real_vocab, double temperature) {
    const auto real = logits.narrow(-1, 0, real_vocab);
    return Distribution::of(temperature == 1 ? real : real / temperature);
}

// What a chunk says of its rows: columns of figures and what the rollout records keep.
void add_statistics(Columns& columns, const RowResult& result, const HeadInputs& inputs, int64_t at, int64_t count) {
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
    put("dot", result.dot);
    put("norm2", result.norm2);
    put("clamped_norm2", result.clamped_norm2);
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
    if (result.reward_clipped.defined()) columns["pg_reward_clip_fraction"] = mean_over_k(result.reward_clipped);
    columns["defined"] = result.defined;
    columns["weight"] = rows_of(inputs.weight, at, count);
    columns["scale"] = rows_of(inputs.scale, at, count);
    columns["decile"] = rows_of(inputs.decile, at, count);
    if (inputs.sampler_logprob.defined()) {
        columns["mismatch"] = rows_of(inputs.sampler_logprob, at, count) - columns.at("student_logprob").to(torch::kFloat32);
    }
}

struct Records {
    std::vector<torch::Tensor> student_ids, teacher_ids, student_ids_student, student_ids_teacher, teacher_ids_student,
        teacher_ids_teacher, student_tail, teacher_tail, overlap;
    void add(const BestOfBoth& best) {
        student_ids.push_back(best.student_ids.to(torch::kInt32));
        teacher_ids.push_back(best.teacher_ids.to(torch::kInt32));
        student_ids_student.push_back(best.student_ids_student);
        student_ids_teacher.push_back(best.student_ids_teacher);
        teacher_ids_student.push_back(best.teacher_ids_student);
        teacher_ids_teacher.push_back(best.teacher_ids_teacher);
        student_tail.push_back(best.student_tail);
        teacher_tail.push_back(best.teacher_tail);
        overlap.push_back(best.overlap.to(torch::kUInt8));
    }
};

torch::Tensor joined(const std::vector<torch::Tensor>& parts) {
    return parts.empty() ? torch::Tensor() : torch::cat(parts).to(torch::kCPU);
}

} // namespace

HeadOutputs head_pass(const Spec& spec, const HeadInputs& inputs, torch::Tensor d_head, StepSums& sums, int64_t chunk_rows) {
    const torch::NoGradGuard no_grad;
    const int64_t N = inputs.student_hidden.size(0), real = inputs.real_vocab;
    const auto& options = spec.options;
    const auto head = inputs.student_head.narrow(0, 0, real);
    // The gradient's operand type in the last two products: the weights' own (bf16 on a GPU, section 8).
    const auto operand = head.scalar_type();
    HeadOutputs outputs;
    std::vector<torch::Tensor> d_hidden;
    std::map<std::string, std::vector<torch::Tensor>> columns; // [n] each, on the device
    Records records;
    for (int64_t at = 0; at < N; at += chunk_rows) {
        const int64_t n = std::min(chunk_rows, N - at);
        const auto hidden = inputs.student_hidden.narrow(0, at, n);
        RowInputs rows;
        rows.real_vocab = real;
        rows.student_logits = product(hidden, head.t());
        rows.sampled = inputs.sampled.narrow(0, at, n);
        rows.weight = inputs.weight.narrow(0, at, n).to(rows.student_logits.scalar_type());
        rows.scale = inputs.scale.narrow(0, at, n).to(rows.student_logits.scalar_type());
        rows.old_logprob = rows_of(inputs.old_logprob, at, n);
        const auto student = distribution(rows.student_logits, real, options.student_temperature);
        Columns chunk = student_columns(student, rows.sampled);
        if (inputs.teacher_hidden.defined()) {
            rows.teacher_logits = product(inputs.teacher_hidden.narrow(0, at, n), inputs.teacher_head.narrow(0, 0, real).t());
            const auto teacher = distribution(rows.teacher_logits, real, options.teacher_temperature);
            const auto best = best_of_both(student, teacher, std::min<int64_t>(16, real));
            chunk.merge(pair_columns(student, teacher, rows.sampled, best));
            if (best.student_ids.size(-1) == 16) records.add(best);
            rows.teacher_logprob = chunk.at("teacher_logprob");
            if (spec.kind == Kind::TopkTokenPg) {
                const bool first = !inputs.old_topk_ids.defined();
                rows.student_topk_ids = first ? std::get<1>(objective::best(student.log_probs, std::min(options.top_k, real)))
                                              : inputs.old_topk_ids.narrow(0, at, n);
                rows.old_topk_logprob = first ? student.log_probs.gather(-1, rows.student_topk_ids) : inputs.old_topk_logprob.narrow(0, at, n);
                rows.teacher_topk_logprob = first ? teacher.log_probs.gather(-1, rows.student_topk_ids)
                                                  : inputs.old_topk_teacher_logprob.narrow(0, at, n);
            }
        }
        if (inputs.base_hidden.defined()) {
            const auto base = distribution(product(inputs.base_hidden.narrow(0, at, n), inputs.base_head.narrow(0, 0, real).t()), real,
                                           options.teacher_temperature);
            rows.base_logprob = base.log_probs.gather(-1, rows.sampled.unsqueeze(-1)).squeeze(-1);
        }
        const auto result = evaluate_rows(spec, rows);
        add_statistics(chunk, result, inputs, at, n);
        for (const auto& [name, values] : chunk) columns[name].push_back(values.to(torch::kFloat64));

        const auto gradient = result.gradient.to(operand);
        d_hidden.push_back(product(gradient, head));
        if (d_head.defined()) d_head.narrow(0, 0, real).add_(product(gradient.t(), hidden));
    }
    outputs.d_hidden = N > 0 ? torch::cat(d_hidden) : torch::zeros_like(inputs.student_hidden);

    // One transfer to the host: all columns as one matrix.
    RowTable table;
    if (N > 0) {
        std::vector<torch::Tensor> stacked;
        for (const auto& [name, parts] : columns) {
            table.names.push_back(name);
            stacked.push_back(torch::cat(parts));
        }
        table.values = torch::stack(stacked).to(torch::kCPU).contiguous();
    }
    outputs.loss = sums.state().add(table, spec, real);
    const auto column = [&](const char* name) { return table.has(name) ? table.column(name).to(torch::kFloat32) : torch::Tensor(); };
    RowRecord& record = outputs.rows;
    record.loss = column("value");
    record.student_logprob = column("student_logprob");
    record.teacher_logprob = column("teacher_logprob");
    record.student_entropy = column("entropy_student");
    record.teacher_entropy = column("entropy_teacher");
    record.kl_reverse = column("kl_reverse_exact");
    record.kl_forward = column("kl_forward_exact");
    record.clipped = column("removed");
    if (table.has("clamped")) record.clamped = table.column("clamped") != 0;
    record.student_ids = joined(records.student_ids);
    record.teacher_ids = joined(records.teacher_ids);
    record.student_ids_student = joined(records.student_ids_student);
    record.student_ids_teacher = joined(records.student_ids_teacher);
    record.teacher_ids_student = joined(records.teacher_ids_student);
    record.teacher_ids_teacher = joined(records.teacher_ids_teacher);
    record.student_tail = joined(records.student_tail);
    record.teacher_tail = joined(records.teacher_tail);
    record.overlap = joined(records.overlap);
    return outputs;
}

} // namespace stillroom::objective
