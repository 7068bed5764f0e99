// SPDX-License-Identifier: GPL-3.0-or-later
// Evaluations on disk, graded again, compared; what is left of the time; when to stop.
#include "eval/stored.h"

#include "base/files.h"
#include "eval/evaluate.h"
#include "eval/plan.h"
#include "tests/support/golden.h"

#include <cmath>
#include <gtest/gtest.h>

namespace stillroom::eval {
namespace {

record::EvaluationAnswer answer(const std::string& question, int64_t sample, const std::string& text,
                                const std::string& gold) {
    record::EvaluationAnswer one;
    one.question = question;
    one.sample = sample;
    one.text = text;
    one.gold = gold;
    one.length = int64_t(text.size());
    one.finish_reason = sample == 0 ? "eos" : "length";
    one.ids = {1, 2, int32_t(sample)};
    one.mean_logprob = -0.25;
    return one;
}

/// Four answers: right, right by value, wrong, and one that cannot be judged.
Stored evaluation() {
    Protocol protocol{.set = "s.jsonl", .set_sha256 = "ab", .samples = 2, .max_new = 100};
    protocol.rule = maths::Rule::BoxedLast;
    Stored stored;
    stored.answers = {answer("a", 0, "so \\boxed{1/2}", "0.5"),
                      answer("b", 0, "\\boxed{\\{1,2\\}}", "\\{2, 1\\}"),
                      answer("a", 1, "it is \\boxed{3} or 0.5", "0.5"),
                      answer("b", 1, "\\boxed{\\int_0^1 x dx}", "\\{2, 1\\}")};
    grade(stored.answers, protocol);
    stored.metrics = score(stored.answers);
    stored.metrics["eval_seconds"] = 12.5;
    stored.protocol = to_json(protocol);
    stored.protocol_hash = protocol_hash(protocol);
    stored.circumstances = {"student", "cafe", "cpu", "stillroom 0", 43, 1.5e9};
    stored.asked = 4;
    return stored;
}

void expect_same(const record::Metrics& a, const record::Metrics& b) {
    ASSERT_EQ(a.size(), b.size());
    for (const auto& [name, value] : a) {
        EXPECT_TRUE(b.at(name) == value || (std::isnan(value) && std::isnan(b.at(name)))) << name;
    }
}

TEST(Stored, reads_back_as_it_was_written) {
    const test::TemporaryFolder folder;
    const Stored written = evaluation();
    write_evaluation(written, folder / "e").value();
    const Stored read = read_evaluation(folder / "e").value();
    EXPECT_EQ(read.protocol, written.protocol);
    EXPECT_EQ(read.protocol_hash, written.protocol_hash);
    EXPECT_EQ(read.circumstances.checkpoint_sha256, "cafe");
    EXPECT_EQ(read.circumstances.seed, 43u);
    EXPECT_EQ(read.asked, 4);
    expect_same(read.metrics, written.metrics);
    ASSERT_EQ(read.answers.size(), 4u);
    for (size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(to_json(read.answers[i]), to_json(written.answers[i]));
        EXPECT_EQ(read.answers[i].ids, written.answers[i].ids);
    }
}

TEST(Stored, graded_again_by_the_same_rules_gives_the_same_figures) {
    const test::TemporaryFolder folder;
    write_evaluation(evaluation(), folder / "e").value();
    Stored read = read_evaluation(folder / "e").value();
    const Stored before = read;
    regrade(read, grading_of(read.protocol).value());
    expect_same(read.metrics, before.metrics);
    EXPECT_EQ(read.protocol_hash, before.protocol_hash);
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(read.answers[i].verdict, before.answers[i].verdict);
    EXPECT_EQ(read.answers[3].verdict, "unknown");
    EXPECT_DOUBLE_EQ(read.metrics.at("eval_undecided_fraction"), 0.25);
    EXPECT_DOUBLE_EQ(read.metrics.at("eval_avg_at_n"), 0.5);
}

TEST(Stored, graded_by_another_rule_is_another_protocol_with_the_same_answers) {
    Stored stored = evaluation();
    Protocol grading = grading_of(stored.protocol).value();
    grading.rule = maths::Rule::LastNumber;
    const Stored before = stored;
    regrade(stored, grading);
    EXPECT_EQ(stored.answers[2].verdict, "equal"); // the last number is 0.5
    EXPECT_NE(stored.protocol_hash, before.protocol_hash);
    EXPECT_EQ(stored.answers[2].text, before.answers[2].text);
    EXPECT_DOUBLE_EQ(stored.metrics.at("eval_seconds"), 12.5);
    const auto refused = comparable(before.protocol, stored.protocol);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message().find("grader: \"boxed_last\" and \"last_number\""), std::string::npos)
        << refused.error().message();
}

TEST(Stored, protocols_compare_but_for_the_seed) {
    const Protocol base{.set = "s.jsonl", .samples = 4};
    Protocol other = base;
    other.seed = 7;
    EXPECT_TRUE(comparable(to_json(base), to_json(other)));
    other.temperature = 0.5;
    other.question_ids = {"a question with a name that is longer than forty characters"};
    EXPECT_EQ(differing_fields(to_json(base), to_json(other)),
              (std::vector<std::string>{"question_ids differ", "temperature: 1.0 and 0.5"}));
}

TEST(Stored, bad_folders_are_one_error_each) {
    const test::TemporaryFolder folder;
    EXPECT_FALSE(read_evaluation(folder / "none"));
    write_file(folder / "notes.txt", "mine").value();
    EXPECT_FALSE(write_evaluation(evaluation(), folder.path())); // nothing of a person's is touched
    write_evaluation(evaluation(), folder / "e").value();
    write_evaluation(evaluation(), folder / "e").value(); // its own folder is written anew
    const std::string whole = read_file(folder / "e/evaluation.json").value();
    for (const std::string& broken : {std::string("{"), std::string("[]"), std::string("{}"),
                                      std::string(R"({"layout": "1"})"), whole.substr(0, whole.size() / 2)}) {
        write_file(folder / "e/evaluation.json", broken).value();
        const auto read = read_evaluation(folder / "e");
        ASSERT_FALSE(read) << broken;
        EXPECT_NE(read.error().message().find("evaluation.json"), std::string::npos)
            << read.error().message();
    }
    write_file(folder / "e/evaluation.json", whole).value();
    write_file(folder / "e/answers.jsonl", R"({"question": "a"})").value();
    const auto read = read_evaluation(folder / "e");
    ASSERT_FALSE(read);
    EXPECT_NE(read.error().message().find("\"sample\""), std::string::npos) << read.error().message();
}

TEST(ProtocolFiles, the_shipped_ones_say_what_metrics_says) {
    const auto recipe = [](const char* name) {
        return formats::read_recipe(find_protocol(name).value()).value();
    };
    const auto math500 = recipe("math500"), aime = recipe("aime"), gsm8k = recipe("gsm8k");
    EXPECT_EQ(math500.evaluation.samples, 4);
    EXPECT_EQ(math500.evaluation.max_new, 12288);
    EXPECT_EQ(aime.evaluation.samples, 32);
    EXPECT_EQ(aime.evaluation.max_new, 31744);
    EXPECT_EQ(gsm8k.evaluation.rule, "gsm8k_hash");
    for (const auto& protocol : {math500, gsm8k}) {
        const auto set = formats::resolve_path(protocol, protocol.evaluation.data);
        const auto questions = data::load_dataset({set}, protocol.data).value();
        EXPECT_EQ(protocol_of(protocol, set, questions).value().question_ids.size(),
                  questions.examples.size());
        for (const auto& question : questions.examples)
            EXPECT_FALSE(question.answer.empty()) << question.where;
    }
    EXPECT_FALSE(find_protocol("nothing"));
}

TEST(EvaluationPlan, rounds_fit_the_time_and_never_exceed_the_protocol) {
    const std::vector<stats::QuestionCounts> counts{{1, 2}, {0, 2}, {2, 2}, {1, 2}};
    const auto soon = plan(counts, std::nullopt, 2, 32, 20, 35);
    EXPECT_EQ(soon.more_rounds, 3); // 10 s a round
    EXPECT_DOUBLE_EQ(soon.seconds_a_round, 10);
    EXPECT_EQ(plan(counts, std::nullopt, 2, 4, 20, 1000).more_rounds, 2);
    EXPECT_EQ(plan(counts, std::nullopt, 2, 4, 20, -5).more_rounds, 0);
    EXPECT_FALSE(plan({}, std::nullopt, 0, 4, 0, 10).resolves_now);
}

TEST(EvaluationPlan, what_it_resolves_is_the_planning_formula) {
    // m = 1/4, 3/4, 1/2, 1/2 with n = 4: variance components by hand.
    const std::vector<stats::QuestionCounts> counts{{1, 4}, {3, 4}, {2, 4}, {2, 4}};
    const double within = (4 * (0.25 * 0.75) * 2 + 4 * 0.25 * 2) / 12; // sum n m (1 - m) / (N - Q)
    const double ms_between = 4 * (0.0625 + 0.0625) / 3, between = std::max(0.0, (ms_between - within) / 4);
    const auto planned = plan(counts, std::nullopt, 4, 32, 4, 4);
    EXPECT_EQ(planned.more_rounds, 4);
    EXPECT_NEAR(*planned.resolves_now, stats::resolving_z * std::sqrt((between + within / 4) / 4), 1e-12);
    EXPECT_NEAR(*planned.resolves_then, stats::resolving_z * std::sqrt((between + within / 8) / 4), 1e-12);
    EXPECT_NEAR(*planned.resolves_never, stats::resolving_z * std::sqrt(between / 4), 1e-12);
}

TEST(EvaluationPlan, stops_early_only_where_chance_is_out_of_the_question) {
    std::vector<stats::QuestionCounts> low, high, near;
    for (int i = 0; i < 40; ++i) {
        low.push_back({i % 4 == 0 ? 1 : 0, 2});
        high.push_back({i % 4 == 1 ? 1 : 2, 2});
        near.push_back({i % 3 == 0 ? 1 : 0, 2});
    }
    EXPECT_TRUE(is_clear(stats::compare(low, high), 2));
    EXPECT_FALSE(is_clear(stats::compare(low, high), 1)); // one round has no error within questions
    EXPECT_FALSE(is_clear(stats::compare(low, near), 2));
    EXPECT_FALSE(is_clear(stats::compare(low, low), 2));
}

} // namespace
} // namespace stillroom::eval
