// SPDX-License-Identifier: GPL-3.0-or-later
// Reads an answer in LaTeX or plain text into a tree.
#pragma once

#include "maths/expression.h"
#include "maths/tokens.h"

#include <stdexcept>
#include <string_view>

namespace stillroom::maths {

struct Unreadable : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The tree of one answer: a value, a list, a relation, words. Throws Unreadable, with the reason, where it
/// is none of these, or where people would read it in two ways that differ (the improper "3\frac{4}{2}").
/// Conventions: a whole number before a proper fraction is a mixed number; "/" binds like "*", from the left;
/// \sin x y takes the whole product; ^ and _ take a whole number ("x^10"), \frac12 and \sqrt3 one digit.
Tree read(std::string_view text, Commas commas);

} // namespace stillroom::maths
