// SPDX-License-Identifier: GPL-3.0-or-later
// Where each objective comes to rest: no loss and no gradient there (T1), and descent ends there (T6).
#include "tests/objective/examples.h"

#include <cmath>
#include <gtest/gtest.h>

namespace stillroom::objective {
namespace {

using test::largest;
using test::Objective;
using test::Which;
using test::with_clamps;

RowResult evaluate(const Objective& objective, const RowInputs& rows) {
    return evaluate_rows(objective.spec(), rows);
}

TEST(T1, a_teacher_equal_to_the_student_gives_no_loss_and_no_gradient) {
    for (const Objective& objective : with_clamps(test::objectives(Which::Exact), 0.05)) {
        for (const auto dtype : {torch::kFloat64, torch::kFloat32}) {
            const auto student = test::logits(8, 257, 1, 3, dtype);
            const auto same = evaluate(objective, test::rows_of(student, student.clone(), objective.options));
            EXPECT_EQ(largest(same.value), 0) << objective.label;
            EXPECT_EQ(largest(same.gradient), 0) << objective.label;
        }
        const auto student = test::logits(8, 257, 1, 3), shift = test::logits(8, 1, 2);
        const auto shifted = evaluate(objective, test::rows_of(student, student + shift, objective.options));
        EXPECT_LE(largest(shifted.value), 1e-14) << objective.label;
        EXPECT_LE(largest(shifted.gradient), 1e-14) << objective.label;
    }
}

// A student that is the target itself, where the rule fixes it; the tail of D and the mass off K of C are
// free.
torch::Tensor at_its_target(const Objective& objective, const TopK& record, int64_t V) {
    const auto K = record.ids.size(1);
    auto tail = test::logits(record.ids.size(0), V, 77).scatter(1, record.ids, -INFINITY).log_softmax(-1);
    if (objective.options.name == "topk_uniform_tail") {
        tail = torch::full({record.ids.size(0), V}, -std::log(double(V - K)), torch::kFloat64);
    }
    auto log_tail = record.log_tail.unsqueeze(1), log_kept = record.log_probs;
    if (objective.options.name == "topk_renorm") log_kept = log_kept - 0.7, log_tail = log_tail + 1.3;
    return (tail + log_tail).scatter(1, record.ids, log_kept) + 4.2;
}

TEST(T1, a_student_at_the_target_of_a_record_gives_no_loss_and_no_gradient) {
    for (const Objective& objective : with_clamps(test::objectives(Which::TopK), 0.05)) {
        if (objective.label[0] == 'A' || objective.label[0] == 'B' || objective.label[0] == 'F')
            continue; // not their rest, see T6
        const auto teacher = test::logits(8, 32, 3);
        auto rows = test::rows_of(teacher, teacher, objective.options);
        rows.teacher = top_k_record(teacher.log_softmax(-1), objective.options.top_k, 1);
        rows.student_logits = at_its_target(objective, *rows.teacher, 32);
        const auto result = evaluate(objective, rows);
        EXPECT_LE(largest(result.value), 3e-14) << objective.label;
        EXPECT_LE(largest(result.gradient), 3e-14) << objective.label;
    }
}

// Moves each row's logits against its gradient, in the metric of its probabilities, until it comes to rest.
torch::Tensor descend(const Objective& objective, RowInputs rows, int steps) {
    rows.student_logits = rows.student_logits.clone();
    for (int step = 0; step < steps; ++step) {
        const auto p = rows.student_logits.softmax(-1);
        const auto direction = evaluate(objective, rows).gradient / (p + 1e-12);
        rows.student_logits -= (0.2 * direction).clamp(-0.5, 0.5);
    }
    return rows.student_logits.log_softmax(-1);
}

double kl(const torch::Tensor& log_target, const torch::Tensor& log_p) {
    const auto q = log_target.exp();
    return torch::where(q > 0, q * (log_target - log_p), torch::zeros_like(q)).sum(-1).max().item<double>();
}

TEST(T6, descent_comes_to_rest_where_the_page_says) {
    const int64_t N = 4, V = 12, K = 3;
    const auto teacher = test::logits(N, V, 8, 1.5);
    const auto log_q = teacher.log_softmax(-1);
    const auto record = top_k_record(log_q, K, 1);
    const auto log_A = record.log_probs.logsumexp(1, true);
    std::vector<Objective> all =
        test::objectives(Which::Exact); // section 5 comes to rest in expectation only: T5
    for (const Objective& objective : test::objectives(Which::TopK)) all.push_back(objective);
    for (const Objective& objective : all) {
        auto rows = test::rows_of(test::logits(N, V, 9, 0.3), teacher, objective.options);
        const auto log_p = descend(objective, rows, 300);
        const auto on_kept = log_p.gather(1, record.ids);
        const auto as_classes = [&](const torch::Tensor& all) {
            return torch::cat(
                {all.gather(1, record.ids), all.scatter(1, record.ids, -INFINITY).logsumexp(1, true)}, 1);
        };
        const auto uniform = [&](const torch::Tensor& log_kept, const torch::Tensor& log_each) {
            return log_each.expand({N, V}).scatter(1, record.ids, log_kept);
        };
        double distance = NAN;
        const std::string& name = objective.options.name;
        if (name == "topk_uniform_tail") {
            distance =
                kl(uniform(record.log_probs, record.log_tail.unsqueeze(1) - std::log(double(V - K))), log_p);
            EXPECT_GT(kl(log_q, log_p), 1e-3); // the target, not the teacher
        } else if (name == "topk_tail_bucket") {
            distance = kl(as_classes(log_q), as_classes(log_p));
        } else if (name == "topk_renorm") {
            distance = kl(record.log_probs - log_A, on_kept.log_softmax(-1));
        } else if (name == "topk_unnorm_forward") { // A: a / A on K, nothing elsewhere
            distance = kl(record.log_probs - log_A, on_kept);
            EXPECT_GT(kl(as_classes(log_q), as_classes(log_p)), 1e-2);
        } else if (name == "topk_unnorm_reverse") { // B: a / e on K
            const auto value = evaluate(objective,
                                        [&] {
                                            auto at = rows;
                                            at.student_logits = log_p;
                                            return at;
                                        }())
                                   .value;
            EXPECT_LE(largest(value + log_A.exp().squeeze(1) / std::exp(1)), 1e-8);
            const auto rest = torch::log1p(-(log_A - 1).exp());
            distance = kl(torch::cat({record.log_probs - 1, rest}, 1), as_classes(log_p));
            EXPECT_GT(kl(as_classes(log_q), as_classes(log_p)), 1e-2);
        } else if (name == "topk_const_tail") { // F: q / Z with e^b on each tail token
            const auto log_Z =
                torch::log(log_A.exp() + double(V - K) * std::exp(objective.options.log_floor));
            distance = kl(uniform(record.log_probs - log_Z, objective.options.log_floor - log_Z), log_p);
            EXPECT_GT(kl(as_classes(log_q), as_classes(log_p)), 1e-3);
        } else {
            distance = kl(log_q, log_p);
        }
        EXPECT_LT(distance, 1e-8) << objective.label;
    }
}

} // namespace
} // namespace stillroom::objective
