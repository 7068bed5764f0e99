// SPDX-License-Identifier: GPL-3.0-or-later
// The parts of objectives.md 9, numbered as there: (1) problem, (2) announcement, (3) solution between marks,
// (4) verified answer, (5) transition, (6) format instruction, (7) the answer as the last line.
#include "data/context.h"

#include "base/strings.h"
#include "data/answers.h"
#include "data/prompts.h"
#include "text/unicode.h"

#include <algorithm>

namespace stillroom::data {

namespace {

struct Wording {
    const char* announcement; // (2); null: no solution is shown
    bool states_answer;       // (4)
    const char* transition;   // (5)
    bool answer_last;         // (7)
};

constexpr const char* solution_announced = "For your eyes only, here is a worked solution of this problem.";
constexpr const char* in_own_words =
    "Read it until you see why every step holds. Then put it aside: work the problem out afresh, in your own "
    "words and "
    "without quoting it or saying that you have seen it, and arrive at the same result.";
constexpr const char* reach_answer = "Work the problem out from the beginning, in your own words and without "
                                     "saying that you know the answer, and arrive "
                                     "at it.";

Wording wording(const std::string& context) {
    if (context == "solution") return {solution_announced, false, in_own_words, false};
    if (context == "answer-twice") return {solution_announced, true, in_own_words, true};
    if (context == "hint") {
        return {"As a hint, this is how a worked solution of this problem begins.", false,
                "Take the hint up if it helps, without quoting it, and solve the whole problem in your own "
                "words.",
                false};
    }
    return {nullptr, true, reach_answer, false}; // answer-only, wrong-answer
}

/// The first third of a solution, ended at a line or sentence, never with the final answer in it.
std::string opening(const std::string& solution) {
    size_t end = solution.size() / 3;
    for (const char* mark : {"####", "\\boxed"})
        end = std::min(end, std::min(solution.find(mark), solution.size()));
    const std::string_view part = std::string_view(solution).substr(0, end);
    const size_t line = part.rfind('\n'), sentence = part.rfind(". ");
    size_t cut = part.size();
    if (line != std::string_view::npos && line > 0) {
        cut = line;
    } else if (sentence != std::string_view::npos) {
        cut = sentence + 1;
    } else { // in the middle of a sentence: at a word
        const size_t blank = part.rfind(' ');
        cut = blank == std::string_view::npos ? 0 : blank;
    }
    return std::string(trimmed(part.substr(0, cut)));
}

Result<void> check_answer(const Example& example) {
    if (example.answer.empty()) return Error{"no answer", example.where};
    const auto stated = final_answer(example.solution);
    if (stated && !answers_agree(*stated, example.answer)) {
        return Error{"the answer disagrees with the solution",
                     example.where + ", answer " + stillroom::quoted(example.answer) + ", solution " +
                         stillroom::quoted(*stated)};
    }
    return {};
}

/// The student's turn with `block` where the instruction stands (at the end if that is before the problem),
/// and `last` at the very end.
PrivilegedPrompt inserted(const Example& example, const formats::DataSection& data, const std::string& block,
                          const std::string& last) {
    const size_t problem = data.user.find("{problem}"), instruction = data.user.find("{instruction}");
    const bool before_instruction = instruction != std::string::npos && problem < instruction;
    const size_t at = before_instruction ? instruction : data.user.size();
    const auto fill = [&](const std::string& text) {
        return filled(text, {{"problem", example.problem}, {"instruction", data.instruction}});
    };
    PrivilegedPrompt prompt;
    const auto add_aware = [&](const std::string& text) {
        if (text.empty()) return;
        prompt.answer_aware.push_back({prompt.text.size(), prompt.text.size() + text.size()});
        prompt.text += text;
    };
    prompt.text = fill(data.user.substr(0, at));
    add_aware(block);
    std::string rest = fill(data.user.substr(at));
    // An instruction without line breaks of its own would run on behind the block.
    if (!block.empty() && !rest.empty() && rest.front() != '\n') rest.insert(0, "\n\n");
    prompt.text += rest;
    add_aware(last);
    return prompt;
}

PrivilegedPrompt custom(const Example& example, const formats::DataSection& data, const std::string& text,
                        const Shortened& solution) {
    PrivilegedPrompt prompt;
    const std::vector<std::pair<std::string, std::string>> parts{{"{problem}", example.problem},
                                                                 {"{instruction}", data.instruction},
                                                                 {"{solution}", solution.text},
                                                                 {"{answer}", example.answer}};
    for (size_t at = 0; at < text.size();) {
        const auto part = std::find_if(parts.begin(), parts.end(), [&](const auto& candidate) {
            return std::string_view(text).substr(at).starts_with(candidate.first);
        });
        if (part == parts.end()) {
            prompt.text += text[at++];
            continue;
        }
        const size_t begin = prompt.text.size();
        prompt.text += part->second;
        at += part->first.size();
        if (part - parts.begin() >= 2 && !part->second.empty())
            prompt.answer_aware.push_back({begin, prompt.text.size()});
    }
    return prompt;
}

} // namespace

Shortened shorten_solution(const std::string& solution, int64_t keep) {
    const auto characters = int64_t(text::character_count(solution));
    if (characters <= keep) return {solution, 0};
    keep = std::max<int64_t>(keep, 0);
    const int64_t removed = characters - keep;
    size_t begin = 0;
    for (int64_t i = 0; i < (keep + 1) / 2; ++i) text::next_character(solution, begin);
    size_t end = solution.size();
    for (int64_t i = 0; i < keep / 2; ++i) end = text::previous_start(solution, end);
    const std::string mark = "\n[" + std::to_string(removed) + " characters left out]\n";
    return {solution.substr(0, begin) + mark + solution.substr(end), removed};
}

Result<PrivilegedPrompt> teacher_user_text(const Example& example, const formats::DataSection& data,
                                           const formats::TeacherSection& teacher,
                                           std::optional<int64_t> keep_solution) {
    if (teacher.context == "none") return PrivilegedPrompt{student_user_text(example, data), {}, 0};
    const bool is_custom = teacher.context == "custom";
    const auto names = [&](const char* part) {
        return teacher.template_text.find(part) != std::string::npos;
    };
    const Wording words = wording(teacher.context);
    const bool shows_solution = is_custom ? names("{solution}") : words.announcement != nullptr;
    const bool shows_answer = is_custom ? names("{answer}") : words.states_answer;
    if (shows_solution && trimmed(example.solution).empty()) return Error{"no solution", example.where};
    if (shows_answer) {
        if (auto checked = check_answer(example); !checked) return checked.error();
    }

    const std::string shown = teacher.context == "hint" ? opening(example.solution) : example.solution;
    const Shortened solution = keep_solution ? shorten_solution(shown, *keep_solution) : Shortened{shown, 0};
    const int64_t removed = shows_solution ? solution.removed : 0;
    if (is_custom) {
        PrivilegedPrompt prompt = custom(example, data, teacher.template_text, solution);
        prompt.shortened = removed;
        return prompt;
    }
    if (shows_solution && shown.empty()) return Error{"no solution long enough for a hint", example.where};

    const std::string answer =
        teacher.context == "wrong-answer" ? wrong_answer(example.answer) : example.answer;
    std::string block;
    if (shows_solution) {
        block += std::string("\n\n") + words.announcement + "\n--- solution ---\n" +
                 std::string(trimmed(solution.text)) + "\n--- end of solution ---";
    }
    if (shows_answer)
        block += std::string(shows_solution ? "\n" : "\n\n") + "Verified final answer: " + answer;
    block += std::string("\n\n") + words.transition;
    PrivilegedPrompt prompt =
        inserted(example, data, block, words.answer_last ? "\n\nThe final answer to reach: " + answer : "");
    prompt.shortened = removed;
    return prompt;
}

} // namespace stillroom::data
