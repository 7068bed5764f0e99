// SPDX-License-Identifier: GPL-3.0-or-later
// Scores of answers counted by hand, the protocol's hash, and evaluations of the sample's student.
#include "eval/evaluate.h"

#include "maths/verdict.h"
#include "tests/support/golden.h"

#include <cmath>
#include <gtest/gtest.h>
#include <map>

namespace stillroom::eval {
namespace {

record::EvaluationAnswer answer(const std::string& question, const std::string& gold,
                                const std::string& extracted, const std::string& verdict, int64_t length) {
    record::EvaluationAnswer one;
    one.question = question;
    one.gold = gold;
    one.extracted = extracted;
    one.verdict = verdict;
    one.length = length;
    one.finish_reason = "eos";
    one.format_ok = !extracted.empty();
    return one;
}

std::vector<record::EvaluationAnswer> eight_answers() {
    std::vector<record::EvaluationAnswer> answers{
        answer("a", "1/2", "0.5", "equal", 10),      answer("b", "3", "3", "equal", 20),
        answer("a", "1/2", "1/2", "equal", 30),      answer("b", "3", "4", "different", 40),
        answer("a", "1/2", "1/4", "different", 50),  answer("b", "3", "", "different", 60),
        answer("a", "1/2", "0.25", "different", 70), answer("b", "3", "x+1", "unknown", 80),
    };
    answers[5].finish_reason = "length";
    answers[0].format_ok = false; // right, but not in the asked form: it votes all the same
    return answers;
}

TEST(Score, means_and_errors_are_those_of_questions) {
    const auto metrics = score(eight_answers());
    EXPECT_DOUBLE_EQ(metrics.at("eval_avg_at_n"), 0.375); // (2/4 + 1/4) / 2
    EXPECT_DOUBLE_EQ(metrics.at("eval_pooled"), 0.375);
    EXPECT_DOUBLE_EQ(metrics.at("se_clustered"), 0.125);
    EXPECT_DOUBLE_EQ(metrics.at("eval_avg_at_n_upper"), 0.5); // the undecided answer as right
    EXPECT_NEAR(metrics.at("eval_pass_at_2"), (5.0 / 6.0 + 0.5) / 2, 1e-12);
    EXPECT_DOUBLE_EQ(metrics.at("eval_pass_at_4"), 1);
    EXPECT_DOUBLE_EQ(metrics.at("eval_format_rate"), 0.75);
    EXPECT_DOUBLE_EQ(metrics.at("eval_truncated_fraction"), 0.125);
    EXPECT_DOUBLE_EQ(metrics.at("eval_undecided_fraction"), 0.125);
    EXPECT_DOUBLE_EQ(metrics.at("eval_accuracy_given_finished"), 3.0 / 7.0);
    EXPECT_DOUBLE_EQ(metrics.at("eval_length_mean"), 45);
    EXPECT_DOUBLE_EQ(metrics.at("eval_length_right"), 20);
    EXPECT_DOUBLE_EQ(metrics.at("questions"), 2);
    EXPECT_DOUBLE_EQ(metrics.at("samples"), 8);
}

TEST(Score, majority_groups_answers_by_the_check_and_not_by_their_text) {
    const auto metrics = score(eight_answers());
    // Question a: 1/4 and 0.25 are one answer, so it ties with the right one at two votes each.
    // Question b: three answers with a vote each, one sample silent.
    EXPECT_NEAR(metrics.at("eval_maj_at_4"), (1.0 / 2.0 + 1.0 / 3.0) / 2, 1e-12);
    // All pairs. a: both right 1, one of each 4 x 1/2, of 6. b: with the silent one 1, with another 2 x 1/2,
    // of 6.
    EXPECT_NEAR(metrics.at("eval_maj_at_2"), (3.0 / 6.0 + 2.0 / 6.0) / 2, 1e-12);
}

TEST(Score, of_one_question_has_no_error_and_of_none_nothing_is_defined) {
    const auto one = score({answer("a", "1", "1", "equal", 5)});
    EXPECT_DOUBLE_EQ(one.at("eval_avg_at_n"), 1);
    EXPECT_TRUE(std::isnan(one.at("se_clustered")));
    EXPECT_TRUE(std::isnan(one.at("eval_length_wrong")));
    EXPECT_FALSE(one.contains("eval_avg_at_n_upper")); // nothing undecided: no range
    const auto none = score({});
    EXPECT_TRUE(std::isnan(none.at("eval_avg_at_n")));
    EXPECT_EQ(none.at("samples"), 0);
}

TEST(Protocol, hash_changes_with_whatever_decides_the_figures_but_not_with_the_seed) {
    const Protocol base{.set = "s.jsonl", .set_sha256 = "ab", .samples = 4, .max_new = 100};
    const std::string hash = protocol_hash(base);
    EXPECT_EQ(hash.size(), 64u);
    Protocol other = base;
    other.seed = 7;
    EXPECT_EQ(protocol_hash(other), hash);
    EXPECT_EQ(to_json(other).at("seed"), 7);
    const auto changes = [&](const auto& change) {
        Protocol changed = base;
        change(changed);
        return protocol_hash(changed) != hash;
    };
    EXPECT_TRUE(changes([](Protocol& p) { p.set_sha256 = "cd"; }));
    EXPECT_TRUE(changes([](Protocol& p) { p.samples = 5; }));
    EXPECT_TRUE(changes([](Protocol& p) { p.max_new = 101; }));
    EXPECT_TRUE(changes([](Protocol& p) { p.temperature = 0.9; }));
    EXPECT_TRUE(changes([](Protocol& p) { p.top_p = 0.9; }));
    EXPECT_TRUE(changes([](Protocol& p) { p.top_k = 20; }));
    EXPECT_TRUE(changes([](Protocol& p) { p.rule = maths::Rule::LastNumber; }));
    EXPECT_TRUE(changes([](Protocol& p) { p.format_rule = maths::Rule::LastNumber; }));
    EXPECT_TRUE(changes([](Protocol& p) { p.policy.percent = maths::Policy::Percent::Value; }));
    EXPECT_TRUE(changes([](Protocol& p) { p.policy.order = maths::Policy::Order::All; }));
    EXPECT_TRUE(changes([](Protocol& p) { p.policy.units = maths::Policy::Units::Required; }));
    EXPECT_TRUE(changes([](Protocol& p) { p.policy.decimals = 2; }));
    EXPECT_TRUE(changes([](Protocol& p) { p.system = "s"; }));
    EXPECT_TRUE(changes([](Protocol& p) { p.instruction = "i"; }));
    EXPECT_TRUE(changes([](Protocol& p) { p.user = "u"; }));
    EXPECT_TRUE(changes([](Protocol& p) { p.thinking = true; }));
    EXPECT_TRUE(changes([](Protocol& p) { p.eos_ids = {1}; }));
    EXPECT_TRUE(changes([](Protocol& p) { p.template_sha256 = "t"; }));
    EXPECT_TRUE(changes([](Protocol& p) { p.dtype = "bf16"; }));
    EXPECT_TRUE(changes([](Protocol& p) { p.question_ids = {"q"}; }));
}

class SampleEvaluation : public testing::Test {
protected:
    static void SetUpTestSuite() { torch::set_num_threads(1); }

