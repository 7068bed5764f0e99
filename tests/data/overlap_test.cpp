// SPDX-License-Identifier: GPL-3.0-or-later
#include "data/overlap.h"
#include "tests/support/golden.h"

#include <gtest/gtest.h>

namespace stillroom::data {

namespace {

Dataset of(const std::vector<std::string>& problems) {
    Dataset set;
    for (const auto& problem : problems) {
        set.examples.push_back({});
        set.examples.back().problem = problem;
        set.examples.back().index = int64_t(set.examples.size()) - 1;
    }
    return set;
}

Dataset loaded(const std::filesystem::path& file) { return load_dataset({file}, {}).value(); }

} // namespace

// data/README.md: 4 of the 59 problems of math_small_with_responses are in math500 too.
TEST(Overlap, the_four_problems_of_math500_in_the_small_set_are_found) {
    const Dataset small = loaded(test::data("datasets/math_small_with_responses.jsonl"));
    const Dataset math500 = loaded(test::source_folder() / "resources/math500/math500.jsonl");
    const auto pairs = overlap(small, math500);
    EXPECT_EQ(pairs.size(), 4u);
    for (const auto& pair : pairs) {
        EXPECT_EQ(small.examples[size_t(pair.left)].answer, math500.examples[size_t(pair.right)].answer);
        EXPECT_EQ(pair.exact,
                  small.examples[size_t(pair.left)].problem == math500.examples[size_t(pair.right)].problem);
    }
}

// data/README.md: no other two of these files share a problem, and none repeats one.
TEST(Overlap, sets_that_share_nothing_have_no_pairs) {
    const auto gsm8k = test::source_folder() / "resources/gsm8k";
    const Dataset train = loaded(gsm8k / "gsm8k_train_2000.jsonl"),
                  check = loaded(gsm8k / "gsm8k_test.jsonl");
    const Dataset math500 = loaded(test::source_folder() / "resources/math500/math500.jsonl");
    EXPECT_TRUE(overlap(train, check).empty());
    EXPECT_TRUE(overlap(train, math500).empty());
    EXPECT_TRUE(duplicates(math500).empty());
}

// data/README.md: 2 DAPO problems are in olympiadbench_en.
TEST(Overlap, the_two_dapo_problems_in_olympiadbench_are_found) {
    const auto dapo = test::shared("data/datasets/dapo_math_17k_2000.jsonl");
    const auto bench = test::shared("data/datasets/olympiadbench_en.jsonl");
    if (!dapo || !bench) GTEST_SKIP() << "../shared/data/datasets is not beside this checkout";
    EXPECT_EQ(overlap(loaded(*dapo), loaded(*bench)).size(), 2u);
}

TEST(Overlap, pairs_say_whether_they_are_exact) {
    const auto pairs = overlap(of({"What is  2 + 2?", "other", "How many?"}),
                               of({"how many", "what is 2 + 2", "How many?"}));
    EXPECT_EQ(pairs, (std::vector<Coincidence>{{0, 1, false}, {2, 0, false}, {2, 2, true}}));
}

TEST(Overlap, problems_that_differ_in_a_sign_are_not_the_same) {
    EXPECT_TRUE(overlap(of({"What is 2 + 2?"}), of({"What is 2 - 2?"})).empty());
    EXPECT_TRUE(overlap(of({"Is a < b?"}), of({"Is a > b?"})).empty());
}

TEST(Overlap, normalising_drops_case_punctuation_and_spacing) {
    EXPECT_EQ(normalised_problem("  Tom's \"BIG\"\n\tdog, (red). "), "tomsbigdogred");
    EXPECT_EQ(normalised_problem("Ärger \xef\xbc\x95"), "ärger5"); // a full-width five
    EXPECT_EQ(normalised_problem("?!.,"), "!");
    EXPECT_EQ(normalised_problem(""), "");
}

TEST(Overlap, duplicates_point_to_the_first_of_their_kind) {
    EXPECT_EQ(duplicates(of({"a", "b", "A.", "a"})), (std::vector<Coincidence>{{0, 2, false}, {0, 3, true}}));
}

TEST(SharedRuns, a_problem_told_again_with_more_words_is_found) {
    const std::string told =
        "Anna has twelve red apples and gives three of them to each of her two best friends";
    const Dataset questions = of({told, "Anna has twelve red apples", "What is 2 + 3?"});
    const Dataset training =
        of({"Something else entirely, told in as many words as are needed for a run here",
            "One day, " + told + ". How many are left?"});
    const auto runs = shared_runs(questions, training, 5, 0.5);
    ASSERT_EQ(runs.size(), 2u);
    EXPECT_EQ(runs[0], (SharedRuns{0, 1, 1.0}));
    EXPECT_EQ(runs[1], (SharedRuns{1, 1, 1.0}));
    EXPECT_EQ(shared_runs(questions, training, 13, 0.5).size(), 1u); // the short one has no run of 13 words
}

TEST(SharedRuns, the_share_counts_runs_of_the_left_problem) {
    // Eight words have four runs of five; of the six shared ones come two.
    const Dataset left = of({"a1 a2 a3 a4 a5 a6 b7 b8"}), right = of({"a1 a2 a3 a4 a5 a6 c7 c8 c9"});
    ASSERT_EQ(shared_runs(left, right, 5, 0.5).size(), 1u);
    EXPECT_DOUBLE_EQ(shared_runs(left, right, 5, 0.5)[0].share, 0.5);
    EXPECT_TRUE(shared_runs(left, right, 5, 0.51).empty());
    EXPECT_TRUE(shared_runs(left, right, 7, 0.0).empty());
}

TEST(SharedRuns, equal_problems_share_all_and_different_sets_nothing) {
    const Dataset math500 = loaded(test::source_folder() / "resources/math500/math500.jsonl");
    const auto own = shared_runs(math500, math500);
    EXPECT_GT(own.size(), 300u);
    for (const SharedRuns& runs : own) EXPECT_DOUBLE_EQ(runs.share, 1) << runs.left;
    const Dataset train = loaded(test::source_folder() / "resources/gsm8k/gsm8k_train_2000.jsonl");
    EXPECT_TRUE(shared_runs(train, math500).empty());
}

} // namespace stillroom::data
