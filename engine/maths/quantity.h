// SPDX-License-Identifier: GPL-3.0-or-later
// A number as people write it in an answer, read exactly: no floating point, so no two different numbers
// meet.
#pragma once

#include <boost/multiprecision/cpp_int.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace stillroom::maths {

using Rational = boost::multiprecision::cpp_rational;

struct Quantity {
    Rational value;       // the number as written: 28 for "28%"
    std::string unit;     // "", "%", "dollar", "cm^2", ...: lower case, singular
    std::string variable; // "x" of "x=5"
};

/// Reads a marked form (normal_form.h) that is one number and nothing else. Numbers: integers and decimals
/// with a sign, strict thousands groups ("1,234", not "1,23"), \frac{a}{b} and a/b of such, mixed numbers
/// ("2\frac{1}{2}", "2 1/2": always the sum, with a proper fraction). Around them: a currency sign, "x=", a
/// percent or degree sign, a unit in \text{...} (words that change the number, such as "million", are none),
/// a common unit as a plain word. nullopt for anything else, and for numbers of more than 400 digits.
std::optional<Quantity> parse_quantity(std::string_view marked);

/// "7", "-14/3".
std::string to_string(const Rational& value);

} // namespace stillroom::maths
