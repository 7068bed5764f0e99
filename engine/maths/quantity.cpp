// SPDX-License-Identifier: GPL-3.0-or-later
#include "maths/quantity.h"

#include "base/strings.h"
#include "maths/latex.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace stillroom::maths {

namespace {

using Integer = boost::multiprecision::cpp_int;

constexpr size_t most_digits = 400;

/// Units that count as such without \text: anything else after a number may be a product of variables.
constexpr std::array<std::string_view, 58> common_units{
    "cm",     "mm",     "km",      "meter",  "meters",  "metre",   "metres", "centimeters", "kilometers",
    "inch",   "inches", "foot",    "feet",   "ft",      "yard",    "yards",  "mile",        "miles",
    "mph",    "gram",   "grams",   "kg",     "pound",   "pounds",  "ounce",  "ounces",      "liter",
    "liters", "second", "seconds", "minute", "minutes", "hour",    "hours",  "day",         "days",
    "week",   "weeks",  "month",   "months", "year",    "years",   "dollar", "dollars",     "cent",
    "cents",  "euro",   "euros",   "yuan",   "degree",  "degrees", "unit",   "units",       "square",
    "cubic",  "per",    "percent", "pct"};

/// Words that change the number they follow, name a constant, or join two numbers: a text with one of them is
/// no unit.
constexpr std::array<std::string_view, 75> no_units{
    "and",      "or",      "to",       "plus",          "minus",      "times",
    "over",     "by",      "less",     "more",          "than",       "squared",
    "cubed",    "hundred", "hundreds", "thousand",      "thousands",  "million",
    "millions", "billion", "billions", "trillion",      "dozen",      "dozens",
    "half",     "halves",  "third",    "thirds",        "quarter",    "quarters",
    "fourth",   "fourths", "fifth",    "fifths",        "sixth",      "sixths",
    "eighth",   "eighths", "tenth",    "tenths",        "hundredths", "pi",
    "mod",      "base",    "root",     "factorial",     "not",        "below",
    "above",    "under",   "negative", "loss",          "zero",       "at",
    "least",    "most",    "about",    "approximately", "nearly",     "from",
    "ones",     "tens",    "two",      "three",         "pair",       "pairs",
    "couple",   "score",   "binary",   "octal",         "hex",        "hexadecimal",
    "choose",   "of",      "infinity"};

template <size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& words) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

/// Reads from the left of a text; every function takes what it recognises off and leaves the rest.
class Reader {
public:
    explicit Reader(std::string_view text) : rest_(text) {}

    std::string_view rest() const { return rest_; }
    bool done() const { return rest_.empty(); }
    bool take(std::string_view word) {
        if (!rest_.starts_with(word)) return false;
        rest_.remove_prefix(word.size());
        return true;
    }
    std::string_view take_digits() {
        size_t end = 0;
        while (end < rest_.size() && is_digit(rest_[end])) ++end;
        const std::string_view digits = rest_.substr(0, end);
        rest_.remove_prefix(end);
        return digits;
    }

private:
    std::string_view rest_;
};

Integer power_of_ten(size_t exponent) { return boost::multiprecision::pow(Integer(10), unsigned(exponent)); }

/// Whole digits, which boost would read as octal with a leading 0.
Integer integer_of(std::string_view digits) {
    digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
    return digits.empty() ? Integer(0) : Integer(std::string(digits));
}

/// An unsigned integer or decimal, with strict thousands groups or none.
std::optional<Rational> take_decimal(Reader& reader) {
    Reader trial = reader;
    std::string digits(trial.take_digits());
    if (!digits.empty() && digits.size() <= 3 && digits.front() != '0') {
        for (;;) {
            Reader group = trial;
            if (!group.take(",")) break;
            const std::string_view three = group.take_digits();
            if (three.size() != 3) return std::nullopt; // a list, a decimal comma, or a slip
            digits += three;
            trial = group;
        }
    }
    std::string places;
    Reader fraction = trial;
    if (fraction.take(".")) {
        places = std::string(fraction.take_digits());
        if (!places.empty()) trial = fraction;
    }
    if (digits.empty() && places.empty()) return std::nullopt;
    if (digits.size() + places.size() > most_digits) return std::nullopt;
    reader = trial;
    return Rational(integer_of(digits + places), power_of_ten(places.size()));
}

