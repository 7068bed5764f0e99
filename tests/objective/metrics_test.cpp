// SPDX-License-Identifier: GPL-3.0-or-later
// The metrics of a step (metrics.md 2 and 3) against golden rows and against sums made here.
#include "objective/head.h"
#include "objective/json_tensors.h"
#include "objective/row_metrics.h"
#include "stats/percentile.h"
#include "tests/objective/examples.h"

#include <cmath>
#include <gtest/gtest.h>

namespace stillroom::objective {
namespace {

using nlohmann::json;

HeadInputs given_logits(const torch::Tensor& student, const torch::Tensor& teacher,
                        const torch::Tensor& sampled, int64_t real) {
    const int64_t N = student.size(0), V = student.size(1);
    HeadInputs inputs;
    inputs.student_hidden = student;
    inputs.teacher_hidden = teacher;
    inputs.student_head = inputs.teacher_head = torch::eye(V, student.options());
    inputs.sampled = sampled;
    inputs.decile = torch::zeros({N}, torch::kInt64);
    inputs.weight = torch::ones({N}, student.options());
    inputs.scale = torch::full({N}, 1.0 / double(N), student.options());
    inputs.real_vocab = real;
    return inputs;
}

TEST(RowMetrics, are_the_golden_values_of_each_row) {
    const std::map<std::string, std::string> column_of{
        {"entropy_student", "entropy_student"},
        {"entropy_teacher", "entropy_teacher"},
        {"overlap_topk", "overlap_top16"},
        {"student_mass_topk", "student_mass_top16"},
        {"teacher_mass_topk", "teacher_mass_top16"},
        {"student_mass_on_teacher_topk", "student_mass_on_teacher_top16"},
        {"kl_reverse_exact", "kl_reverse_exact"},
        {"kl_forward_exact", "kl_forward_exact"},
        {"jsd_half", "jsd_half"},
        {"k1", "kl_reverse_k1"},
        {"k3", "kl_reverse_k3"},
        {"student_top1_agrees", "top1_agreement"},
        {"teacher_rank_of_y", "teacher_rank_of_sample"}};
    int compared = 0;
    for (const json& golden_case : test::golden_cases("row_metrics")) {
        const int64_t real = golden_case.at("shapes").at("V_real"), k = golden_case.at("params").at("k");
        const auto logits = [&](const char* name) {
            return tensor_of(golden_case.at("inputs").at(name), torch::kFloat64, name);
        };
        const auto sampled = tensor_of(golden_case.at("inputs").at("y"), torch::kInt64, "y");
        const auto student = Distribution::of(logits("student_logits"), real, 1),
                   teacher = Distribution::of(logits("teacher_logits"), real, 1);
        auto columns = pair_columns(student, teacher, sampled, best_of_both(student, teacher, k));
        columns.merge(student_columns(student, sampled));
        StepSums sums;
        head_pass(Spec::of(test::named("kl_reverse")).value(),
                  given_logits(logits("student_logits"), logits("teacher_logits"), sampled, real), {}, sums,
                  3);
        const auto step = sums.metrics(sampled.size(0));
        for (const auto& [name, golden] : golden_case.at("expected").at("per_row").items()) {
            const std::string& column = column_of.at(name);
            const auto values = tensor_of(golden, torch::kFloat64, name);
            EXPECT_LE(test::largest(columns.at(column).to(torch::kFloat64) - values), 1e-12)
                << golden_case.at("name") << " " << name;
            ++compared;
            if (k == 16 && name != "teacher_rank_of_y")
                EXPECT_NEAR(step.at(column), values.mean().item<double>(), 1e-12) << name;
        }
    }
    EXPECT_EQ(compared, 39);
}

TEST(StepMetrics, are_sums_over_the_rows_that_count_divided_once) {
    const int64_t N = 200;
    auto inputs = given_logits(test::logits(N, 40, 1), test::logits(N, 40, 2),
                               std::get<1>(test::logits(N, 40, 3).max(-1)), 40);
    inputs.decile = torch::arange(N) % 7;
    inputs.weight.slice(0, 0, 20).fill_(0);
    inputs.weight.slice(0, 20, 40).fill_(2);
    inputs.scale.fill_(1.0 / 180);
    const auto p = inputs.student_hidden.log_softmax(-1), q = inputs.teacher_hidden.log_softmax(-1);
    const auto y = inputs.sampled.unsqueeze(1);
    const auto lp = p.gather(1, y).squeeze(1), lq = q.gather(1, y).squeeze(1);
    inputs.sampler_logprob = lp + 0.01 * torch::arange(N, torch::kFloat64).remainder(3);
    StepSums sums;
    const auto outputs = head_pass(Spec::of(test::named("kl_reverse")).value(), inputs, {}, sums, 64);
    const auto step = sums.metrics(180);

    const auto live = torch::arange(20, N);
    const auto of_live = [&](const torch::Tensor& rows) { return rows.index_select(0, live); };
    const auto kl = of_live((p.exp() * (p - q)).sum(-1)), entropy = of_live(-(p.exp() * p).sum(-1)),
               k1 = of_live(lp - lq);
    const auto mean = [](const torch::Tensor& rows) { return rows.mean().item<double>(); };
    EXPECT_NEAR(step.at("loss"), (kl * of_live(inputs.weight)).sum().item<double>() / 180, 1e-12);
    EXPECT_EQ(step.at("loss"), outputs.loss);
    EXPECT_NEAR(step.at("kl_reverse_exact"), mean(kl), 1e-12);
    EXPECT_NEAR(step.at("kl_reverse_max"), kl.max().item<double>(), 1e-12);
    EXPECT_NEAR(step.at("kl_reverse_k1"), mean(k1), 1e-12);
    EXPECT_NEAR(step.at("k1_minus_exact"), mean(k1) - mean(kl), 1e-12);
    EXPECT_NEAR(step.at("gap_abs_mean"), mean(k1.abs()), 1e-12);
    EXPECT_NEAR(step.at("entropy_student"), mean(entropy), 1e-12);
    EXPECT_NEAR(step.at("entropy_gap"), mean(entropy) - step.at("entropy_teacher"), 1e-12);
    EXPECT_NEAR(step.at("weight_mean"), mean(of_live(inputs.weight)), 1e-12);
    EXPECT_NEAR(step.at("out_of_support_fraction"), mean((of_live(lq) < std::log(1e-4)).to(torch::kFloat64)),
                1e-12);
    EXPECT_NEAR(step.at("mismatch_logp_max"), 0.02, 1e-12);
    EXPECT_NEAR(step.at("mismatch_logp_mean"), mean(of_live(inputs.sampler_logprob - lp)), 1e-12);
    EXPECT_NEAR(step.at("mismatch_kl"), step.at("mismatch_logp_mean"),
                1e-12); // the sampler's is never smaller here
    const std::vector<double> gaps(k1.data_ptr<double>(), k1.data_ptr<double>() + k1.numel());
    for (const auto& [name, share] :
         {std::pair("gap_p01", 0.01), std::pair("gap_p50", 0.5), std::pair("gap_p99", 0.99)}) {
        EXPECT_NEAR(step.at(name), *stats::percentile(gaps, share), 1e-12) << name;
    }
    const auto decile = of_live(inputs.decile);
    for (int i = 0; i < 10; ++i) {
        const auto suffix = "_by_decile_" + std::to_string(i);
        if (i >= 7) { // no row there
            EXPECT_TRUE(std::isnan(step.at("kl_reverse" + suffix)));
            continue;
        }
        EXPECT_NEAR(step.at("kl_reverse" + suffix), mean(kl.masked_select(decile == i)), 1e-12);
        EXPECT_NEAR(step.at("entropy_student" + suffix), mean(entropy.masked_select(decile == i)), 1e-12);
    }
    for (const char* absent :
         {"kl_head", "tau_floor_fraction", "clip_fraction_token", "pg_ratio_mean", "advantage_mean"}) {
        EXPECT_FALSE(step.contains(absent)) << absent;
    }
}

TEST(StepMetrics, of_a_ratio_objective_describe_ratios_and_advantages) {
    const int64_t N = 50;
    auto options = test::named("k1_pg");
    options.ratio = "ppo_clip";
    options.reward_clip = 1;
    auto inputs = given_logits(test::logits(N, 20, 4), test::logits(N, 20, 5),
                               std::get<1>(test::logits(N, 20, 6).max(-1)), 20);
    const auto y = inputs.sampled.unsqueeze(1);
    const auto lp = inputs.student_hidden.log_softmax(-1).gather(1, y).squeeze(1),
               lq = inputs.teacher_hidden.log_softmax(-1).gather(1, y).squeeze(1);
    inputs.old_logprob = lp - 0.5 * test::logits(N, 1, 7, 1).squeeze(1);
    StepSums sums;
    head_pass(Spec::of(options).value(), inputs, {}, sums, 16);
    const auto step = sums.metrics(N);
    const auto ratio = (lp - inputs.old_logprob).exp(), raw = lq - inputs.old_logprob,
               advantage = raw.clamp(-1, 1);
    EXPECT_NEAR(step.at("pg_ratio_mean"), ratio.mean().item<double>(), 1e-12);
    EXPECT_NEAR(step.at("pg_ratio_max"), ratio.max().item<double>(), 1e-12);
    EXPECT_NEAR(step.at("advantage_mean"), advantage.mean().item<double>(), 1e-12);
    EXPECT_NEAR(step.at("advantage_std"), advantage.std(/*unbiased=*/false).item<double>(), 1e-12);
    EXPECT_NEAR(step.at("pg_reward_clip_fraction"), (raw.abs() > 1).to(torch::kFloat64).mean().item<double>(),
                1e-12);
    const auto active = ((advantage > 0) & (ratio > 1.2)) | ((advantage < 0) & (ratio < 0.8));
    EXPECT_GT(active.sum().item<int64_t>(), 0);
    EXPECT_NEAR(step.at("pg_clip_fraction"), active.to(torch::kFloat64).mean().item<double>(), 1e-12);
}

TEST(StepMetrics, of_the_uniform_tail_split_the_divergence_and_count_the_floor) {
    auto teacher = test::logits(6, 40, 8);
    teacher.select(0, 2).fill_(-80).select(0, 5).fill_(80); // one-hot: nothing left for the tail
    auto inputs = given_logits(test::logits(6, 40, 9), teacher, torch::zeros({6}, torch::kInt64), 40);
    StepSums sums;
    head_pass(Spec::of(test::named("topk_uniform_tail")).value(), inputs, {}, sums, 4);
    const auto step = sums.metrics(6);
    EXPECT_NEAR(step.at("kl_head") + step.at("kl_tail"), step.at("loss"), 1e-12);
    EXPECT_NEAR(step.at("tau_floor_fraction"), 1.0 / 6, 1e-15);
    EXPECT_LT(step.at("target_sum_error"), 1e-12);
}

TEST(StepMetrics, of_no_rows_are_absent) {
    auto inputs =
        given_logits(test::logits(3, 20, 1), test::logits(3, 20, 2), torch::zeros({3}, torch::kInt64), 20);
    inputs.weight.fill_(0);
    StepSums sums;
    const auto outputs = head_pass(Spec::of(test::named("kl_reverse")).value(), inputs, {}, sums, 16);
    EXPECT_EQ(outputs.loss, 0);
    EXPECT_EQ(sums.metrics(0), (std::map<std::string, double>{{"nonfinite_rows", 0}}));
}

} // namespace
} // namespace stillroom::objective
