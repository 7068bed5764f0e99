// SPDX-License-Identifier: GPL-3.0-or-later
// How objectives relate to one another, to their temperature and to fp32 at a real vocabulary (T14 to T20).
#include "tests/objective/examples.h"

#include <cmath>
#include <gtest/gtest.h>

namespace stillroom::objective {
namespace {

using test::largest;
using test::Objective;
using test::of;
using test::row_scale;
using test::Which;
using test::with_clamps;

constexpr std::pair<torch::Dtype, double> precisions[] = {{torch::kFloat64, 1e-12}, {torch::kFloat32, 1e-5}};

RowResult evaluate(const Objective& objective, const RowInputs& rows) {
    return evaluate_rows(objective.spec(), rows);
}

TEST(T14, records_of_the_whole_vocabulary_are_the_exact_divergence_and_one_token_says_nothing) {
    const auto student = test::logits(5, 32, 16), teacher = test::logits(5, 32, 17);
    const auto rows = test::rows_of(student, teacher, test::named("kl_reverse"));
    const auto exact = evaluate(of("kl_reverse", 16), rows);
    for (const Objective& objective : {of("topk_uniform_tail", 32), of("topk_tail_bucket", 32),
                                       of("topk_uniform_tail", 31), of("topk_tail_bucket", 31)}) {
        const auto result = evaluate(objective, rows);
        EXPECT_LE(largest(result.value - exact.value), 1e-12) << objective.label << objective.options.top_k;
        EXPECT_LE(largest(result.gradient - exact.gradient), 1e-12)
            << objective.label << objective.options.top_k;
    }
    const auto one = evaluate(of("topk_renorm", 1), rows);
    EXPECT_EQ(largest(one.value) + largest(one.gradient), 0);
}

TEST(T15, a_teacher_that_is_nearly_certain_fires_the_floor_and_keeps_the_sum) {
    for (const auto& [dtype, tolerance] : precisions) {
        auto teacher = test::logits(4, 257, 18, 1, torch::kFloat64);
        for (int row = 0; row < 4; ++row)
            teacher[row][row * 50] = 10.0 + 20 * row; // mass left: 1e-2, 1e-11, 1e-19, 1e-28
        const auto student = test::logits(4, 257, 19, 1, dtype);
        const auto objective = of("topk_uniform_tail", 16);
        const auto result = evaluate(objective, test::rows_of(student, teacher.to(dtype), objective.options));
        EXPECT_TRUE(result.floor_fired.equal(torch::tensor({false, true, true, true})));
        EXPECT_LE(largest(result.target_sum - 1), 1e-12);
        EXPECT_TRUE(result.defined.all().item<bool>());
        EXPECT_LE(largest(result.value - result.kl_head - result.kl_tail), tolerance * 30);
        // The tail costs -log tau_min a unit of mass at most.
        EXPECT_LE(result.kl_tail.max().item<double>(), -std::log(1e-10));
    }
}

TEST(T15, the_tail_from_the_kept_mass_agrees_with_the_recorded_one) {
    const auto student = test::logits(6, 32, 20), teacher = test::logits(6, 32, 21);
    const auto objective = of("topk_uniform_tail", 8);
    auto rows = test::rows_of(student, teacher, objective.options);
    const auto recorded = evaluate(objective, rows);
    rows.teacher = top_k_record(teacher.log_softmax(-1), 8, 1);
    rows.teacher->log_tail = torch::Tensor();
    const auto derived = evaluate(objective, rows);
    EXPECT_LE(largest(derived.value - recorded.value), 1e-12);
    EXPECT_LE(largest(derived.gradient - recorded.gradient), 1e-12);
}

TEST(T16, rules_bound_one_another) {
    const auto student = test::logits(8, 32, 22), teacher = test::logits(8, 32, 23);
    const auto rows = test::rows_of(student, teacher, test::named("kl_reverse"));
    const auto log_p = student.log_softmax(-1);
    for (const int64_t K : {1, 4, 8, 20}) {
        const auto record = top_k_record(teacher.log_softmax(-1), K, 1);
        const auto E = evaluate(of("topk_uniform_tail", K), rows).value,
                   D = evaluate(of("topk_tail_bucket", K), rows).value;
        const auto tail = log_p.scatter(1, record.ids, -INFINITY);
        const auto mass = tail.exp().sum(-1), conditional = tail.log_softmax(-1);
        const auto entropy = -torch::where(conditional > -INFINITY, conditional.exp() * conditional,
                                           torch::zeros_like(conditional))
                                  .sum(-1);
        EXPECT_LE(largest(E - D - mass * (std::log(double(32 - K)) - entropy)), 1e-12) << K;
        EXPECT_GE((E - D).min().item<double>(), -1e-12);
        EXPECT_GE(D.min().item<double>(), -1e-12);
        for (const char* direction : {"reverse", "forward", "jsd"}) {
            const std::string exact =
                direction == std::string("jsd") ? "jsd" : std::string("kl_") + direction;
            const auto coarse = evaluate(of("topk_tail_bucket", K, direction), rows).value;
            EXPECT_GE((evaluate(of(exact, K), rows).value - coarse).min().item<double>(), -1e-12)
                << direction;
            EXPECT_GE(coarse.min().item<double>(), -1e-12) << direction;
        }
        EXPECT_GE(evaluate(of("topk_renorm", K), rows).value.min().item<double>(), -1e-12);
    }
    // The teacher's own distribution pays R (log M - H_tail) under rule E.
    const auto record = top_k_record(teacher.log_softmax(-1), 8, 1);
    const auto own =
        evaluate(of("topk_uniform_tail", 8), test::rows_of(teacher, teacher, test::named("kl_reverse")))
            .value;
    const auto tail = teacher.scatter(1, record.ids, -INFINITY).log_softmax(-1);
    const auto entropy = -torch::where(tail > -INFINITY, tail.exp() * tail, torch::zeros_like(tail)).sum(-1);
    EXPECT_LE(largest(own - record.log_tail.exp() * (std::log(24.0) - entropy)), 1e-12);
}

TEST(T16, clamped_divergences_stay_above_their_bounds) {
    for (const double c : {1e-6, 0.01, 0.05}) {
        for (const Objective& objective : with_clamps(test::objectives(Which::Exact), c)) {
            if (objective.options.rescale) continue;
            const auto value =
                evaluate(objective, test::rows_of(test::logits(50, 32, 24, 4), test::logits(50, 32, 25, 4),
                                                  objective.options))
                    .value;
            const bool may_be_negative =
                objective.options.clamp.kind == "per_entry" && objective.options.name != "jsd";
            EXPECT_GE(value.min().item<double>(), may_be_negative ? -std::exp(-1.0) : -1e-12)
                << objective.label << " " << c;
            if (objective.options.name != "jsd") continue;
            const double beta = objective.options.beta,
                         bound = -beta * std::log(beta) - (1 - beta) * std::log1p(-beta);
            EXPECT_LE(value.max().item<double>(), bound + 1e-12) << objective.label;
        }
    }
}

TEST(T17, temperature_divides_the_logits_and_the_gradient_and_nothing_else_unless_asked) {
    const auto student = test::logits(4, 32, 26), teacher = test::logits(4, 32, 27);
    std::vector<Objective> all = test::objectives(Which::Exact);
    for (const Objective& objective : test::objectives(Which::TopK)) all.push_back(objective);
    for (const Objective& plain : all) {
        const double T = 1.7;
        const auto divided = evaluate(plain, test::rows_of(student / T, teacher / T, plain.options));
        Objective tempered = plain;
        tempered.options.student_temperature = tempered.options.teacher_temperature = T;
        const auto rows = test::rows_of(student, teacher, tempered.options);
        const auto result = evaluate(tempered, rows);
        EXPECT_LE(largest(result.value - divided.value), 1e-12) << plain.label;
        EXPECT_LE(largest(result.gradient - divided.gradient / T), 1e-12) << plain.label;
        tempered.options.t2_factor = true;
        const auto squared = evaluate(tempered, rows);
        EXPECT_LE(largest(squared.value - T * T * divided.value), 1e-12 * T * T) << plain.label;
        EXPECT_LE(largest(squared.gradient - T * divided.gradient), 1e-12 * T * T) << plain.label;
    }
}

TEST(T18, the_rescaled_jsd_tends_to_both_divergences) {
    const auto student = test::logits(8, 32, 28, 1).clamp(-1.5, 1.5),
               teacher = test::logits(8, 32, 29, 1).clamp(-1.5, 1.5);
    const auto rows = test::rows_of(student, teacher, test::named("jsd"));
    ASSERT_LE(largest(student.log_softmax(-1) - teacher.log_softmax(-1)), 4);
    const auto rescaled = [&](double beta) {
        auto objective = of("jsd", 16);
        objective.options.beta = beta;
        objective.options.rescale = true;
        return evaluate(objective, rows);
    };
    for (const auto& [near, end, name] :
         {std::tuple(1e-4, 0.0, "kl_forward"), std::tuple(1 - 1e-4, 1.0, "kl_reverse")}) {
        const auto exact = evaluate(of(name, 16), rows), close = rescaled(near), at = rescaled(end);
        EXPECT_LE(largest((close.value - exact.value) / exact.value), 1e-3) << name;
        EXPECT_LE(largest(close.gradient - exact.gradient), 1e-3 * std::max(1.0, largest(exact.gradient)))
            << name;
        EXPECT_TRUE(at.value.equal(exact.value)) << name; // the end points are switched, and not rescaled
        EXPECT_TRUE(at.gradient.equal(exact.gradient)) << name;
    }
}

TEST(T19, a_clamp_far_above_the_values_changes_nothing) {
    std::vector<Objective> plain = test::objectives(Which::Exact);
    for (const Objective& objective : test::objectives(Which::TopK)) plain.push_back(objective);
    const auto student = test::logits(6, 32, 30), teacher = test::logits(6, 32, 31);
    for (const Objective& objective : plain) {
        const auto rows = test::rows_of(student, teacher, objective.options);
        const auto expected = evaluate(objective, rows);
        for (const Objective& clamped : with_clamps({objective}, 1e6)) {
            if (clamped.options.clamp.kind == "none") continue;
            const auto result = evaluate(clamped, rows);
            EXPECT_LE(largest(result.value - expected.value), 1e-12) << clamped.label;
            EXPECT_LE(largest(result.gradient - expected.gradient), 1e-12) << clamped.label;
            const double cosine =
                result.dot.sum().item<double>() /
                std::sqrt(result.norm2.sum().item<double>() * result.clamped_norm2.sum().item<double>());
            EXPECT_NEAR(cosine, 1, 1e-12) << clamped.label;
            EXPECT_EQ(largest(result.clamped.to(torch::kFloat64)), 0);
        }
    }
}

TEST(T19, the_trust_region_keeps_the_direction_of_every_row_and_the_value_of_the_token_clamp) {
    for (Objective objective : test::objectives(Which::Exact)) {
        if (objective.options.rescale) continue;
        const auto rows =
            test::rows_of(test::logits(20, 32, 32), test::logits(20, 32, 33), objective.options);
        const auto plain = evaluate(objective, rows);
        const double c = plain.value.median().item<double>();
        objective.options.clamp = {"trust_region", c};
        const auto region = evaluate(objective, rows);
        EXPECT_LE(largest(region.dot / (region.norm2 * region.clamped_norm2).sqrt() - 1), 1e-12)
            << objective.label;
        const auto sigma = (c / plain.value).clamp_max(1);
        EXPECT_LE(largest(region.gradient - sigma.unsqueeze(1) * plain.gradient), 1e-12) << objective.label;
        EXPECT_EQ(region.clamped.sum().item<int64_t>(), (plain.value > c).sum().item<int64_t>());
        EXPECT_GT(region.clamped.sum().item<int64_t>(), 0);
        objective.options.clamp.kind = "per_token";
        const auto token = evaluate(objective, rows);
        EXPECT_TRUE(token.value.equal(region.value)) << objective.label;
        EXPECT_EQ(largest(token.gradient.index({token.clamped})), 0);
    }
}

TEST(T20, a_real_vocabulary_keeps_five_digits_in_fp32) {
    const int64_t N = 7, V = 151936, real = 151646;
    auto student = test::logits(N, V, 34, 2.5), teacher = student + test::logits(N, V, 35, 0.7);
    student = student.to(torch::kFloat32), teacher = teacher.to(torch::kFloat32);
    student.slice(1, real).fill_(NAN);
    teacher.slice(1, real).fill_(NAN);
    std::vector<Objective> all = test::objectives(Which::Exact);
    for (const Objective& objective :
         {of("topk_uniform_tail", 16), of("topk_tail_bucket", 16), of("topk_renorm", 16)})
        all.push_back(objective);
    for (const Objective& objective : all) {
        RowInputs single, full;
        single.real_vocab = full.real_vocab = real;
        single.student_logits = student, single.teacher_logits = teacher;
        full.student_logits = student.to(torch::kFloat64), full.teacher_logits = teacher.to(torch::kFloat64);
        single.weight = single.scale = torch::ones({N});
        full.weight = full.scale = torch::ones({N}, torch::kFloat64);
        const auto a = evaluate(objective, single), b = evaluate(objective, full);
        EXPECT_LE(largest((a.value - b.value) / row_scale(b.value)), 1e-5) << objective.label;
        EXPECT_LE(largest((a.gradient - b.gradient) / row_scale(b.value).unsqueeze(1)), 1e-5)
            << objective.label;
    }
}

} // namespace
} // namespace stillroom::objective
