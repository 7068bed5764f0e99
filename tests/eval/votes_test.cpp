// SPDX-License-Identifier: GPL-3.0-or-later
// How answers vote (metrics.md 6.3): by the answer check, with the right ones together and the rest silent
// where they say nothing.
#include "eval/votes.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace stillroom::eval {
namespace {

stats::Sample sample(const std::optional<std::string>& answer,
                     stats::Outcome outcome = stats::Outcome::Wrong) {
    stats::Sample sample;
    sample.answer = answer;
    sample.outcome = outcome;
    return sample;
}

stats::Votes votes(std::vector<stats::Sample> samples) {
    stats::Question question{"q", "1/2", std::move(samples)};
    auto result = votes_of(question);
    std::sort(result.others.begin(), result.others.end());
    return result;
}

TEST(Votes, right_answers_vote_together_however_they_are_written) {
    const auto counted =
        votes({sample("0.5", stats::Outcome::Right), sample("\\frac{1}{2}", stats::Outcome::Right),
               sample("1/2", stats::Outcome::Right)});
    EXPECT_EQ(counted.gold, 3);
    EXPECT_TRUE(counted.others.empty());
}

TEST(Votes, wrong_answers_that_the_check_calls_equal_vote_together) {
    const auto counted =
        votes({sample("0.25"), sample("\\frac{1}{4}"), sample("1/4"), sample("0.75"), sample("0.25")});
    EXPECT_EQ(counted.gold, 0);
    EXPECT_EQ(counted.others, (std::vector<int64_t>{1, 4}));
}

TEST(Votes, samples_without_an_answer_are_silent) {
    const auto counted = votes({sample(std::nullopt), sample("3"), sample(std::nullopt)});
    EXPECT_EQ(counted.silent, 2);
    EXPECT_EQ(counted.others, (std::vector<int64_t>{1}));
    EXPECT_EQ(counted.samples(), 3);
}

TEST(Votes, undecided_answers_form_groups_of_their_own) {
    const auto counted =
        votes({sample("x+1", stats::Outcome::Undecided), sample("x+1", stats::Outcome::Undecided),
               sample("3"), sample("1/2", stats::Outcome::Right)});
    EXPECT_EQ(counted.gold, 1);
    EXPECT_EQ(counted.others, (std::vector<int64_t>{1, 2}));
}

TEST(Votes, equal_texts_vote_together_past_the_groups_that_are_compared) {
    std::vector<stats::Sample> samples;
    for (int i = 0; i < 100; ++i) {
        samples.push_back(sample(std::to_string(1000 + i)));
        samples.push_back(sample(std::to_string(1000 + i)));
    }
    const auto counted = votes(std::move(samples));
    EXPECT_EQ(counted.others, std::vector<int64_t>(100, 2));
}

} // namespace
} // namespace stillroom::eval
