// SPDX-License-Identifier: GPL-3.0-or-later
// What a teacher is shown beyond the student's prompt (objectives.md 9): the reference solution, the final
// answer. All of it stays inside the user turn, so that both prompts end with the same generation prefix.
#pragma once

#include "data/dataset.h"

#include <cstddef>
#include <optional>

namespace stillroom::data {

/// Bytes [begin, end) of a text.
struct Span {
    size_t begin = 0, end = 0;
    bool operator==(const Span&) const = default;
};

struct Shortened {
    std::string text;
    int64_t removed = 0; // characters
};
/// `solution` with at most `keep` of its characters: they are taken out of the middle, where a mark says how
/// many.
Shortened shorten_solution(const std::string& solution, int64_t keep);

struct PrivilegedPrompt {
    std::string text;               // the teacher's user turn
    std::vector<Span> answer_aware; // what the student's turn does not hold, in order
    int64_t shortened = 0;          // characters taken out of the solution
};

/// The teacher's user turn in the recipe's context; the student's own turn for context none. `keep_solution`:
/// show only so many characters of the solution; the problem and the answer are never cut.
///
/// An error is a reason to drop the example, short enough to be counted by: "no solution", "no answer", "the
/// answer disagrees with the solution" (where an answer is stated and the solution states one too). `where`
/// says which row.
Result<PrivilegedPrompt> teacher_user_text(const Example& example, const formats::DataSection& data,
                                           const formats::TeacherSection& teacher,
                                           std::optional<int64_t> keep_solution = {});

} // namespace stillroom::data
