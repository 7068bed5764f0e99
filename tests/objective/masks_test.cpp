// SPDX-License-Identifier: GPL-3.0-or-later
// What must not be read, and what has no probability: padding (T11), -inf entries (T12), rows without weight
// (T13).
#include "tests/objective/examples.h"

#include <cmath>
#include <gtest/gtest.h>

namespace stillroom::objective {
namespace {

using test::largest;
using test::Objective;
using test::Which;
using test::with_clamps;

constexpr std::pair<torch::Dtype, double> precisions[] = {{torch::kFloat64, 1e-12}, {torch::kFloat32, 1e-5}};

RowResult evaluate(const Objective& objective, const RowInputs& rows) {
    return evaluate_rows(objective.spec(), rows);
}

TEST(T11, padding_is_not_read) {
    for (const auto& [dtype, unused] : precisions) {
        for (const Objective& objective : with_clamps(test::objectives(), 0.05)) {
            const auto rows = test::rows_of(test::logits(4, 29, 10, 2, dtype),
                                            test::logits(4, 29, 11, 2, dtype), objective.options);
            const auto expected = evaluate(objective, rows);
            for (const double trap : {0.0, 1e30, -1e30, double(NAN), double(INFINITY)}) {
                auto padded = rows;
                padded.student_logits = torch::constant_pad_nd(rows.student_logits, {0, 3}, trap);
                padded.teacher_logits =
                    torch::constant_pad_nd(rows.teacher_logits, {0, 5}, trap); // of another width
                const auto result = evaluate(objective, padded);
                EXPECT_TRUE(result.value.equal(expected.value)) << objective.label << " " << trap;
                EXPECT_TRUE(result.gradient.equal(expected.gradient)) << objective.label << " " << trap;
            }
        }
    }
}

TEST(T12, an_entry_masked_in_both_models_is_as_if_it_did_not_exist) {
    for (const Objective& objective : with_clamps(test::objectives(Which::Exact), 0.05)) {
        const auto student = test::logits(4, 32, 12), teacher = test::logits(4, 32, 13);
        const auto without =
            evaluate(objective, test::rows_of(student.slice(1, 3), teacher.slice(1, 3), objective.options));
        auto masked_student = student.clone(), masked_teacher = teacher.clone();
        masked_student.slice(1, 0, 3).fill_(-INFINITY);
        masked_teacher.slice(1, 0, 3).fill_(-INFINITY);
        const auto result =
            evaluate(objective, test::rows_of(masked_student, masked_teacher, objective.options));
        EXPECT_LE(largest(result.value - without.value), 1e-14) << objective.label;
        EXPECT_LE(largest(result.gradient.slice(1, 3) - without.gradient), 1e-14) << objective.label;
        EXPECT_EQ(largest(result.gradient.slice(1, 0, 3)), 0) << objective.label;
    }
}

TEST(T12, an_infinite_divergence_is_reported_whatever_clamps_it) {
    for (const Objective& objective : with_clamps(test::objectives(Which::Exact), 0.05)) {
        const auto student = test::logits(3, 32, 12);
        auto cut_teacher = test::logits(3, 32, 13), cut_student = student.clone();
        cut_teacher[1][4] = -INFINITY;
        cut_student[1][4] = -INFINITY;
        const auto teacher_cut = evaluate(objective, test::rows_of(student, cut_teacher, objective.options));
        const auto student_cut =
            evaluate(objective, test::rows_of(cut_student, test::logits(3, 32, 13), objective.options));
        const std::string& name = objective.options.name;
        EXPECT_EQ(teacher_cut.defined[1].item<bool>(), name != "kl_reverse") << objective.label;
        EXPECT_EQ(student_cut.defined[1].item<bool>(), name != "kl_forward") << objective.label;
        for (const int row : {0, 2})
            EXPECT_TRUE(teacher_cut.defined[row].item<bool>() && student_cut.defined[row].item<bool>())
                << objective.label;
    }
}

TEST(T13, rows_without_weight_have_no_gradient_even_where_they_hold_nan) {
    for (const auto& [dtype, unused] : precisions) {
        for (const Objective& objective : with_clamps(test::objectives(), 0.05)) {
            auto rows = test::rows_of(test::logits(4, 32, 14, 2, dtype), test::logits(4, 32, 15, 2, dtype),
                                      objective.options);
            rows.weight = torch::tensor({1.0, 0.0, 2.0, 0.0}, dtype);
            const auto clean = evaluate(objective, rows);
            for (torch::Tensor* values :
                 {&rows.student_logits, &rows.teacher_logits, &rows.old_logprob, &rows.teacher_logprob,
                  &rows.base_logprob, &rows.old_topk_logprob, &rows.teacher_topk_logprob}) {
                *values = values->clone();
                values->select(0, 1).fill_(NAN);
                values->select(0, 3).fill_(-INFINITY);
            }
            const auto dirty = evaluate(objective, rows);
            EXPECT_TRUE(dirty.gradient.equal(clean.gradient)) << objective.label;
            EXPECT_EQ(largest(dirty.gradient[1]) + largest(dirty.gradient[3]), 0) << objective.label;
            EXPECT_TRUE(dirty.value[0].equal(clean.value[0]) && dirty.value[2].equal(clean.value[2]))
                << objective.label;
        }
    }
}

} // namespace
} // namespace stillroom::objective
