// SPDX-License-Identifier: GPL-3.0-or-later
// How a step's figures come together from its updates, its rollouts' tokens and its clock, on numbers that
// are added up by hand.
#include "train/step_metrics.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace stillroom::train {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr float nanf = std::numeric_limits<float>::quiet_NaN();

ResponseRows rows(int64_t count) {
    ResponseRows result;
    result.n_global = count;
    return result;
}

TEST(StepTotals, weigh_means_by_rows_and_keep_maxima_and_counts) {
    record::Metrics metrics;
    StepTotals totals(metrics);
    totals.add({{"kl_reverse_exact", 1.0}, {"kl_reverse_max", 5.0}, {"nonfinite_rows", 0.0}}, rows(30),
               UpdateReport{true, 2.0, 0.5, 1e-3});
    totals.add({{"kl_reverse_exact", 5.0}, {"kl_reverse_max", 4.0}, {"nonfinite_rows", 0.0}}, rows(10),
               UpdateReport{true, 4.0, 0.25, 3e-3});
    totals.finish();
    EXPECT_DOUBLE_EQ(metrics.at("kl_reverse_exact"), 2);
    EXPECT_DOUBLE_EQ(metrics.at("kl_reverse_max"), 5);
    EXPECT_DOUBLE_EQ(metrics.at("valid_tokens"), 40);
    EXPECT_DOUBLE_EQ(metrics.at("grad_norm"), 2.5);
    EXPECT_DOUBLE_EQ(metrics.at("grad_clip_scale"), 0.4375);
    EXPECT_DOUBLE_EQ(metrics.at("update_ratio"), 1.5e-3);
}

TEST(StepTotals, an_update_that_leaves_a_mean_undefined_does_not_weigh) {
    for (const bool undefined_first : {true, false}) {
        record::Metrics metrics;
        StepTotals totals(metrics);
        totals.add({{"clip_grad_cosine", undefined_first ? nan : 0.5}}, rows(30), std::nullopt);
        totals.add({{"clip_grad_cosine", undefined_first ? 0.5 : nan}}, rows(10), std::nullopt);
        totals.finish();
        EXPECT_DOUBLE_EQ(metrics.at("clip_grad_cosine"), 0.5);
    }
    record::Metrics metrics;
    StepTotals totals(metrics);
    totals.add({{"clip_grad_cosine", nan}}, rows(30), std::nullopt);
    totals.finish();
    EXPECT_TRUE(std::isnan(metrics.at("clip_grad_cosine")));
}

TEST(StepTotals, an_update_that_was_not_tried_has_no_norm_and_moved_nothing) {
    record::Metrics metrics;
    StepTotals totals(metrics);
    totals.add({{"nonfinite_rows", 2.0}}, rows(30), std::nullopt);
    totals.finish();
    EXPECT_FALSE(metrics.contains("grad_norm"));
    EXPECT_FALSE(metrics.contains("grad_clip_scale"));
    EXPECT_EQ(metrics.at("update_ratio"), 0);
    EXPECT_EQ(metrics.at("nonfinite_rows"), 2);
}

TEST(StepTotals, a_norm_that_is_not_finite_is_kept_as_it_is) {
    record::Metrics metrics;
    StepTotals totals(metrics);
    totals.add({}, rows(30), UpdateReport{false, std::numeric_limits<double>::infinity(), 1, 0});
    totals.finish();
    EXPECT_TRUE(std::isinf(metrics.at("grad_norm")));
}

TEST(Target, whose_sum_is_off_by_more_than_a_millionth_is_an_error) {
    EXPECT_TRUE(check_target({}));
    EXPECT_TRUE(check_target({{"target_sum_error", 9e-7}}));
    EXPECT_TRUE(check_target({{"target_sum_error", nan}})); // the rows are not finite: the update is skipped
    const auto off = check_target({{"target_sum_error", 2.5e-6}});
    ASSERT_FALSE(off);
    EXPECT_NE(off.error().message().find("2.5e-06"), std::string::npos) << off.error().message();
    EXPECT_NE(off.error().message().find("target_sum_error"), std::string::npos);
}

record::TokenRecord four_tokens() {
    record::TokenRecord tokens;
    tokens.ids = {1, 2, 3, 4};
    tokens.student_logprob = {-1.0f, -2.0f, -3.0f, -4.0f};
    tokens.teacher_logprob = {-1.5f, -1.0f, -3.25f, -8.0f};
    tokens.student_entropy = {1.0f, 2.0f, 3.0f, 100.0f};
    tokens.teacher_entropy = {0.5f, nanf, 1.5f, 100.0f};
    tokens.kl = {0.25f, 0.5f, 0.75f, 100.0f};
    tokens.clipped = {0.0f, 0.0f, 0.3f, 100.0f};
    tokens.overlap = {16, 8, 255, 0};
    tokens.flags = {0, Clamped, 0, EndToken | NoRow}; // the last is no row
    return tokens;
}

TEST(TokenMeans, are_over_rows_whose_figure_was_computed) {
    const auto means = token_means(four_tokens());
    EXPECT_DOUBLE_EQ(means.at("kl_reverse_exact"), 0.5);
    EXPECT_DOUBLE_EQ(means.at("kl_reverse_max"), 0.75);
    EXPECT_DOUBLE_EQ(means.at("entropy_student"), 2);
    EXPECT_DOUBLE_EQ(means.at("entropy_teacher"), 1);
    EXPECT_NEAR(means.at("clip_removed_nats"), 0.1, 1e-8);
    EXPECT_DOUBLE_EQ(means.at("overlap_top16"), 0.75);
    EXPECT_NEAR(means.at("kl_reverse_k1"), (0.5 - 1 + 0.25) / 3, 1e-12);
}

