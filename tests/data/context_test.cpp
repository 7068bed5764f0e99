// SPDX-License-Identifier: GPL-3.0-or-later
#include "data/context.h"

#include "data/answers.h"
#include "data/prompts.h"
#include "tests/support/golden.h"

#include <gtest/gtest.h>

namespace stillroom::data {

namespace {

Example example() {
    Example example;
    example.problem = "How many clips?";
    example.solution =
        "She sold 24 in May. Then 48 more, which makes two months.\nTogether that is \\boxed{72}.";
    example.answer = "72";
    example.where = "d.jsonl:1";
    return example;
}

formats::DataSection section() {
    formats::DataSection data;
    data.instruction = "\n\nPut the answer in a box.";
    return data;
}

PrivilegedPrompt shown(const std::string& context, const Example& row = example(),
                       std::optional<int64_t> keep = {}) {
    formats::TeacherSection teacher;
    teacher.context = context;
    return teacher_user_text(row, section(), teacher, keep).value();
}

std::string fault(const std::string& context, const Example& row) {
    formats::TeacherSection teacher;
    teacher.context = context;
    const auto text = teacher_user_text(row, section(), teacher);
    return text ? "" : text.error().what;
}

/// The text without its marked spans: what remains has to be the student's turn.
std::string unmarked(const PrivilegedPrompt& prompt) {
    std::string rest;
    size_t at = 0;
    for (const Span& span : prompt.answer_aware) {
        rest += prompt.text.substr(at, span.begin - at);
        at = span.end;
    }
    return rest + prompt.text.substr(at);
}

size_t occurrences(const std::string& text, const std::string& part) {
    size_t count = 0;
    for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
    return count;
}

void expect_in_order(const std::string& text, const std::vector<std::string>& parts) {
    size_t at = 0;
    for (const std::string& part : parts) {
        const size_t found = text.find(part, at);
        ASSERT_NE(found, std::string::npos) << part << "\nnot behind byte " << at << " of\n" << text;
        at = found + part.size();
    }
}

} // namespace

TEST(Context, none_is_the_students_turn) {
    const PrivilegedPrompt prompt = shown("none");
    EXPECT_EQ(prompt.text, "How many clips?\n\nPut the answer in a box.");
    EXPECT_TRUE(prompt.answer_aware.empty());
}

TEST(Context, what_is_not_marked_is_the_students_turn) {
    for (const char* context : {"solution", "answer-twice", "answer-only", "hint", "wrong-answer"}) {
        const PrivilegedPrompt prompt = shown(context);
        EXPECT_EQ(unmarked(prompt), student_user_text(example(), section())) << context;
        EXPECT_FALSE(prompt.answer_aware.empty());
    }
}

TEST(Context, solution_stands_between_marks_before_the_instruction) {
    const PrivilegedPrompt prompt = shown("solution");
    expect_in_order(prompt.text, {example().problem, "\n---", example().solution, "\n---", "own words",
                                  "Put the answer in a box."});
    EXPECT_TRUE(prompt.text.ends_with("Put the answer in a box."));
    EXPECT_EQ(occurrences(prompt.text, "72"), 1u); // only within the solution
}

TEST(Context, answer_twice_states_the_answer_after_the_solution_and_as_the_last_line) {
    const PrivilegedPrompt prompt = shown("answer-twice");
    expect_in_order(prompt.text, {example().problem, example().solution, "answer: 72", "own words",
                                  "Put the answer in a box.", "72"});
    EXPECT_TRUE(prompt.text.ends_with(": 72"));
    EXPECT_EQ(occurrences(prompt.text, "72"), 3u);
    EXPECT_EQ(prompt.answer_aware.size(), 2u);
    const std::string without_last = prompt.text.substr(0, prompt.answer_aware[1].begin);
    const PrivilegedPrompt plain = shown("solution");
    // nothing else changes: without its two answer lines it is the context `solution`
    std::string reduced = without_last;
    const size_t line = reduced.find("\nVerified final answer: 72");
    ASSERT_NE(line, std::string::npos);
    reduced.erase(line, std::string("\nVerified final answer: 72").size());
    EXPECT_EQ(reduced, plain.text);
}

TEST(Context, answer_only_shows_no_solution) {
    const PrivilegedPrompt prompt = shown("answer-only");
    EXPECT_EQ(prompt.text.find("24"), std::string::npos);
    EXPECT_EQ(occurrences(prompt.text, "72"), 1u);
}

TEST(Context, wrong_answer_states_another_answer_and_no_solution) {
    const PrivilegedPrompt prompt = shown("wrong-answer");
    EXPECT_EQ(prompt.text.find("72"), std::string::npos);
    EXPECT_NE(prompt.text.find("answer: " + wrong_answer("72")), std::string::npos);
    EXPECT_EQ(prompt.text.size(), shown("answer-only").text.size());
}

TEST(Context, a_hint_is_the_opening_of_the_solution_without_its_answer) {
    const PrivilegedPrompt prompt = shown("hint");
    EXPECT_NE(prompt.text.find("She sold 24 in May."), std::string::npos);
    EXPECT_EQ(prompt.text.find("48 more"), std::string::npos);
    for (const auto& file : {test::source_folder() / "resources/math500/math500.jsonl",
                             test::source_folder() / "resources/gsm8k/gsm8k_test.jsonl"}) {
        size_t given = 0;
        const Dataset set = load_dataset({file}, {}).value();
        for (const Example& row : set.examples) {
            formats::TeacherSection teacher;
            teacher.context = "hint";
            const auto hinted = teacher_user_text(row, section(), teacher);
            if (!hinted) {
                EXPECT_EQ(hinted.error().what, "no solution long enough for a hint");
                continue;
            }
            ++given;
            const Span block = hinted->answer_aware.front();
            const std::string text = hinted->text.substr(block.begin, block.end - block.begin);
            EXPECT_EQ(text.find("\\boxed"), std::string::npos) << row.where;
            EXPECT_EQ(text.find("####"), std::string::npos) << row.where;
        }
        EXPECT_GT(given, 490u);
    }
}

TEST(Context, custom_fills_its_template_and_marks_solution_and_answer) {
    formats::TeacherSection teacher;
    teacher.context = "custom";
    teacher.template_text = "{problem} | {solution} | {answer} | {instruction} {other}";
    Example row = example();
    row.solution = "see {answer}";
    const auto prompt = teacher_user_text(row, section(), teacher);
    ASSERT_TRUE(prompt);
    EXPECT_EQ(prompt->text, "How many clips? | see {answer} | 72 | \n\nPut the answer in a box. {other}");
    EXPECT_EQ(prompt->answer_aware, (std::vector<Span>{{18, 30}, {33, 35}}));
}

TEST(Context, missing_or_disagreeing_answers_drop_the_example_with_a_reason) {
    Example row = example();
    row.answer = "73";
    EXPECT_EQ(fault("answer-twice", row), "the answer disagrees with the solution");
    EXPECT_EQ(fault("answer-only", row), "the answer disagrees with the solution");
    EXPECT_EQ(fault("solution", row), "");
    row.answer.clear();
    EXPECT_EQ(fault("answer-twice", row), "no answer");
    EXPECT_EQ(fault("solution", row), "");
    row = example();
    row.solution = " \n";
    EXPECT_EQ(fault("solution", row), "no solution");
    EXPECT_EQ(fault("hint", row), "no solution");
    EXPECT_EQ(fault("answer-only", row), ""); // nothing to disagree with
    row.solution = "It is 5.";
    EXPECT_EQ(fault("answer-twice", row), ""); // states no answer by a mark
}

TEST(Context, the_context_follows_a_turn_whose_instruction_comes_first) {
    formats::DataSection data = section();
    data.instruction = "Box the answer. ";
    data.user = "{instruction}{problem}";
    formats::TeacherSection teacher;
    teacher.context = "answer-twice";
    const auto prompt = teacher_user_text(example(), data, teacher);
    ASSERT_TRUE(prompt);
    EXPECT_TRUE(prompt->text.starts_with("Box the answer. How many clips?\n\n"));
    EXPECT_TRUE(prompt->text.ends_with(": 72"));
}

TEST(Context, an_instruction_without_a_line_break_stands_apart_from_the_context) {
    formats::DataSection data = section();
    data.instruction = "Box it.";
    data.user = "{problem} {instruction}";
    formats::TeacherSection teacher;
    teacher.context = "solution";
    EXPECT_TRUE(teacher_user_text(example(), data, teacher)->text.ends_with("\n\nBox it."));
}

TEST(Context, solutions_are_shortened_from_their_middle) {
    const auto [text, removed] = shorten_solution("abcdefghij", 4);
    EXPECT_EQ(text, "ab\n[6 characters left out]\nij");
    EXPECT_EQ(removed, 6);
    EXPECT_EQ(shorten_solution("abcdefghij", 10).text, "abcdefghij");
    EXPECT_EQ(shorten_solution("abc", 0).text, "\n[3 characters left out]\n");
    EXPECT_EQ(shorten_solution("äöüßé", 3).text, "äö\n[2 characters left out]\né");
    EXPECT_EQ(shorten_solution("", 0).removed, 0);
}

TEST(Context, shortening_never_touches_problem_or_answer) {
    Example row = example();
    row.problem = std::string(300, 'p');
    row.solution = std::string(200, 's') + " \\boxed{72}";
    const PrivilegedPrompt whole = shown("answer-twice", row), cut = shown("answer-twice", row, 20);
    EXPECT_EQ(cut.shortened, 191);
    EXPECT_EQ(whole.shortened, 0);
    EXPECT_NE(cut.text.find(row.problem), std::string::npos);
    EXPECT_EQ(unmarked(cut), unmarked(whole));
    EXPECT_TRUE(cut.text.ends_with(": 72"));
    EXPECT_NE(cut.text.find("answer: 72"), std::string::npos);
    // a solution whose stated answer falls into the cut still agrees with its row
    row.solution = std::string(200, 's') + " \\boxed{72}" + std::string(200, 's');
    EXPECT_NO_THROW(shown("answer-twice", row, 10));
    EXPECT_EQ(shown("answer-only", row, 10).shortened, 0);
}

} // namespace stillroom::data
