// SPDX-License-Identifier: GPL-3.0-or-later
#include "maths/units.h"

#include "maths/latex.h"
#include "maths/vocabulary.h"

#include <charconv>
#include <utility>

namespace stillroom::maths {

namespace {

struct UnitFactor {
    const char* dimension;
    int power;
    int64_t numerator, denominator;
};

/// In metres, grams, seconds, dollars, and so on. The inch is 0.0254 m (1959), the pound 453.59237 g.
const std::map<std::string_view, UnitFactor>& known_units() {
    static const std::map<std::string_view, UnitFactor> units{
        {"m", {"length", 1, 1, 1}},
        {"meter", {"length", 1, 1, 1}},
        {"metre", {"length", 1, 1, 1}},
        {"mm", {"length", 1, 1, 1000}},
        {"millimeter", {"length", 1, 1, 1000}},
        {"cm", {"length", 1, 1, 100}},
        {"centimeter", {"length", 1, 1, 100}},
        {"centimetre", {"length", 1, 1, 100}},
        {"dm", {"length", 1, 1, 10}},
        {"km", {"length", 1, 1000, 1}},
        {"kilometer", {"length", 1, 1000, 1}},
        {"kilometre", {"length", 1, 1000, 1}},
        {"inch", {"length", 1, 254, 10000}},
        {"inches", {"length", 1, 254, 10000}},
        {"in", {"length", 1, 254, 10000}},
        {"foot", {"length", 1, 3048, 10000}},
        {"feet", {"length", 1, 3048, 10000}},
        {"ft", {"length", 1, 3048, 10000}},
        {"yard", {"length", 1, 9144, 10000}},
        {"yd", {"length", 1, 9144, 10000}},
        {"mile", {"length", 1, 1609344, 1000}},
        {"mi", {"length", 1, 1609344, 1000}},
        {"liter", {"length", 3, 1, 1000}},
        {"litre", {"length", 3, 1, 1000}},
        {"l", {"length", 3, 1, 1000}},
        {"ml", {"length", 3, 1, 1000000}},
        {"milliliter", {"length", 3, 1, 1000000}},
        {"g", {"mass", 1, 1, 1}},
        {"gram", {"mass", 1, 1, 1}},
        {"mg", {"mass", 1, 1, 1000}},
        {"kg", {"mass", 1, 1000, 1}},
        {"kilogram", {"mass", 1, 1000, 1}},
        {"ton", {"ton", 1, 1, 1}},
        {"lb", {"mass", 1, 45359237, 100000}},
        {"pound", {"mass", 1, 45359237, 100000}},
        {"ounce", {"mass", 1, 45359237, 1600000}},
        {"oz", {"mass", 1, 45359237, 1600000}},
        {"s", {"time", 1, 1, 1}},
        {"sec", {"time", 1, 1, 1}},
        {"second", {"time", 1, 1, 1}},
        {"min", {"time", 1, 60, 1}},
        {"minute", {"time", 1, 60, 1}},
        {"h", {"time", 1, 3600, 1}},
        {"hr", {"time", 1, 3600, 1}},
        {"hour", {"time", 1, 3600, 1}},
        {"day", {"time", 1, 86400, 1}},
        {"week", {"time", 1, 604800, 1}},
        {"month", {"months", 1, 1, 1}},
        {"year", {"months", 1, 12, 1}},
        {"dollar", {"dollars", 1, 1, 1}},
        {"usd", {"dollars", 1, 1, 1}},
        {"buck", {"dollars", 1, 1, 1}},
        {"cent", {"dollars", 1, 1, 100}},
        {"euro", {"euros", 1, 1, 1}},
        {"yen", {"yen", 1, 1, 1}},
        {"yuan", {"yuan", 1, 1, 1}},
        {"rupee", {"rupees", 1, 1, 1}},
    };
    return units;
}

std::string singular(std::string word) {
    if (known_units().contains(word)) return word;
    if (word.size() > 3 && word.ends_with("s") && !word.ends_with("ss")) word.pop_back();
    return word;
}

} // namespace

bool is_unit(std::string_view word) {
    return known_units().contains(singular(lower_case(word))) || lower_case(word) == "degrees" ||
           lower_case(word) == "degree" || lower_case(word) == "mph" || lower_case(word) == "units";
}

std::string unit_name(std::string_view text) {
    std::string name;
    const std::string all = lower_case(text) + " ";
    std::string word;
    for (const char c : all) {
        if (is_letter(c)) {
            word += c;
            continue;
        }
        name += singular(word);
        word.clear();
        if (c != '.') name += c;
    }
    return single_spaced(name);
}

std::optional<Measure> parse_measure(std::string_view text) {
    std::string words = unit_name(text);
    if (words == "mph") words = "mile/hour";
    if (words == "kph") words = "km/hour";
    Measure measure;
    int sign = 1, next_power = 1;
    for (size_t at = 0; at < words.size();) {
        if (words[at] == ' ' || words[at] == '/') {
            if (words[at] == '/') sign = -1;
            ++at;
            continue;
        }
        size_t end = at;
        while (end < words.size() && is_letter(words[end])) ++end;
        if (end == at) return std::nullopt;
        const std::string word = words.substr(at, end - at);
        at = end;
        if (word == "per") {
            sign = -1;
        } else if (word == "square" || word == "sq") {
            next_power = 2;
        } else if (word == "cubic" || word == "cu") {
            next_power = 3;
        } else {
            const auto found = known_units().find(word);
            if (found == known_units().end()) return std::nullopt;
            int power = std::exchange(next_power, 1);
            if (at < words.size() && words[at] == '^') {
                const auto [stop, error] =
                    std::from_chars(words.data() + at + 1, words.data() + words.size(), power);
                if (error != std::errc() || power < 1 || power > 3) return std::nullopt;
                at = size_t(stop - words.data());
            }
            const UnitFactor& unit = found->second;
            measure.dimensions[unit.dimension] += sign * power * unit.power;
            for (int i = 0; i < power; ++i) {
                if (__builtin_mul_overflow(measure.numerator, sign > 0 ? unit.numerator : unit.denominator,
                                           &measure.numerator) ||
                    __builtin_mul_overflow(measure.denominator, sign > 0 ? unit.denominator : unit.numerator,
                                           &measure.denominator)) {
                    return std::nullopt;
                }
            }
            sign = 1;
        }
    }
    if (measure.dimensions.empty()) return std::nullopt;
    return measure;
}

} // namespace stillroom::maths
