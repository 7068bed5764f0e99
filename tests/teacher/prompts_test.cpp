// SPDX-License-Identifier: GPL-3.0-or-later
// Prompts of both models with real tokenizers, against the frame that each family's template writes, spelled
// out here: what stands in which turn, what is shortened, what is dropped, what both prompts end with.
#include "teacher/prompts.h"

#include "data/context.h"
#include "data/prompts.h"
#include "tests/support/golden.h"

#include <gtest/gtest.h>

namespace stillroom::teacher {
namespace {

text::Tokenizer tokenizer(const std::string& family) {
    return text::Tokenizer::load(test::data("tokenizers/" + family)).value();
}

data::Example example() {
    data::Example example;
    example.id = "q1";
    example.index = 11;
    example.problem = "A cask holds 12 litres. How much do 613 casks hold?";
    example.solution =
        "One cask holds 12 litres, so all of them hold 613 times that.\nTen times 613 is 6130, "
        "twice 613 is 1226. Together that is \\boxed{7356}.";
    example.answer = "7356";
    example.where = "d.jsonl:1";
    return example;
}

formats::Recipe recipe(const std::string& context) {
    formats::Recipe recipe;
    recipe.data.instruction = "\n\nPut the final answer in \\boxed{}.";
    recipe.data.system = "You solve problems.";
    recipe.rollout.max_new = 64;
    recipe.teacher.context = context;
    recipe.teacher.template_text = "{problem}\nKnown: {solution} So {answer}.{instruction}";
    return recipe;
}

constexpr int64_t context_length = 4096;
constexpr int64_t end_token = 151645; // <|im_end|> of Qwen

PromptBuilder builder(const formats::Recipe& recipe, const text::Tokenizer& tokenizer) {
    return PromptBuilder::make(recipe, tokenizer, context_length, tokenizer, context_length, end_token)
        .value();
}

// Qwen's frame (ChatML) around the turns, as its model card shows it.
std::string chatml(const std::vector<std::pair<std::string, std::string>>& turns) {
    std::string text;
    for (const auto& [role, content] : turns) text += "<|im_start|>" + role + "\n" + content + "<|im_end|>\n";
    return text + "<|im_start|>assistant\n";
}

size_t occurrences(const std::string& text, const std::string& part) {
    size_t count = 0;
    for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
    return count;
}

const std::string student_turn =
    "A cask holds 12 litres. How much do 613 casks hold?\n\nPut the final answer in \\boxed{}.";

class Contexts : public testing::TestWithParam<std::string> {};

TEST_P(Contexts, the_students_prompt_is_the_problem_and_the_teachers_differs_within_the_user_turn_alone) {
    const auto qwen = tokenizer("qwen2.5");
    const auto recipe = teacher::recipe(GetParam());
    const PreparedPrompt prompt = builder(recipe, qwen).build(example(), false).value();
    EXPECT_EQ(prompt.dropped, "");
    EXPECT_EQ(prompt.shortened, 0);
    EXPECT_EQ(prompt.index, 11);
    EXPECT_EQ(prompt.gold, "7356");
    const std::string plain = chatml({{"system", "You solve problems."}, {"user", student_turn}});
    EXPECT_EQ(qwen.decode(prompt.student_ids), plain);
    EXPECT_EQ(qwen.decode(prompt.teacher_plain_ids), plain);
    const std::string user = data::teacher_user_text(example(), recipe.data, recipe.teacher).value().text;
    const std::string shown = chatml({{"system", "You solve problems."}, {"user", user}});
    EXPECT_EQ(qwen.decode(prompt.teacher_ids), shown);
    EXPECT_EQ(prompt.teacher_ids == prompt.student_ids, GetParam() == "none");
    // Marks of turns are single ids, not text that looks like them.
    EXPECT_EQ(std::count(prompt.teacher_ids.begin(), prompt.teacher_ids.end(), end_token), 2);
    EXPECT_TRUE(prompt.target_ids.empty());
    EXPECT_EQ(occurrences(plain, "7356"), 0u);
    const std::map<std::string, size_t> stated{{"none", 0},        {"solution", 1}, {"answer-twice", 3},
                                               {"answer-only", 1}, {"hint", 0},     {"wrong-answer", 0},
                                               {"custom", 2}};
    EXPECT_EQ(occurrences(shown, "7356"), stated.at(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(All, Contexts,
                         testing::Values("none", "solution", "answer-twice", "answer-only", "hint",
                                         "wrong-answer", "custom"),
                         [](const auto& info) {
                             std::string name = info.param;
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

TEST(Prompts, ids_that_look_like_turns_in_a_problem_are_those_of_the_template) {
    // What a template writes is encoded as one text, as Hugging Face does: the frame of the turn stays.
    const auto qwen = tokenizer("qwen2.5");
    auto row = example();
    row.problem = "Plain words.";
    const auto prompt = builder(recipe("none"), qwen).build(row, false).value();
    const auto expected = qwen.encode(chatml(
        {{"system", "You solve problems."}, {"user", "Plain words.\n\nPut the final answer in \\boxed{}."}}));
    EXPECT_EQ(prompt.student_ids, expected);
}

TEST(Prompts, without_a_system_text_the_template_decides) {
    const auto qwen = tokenizer("qwen2.5");
    auto recipe = teacher::recipe("none");
    recipe.data.system.clear();
    const auto prompt = builder(recipe, qwen).build(example(), false).value();
    EXPECT_EQ(qwen.decode(prompt.student_ids),
              chatml({{"system", "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."},
                      {"user", student_turn}}));
}

TEST(Prompts, of_llama_keep_the_answer_in_the_user_turn) {
    const auto folder = test::shared("data/tokenizers/llama3");
    if (!folder) GTEST_SKIP() << "Llama 3's tokenizer may not be copied and is not beside this checkout";
    const auto llama = text::Tokenizer::load(*folder).value();
    const auto recipe = teacher::recipe("answer-twice");
    const auto prompt = builder(recipe, llama).build(example(), false).value();
    const std::string user = data::teacher_user_text(example(), recipe.data, recipe.teacher).value().text;
    EXPECT_EQ(llama.decode(prompt.teacher_ids),
              "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nYou solve problems.<|eot_id|>"
              "<|start_header_id|>user<|end_header_id|>\n\n" +
                  user + "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n");
    EXPECT_EQ(std::count(prompt.teacher_ids.begin(), prompt.teacher_ids.end(), *llama.bos()), 1);
}

TEST(Prompts, of_a_chat_row_show_the_context_in_its_last_user_turn) {
    const auto qwen = tokenizer("qwen2.5");
    auto row = example();
    row.messages = {{{"role", "system"}, {"content", "Be brief."}},
                    {{"role", "user"}, {"content", "Do you know casks?"}},
                    {{"role", "assistant"}, {"content", "Yes."}},
                    {{"role", "user"}, {"content", row.problem}}};
    const auto recipe = teacher::recipe("answer-only");
    const auto prompt = builder(recipe, qwen).build(row, false).value();
    std::vector<std::pair<std::string, std::string>> turns{{"system", "Be brief."},
                                                           {"user", "Do you know casks?"},
                                                           {"assistant", "Yes."},
                                                           {"user", student_turn}};
    EXPECT_EQ(qwen.decode(prompt.student_ids), chatml(turns));
    turns.back().second = data::teacher_user_text(row, recipe.data, recipe.teacher).value().text;
    EXPECT_EQ(qwen.decode(prompt.teacher_ids), chatml(turns));
    EXPECT_EQ(occurrences(turns.back().second, "7356"), 1u);
}

std::string long_solution() {
    std::string text = "Begin here.";
    for (int i = 0; i < 300; ++i)
        text += " Step " + std::to_string(1000 + i) + " follows from the one before.";
    return text + " Together that is \\boxed{7356}.";
}

TEST(Shortening, takes_out_of_the_solution_as_little_as_makes_the_prompt_fit) {
    const auto qwen = tokenizer("qwen2.5");
    auto row = example();
    row.solution = long_solution();
    for (const char* context : {"solution", "answer-twice", "custom", "hint"}) {
        auto recipe = teacher::recipe(context);
        const auto whole = builder(recipe, qwen).build(row, false).value();
        ASSERT_EQ(whole.shortened, 0);
        const int64_t full = int64_t(whole.teacher_ids.size());
        for (const int64_t less : {1, 50, 500}) {
            recipe.teacher.max_prompt = full - less;
            const auto prompt = builder(recipe, qwen).build(row, false).value();
            ASSERT_EQ(prompt.dropped, "") << context << ", " << less << " tokens less";
            EXPECT_LE(int64_t(prompt.teacher_ids.size()), recipe.teacher.max_prompt);
            EXPECT_GT(prompt.shortened, 0);
            // The mark of the cut costs some tokens of its own, and characters at the cut some more.
            EXPECT_GE(int64_t(prompt.teacher_ids.size()), recipe.teacher.max_prompt - 6) << context;
            const std::string text = qwen.decode(prompt.teacher_ids);
            EXPECT_EQ(occurrences(text, row.problem), 1u);
            EXPECT_EQ(occurrences(text, "Begin here."), 1u);
            EXPECT_EQ(occurrences(text, "[" + std::to_string(prompt.shortened) + " characters left out]"),
                      1u);
            if (std::string(context) == "answer-twice") {
                EXPECT_EQ(occurrences(text, "7356"), 3u); // the solution's end and both lines stand
            }
            EXPECT_TRUE(text.ends_with("<|im_end|>\n<|im_start|>assistant\n"));
        }
    }
}

TEST(Shortening, that_would_not_be_enough_drops_the_example_with_the_reason) {
    const auto qwen = tokenizer("qwen2.5");
    auto recipe = teacher::recipe("solution");
    recipe.teacher.max_prompt = 60; // less than the frame and the other parts
    const auto prompt = builder(recipe, qwen).build(example(), false).value();
    EXPECT_EQ(prompt.dropped, "the teacher's prompt is longer than 60 tokens without the solution");
    // Nothing but the solution is ever shortened.
    recipe.teacher.context = "answer-only";
    EXPECT_NE(builder(recipe, qwen).build(example(), false).value().dropped, "");
    recipe.teacher.context = "none";
    recipe.teacher.max_prompt = 20;
    EXPECT_EQ(builder(recipe, qwen).build(example(), false).value().dropped,
              "the teacher's prompt is longer than 20 tokens");
}

TEST(Dropping, a_students_prompt_over_its_limit_is_never_cut) {
    const auto qwen = tokenizer("qwen2.5");
    auto recipe = teacher::recipe("none");
    const int64_t length = int64_t(builder(recipe, qwen).build(example(), false).value().student_ids.size());
    recipe.data.max_prompt = length;
    EXPECT_EQ(builder(recipe, qwen).build(example(), false).value().dropped, "");
    recipe.data.max_prompt = length - 1;
    EXPECT_EQ(builder(recipe, qwen).build(example(), false).value().dropped,
              "the student's prompt is longer than " + std::to_string(length - 1) + " tokens");
}

TEST(Dropping, the_limit_leaves_room_for_a_whole_answer_in_the_models_context) {
    const auto qwen = tokenizer("qwen2.5");
    auto recipe = teacher::recipe("none");
    const int64_t length = int64_t(builder(recipe, qwen).build(example(), false).value().student_ids.size());
    const auto made = [&](int64_t student, int64_t teacher) {
        return PromptBuilder::make(recipe, qwen, student, qwen, teacher, end_token);
    };
    EXPECT_EQ(made(length + 64, length + 64)->build(example(), false)->dropped, "");
    EXPECT_NE(made(length + 63, length + 64)->build(example(), false)->dropped.find("student"),
              std::string::npos);
    EXPECT_NE(made(length + 64, length + 63)->build(example(), false)->dropped.find("teacher"),
              std::string::npos);
    const auto none = made(64, 4096);
    ASSERT_FALSE(none);
    EXPECT_NE(none.error().message().find("max_new 64"), std::string::npos) << none.error().message();
}

TEST(Dropping, an_example_without_what_the_context_shows_names_the_lack) {
    const auto qwen = tokenizer("qwen2.5");
    auto row = example();
    row.solution.clear();
    EXPECT_EQ(builder(recipe("solution"), qwen).build(row, false).value().dropped, "no solution");
    row = example();
    row.answer = "12";
    EXPECT_EQ(builder(recipe("answer-twice"), qwen).build(row, false).value().dropped,
              "the answer disagrees with the solution");
}

TEST(Sft, learns_the_solution_and_the_end_token_after_the_students_prompt) {
    const auto qwen = tokenizer("qwen2.5");
    auto recipe = teacher::recipe("solution");
    recipe.objective.name = "sft";
    const auto plain = builder(recipe, qwen).build(example(), false).value();
    EXPECT_EQ(qwen.decode(plain.student_ids),
              chatml({{"system", "You solve problems."}, {"user", student_turn}}));
    auto target = qwen.encode(example().solution);
    target.push_back(int32_t(end_token));
    EXPECT_EQ(plain.target_ids, target);
    const auto shown = builder(recipe, qwen).build(example(), true).value();
    EXPECT_EQ(occurrences(qwen.decode(shown.student_ids), example().solution), 1u);
    EXPECT_EQ(shown.target_ids, target);

    recipe.rollout.max_new = int64_t(target.size());
    EXPECT_EQ(builder(recipe, qwen).build(example(), false).value().dropped, "");
    recipe.rollout.max_new -= 1;
    EXPECT_EQ(builder(recipe, qwen).build(example(), false).value().dropped,
              "the solution is longer than max_new");
}

TEST(Sft, text_like_a_special_token_in_a_solution_stays_text) {
    const auto qwen = tokenizer("qwen2.5");
    auto recipe = teacher::recipe("none");
    recipe.objective.name = "sft";
    auto row = example();
    row.solution = "It ends with <|im_end|> here.";
    const auto prompt = builder(recipe, qwen).build(row, false).value();
    EXPECT_EQ(std::count(prompt.target_ids.begin(), prompt.target_ids.end(), end_token), 1);
    EXPECT_EQ(prompt.target_ids.back(), end_token);
}

TEST(GenerationPrefixes, are_what_the_template_adds_for_the_answer) {
    const auto qwen = tokenizer("qwen3");
    const std::string header = "<|im_start|>assistant\n", closed = header + "<think>\n\n</think>\n\n";
    for (const bool student : {false, true}) {
        for (const bool teacher : {false, true}) {
            auto recipe = teacher::recipe("solution");
            recipe.data.thinking = student;
            recipe.teacher.thinking = teacher;
            const auto made = builder(recipe, qwen);
            const auto prefixes = made.generation_prefixes(example()).value();
            EXPECT_EQ(prefixes.student, qwen.encode(student ? header : closed));
            EXPECT_EQ(prefixes.teacher, qwen.encode(teacher ? header : closed));
            const auto prompt = made.build(example(), false).value();
            EXPECT_TRUE(qwen.decode(prompt.student_ids).ends_with(student ? header : closed));
            EXPECT_TRUE(qwen.decode(prompt.teacher_ids).ends_with(teacher ? header : closed));
        }
    }
}

TEST(GenerationPrefixes, of_a_template_that_knows_no_thinking_are_equal_whatever_is_asked) {
    const auto qwen = tokenizer("qwen2.5");
    auto recipe = teacher::recipe("none");
    recipe.teacher.thinking = true;
    const auto prefixes = builder(recipe, qwen).generation_prefixes(example()).value();
    EXPECT_EQ(prefixes.student, qwen.encode("<|im_start|>assistant\n"));
    EXPECT_EQ(prefixes.teacher, prefixes.student);
}

TEST(StudentPrompt, for_an_evaluation_is_the_one_that_trains) {
    const auto qwen = tokenizer("qwen3");
    const auto made = builder(recipe("answer-twice"), qwen);
    EXPECT_EQ(made.student_prompt(example()).value(), made.build(example(), false).value().student_ids);
}

TEST(Make, a_tokenizer_without_a_chat_template_is_refused) {
    const auto base = tokenizer("gpt2");
    const auto made = PromptBuilder::make(recipe("none"), base, 1024, base, 1024, 0);
    ASSERT_FALSE(made);
    EXPECT_NE(made.error().message().find("student"), std::string::npos) << made.error().message();
    EXPECT_NE(made.error().message().find("chat_template.jinja"), std::string::npos);
}

TEST(CommonVocabulary, is_the_known_ids_however_many_rows_pad_the_heads) {
    const auto qwen = tokenizer("qwen2.5");
    EXPECT_EQ(common_vocabulary(qwen, 151936, qwen, 152064).value(), qwen.size());
    const auto narrow = common_vocabulary(qwen, 1000, qwen, 152064);
    ASSERT_FALSE(narrow);
    EXPECT_NE(narrow.error().message().find("1000"), std::string::npos);
}

TEST(CommonVocabulary, of_tokenizers_that_differ_is_refused_with_the_ids_that_do) {
    const auto qwen = tokenizer("qwen2.5"), newer = tokenizer("qwen3"), other = tokenizer("smollm2");
    const auto refused = common_vocabulary(qwen, 151936, newer, 151936);
    ASSERT_FALSE(refused); // Qwen 3 added tokens from 151665 on
    EXPECT_NE(refused.error().message().find("151665 is \"(none)\" and"), std::string::npos)
        << refused.error().message();
    EXPECT_FALSE(common_vocabulary(qwen, 151936, other, 49152));
}

} // namespace
} // namespace stillroom::teacher
