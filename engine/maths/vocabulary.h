// SPDX-License-Identifier: GPL-3.0-or-later
// Which runs of letters are functions, constants, connectors, measures, or products of one-letter symbols.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stillroom::maths {

std::string lower_case(std::string_view text);
/// Single spaces, none at the ends.
std::string single_spaced(std::string_view text);

bool is_function(std::string_view name);                    // "sin", "sqrt", "log", "max", ...
std::optional<std::string> constant(std::string_view name); // "infty" -> "infinity", "pi" -> "pi"
bool is_greek(std::string_view command);                    // and other commands that name a symbol
/// Commands whose meaning is not read: integrals, limits, dots, arrows, quantifiers.
bool is_beyond_reading(std::string_view command);

/// "and", "or", a comma, or such with commas: what stands between answers.
bool is_connector(std::string_view text);
bool is_yes_or_no(std::string_view word); // "no", "true", "none", ...
bool is_percent(std::string_view word);   // "percent", "pct", ...
/// 1000 for "thousand", 12 for "dozen": a factor of the number before it.
std::optional<std::string> scale(std::string_view word);
/// Says something about the number before it that is no unit: "million more", "or less", "squared".
bool changes_number(std::string_view words);

/// "A and C", "1 or 2": connectors between single letters or numbers.
bool lists_letters(std::string_view text);
/// "12" for "twelve"; up to twenty.
std::optional<std::string> number_word(std::string_view word);

/// Letters that stand for a product: "xyz", "AB", not "apples".
bool is_product_of_letters(std::string_view run);

} // namespace stillroom::maths
