// SPDX-License-Identifier: GPL-3.0-or-later
// The final answer that a reference solution states, and whether it is the one of its row. Small on purpose:
// it guards what a teacher is told; grading is maths' business.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stillroom::data {

/// What follows the last "####" of a solution (without thousands commas), else the content of its last
/// \boxed{...}.
std::optional<std::string> final_answer(std::string_view solution);

/// Whether two answers read the same: as numbers where both are, else as text without spacing, dollar signs,
/// \left, \right and the like.
bool answers_agree(std::string_view left, std::string_view right);

/// An answer of the same form that is not `answer`, always the same one: its last number grows a little. For
/// controls.
std::string wrong_answer(const std::string& answer);

} // namespace stillroom::data