    SampleEvaluation()
        : model(model::load_model(test::source_folder() / "resources/sample/student",
                                  {torch::kCPU, torch::kFloat32})
                    .value()),
          prompts(teacher::PromptBuilder::make(recipe(), *model.tokenizer, model.config.context,
                                               *model.tokenizer, model.config.context,
                                               model.eos_ids().front())
                      .value()),
          questions(data::load_dataset({test::source_folder() / "resources/sample/heldout.jsonl"},
                                       formats::DataSection{.limit = 5})
                        .value()
                        .examples) {
        protocol.samples = 3;
        protocol.max_new = 48;
        protocol.eos_ids = model.eos_ids();
    }

    static formats::Recipe recipe() {
        formats::Recipe recipe;
        recipe.rollout.max_new = 48;
        return recipe;
    }

    record::EvaluationRecord run(int64_t batch_rows, const EvaluationProgress& progress = {}) {
        rollout::Generator generator(model, {batch_rows, 16});
        return evaluate(generator, model, prompts, questions, protocol, progress).value();
    }

    model::Model model;
    teacher::PromptBuilder prompts;
    std::vector<data::Example> questions;
    Protocol protocol;
};

TEST_F(SampleEvaluation, asks_every_question_once_before_any_twice) {
    const auto evaluation = run(0);
    ASSERT_EQ(evaluation.answers.size(), 15u);
    for (size_t i = 0; i < 15; ++i) {
        EXPECT_EQ(evaluation.answers[i].question, questions[i % 5].id);
        EXPECT_EQ(evaluation.answers[i].sample, int64_t(i / 5));
    }
    EXPECT_EQ(evaluation.protocol_hash, protocol_hash(protocol));
}

TEST_F(SampleEvaluation, grades_each_answer_by_its_rule_and_scores_what_it_stores) {
    const auto evaluation = run(0);
    double right = 0;
    for (const auto& answer : evaluation.answers) {
        const auto judgement = maths::check(answer.text, answer.gold, protocol.rule);
        EXPECT_EQ(answer.verdict, maths::to_string(judgement.verdict));
        EXPECT_EQ(answer.text, model.tokenizer->decode(answer.ids, true));
        EXPECT_EQ(answer.length, int64_t(answer.ids.size()));
        const bool ended = answer.ids.back() == model.eos_ids().front();
        EXPECT_EQ(answer.finish_reason, ended ? "eos" : "length");
        EXPECT_LT(answer.mean_logprob, 0);
        right += judgement.verdict == maths::Verdict::Equal;
    }
    EXPECT_GT(right, 0); // a student at 0.44
    EXPECT_LT(right, 15);
    EXPECT_NEAR(evaluation.metrics.at("eval_pooled"), right / 15, 1e-12);
    for (const auto& [name, value] : score(evaluation.answers)) {
        const double stored = evaluation.metrics.at(name);
        EXPECT_TRUE(stored == value || (std::isnan(stored) && std::isnan(value))) << name;
    }
    EXPECT_GT(evaluation.metrics.at("eval_seconds"), 0);
}

TEST_F(SampleEvaluation, gives_the_same_answers_whatever_the_batch_and_others_for_another_seed) {
    const auto together = run(0), apart = run(2);
    int same = 0;
    for (size_t i = 0; i < 15; ++i) EXPECT_EQ(together.answers[i].ids, apart.answers[i].ids);
    protocol.seed = 43;
    const auto other = run(0);
    for (size_t i = 0; i < 15; ++i) same += together.answers[i].ids == other.answers[i].ids;
    EXPECT_LT(same, 15);
    EXPECT_EQ(other.protocol_hash, together.protocol_hash);
}

TEST_F(SampleEvaluation, in_rounds_gives_the_same_answers_and_stops_after_the_one_that_is_told) {
    const auto whole = run(0);
    rollout::Generator generator(model, {0, 16});
    std::vector<size_t> seen;
    const auto stop_after_two = [&](const std::vector<record::EvaluationAnswer>& answers) {
        seen.push_back(answers.size());
        return answers.size() < 10;
    };
    const auto stopped = evaluate(generator, model, prompts, questions, protocol, {}, stop_after_two).value();
    EXPECT_EQ(seen, (std::vector<size_t>{5, 10}));
    ASSERT_EQ(stopped.answers.size(), 10u);
    for (size_t i = 0; i < 10; ++i) EXPECT_EQ(stopped.answers[i].ids, whole.answers[i].ids);
    EXPECT_EQ(stopped.protocol_hash, whole.protocol_hash);
    const auto all = evaluate(generator, model, prompts, questions, protocol, {}, [](const auto&) {
                         return true;
                     }).value();
    ASSERT_EQ(all.answers.size(), 15u);
    for (size_t i = 0; i < 15; ++i) EXPECT_EQ(all.answers[i].ids, whole.answers[i].ids);
}

TEST_F(SampleEvaluation, that_is_cancelled_keeps_and_scores_what_is_finished) {
    const auto evaluation = run(4, [](int64_t finished, int64_t total, int64_t) {
        EXPECT_EQ(total, 15);
        return finished < 5;
    });
    EXPECT_GE(evaluation.answers.size(), 5u);
    EXPECT_LT(evaluation.answers.size(), 15u);
    EXPECT_EQ(evaluation.metrics.at("samples"), double(evaluation.answers.size()));
    for (const auto& answer : evaluation.answers) EXPECT_NE(answer.finish_reason, "cancelled");
}

} // namespace
} // namespace stillroom::eval
