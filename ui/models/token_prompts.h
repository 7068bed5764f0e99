// SPDX-License-Identifier: GPL-3.0-or-later
// Student's and teacher's prompts side by side, token by token (ui.md 4.8): what both have, what only one
// has, and what must hold for the teacher to score the student's own answer.
#pragma once

#include "ui/models/token_texts.h"

namespace stillroom::ui {

/// A run of tokens: in both prompts, or in one alone.
struct PromptPart {
    enum class In { Both, Student, Teacher } in = In::Both;
    std::pair<size_t, size_t> student{}, teacher{}; // [first, past the last); empty on the side that lacks it
    size_t times_stated = 0;                        // how often its text holds the gold answer
};

struct PromptCheck {
    QString text;
    bool good = false;
};

struct PromptComparison {
    std::vector<PromptPart> parts;
    std::vector<PromptCheck> checks;
    QString headline; // "student 143 tokens, teacher 955: +812 in 2 insertions, the answer is stated twice"
};

/// `teacher`: the teacher's prompt as texts; equal to the student's where the record has none.
PromptComparison compare_prompts(const TokenTexts& student, const TokenTexts& teacher,
                                 const std::string& gold);

} // namespace stillroom::ui
