// SPDX-License-Identifier: GPL-3.0-or-later
// The metrics of finished rollouts (metrics.md section 4) on small batches whose figures are counted by hand.
#include "train/rollout_metrics.h"

#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

namespace stillroom::train {
namespace {

std::vector<int32_t> counting(int32_t from, int32_t count) {
    std::vector<int32_t> ids(size_t(count), 0);
    std::iota(ids.begin(), ids.end(), from);
    return ids;
}

record::RolloutRecord rollout(int64_t prompt, std::vector<int32_t> ids, const std::string& verdict,
                              const std::string& finish = "eos") {
    record::RolloutRecord record;
    record.prompt = prompt;
    record.tokens.ids = std::move(ids);
    record.verdict = verdict;
    record.finish_reason = finish;
    return record;
}

TEST(Repetition, is_the_share_that_one_repeated_ngram_covers) {
    EXPECT_EQ(repetition(counting(0, 100)), 0);
    EXPECT_EQ(repetition(std::vector<int32_t>{}), 0);
    EXPECT_EQ(repetition(counting(0, 7)), 0); // shorter than the n-gram
    std::vector<int32_t> twice = counting(0, 8), tail = counting(100, 4), again = counting(0, 8);
    twice.insert(twice.end(), tail.begin(), tail.end());
    twice.insert(twice.end(), again.begin(), again.end());
    EXPECT_DOUBLE_EQ(repetition(twice), 16.0 / 20.0);
}

TEST(Repetition, overlapping_occurrences_cover_a_token_once) {
    EXPECT_DOUBLE_EQ(repetition(std::vector<int32_t>(30, 5)), 1);
    // 2-grams of 1 1 1 2: (1 1) at 0 and 1 covers three of four tokens.
    EXPECT_DOUBLE_EQ(repetition(std::vector<int32_t>{1, 1, 1, 2}, 2), 0.75);
}

TEST(Repetition, the_ngram_that_covers_most_counts) {
    // (1 2) covers 4 of 10 tokens, (3 4) covers 6.
    EXPECT_DOUBLE_EQ(repetition(std::vector<int32_t>{1, 2, 3, 4, 1, 2, 3, 4, 3, 4}, 2), 0.6);
}

TEST(DistinctNgrams, are_the_share_of_different_ones_and_undefined_where_there_is_none) {
    EXPECT_DOUBLE_EQ(distinct_ngrams(counting(0, 10)), 1);
    // 1 1 1 1 1 1: three 4-grams, all alike.
    EXPECT_DOUBLE_EQ(distinct_ngrams(std::vector<int32_t>(6, 1)), 1.0 / 3.0);
    EXPECT_TRUE(std::isnan(distinct_ngrams(counting(0, 3))));
}

TEST(RolloutMetrics, of_no_rollout_are_absent) { EXPECT_TRUE(rollout_metrics({}, true).empty()); }

TEST(RolloutMetrics, lengths_finish_reasons_and_verdicts_are_counted) {
    std::vector<record::RolloutRecord> batch{
        rollout(0, counting(0, 10), "equal"),
        rollout(0, counting(20, 20), "different", "length"),
        rollout(1, counting(50, 30), "unknown"),
        rollout(1, counting(90, 40), "equal"),
        rollout(2, counting(0, 50), "different", "cancelled"),
    };
    batch[0].format_ok = batch[2].format_ok = batch[3].format_ok = true;
    for (size_t i = 0; i < batch.size(); ++i) {
        batch[i].prompt_ids = counting(0, int32_t(i + 1));
        batch[i].teacher_prompt_ids = counting(0, int32_t(10 * (i + 1)));
    }
    auto metrics = rollout_metrics(batch, true);
    EXPECT_DOUBLE_EQ(metrics.at("response_length_mean"), 30);
    EXPECT_DOUBLE_EQ(metrics.at("response_length_p50"), 30);
    EXPECT_DOUBLE_EQ(metrics.at("response_length_p95"), 48); // type 7: 0.95 x 4 = 3.8, between 40 and 50
    EXPECT_DOUBLE_EQ(metrics.at("response_length_max"), 50);
    EXPECT_DOUBLE_EQ(metrics.at("response_length_right"), 25);
    EXPECT_DOUBLE_EQ(metrics.at("response_length_wrong"), 35);
    EXPECT_DOUBLE_EQ(metrics.at("eos_rate"), 0.6);
    EXPECT_DOUBLE_EQ(metrics.at("truncated_fraction"), 0.2);
    EXPECT_DOUBLE_EQ(metrics.at("finish_other_fraction"), 0.2);
    EXPECT_DOUBLE_EQ(metrics.at("format_rate"), 0.6);
    EXPECT_DOUBLE_EQ(metrics.at("rollout_accuracy"), 0.5); // of four decided
    EXPECT_DOUBLE_EQ(metrics.at("undecided_fraction"), 0.2);
    EXPECT_DOUBLE_EQ(metrics.at("prompt_length_mean"), 3);
    EXPECT_DOUBLE_EQ(metrics.at("teacher_prompt_length_mean"), 30);
    EXPECT_DOUBLE_EQ(metrics.at("unique_prompts"), 0.6);
    EXPECT_DOUBLE_EQ(metrics.at("group_all_right"), 0);
    EXPECT_DOUBLE_EQ(metrics.at("group_all_wrong"), 1.0 / 3.0); // prompt 2 alone
    EXPECT_DOUBLE_EQ(metrics.at("repetition"), 0);
    EXPECT_DOUBLE_EQ(metrics.at("distinct_4gram"), 1);
}

TEST(RolloutMetrics, a_group_is_all_right_or_all_wrong_only_if_every_rollout_is) {
    const auto metrics = rollout_metrics(
        std::vector{rollout(0, counting(0, 5), "equal"), rollout(0, counting(9, 5), "equal"),
                    rollout(1, counting(0, 5), "different"), rollout(1, counting(9, 5), "different"),
                    rollout(2, counting(0, 5), "equal"), rollout(2, counting(9, 5), "different"),
                    rollout(3, counting(0, 5), "equal"), rollout(3, counting(9, 5), "unknown")},
        true);
    EXPECT_DOUBLE_EQ(metrics.at("group_all_right"), 0.25);
    EXPECT_DOUBLE_EQ(metrics.at("group_all_wrong"), 0.25);
}

TEST(RolloutMetrics, rollouts_like_another_of_their_own_prompt_are_duplicates) {
    const auto metrics =
        rollout_metrics(std::vector{rollout(0, {1, 2, 3}, ""), rollout(0, {1, 2, 3}, ""),
                                    rollout(0, {1, 2}, ""), rollout(1, {1, 2, 3}, ""), rollout(1, {4}, "")},
                        true);
    EXPECT_DOUBLE_EQ(metrics.at("duplicate_rollouts"), 0.4);
}

TEST(RolloutMetrics, loops_are_rollouts_that_one_ngram_covers_by_more_than_three_tenths) {
    std::vector<int32_t> loop(20, 7);
    std::vector<int32_t> slight = counting(100, 50); // 16 of 66 tokens repeat: less than 0.3
    for (const int64_t place : {0, 20}) {
        const auto gram = counting(0, 8);
        slight.insert(slight.begin() + place, gram.begin(), gram.end());
    }
    const auto metrics = rollout_metrics(
        std::vector{rollout(0, loop, ""), rollout(1, slight, ""), rollout(2, counting(0, 40), "")}, true);
    EXPECT_NEAR(metrics.at("repetition"), (1 + 16.0 / 66.0) / 3, 1e-12);
    EXPECT_DOUBLE_EQ(metrics.at("repetition_rate"), 1.0 / 3.0);
}

TEST(RolloutMetrics, leaks_and_hedges_are_found_in_the_text_whatever_its_case) {
    auto leaking = rollout(0, counting(0, 300), ""), hedging = rollout(1, counting(0, 200), "");
    leaking.text = "As the Reference Solution says, the reference solution is 4.";
    hedging.text = "Wait, hmm. Let me check: WAIT.";
    const auto metrics = rollout_metrics(std::vector{leaking, hedging}, true);
    EXPECT_DOUBLE_EQ(metrics.at("leak_rate"), 0.5);
    EXPECT_DOUBLE_EQ(metrics.at("hedge_per_1k"), 4 / 0.5);
}

TEST(RolloutMetrics, quotients_of_nothing_are_undefined) {
    const auto undecided = rollout_metrics(std::vector{rollout(0, {1, 2}, "unknown")}, true);
    for (const char* name :
         {"rollout_accuracy", "response_length_right", "response_length_wrong", "distinct_4gram"}) {
        EXPECT_TRUE(std::isnan(undecided.at(name))) << name;
    }
    EXPECT_DOUBLE_EQ(undecided.at("undecided_fraction"), 1);
    const auto empty = rollout_metrics(std::vector{rollout(0, {}, "different", "eos")}, true);
    EXPECT_TRUE(std::isnan(empty.at("hedge_per_1k")));
    EXPECT_DOUBLE_EQ(empty.at("response_length_mean"), 0);
    EXPECT_DOUBLE_EQ(empty.at("repetition"), 0);
}

TEST(RolloutMetrics, what_verdicts_decide_is_absent_without_verdicts) {
    const auto metrics = rollout_metrics(std::vector{rollout(0, counting(0, 9), "")}, true);
    for (const char* name : {"rollout_accuracy", "undecided_fraction", "group_all_right", "group_all_wrong",
                             "response_length_right", "response_length_wrong"}) {
        EXPECT_FALSE(metrics.contains(name)) << name;
    }
    EXPECT_TRUE(metrics.contains("format_rate"));
}

TEST(RolloutMetrics, of_given_answers_only_lengths_and_prompts_are_measured) {
    const auto metrics = rollout_metrics(std::vector{rollout(0, counting(0, 9), "", "given")}, false);
    EXPECT_DOUBLE_EQ(metrics.at("response_length_mean"), 9);
    EXPECT_DOUBLE_EQ(metrics.at("unique_prompts"), 1);
    for (const char* name : {"eos_rate", "finish_other_fraction", "format_rate", "repetition", "leak_rate"})
        EXPECT_FALSE(metrics.contains(name)) << name;
}

} // namespace
TEST(ThinkParts, are_balanced_with_one_opening_and_one_closing_in_order) {
    const struct {
        const char *prompt_end, *response;
        bool balanced;
    } cases[] = {
        {"assistant\n", "<think>so</think>4", true}, {"assistant\n<think>\n", "so</think>4", true},
        {"<think>\n\n</think>\n\n", "4", true},      {"assistant\n", "4", false},
        {"<think>\n", "never closed", false},        {"<think>\n", "<think>twice</think>", false},
        {"<think>\n", "a</think>b</think>", false},  {"assistant\n", "</think>a<think>", false},
    };
    for (const auto& [prompt_end, response, balanced] : cases)
        EXPECT_EQ(is_think_balanced(prompt_end, response), balanced) << prompt_end << response;
}

} // namespace stillroom::train
