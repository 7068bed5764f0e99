// SPDX-License-Identifier: GPL-3.0-or-later
#include "objective/head.h"

#include "base/ensure.h"
#include "objective/families.h"
#include "objective/row_metrics.h"
#include "objective/rows.h"
#include "objective/step_sums.h"

#include <algorithm>
#include <cmath>

namespace stillroom::objective {

namespace {

// rows [n, d] times weight^T, fp32 (fp64 for fp64 weights) whatever the weights' type.
torch::Tensor product(const torch::Tensor& left, const torch::Tensor& right) {
    if (left.scalar_type() == torch::kFloat32 || left.scalar_type() == torch::kFloat64)
        return at::mm(left, right);
    if (left.is_cuda()) return at::mm(left, right, torch::kFloat32); // bf16 operands, fp32 sums and result
    return at::mm(left.to(torch::kFloat32), right.to(torch::kFloat32));
}

torch::Tensor rows_of(const torch::Tensor& all, int64_t at, int64_t count) {
    return all.defined() ? all.narrow(0, at, count) : torch::Tensor();
}

// What is known of a chunk's rows beside what the objective computes.
void add_context(Columns& columns, const HeadInputs& inputs, int64_t at, int64_t count) {
    columns["weight"] = inputs.weight.narrow(0, at, count);
    columns["counted"] = columns["weight"] != 0;
    columns["scale"] = inputs.scale.narrow(0, at, count);
    if (inputs.decile.defined()) columns["decile"] = inputs.decile.narrow(0, at, count);
    if (inputs.sampler_logprob.defined()) {
        columns["mismatch"] = inputs.sampler_logprob.narrow(0, at, count).to(torch::kFloat64) -
                              columns.at("student_logprob").to(torch::kFloat64);
    }
}

struct Records {
    std::vector<torch::Tensor> student_ids, teacher_ids, student_ids_student, student_ids_teacher,
        teacher_ids_student, teacher_ids_teacher, student_tail, teacher_tail, overlap, token_ids,
        token_logprob;
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

HeadOutputs head_pass(const Spec& spec, const HeadInputs& inputs, torch::Tensor d_head, StepSums& sums,
                      int64_t chunk_rows) {
    const torch::NoGradGuard no_grad;
    const int64_t N = inputs.student_hidden.size(0), real = inputs.real_vocab;
    ensure(chunk_rows > 0, "chunks of " + std::to_string(chunk_rows) + " rows");
    const auto& options = spec.options;
    const auto head = inputs.student_head.narrow(0, 0, real);
    // The gradient's operand type in the last two products: the weights' own (bf16 on a GPU, section 8).
    const auto operand = head.scalar_type();
    const auto type = operand == torch::kFloat64 ? torch::kFloat64 : torch::kFloat32;
    const auto counts = inputs.weight != 0;
    // The reduction's factor (1/N_global, or the largest of several) is applied to the products, in fp32, so
    // that the gradients of the logits stay near 1. It stays on the device.
    auto unit = torch::ones({}, inputs.scale.options().dtype(type));
    if (N > 0) {
        const auto largest = inputs.scale.max().to(type);
        unit = torch::where(largest > 0, largest, unit);
        const auto stray = counts & ((inputs.sampled < 0) | (inputs.sampled >= real));
        ensure(!stray.any().item<bool>(), "a sampled id outside the vocabulary of " + std::to_string(real));
    }
    HeadOutputs outputs;
    std::vector<torch::Tensor> d_hidden;
    std::map<std::string, std::vector<torch::Tensor>> columns; // by chunk, [n] fp64 each, on the device
    Records records;
    for (int64_t at = 0; at < N; at += chunk_rows) {
        const int64_t n = std::min(chunk_rows, N - at);
        const auto hidden = inputs.student_hidden.narrow(0, at, n);
        RowInputs rows;
        rows.real_vocab = real;
        rows.student_logits = product(hidden, head.t());
        rows.sampled = inputs.sampled.narrow(0, at, n);
        rows.weight = inputs.weight.narrow(0, at, n).to(type);
        rows.scale = inputs.scale.narrow(0, at, n).to(type) / unit;
        rows.old_logprob = rows_of(inputs.old_logprob, at, n);
        const auto student = Distribution::of(rows.student_logits, real, options.student_temperature);
        Distribution teacher;
        Columns chunk = student_columns(student, rows.sampled);
        if (inputs.teacher_hidden.defined()) {
            rows.teacher_logits =
                product(inputs.teacher_hidden.narrow(0, at, n), inputs.teacher_head.narrow(0, 0, real).t());
            teacher = Distribution::of(rows.teacher_logits, real, options.teacher_temperature);
            const auto best = best_of_both(student, teacher, std::min<int64_t>(16, real));
            chunk.merge(pair_columns(student, teacher, rows.sampled, best));
            if (best.student_ids.size(-1) == 16) records.add(best);
            rows.teacher_logprob = chunk.at("teacher_logprob");
            if (spec.kind == Kind::TopkTokenPg) {
                const bool first = !inputs.old_topk_ids.defined();
                rows.student_topk_ids =
                    first ? std::get<1>(objective::best(student.log_probs, std::min(options.top_k, real)))
                          : inputs.old_topk_ids.narrow(0, at, n);
                rows.old_topk_logprob = first ? student.log_probs.gather(-1, rows.student_topk_ids)
                                              : inputs.old_topk_logprob.narrow(0, at, n);
                rows.teacher_topk_logprob = teacher.log_probs.gather(-1, rows.student_topk_ids);
                records.token_ids.push_back(rows.student_topk_ids);
                records.token_logprob.push_back(student.log_probs.gather(-1, rows.student_topk_ids));
            }
        }
        if (inputs.base_hidden.defined()) {
            const auto base = Distribution::of(
                product(inputs.base_hidden.narrow(0, at, n), inputs.base_head.narrow(0, 0, real).t()), real,
                options.teacher_temperature);
            rows.base_logprob = base.log_probs.gather(-1, rows.sampled.unsqueeze(-1)).squeeze(-1);
        }
        const auto result = evaluate_rows(spec, student, teacher, rows);
        add_statistics(chunk, result, unit);
        add_context(chunk, inputs, at, n);
        for (const auto& [name, values] : chunk) columns[name].push_back(values.to(torch::kFloat64));

        const auto gradient = result.gradient.to(operand);
        d_hidden.push_back(product(gradient, head).mul_(unit));
        if (d_head.defined()) {
            // Hidden states of rows without weight may hold anything, and 0 times NaN is NaN.
            const auto reached = torch::where(counts.narrow(0, at, n).unsqueeze(-1), hidden,
                                              torch::zeros({}, hidden.options()));
            d_head.narrow(0, 0, real).add_(product(gradient.t(), reached).mul_(unit));
        }
    }
    outputs.d_hidden = N > 0 ? torch::cat(d_hidden) : torch::zeros_like(inputs.student_hidden, type);

    const RowTable table = RowTable::of(columns);
    outputs.loss = sums.state().add(table, spec, real);
    const auto column = [&](const char* name) {
        return table.has(name) ? table.column(name).to(torch::kFloat32) : torch::Tensor();
    };
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
    record.token_ids = joined(records.token_ids);
    record.token_logprob = joined(records.token_logprob);
    return outputs;
}

} // namespace stillroom::objective
