// SPDX-License-Identifier: GPL-3.0-or-later
// Units of measure as answers state them, with exact factors between those of one kind.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace stillroom::maths {

/// A word that is read as a unit after a number without \text around it: "cm", "miles", "dollars".
bool is_unit(std::string_view word);

struct Measure {
    std::map<std::string, int> dimensions;  // "length" -> 2 for an area
    int64_t numerator = 1, denominator = 1; // in base units: 1/100 for "cm"
};

/// "cm^2", "square feet", "km/h", "miles per hour". nullopt where a word is unknown.
std::optional<Measure> parse_measure(std::string_view text);

/// Lower case, singular, single spaces: how unknown units are compared.
std::string unit_name(std::string_view text);

} // namespace stillroom::maths
