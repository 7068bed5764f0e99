// SPDX-License-Identifier: GPL-3.0-or-later
// What the golden vectors do not reach: enumeration of subsets, sampled subsets, histograms, undecided
// verdicts.
#include "base/philox.h"
#include "stats/bootstrap.h"
#include "stats/histogram.h"
#include "stats/majority.h"
#include "stats/paired.h"
#include "stats/percentile.h"
#include "stats/published.h"
#include "stats/rates.h"
#include "stats/summary.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <map>

namespace stillroom::stats {
namespace {

/// Credit of maj@k by walking through every subset: an independent computation.
double enumerated_credit(const std::vector<int>& ballots, int64_t k) { // 0 gold, > 0 wrong, -1 silent
    double credit = 0, subsets = 0;
    for (uint32_t mask = 0; mask < (1u << ballots.size()); ++mask) {
        if (std::popcount(mask) != k) continue;
        ++subsets;
        std::map<int, int> tally;
        int most = 0;
        for (size_t i = 0; i < ballots.size(); ++i) {
            if ((mask >> i & 1) && ballots[i] >= 0) most = std::max(most, ++tally[ballots[i]]);
        }
        if (most == 0 || tally[0] != most) continue;
        credit += 1.0 / double(std::count_if(tally.begin(), tally.end(),
                                             [&](const auto& t) { return t.second == most; }));
    }
    return credit / subsets;
}

Votes votes_of_ballots(const std::vector<int>& ballots) {
    std::vector<std::optional<std::string>> answers;
    for (const int ballot : ballots)
        answers.push_back(ballot < 0 ? std::nullopt : std::optional(std::to_string(ballot)));
    return votes_of("0", answers);
}

TEST(Majority, counting_agrees_with_walking_through_every_subset) {
    PhiloxStream random(7, 0);
    for (int trial = 0; trial < 60; ++trial) {
        std::vector<int> ballots(1 + random.below(10));
        const uint32_t classes = 2 + random.below(4);
        for (int& ballot : ballots) ballot = int(random.below(classes)) - 1;
        const Votes votes = votes_of_ballots(ballots);
        for (int64_t k = 1; k <= int64_t(ballots.size()); ++k) {
            EXPECT_NEAR(majority_credit(votes, k), enumerated_credit(ballots, k), 1e-12)
                << trial << " k " << k;
        }
    }
}

TEST(Majority, sampled_subsets_agree_with_counting_within_their_noise) {
    const Votes votes{9, {8, 5, 3, 1}, 6};
    for (const int64_t k : {1, 4, 9, 16}) {
        const double exact = majority_credit(votes, k);
        // Five standard deviations of a mean of 10,000 credits in [0, 1]; the draws are fixed by the seed.
        EXPECT_NEAR(sampled_majority_credit(votes, k, 42), exact, 5 * 0.5 / std::sqrt(10000.0)) << k;
    }
    EXPECT_EQ(sampled_majority_credit(votes, 4, 1), sampled_majority_credit(votes, 4, 1));
    EXPECT_NE(sampled_majority_credit(votes, 4, 1), sampled_majority_credit(votes, 4, 2));
}

TEST(Majority, many_samples_are_sampled_and_said_to_be) {
    const std::vector<Votes> questions{{600, {500, 400}, 0}};
    const AtK at_k = majority_at_k(questions, 101);
    EXPECT_FALSE(at_k.exact);
    ASSERT_TRUE(at_k.value);
    EXPECT_GT(*at_k.value, 0.5);
}

TEST(Majority, without_a_gold_every_answer_is_wrong) {
    const std::vector<std::optional<std::string>> answers{"1", "1", std::nullopt};
    const Votes votes = votes_of(std::nullopt, answers);
    EXPECT_EQ(votes.gold, 0);
    EXPECT_EQ(votes.others, std::vector<int64_t>{2});
    EXPECT_EQ(votes.silent, 1);
    EXPECT_EQ(majority_credit(votes, 2), 0);
}

std::vector<Question> three_questions() {
    std::vector<Question> questions(3);
    questions[0] = {"a", std::nullopt, {{Outcome::Right}, {Outcome::Undecided}}};
    questions[1] = {"b", std::nullopt, {{Outcome::Wrong}, {Outcome::Wrong}}};
    questions[2] = {"c", std::nullopt, {}};
    return questions;
}

TEST(Scores, undecided_is_wrong_in_the_headline_and_right_in_the_upper_bound) {
    const auto questions = three_questions();
    EXPECT_EQ(summarise(counts_of(questions)).avg, 0.25);
    EXPECT_EQ(summarise(counts_of(questions, Undecided::AsRight)).avg, 0.5);
    EXPECT_EQ(rates_of(questions).undecided_fraction, 0.25);
    EXPECT_EQ(rates_of(questions).correct_fraction, 0.25);
}

TEST(Scores, questions_without_samples_are_left_out_of_a_partial_evaluation) {
    EXPECT_EQ(summarise(counts_of(three_questions())).questions, 2);
}

TEST(Scores, pairing_takes_the_questions_that_both_sides_have) {
    auto baseline = three_questions();
    std::vector<Question> checkpoint{{"b", std::nullopt, {{Outcome::Right}}},
                                     {"c", std::nullopt, {{Outcome::Right}}},
                                     {"d", std::nullopt, {{Outcome::Right}}}};
    const Matched matched = match_questions(baseline, checkpoint);
    EXPECT_EQ(matched.ids, std::vector<std::string>{"b"});
    const Paired paired = compare(matched.baseline, matched.checkpoint);
    EXPECT_EQ(paired.difference, 1.0);
    EXPECT_FALSE(paired.se_paired);
    EXPECT_FALSE(paired.resolved);
}

TEST(Summary, of_no_questions_is_undefined_throughout) {
    const Summary summary = summarise({});
    EXPECT_EQ(summary.questions, 0);
    EXPECT_FALSE(summary.avg || summary.pooled || summary.se_clustered || summary.se_naive ||
                 summary.interval_t95);
    EXPECT_FALSE(compare({}, {}).difference);
    EXPECT_FALSE(rates_of({}).format_rate);
    EXPECT_FALSE(pass_at_k({}, 1).value);
    EXPECT_FALSE(bootstrap_by_question({}, 1));
}

TEST(Summary, all_right_and_all_wrong_get_the_bound_in_place_of_an_error_bar) {
    const std::vector<QuestionCounts> right{{4, 4}, {4, 4}, {2, 2}}, wrong{{0, 4}, {0, 4}},
        mixed{{4, 4}, {0, 4}};
    EXPECT_EQ(summarise(right).zero_error_bound, 1.0);
    EXPECT_EQ(summarise(wrong).zero_error_bound, 1.5);
    EXPECT_FALSE(summarise(mixed).zero_error_bound);
}

TEST(Paired, equal_differences_from_unequal_means_have_exactly_no_error) {
    // 0.3 - 0.2, 0.4 - 0.3 and 0.8 - 0.7 differ as doubles; the differences are all one tenth.
    const std::vector<QuestionCounts> baseline{{2, 10}, {3, 10}, {7, 10}},
        checkpoint{{3, 10}, {4, 10}, {8, 10}};
    const Paired paired = compare(baseline, checkpoint);
    EXPECT_EQ(paired.difference, 0.1);
    EXPECT_EQ(paired.se_paired, 0.0);
    EXPECT_FALSE(paired.t);
    EXPECT_EQ(paired.resolved, true);
}

TEST(Bootstrap, error_of_the_mean_agrees_with_the_formula_and_repeats_by_seed) {
    std::vector<double> values;
    for (int i = 0; i < 60; ++i) values.push_back(double(i * i % 17) / 17);
    const auto first = bootstrap_by_question(values, 5), again = bootstrap_by_question(values, 5);
    ASSERT_TRUE(first && first->se);
    // The bootstrap's variance is that with divisor Q; its own noise at 10,000 resamples is below 1 %, allow
    // 4 %.
    const double expected = *standard_error(values) * std::sqrt(59.0 / 60.0);
    EXPECT_NEAR(*first->se / expected, 1, 0.04);
    EXPECT_EQ(first->se, again->se);
    EXPECT_NE(first->se, bootstrap_by_question(values, 6)->se);
    EXPECT_EQ(first->resamples, 10000);
    EXPECT_EQ(first->seed, 5u);
}

TEST(Percentile, ends_single_values_and_none) {
    EXPECT_FALSE(percentile({}, 0.5));
    EXPECT_EQ(percentile(std::vector<double>{3}, 0.95), 3.0);
    EXPECT_EQ(percentile(std::vector<double>{3, 1, 2}, 0), 1.0);
    EXPECT_EQ(percentile(std::vector<double>{3, 1, 2}, 1), 3.0);
    const double inf = std::numeric_limits<double>::infinity();
    EXPECT_EQ(percentile(std::vector<double>{inf, inf, 1}, 0.75), inf);
}

TEST(Histogram, percentiles_are_within_one_bin_of_the_exact_ones) {
    PhiloxStream random(11, 0);
    std::vector<double> values;
    for (int i = 0; i < 20000; ++i) values.push_back(-std::log(random.uniform()) - 0.3);
    const auto histogram = Histogram::over(values);
    ASSERT_TRUE(histogram);
    EXPECT_EQ(histogram->count(), 20000);
    EXPECT_EQ(histogram->outside(), 0);
    for (const double p : {0.0, 0.01, 0.05, 0.5, 0.95, 0.99, 1.0}) {
        EXPECT_NEAR(*histogram->percentile(p), *percentile(values, p), histogram->bin_width()) << p;
    }
}

TEST(Histogram, merging_parts_gives_the_whole) {
    Histogram whole(-1, 1), first(-1, 1), second(-1, 1);
    for (int i = 0; i < 1000; ++i) {
        const double value = std::sin(i * 0.37) * 1.2;
        whole.add(value);
        (i % 3 == 0 ? first : second).add(value);
    }
    first.merge(second);
    EXPECT_TRUE(std::equal(whole.counts().begin(), whole.counts().end(), first.counts().begin()));
    EXPECT_EQ(first.count(), 1000);
    EXPECT_GT(first.outside(), 0);
    EXPECT_EQ(first.outside(), whole.outside());
    EXPECT_EQ(first.percentile(0.3), whole.percentile(0.3));
    EXPECT_EQ(first.min(), whole.min());
    EXPECT_EQ(first.max(), whole.max());
}

TEST(Histogram, counts_values_that_are_not_numbers_apart) {
    Histogram histogram(0, 1);
    EXPECT_FALSE(histogram.percentile(0.5));
    histogram.add(std::nan(""));
    histogram.add(-std::numeric_limits<double>::infinity());
    EXPECT_EQ(histogram.nonfinite(), 2);
    EXPECT_EQ(histogram.count(), 0);
    histogram.add(0.25);
    EXPECT_EQ(histogram.percentile(0.5), 0.25);
    EXPECT_FALSE(Histogram::over(std::vector<double>{std::nan("")}));
}

TEST(Histogram, of_one_repeated_value_returns_it) {
    for (const double value : {0.0, 3.5, -1e20}) {
        const auto histogram = Histogram::over(std::vector<double>{value, value, value});
        ASSERT_TRUE(histogram);
        EXPECT_EQ(histogram->percentile(0.5), value);
        EXPECT_EQ(histogram->outside(), 0);
    }
}

TEST(Percent, rounds_half_up_and_pads) {
    EXPECT_EQ(percent(1, 8, 2), "12.50");
    EXPECT_EQ(percent(1, 800, 2), "0.13"); // 0.125 exactly
    EXPECT_EQ(percent(2, 2, 0), "100");
    EXPECT_EQ(percent(1, 10000, 3), "0.010");
}

} // namespace
} // namespace stillroom::stats