TEST(TokenMeans, of_figures_that_were_not_computed_are_absent) {
    EXPECT_TRUE(token_means({}).empty());
    auto dropped = four_tokens();
    dropped.flags.assign(4, NoRow);
    EXPECT_TRUE(token_means(dropped).empty());
    record::TokenRecord sft;
    sft.ids = {1};
    sft.student_logprob = {-1.0f};
    sft.student_entropy = {2.0f};
    EXPECT_EQ(token_means(sft), (record::Metrics{{"entropy_student", 2.0}}));
}

TEST(Gain, is_the_mean_over_rows_split_by_verdict) {
    std::vector<record::RolloutRecord> rollouts(3);
    rollouts[0].tokens = four_tokens();
    rollouts[0].tokens.teacher_plain_logprob = {-2.5f, -2.0f, -3.25f,
                                                0.0f}; // gains 1, 1, 0; the last is no row
    rollouts[0].verdict = "equal";
    rollouts[1].tokens.teacher_logprob = {-1.0f};
    rollouts[1].tokens.teacher_plain_logprob = {-0.5f};
    rollouts[1].verdict = "different";
    rollouts[2].tokens = four_tokens(); // not scored without the answer
    rollouts[2].verdict = "equal";
    const auto gain = gain_metrics(rollouts);
    EXPECT_DOUBLE_EQ(gain.at("gain_mean"), (1 + 1 + 0 - 0.5) / 4);
    EXPECT_DOUBLE_EQ(gain.at("gain_right"), 2.0 / 3.0);
    EXPECT_DOUBLE_EQ(gain.at("gain_wrong"), -0.5);
}

TEST(Gain, is_absent_where_nothing_was_scored_twice_and_undefined_for_a_verdict_nobody_got) {
    std::vector<record::RolloutRecord> rollouts(1);
    rollouts[0].tokens = four_tokens();
    EXPECT_TRUE(gain_metrics(rollouts).empty());
    rollouts[0].tokens.teacher_plain_logprob = rollouts[0].tokens.teacher_logprob;
    rollouts[0].verdict = "different";
    const auto gain = gain_metrics(rollouts);
    EXPECT_EQ(gain.at("gain_mean"), 0);
    EXPECT_TRUE(std::isnan(gain.at("gain_right")));
    EXPECT_EQ(gain.at("gain_wrong"), 0);
}

TEST(PhaseClock, phases_partition_the_step_and_speeds_are_tokens_over_their_phase) {
    PhaseClock clock(torch::kCPU);
    const auto work = [] {
        const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(3);
        while (std::chrono::steady_clock::now() < until) {
        }
    };
    for (const Phase phase : {Phase::Rollout, Phase::Teacher, Phase::Learn, Phase::Teacher, Phase::Other}) {
        clock.enter(phase);
        work();
    }
    clock.enter(Phase::Other);
    EXPECT_GE(clock.seconds(Phase::Teacher), 0.006);
    EXPECT_GE(clock.seconds(Phase::Learn), 0.003);
    EXPECT_EQ(clock.seconds(Phase::Save), 0);
    double sum = 0;
    for (const auto& [name, seconds] : clock.all()) sum += seconds;
    EXPECT_EQ(clock.all().size(), 7u);
    EXPECT_NEAR(clock.total(), sum, 1e-12);

    std::vector<record::RolloutRecord> rollouts(2);
    for (auto& rollout : rollouts) {
        rollout.tokens.ids = {1, 2, 3};
        rollout.prompt_ids = {1, 2};
        rollout.teacher_prompt_ids = {1, 2, 3, 4, 5};
    }
    const auto speeds = speed_metrics(rollouts, 4, clock); // two of six response tokens are no rows
    EXPECT_NEAR(speeds.at("tokens_per_second_learn") * clock.seconds(Phase::Learn), 10, 1e-9);
    EXPECT_NEAR(speeds.at("tokens_per_second_teacher") * clock.seconds(Phase::Teacher), 16, 1e-9);
    EXPECT_NEAR(speeds.at("tokens_per_second_step") * speeds.at("time_step"), 4, 1e-9);
}

TEST(ResponseRows, leave_out_dropped_answers_and_the_tokens_to_skip) {
    std::vector<Sequence> sequences(3);
    for (auto& sequence : sequences) {
        sequence.prompt = std::make_shared<teacher::PreparedPrompt>();
        sequence.rollout.finish = rollout::Finish::Eos;
    }
    sequences[0].rollout.ids = {1, 2, 3, 4, 5};
    sequences[1].rollout.ids = {1, 2, 3, 4};
    sequences[1].rollout.finish = rollout::Finish::Length;
    sequences[2].rollout.ids = {1};
    formats::RolloutSection rollout;
    formats::ObjectiveSection objective;
    EXPECT_EQ(ResponseRows::of(sequences, rollout, objective).n_global, 10);

    rollout.truncated_rows = "drop";
    objective.skip_first = 2;
    const auto rows = ResponseRows::of(sequences, rollout, objective);
    EXPECT_EQ(rows.n_global, 3);
    EXPECT_EQ(rows.live_sequences, 1);
    EXPECT_EQ(rows.weight[0], (std::vector<float>{0, 0, 1, 1, 1}));
    EXPECT_EQ(rows.weight[1], (std::vector<float>{0, 0, 0, 0}));
    EXPECT_EQ(rows.weight[2], (std::vector<float>{0}));
    EXPECT_FLOAT_EQ(rows.scale[0][4], 1.0f / 3.0f);
}

} // namespace
} // namespace stillroom::train
