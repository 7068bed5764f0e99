// SPDX-License-Identifier: GPL-3.0-or-later
// The ways in which an answer may be read, where commas between digits leave a choice.
#pragma once

#include "maths/reader.h"

#include <string>
#include <string_view>
#include <vector>

namespace stillroom::maths {

/// The readings of one answer that differ, the likeliest first, or why there is none.
struct Readings {
    std::vector<Tree> trees;
    std::string why;
};
Readings readings(std::string_view text);

/// How an answer is understood, in one line: "(1/2, sqrt(3))"; empty where it is not read.
std::string understood_form(std::string_view answer);

} // namespace stillroom::maths
