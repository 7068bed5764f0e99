// SPDX-License-Identifier: GPL-3.0-or-later
#include "data/answers.h"
#include "data/dataset.h"
#include "data/prompts.h"
#include "tests/support/golden.h"

#include <gtest/gtest.h>

namespace stillroom::data {

namespace {

std::filesystem::path written(const test::TemporaryFolder& folder, const std::string& content,
                              const std::string& name = "d.jsonl") {
    std::ofstream(folder / name, std::ios::binary) << content;
    return folder / name;
}

std::string fault_of(const std::string& content, const formats::DataSection& columns = {}) {
    const test::TemporaryFolder folder;
    const auto set = load_dataset({written(folder, content)}, columns);
    if (set) return "";
    const std::string message = set.error().message();
    return message.substr(message.find("d.jsonl"));
}

Dataset loaded(const std::string& content, const formats::DataSection& columns = {}) {
    const test::TemporaryFolder folder;
    return load_dataset({written(folder, content)}, columns).value();
}

} // namespace

TEST(Dataset, rows_of_the_test_sets_arrive_as_they_stand) {
    const auto file = test::source_folder() / "resources/math500/math500.jsonl";
    formats::DataSection columns;
    columns.id = "unique_id";
    const auto set = load_dataset({file}, columns);
    ASSERT_TRUE(set) << set.error().message();
    const auto rows = test::read_json_lines(file);
    ASSERT_EQ(set->examples.size(), rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
        const Example& example = set->examples[i];
        EXPECT_EQ(example.id, rows[i]["unique_id"]);
        EXPECT_EQ(example.problem, rows[i]["problem"]);
        EXPECT_EQ(example.solution, rows[i]["solution"]);
        EXPECT_EQ(example.answer, rows[i]["answer"]);
        EXPECT_EQ(example.index, int64_t(i));
        EXPECT_EQ(example.line, int64_t(i) + 1);
    }
}

TEST(Dataset, columns_are_taken_by_the_names_of_the_recipe) {
    formats::DataSection columns;
    columns.problem = "question";
    columns.answer = "Answer";
    columns.target = "text";
    columns.id = "n";
    const Dataset set = loaded(
        R"({"question": "1+1?", "solution": "It is 2.", "Answer": 2, "text": "two", "n": 17})", columns);
    const Example& example = set.examples.front();
    EXPECT_EQ(example.problem, "1+1?");
    EXPECT_EQ(example.answer, "2");
    EXPECT_EQ(example.target, "two");
    EXPECT_EQ(example.id, "17");
}

TEST(Dataset, without_an_id_column_the_line_is_the_name) {
    const Dataset set = loaded("{\"problem\": \"a\"}\n\n{\"problem\": \"b\"}\n");
    EXPECT_EQ(set.examples[1].id, "3");
    EXPECT_EQ(set.examples[1].index, 1);
    const test::TemporaryFolder folder;
    const auto one = written(folder, "{\"problem\": \"a\"}\n", "one.jsonl");
    const auto two = written(folder, "{\"problem\": \"b\"}\n", "two.jsonl");
    const auto both = load_dataset({one, two}, {});
    ASSERT_TRUE(both);
    EXPECT_EQ(both->examples[0].id, "one:1");
    EXPECT_EQ(both->examples[1].id, "two:1");
    EXPECT_EQ(both->examples[1].index, 1);
}

TEST(Dataset, a_row_without_a_problem_names_its_line_and_what_it_has) {
    const std::string fault = fault_of("{\"problem\": \"a\"}\n{\"question\": \"b\", \"answer\": \"c\"}\n");
    EXPECT_TRUE(fault.starts_with("d.jsonl:2: no 'problem' and no 'messages', found ")) << fault;
    EXPECT_NE(fault.find("'question'"), std::string::npos) << fault;
}

TEST(Dataset, rows_of_another_type_are_errors) {
    EXPECT_TRUE(fault_of("{\"problem\": [1]}")
                    .starts_with("d.jsonl:1: 'problem': found array, expected a text or a number"));
    EXPECT_TRUE(
        fault_of("{\"problem\": \"a\", \"answer\": true}").starts_with("d.jsonl:1: 'answer': found boolean"));
    EXPECT_TRUE(fault_of("{\"problem\": \"  \"}").starts_with("d.jsonl:1: no 'problem'"));
    EXPECT_TRUE(
        fault_of("{\"messages\": 3}").starts_with("d.jsonl:1: 'messages': found number, expected a list"));
    EXPECT_TRUE(fault_of("{\"messages\": []}").starts_with("d.jsonl:1: 'messages': "));
    EXPECT_TRUE(fault_of("{\"messages\": [{\"role\": \"user\"}]}")
                    .starts_with("d.jsonl:1: 'messages': message 1 needs"));
    EXPECT_TRUE(
        fault_of(R"({"messages": [{"role": "assistant", "content": "hello"}]})").find("no user message") !=
        std::string::npos);
    EXPECT_TRUE(fault_of("{\"problem\": \n").starts_with("d.jsonl:1"));
    EXPECT_TRUE(fault_of("\n\n").starts_with("d.jsonl: holds no rows"));
    formats::DataSection named;
    named.id = "id";
    EXPECT_TRUE(fault_of("{\"problem\": \"a\"}", named).starts_with("d.jsonl:1: no 'id'"));
    EXPECT_FALSE(load_dataset({"/nowhere.jsonl"}, {}));
}

TEST(Dataset, the_limit_counts_rows_and_reads_none_after_it) {
    const test::TemporaryFolder folder;
    const auto file = written(folder, "{\"problem\": \"a\"}\n{\"problem\": \"b\"}\nnot json\n");
    formats::DataSection columns;
    columns.limit = 2;
    const auto first = load_dataset({file}, columns);
    ASSERT_TRUE(first) << first.error().message();
    EXPECT_EQ(first->examples.size(), 2u);
}

TEST(Dataset, a_missing_answer_comes_from_the_solution) {
    EXPECT_EQ(loaded(R"({"problem": "a", "solution": "x\n#### 1,234"})").examples[0].answer, "1234");
    EXPECT_EQ(loaded(R"({"problem": "a", "solution": "so \\boxed{\\frac{1}{2}}."})").examples[0].answer,
              "\\frac{1}{2}");
    EXPECT_EQ(loaded(R"({"problem": "a", "solution": "no end", "answer": null})").examples[0].answer, "");
    EXPECT_EQ(loaded(R"({"problem": "a", "solution": "#### 5", "answer": "6"})").examples[0].answer, "6");
}

TEST(Dataset, calculator_marks_leave_solutions_on_request) {
    const auto file = test::source_folder() / "resources/gsm8k/gsm8k_train_2000.jsonl";
    formats::DataSection columns;
    columns.strip_calculator = true;
    const auto stripped = load_dataset({file}, columns), kept = load_dataset({file}, {});
    ASSERT_TRUE(stripped && kept);
    EXPECT_EQ(stripped->examples[0].solution,
              "Natalia sold 48/2 = 24 clips in May.\nNatalia sold 48+24 = 72 clips altogether "
              "in April and May.\n#### 72");
    EXPECT_NE(kept->examples[0].solution.find("<<48/2=24>>"), std::string::npos);
    for (const Example& example : stripped->examples) {
        EXPECT_EQ(example.solution.find("<<"), std::string::npos) << example.where;
        EXPECT_EQ(example.solution.find(">>"), std::string::npos) << example.where;
    }
}

TEST(Dataset, calculator_marks_that_do_not_close_stay) {
    EXPECT_EQ(without_calculator_marks("a <<1+1"), "a <<1+1");
    EXPECT_EQ(without_calculator_marks("a <<1\n2>> b <<3>>c"), "a <<1\n2>> b c");
    EXPECT_EQ(without_calculator_marks("<<1>><<2>>"), "");
    EXPECT_EQ(without_calculator_marks("x < y"), "x < y");
}

TEST(Answers, are_found_behind_the_last_hash_mark_or_in_the_last_box) {
    EXPECT_EQ(final_answer("a\n#### 7\nb #### $8 \n"), "$8");
    EXPECT_EQ(final_answer("\\boxed{1} and \\boxed{\\text{a {b} c}}"), "\\text{a {b} c}");
    EXPECT_EQ(final_answer("\\boxed{\\{1, 2\\}}"), "\\{1, 2\\}");
    EXPECT_EQ(final_answer("\\boxed{1} then \\boxed{2"), "1");
    EXPECT_EQ(final_answer("$\\boxed 5$"), "5");
    EXPECT_EQ(final_answer("\\boxed"), std::nullopt);
    EXPECT_EQ(final_answer("nothing"), std::nullopt);
    EXPECT_EQ(final_answer(""), std::nullopt);
    EXPECT_EQ(final_answer("####"), std::nullopt);
}

TEST(Answers, agree_when_they_read_the_same) {
    for (const auto& [left, right] :
         std::vector<std::pair<std::string, std::string>>{{"7", "7.0"},
                                                          {"1,234", "1234"},
                                                          {"\\frac{3}{4}", "0.75"},
                                                          {"\\dfrac{3}{4}", "\\frac34"},
                                                          {"3/4", ".75"},
                                                          {"$5$", "5"},
                                                          {"\\left( 3, 4 \\right)", "(3,4)"},
                                                          {"\\text{east}", "east"},
                                                          {"10\\%", "10%"},
                                                          {"90^\\circ", "90"},
                                                          {"-\\frac{1}{2}", "-0.5"},
                                                          {"+2", "2"},
                                                          {"x + 1", "x+1"},
                                                          {"6.", "6"}}) {
        EXPECT_TRUE(answers_agree(left, right)) << left << " | " << right;
    }
    for (const auto& [left, right] : std::vector<std::pair<std::string, std::string>>{{"7", "8"},
                                                                                      {"", ""},
                                                                                      {"7", ""},
                                                                                      {"1,2", "12"},
                                                                                      {"(1,2)", "(2,1)"},
                                                                                      {"\\frac{1}{0}", "1"},
                                                                                      {"x", "y"},
                                                                                      {"0.333", "1/3"},
                                                                                      {"nan", "NaN"},
                                                                                      {"1e3", "1000"}}) {
        EXPECT_FALSE(answers_agree(left, right)) << left << " | " << right;
    }
}

TEST(Answers, agree_with_their_solutions_in_every_set_that_has_both) {
    std::vector<std::filesystem::path> files{test::source_folder() / "resources/math500/math500.jsonl",
                                             test::data("datasets/math_small_with_responses.jsonl"),
                                             test::source_folder() / "resources/gsm8k/gsm8k_train_2000.jsonl",
                                             test::source_folder() / "resources/gsm8k/gsm8k_test.jsonl"};
    size_t checked = 0;
    for (const auto& file : files) {
        const Dataset set = load_dataset({file}, {}).value();
        for (const Example& example : set.examples) {
            const auto stated = final_answer(example.solution);
            ASSERT_TRUE(stated) << example.where;
            EXPECT_TRUE(answers_agree(*stated, example.answer))
                << example.where << ": " << *stated << " | " << example.answer;
            ++checked;
        }
    }
    EXPECT_EQ(checked, 500u + 59 + 2000 + 1319);
}

TEST(Answers, a_wrong_answer_is_wrong_and_always_the_same) {
    EXPECT_EQ(wrong_answer("72"), "75");
    EXPECT_EQ(wrong_answer("\\frac{1}{2}"), "\\frac{1}{5}");
    EXPECT_EQ(wrong_answer("B"), "C");
    EXPECT_EQ(wrong_answer("E"), "A");
    EXPECT_EQ(wrong_answer("Evelyn"), "0");
    EXPECT_EQ(wrong_answer("0/5"), "1");
    for (const auto& file : {test::source_folder() / "resources/math500/math500.jsonl",
                             test::data("datasets/math_small_with_responses.jsonl")}) {
        const Dataset set = load_dataset({file}, {}).value();
        for (const Example& example : set.examples) {
            const std::string wrong = wrong_answer(example.answer);
            EXPECT_FALSE(answers_agree(wrong, example.answer)) << example.answer << " | " << wrong;
            EXPECT_EQ(wrong_answer(example.answer), wrong);
        }
    }
}

TEST(Prompts, the_user_turn_holds_problem_and_instruction) {
    Example example;
    example.problem = "What is {instruction}?";
    formats::DataSection data;
    data.instruction = "\n\nEnd with {problem}.";
    EXPECT_EQ(student_user_text(example, data), "What is {instruction}?\n\nEnd with {problem}.");
    data.user = "Q: {problem} {other}{instruction}";
    EXPECT_EQ(student_user_text(example, data), "Q: What is {instruction}? {other}\n\nEnd with {problem}.");
    EXPECT_EQ(student_messages(example, data).size(), 1u);
    data.system = "Be brief.";
    const auto messages = student_messages(example, data);
    ASSERT_EQ(messages.size(), 2u);
    EXPECT_EQ(messages[0], (nlohmann::json{{"role", "system"}, {"content", "Be brief."}}));
    EXPECT_EQ(messages[1]["role"], "user");
}

TEST(Prompts, a_chat_row_keeps_its_turns_and_its_own_system_message) {
    const nlohmann::json row{{"messages",
                              {{{"role", "system"}, {"content", "Own."}},
                               {{"role", "user"}, {"content", "Hi"}},
                               {{"role", "assistant"}, {"content", "Hello."}},
                               {{"role", "user"}, {"content", "1+1?"}},
                               {{"role", "assistant"}, {"content", "It is \\boxed{2}."}}}}};
    const Example example = loaded(row.dump()).examples.front();
    EXPECT_EQ(example.problem, "1+1?");
    EXPECT_EQ(example.solution, "It is \\boxed{2}.");
    EXPECT_EQ(example.answer, "2");
    formats::DataSection data;
    data.system = "Recipe's.";
    data.instruction = " Be brief.";
    const auto messages = student_messages(example, data);
    ASSERT_EQ(messages.size(), 4u);
    EXPECT_EQ(messages[0]["content"], "Own.");
    EXPECT_EQ(messages[2], row["messages"][2]);
    EXPECT_EQ(messages[3]["content"], "1+1? Be brief.");
}

TEST(Prompts, sft_learns_the_target_and_with_the_context_the_solution_it_shows) {
    Example example;
    example.solution = "right";
    example.target = "spoiled";
    example.where = "d.jsonl:4";
    formats::DataSection data;
    EXPECT_EQ(*sft_target(example, data, false), "right");
    data.target = "text";
    EXPECT_EQ(*sft_target(example, data, false), "spoiled");
    EXPECT_EQ(*sft_target(example, data, true), "right");
    example.target.clear();
    EXPECT_EQ(sft_target(example, data, false).error().message(), "d.jsonl:4: no 'text' to learn");
}

} // namespace stillroom::data