std::optional<Rational> take_signed_decimal(Reader& reader) {
    const bool negative = reader.take("-");
    if (!negative) reader.take("+");
    auto value = take_decimal(reader);
    if (value && negative) *value = -*value;
    return value;
}

/// A decimal, or one with its sign in ( ) or { }.
std::optional<Rational> take_operand(Reader& reader) {
    for (const auto& [open, close] : {std::pair{"(", ")"}, std::pair{"{", "}"}}) {
        Reader trial = reader;
        if (!trial.take(open)) continue;
        const auto value = take_signed_decimal(trial);
        if (!value || !trial.take(close)) return std::nullopt;
        reader = trial;
        return value;
    }
    return take_decimal(reader);
}

struct Fraction {
    Rational numerator, denominator;
};

/// \frac{a}{b} with a denominator that is not 0.
std::optional<Fraction> take_latex_fraction(Reader& reader) {
    Reader trial = reader;
    if (!trial.take("\\frac{")) return std::nullopt;
    const auto numerator = take_signed_decimal(trial);
    if (!numerator || !trial.take("}{")) return std::nullopt;
    const auto denominator = take_signed_decimal(trial);
    if (!denominator || !trial.take("}") || *denominator == 0) return std::nullopt;
    reader = trial;
    return Fraction{*numerator, *denominator};
}

/// a/b with a denominator that is not 0; leaves the reader alone where there is none.
std::optional<Fraction> take_slash_fraction(Reader& reader) {
    Reader trial = reader;
    const auto numerator = take_operand(trial);
    if (!numerator || !trial.take("/")) return std::nullopt;
    const auto denominator = take_operand(trial);
    if (!denominator || *denominator == 0) return std::nullopt;
    reader = trial;
    return Fraction{*numerator, *denominator};
}

bool is_whole(const Rational& value) { return denominator(value) == 1; }

/// The fraction that makes a mixed number with the whole number before it: proper, of positive whole numbers.
std::optional<Rational> proper(const std::optional<Fraction>& fraction) {
    if (!fraction || !is_whole(fraction->numerator) || !is_whole(fraction->denominator)) return std::nullopt;
    if (fraction->numerator <= 0 || fraction->numerator >= fraction->denominator) return std::nullopt;
    return fraction->numerator / fraction->denominator;
}

/// A fraction, a mixed number or a decimal, without a sign.
std::optional<Rational> take_magnitude(Reader& reader) {
    if (const auto fraction = take_latex_fraction(reader)) return fraction->numerator / fraction->denominator;
    if (const auto fraction = take_slash_fraction(reader)) return fraction->numerator / fraction->denominator;
    const auto whole = take_decimal(reader);
    if (!whole || !is_whole(*whole)) return whole;
    if (reader.rest().starts_with("\\frac")) {
        const auto part = proper(take_latex_fraction(reader));
        if (!part) return std::nullopt;
        return *whole + *part;
    }
    Reader trial = reader;
    if (trial.take(" ") && !trial.done() && is_digit(trial.rest().front())) {
        const auto part = proper(take_slash_fraction(trial));
        if (!part) return std::nullopt;
        reader = trial;
        return *whole + *part;
    }
    return whole;
}

std::string singular(std::string word) {
    if (word == "feet") return "foot";
    if (word == "inches") return "inch";
    if (word == "pct" || word == "percent" || word == "percentage") return "%";
    if (word.size() > 3 && word.back() == 's') word.pop_back();
    return word;
}

std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> words(1);
    for (const char c : text) {
        if (c == ' ') {
            words.emplace_back();
        } else {
            words.back() += lower(c);
        }
    }
    std::erase_if(words, [](const std::string& word) { return word.empty(); });
    return words;
}

