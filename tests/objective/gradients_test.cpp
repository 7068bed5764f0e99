// SPDX-License-Identifier: GPL-3.0-or-later
// Gradients of rows: they sum to zero (T2), are the differences of the values (T3), agree at ratio one (T22).
#include "tests/objective/examples.h"

#include <cmath>
#include <gtest/gtest.h>

namespace stillroom::objective {
namespace {

using test::largest;
using test::Objective;
using test::of;
using test::row_scale;
using test::with_clamps;

RowResult evaluate(const Objective& objective, const RowInputs& rows) {
    return evaluate_rows(objective.spec(), rows);
}

TEST(T2, the_gradient_of_a_row_sums_to_zero) {
    for (const auto& [dtype, tolerance] :
         {std::pair(torch::kFloat64, 1e-13), std::pair(torch::kFloat32, 1e-5)}) {
        for (const Objective& objective : with_clamps(test::objectives(), 0.05)) {
            for (const int64_t V : {7, 32, 257}) {
                const auto result =
                    evaluate(objective, test::rows_of(test::logits(8, V, 4, 2, dtype),
                                                      test::logits(8, V, 5, 2, dtype), objective.options));
                const auto sums = result.gradient.sum(-1).abs() / row_scale(result.value);
                EXPECT_LE(largest(sums), tolerance * std::max(1.0, largest(result.gradient)))
                    << objective.label << " V " << V;
            }
        }
    }
}

TEST(T3, gradients_are_the_central_differences_of_the_values) {
    constexpr double h = 1e-5;
    int64_t compared = 0;
    for (const Objective& objective : with_clamps(test::objectives(), 0.05)) {
        // Their factors are constants of the gradient, not of the value: golden vectors hold them (T4).
        if (objective.options.ratio == "truncated" || objective.options.clamp.kind == "trust_region")
            continue;
        for (const auto& [T_S, T_T] : {std::pair(1.0, 1.0), std::pair(1.1, 0.6)}) {
            Objective tempered = objective;
            if (tempered.options.name != "sft")
                tempered.options.student_temperature = T_S, tempered.options.teacher_temperature = T_T;
            const int64_t N = 3, V = 7;
            const auto rows = test::rows_of(test::logits(N, V, 6), test::logits(N, V, 7), tempered.options);
            const auto result = evaluate(tempered, rows);
            for (int64_t v = 0; v < V; ++v) {
                const auto moved = [&](double by) {
                    auto changed = rows;
                    changed.student_logits = rows.student_logits.clone();
                    changed.student_logits.select(1, v).add_(by);
                    return evaluate(tempered, changed);
                };
                const auto up = moved(h), down = moved(-h);
                auto smooth = torch::ones({N}, torch::kBool); // no decision changes within the stencil
                const auto keep = [&](const torch::Tensor& a, const torch::Tensor& b) {
                    if (!a.defined()) return;
                    const auto same = a == b;
                    smooth &= same.dim() > 1 ? same.all(-1) : same;
                };
                keep(up.clipped_entries, down.clipped_entries);
                keep(up.clamped, down.clamped);
                keep(up.clip_active, down.clip_active);
                keep(up.dual_clip_active, down.dual_clip_active);
                const auto difference = (up.value - down.value) / (2 * h);
                const auto error = ((difference - result.gradient.select(1, v)) / row_scale(result.value))
                                       .masked_select(smooth);
                EXPECT_LE(largest(error), 1e-8) << tempered.label << " T_S " << T_S << " entry " << v;
                compared += error.numel();
            }
        }
    }
    EXPECT_GT(compared, 1500);
}

TEST(T22, at_ratio_one_all_ratios_and_the_squared_loss_give_the_same_gradient) {
    const auto student = test::logits(8, 32, 36), teacher = test::logits(8, 32, 37);
    auto rows = test::rows_of(student, teacher, test::named("k1_pg"));
    rows.old_logprob = torch::Tensor();
    const auto squared = evaluate(of("k2_loss", 16), rows);
    for (const char* ratio : {"none", "is", "truncated", "ppo_clip"}) {
        auto objective = of("k1_pg", 16);
        objective.options.ratio = ratio;
        EXPECT_LE(largest(evaluate(objective, rows).gradient - squared.gradient), 1e-13) << ratio;
    }
}

} // namespace
} // namespace stillroom::objective
