// SPDX-License-Identifier: GPL-3.0-or-later
#include "record/top16_policy.h"

#include "tests/record/examples.h"

#include <limits>
#include <set>

namespace stillroom::record {
namespace {

/// 64 rollouts whose KL, KL maximum and length each have other extremes.
std::vector<RolloutRecord> example_group(int64_t step = 1) {
    std::vector<RolloutRecord> group;
    for (int64_t i = 0; i < 64; ++i) {
        RolloutRecord rollout;
        rollout.step = step;
        rollout.sample = i;
        rollout.finish_reason = "eos";
        const size_t length = i == 50 ? 3 : i == 51 ? 400 : size_t(20 + i);
        rollout.tokens.ids.assign(length, 1);
        rollout.tokens.kl.assign(length, 0.125f);
        rollout.top16 = example_top16(1);
        group.push_back(rollout);
    }
    group[10].means["kl_reverse_exact"] = 3;
    group[11].means["kl_reverse_exact"] = 2;
    group[20].tokens.kl[5] = 9;
    group[21].tokens.kl[5] = 8;
    group[22].means["kl_reverse_exact"] = std::numeric_limits<double>::quiet_NaN(); // ranks nowhere
    for (RolloutRecord& rollout : group) rollout.means.emplace("kl_reverse_exact", 0.125);
    return group;
}

std::map<int64_t, std::string> kept(const std::vector<RolloutRecord>& group) {
    std::map<int64_t, std::string> result;
    for (const RolloutRecord& rollout : group) {
        EXPECT_EQ(rollout.top16.has_value(), !rollout.kept_because.empty());
        if (rollout.top16) result[rollout.sample] = rollout.kept_because;
    }
    return result;
}

TEST(Top16Policy, keeps_nine_of_64_each_with_its_reason) {
    auto group = example_group();
    group[30].finish_reason = "length";
    choose_top16(group, 42);
    auto reasons = kept(group);
    EXPECT_EQ(reasons.size(), 9u);
    EXPECT_EQ(reasons[10], "mean KL");
    EXPECT_EQ(reasons[11], "mean KL");
    EXPECT_EQ(reasons[20], "token KL");
    EXPECT_EQ(reasons[21], "token KL");
    EXPECT_EQ(reasons[50], "shortest");
    EXPECT_EQ(reasons[51], "longest");
    EXPECT_EQ(reasons[30], "truncated");
    EXPECT_EQ(
        std::count_if(reasons.begin(), reasons.end(), [](const auto& one) { return one.second == "random"; }),
        2);
}

TEST(Top16Policy, gives_one_rollout_all_its_reasons) {
    auto group = example_group();
    group[51].finish_reason = group[30].finish_reason = "length";
    group[51].means["kl_reverse_exact"] = 7;
    group[51].tokens.kl[0] = 20;
    group[51].pinned = true;
    choose_top16(group, 42);
    auto reasons = kept(group);
    EXPECT_EQ(reasons[51], "pinned, mean KL, token KL, longest, truncated");
    EXPECT_EQ(reasons[11], "") << "only the two highest";
}

TEST(Top16Policy, keeps_every_pinned_and_alarmed_one) {
    auto group = example_group();
    for (size_t i = 30; i < 40; ++i) group[i].pinned = true;
    group[41].kept_because = "alarm";
    group[42].kept_because = "stale words";
    choose_top16(group, 42);
    auto reasons = kept(group);
    for (int64_t i = 30; i < 40; ++i) EXPECT_EQ(reasons[i], "pinned");
    EXPECT_EQ(reasons[41], "alarm");
    EXPECT_NE(reasons[42], "stale words");
    EXPECT_EQ(reasons.size(), 10u + 1 + 2 + 2 + 1 + 1 + 1 + 2);
}

TEST(Top16Policy, draws_the_random_ones_from_seed_and_step_alone) {
    const auto randoms = [](uint64_t seed, int64_t step) {
        auto group = example_group(step);
        choose_top16(group, seed);
        std::set<int64_t> result;
        for (const auto& [sample, reason] : kept(group)) {
            if (reason == "random") result.insert(sample);
        }
        EXPECT_EQ(result.size(), 2u);
        return result;
    };
    EXPECT_EQ(randoms(42, 1), randoms(42, 1));
    std::set<std::set<int64_t>> by_step, by_seed;
    for (int i = 0; i < 30; ++i) {
        by_step.insert(randoms(42, i));
        by_seed.insert(randoms(uint64_t(i), 1));
    }
    // 30 pairs of 1,653: a chance of about 23 % that any two coincide, of 1e-4 that more than three do.
    EXPECT_GE(by_step.size(), 27u);
    EXPECT_GE(by_seed.size(), 27u);
}

TEST(Top16Policy, of_fewer_rollouts_than_reasons_keeps_all_and_none_without_a_record) {
    std::vector<RolloutRecord> none;
    choose_top16(none, 1);
    std::vector<RolloutRecord> two(2);
    two[0].top16 = example_top16(1);
    choose_top16(two, 1);
    EXPECT_EQ(two[0].kept_because, "shortest, longest");
    EXPECT_EQ(two[1].kept_because, "");
    EXPECT_FALSE(two[1].top16);
}

} // namespace
} // namespace stillroom::record