/// `text` as a unit; nullopt if it is none. In \text any few words are one ("apples"), else only common
/// units.
std::optional<std::string> unit_of(std::string_view text, bool in_text) {
    constexpr size_t most_words = 4;
    constexpr std::array<std::string_view, 4> single_letters{"m", "g", "s", "h"};
    constexpr std::array<std::string_view, 3> incomplete{"square", "cubic", "per"};
    std::vector<std::string> words = words_of(text);
    if (words.empty() || words.size() > most_words || is_one_of(words.back(), incomplete))
        return std::nullopt;
    for (std::string& word : words) {
        if (!std::all_of(word.begin(), word.end(), is_letter)) return std::nullopt;
        if (is_one_of(word, no_units)) return std::nullopt;
        const bool common = is_one_of(word, common_units) || word == "percentage";
        if (!common && !in_text) return std::nullopt;
        if (word.size() < 2 && !is_one_of(word, single_letters)) return std::nullopt;
        word = singular(std::move(word));
    }
    return join(words, " ");
}

std::optional<std::string> take_unit(Reader& reader) {
    if (reader.take("%")) return "%";
    for (const std::string_view degree : {"^\\circ", "^{\\circ}", "\\degree"}) {
        if (reader.take(degree)) return "degree";
    }
    std::string_view rest = reader.rest();
    const bool in_text = rest.starts_with("\\text{");
    std::string_view name;
    if (in_text) {
        const size_t close = closing_brace(rest, 5);
        if (close == std::string_view::npos) return std::nullopt;
        name = rest.substr(6, close - 6);
        reader.take(rest.substr(0, close + 1));
    } else {
        const size_t end =
            std::find_if_not(rest.begin(), rest.end(), [](char c) { return is_letter(c) || c == ' '; }) -
            rest.begin();
        name = rest.substr(0, end);
        reader.take(name);
    }
    auto unit = unit_of(name, in_text);
    if (!unit) return std::nullopt;
    for (const auto& [written, power] : {std::pair{"^2", "^2"}, std::pair{"^3", "^3"},
                                         std::pair{"\xc2\xb2", "^2"}, std::pair{"\xc2\xb3", "^3"}}) {
        if (reader.take(written)) return *unit + power;
    }
    return unit;
}

std::optional<std::string> take_currency(Reader& reader) {
    constexpr std::array<std::pair<std::string_view, const char*>, 4> signs{{{"\\$", "dollar"},
                                                                             {"\xe2\x82\xac", "euro"},
                                                                             {"\xc2\xa3", "pound sterling"},
                                                                             {"\xc2\xa5", "yen or yuan"}}};
    for (const auto& [sign, unit] : signs) {
        if (reader.take(sign)) return unit;
    }
    return std::nullopt;
}

/// ( ) around all of a text without commas are grouping, not a tuple or an interval.
std::string_view without_parentheses(std::string_view text) {
    while (text.size() > 2 && text.front() == '(' && text.back() == ')') {
        const std::string_view inner = text.substr(1, text.size() - 2);
        if (inner.find_first_of("(),") != std::string_view::npos) break;
        text = inner;
    }
    return text;
}

} // namespace

std::optional<Quantity> parse_quantity(std::string_view marked) {
    Quantity quantity;
    if (marked.size() > 2 && is_letter(marked[0]) && marked[1] == '=') {
        quantity.variable = marked.substr(0, 1);
        marked.remove_prefix(2);
    }
    Reader reader(without_parentheses(marked));
    auto currency = take_currency(reader);
    const bool negative = reader.take("-");
    if (!negative) reader.take("+");
    if (!currency) currency = take_currency(reader);
    const auto magnitude = take_magnitude(reader);
    if (!magnitude) return std::nullopt;
    quantity.value = negative ? Rational(-*magnitude) : *magnitude;
    if (!currency) currency = take_currency(reader); // "5 €"
    if (currency) quantity.unit = *currency;
    while (!reader.done() && reader.rest().front() == ' ') reader.take(" ");
    if (!reader.done()) {
        const auto unit = take_unit(reader);
        if (!unit || !reader.done()) return std::nullopt;
        if (currency && *unit != *currency) return std::nullopt;
        quantity.unit = *unit;
    }
    return quantity;
}

std::string to_string(const Rational& value) {
    if (is_whole(value)) return numerator(value).str();
    return numerator(value).str() + "/" + denominator(value).str();
}

} // namespace stillroom::maths
