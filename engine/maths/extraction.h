// SPDX-License-Identifier: GPL-3.0-or-later
// Finds the final answer in a model's response by a named rule. Only what follows the last </think> counts; a
// thought that is opened and not closed has no answer.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stillroom::maths {

enum class Rule {
    BoxedLast,   // content of the last \boxed{...} or \fbox{...}; a last box that is cut off is no answer
    Gsm8kHash,   // the number after the last "####" that has one, without $ and commas
    AnswerLine,  // rest of the last line that says "answer:" or "answer is", without emphasis and final full
                 // stop
    Whole,       // all of it
    LastFormula, // the last complete formula in $...$, \(...\), \[...\]
    LastNumber,  // the last number anywhere, without commas
    FinalAnswer, // the first that finds something: BoxedLast, AnswerLine, LastFormula, LastNumber
};

const char* to_string(Rule rule); // "boxed_last", "gsm8k_hash", ...
std::optional<Rule> parse_rule(std::string_view name);

/// The answer, not yet normalised (a box keeps its inner spaces); nullopt where the rule finds none.
/// Linear in the length of `response`.
std::optional<std::string> extract(std::string_view response, Rule rule);

/// The last box with those before it, joined by commas, where only commas, "and", "or" or at most four words
/// with one of these stand between; nullopt where there is no closed box.
std::optional<std::string> last_boxes(std::string_view text);

/// How many complete formulas stand in $...$, \(...\) or \[...\].
size_t formula_count(std::string_view text);

} // namespace stillroom::maths
