// SPDX-License-Identifier: GPL-3.0-or-later
#include "maths/vocabulary.h"

#include "maths/latex.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace stillroom::maths {

namespace {

using Names = std::set<std::string_view>;

const Names functions{"sin",  "cos",    "tan",      "cot",       "sec",  "csc",  "arcsin", "arccos", "arctan",
                      "asin", "acos",   "atan",     "sinh",      "cosh", "tanh", "ln",     "log",    "lg",
                      "exp",  "sqrt",   "cbrt",     "abs",       "max",  "min",  "gcd",    "lcm",    "floor",
                      "ceil", "arccot", "binomial", "factorial", "sgn",  "det"};

const std::map<std::string_view, std::string_view> constants{
    {"pi", "pi"},       {"infty", "infinity"}, {"infinity", "infinity"}, {"inf", "infinity"},
    {"oo", "infinity"}, {"reals", "reals"},    {"integers", "integers"}, {"e", "e"},
    {"i", "i"}};

const Names greek{"alpha", "beta",     "gamma", "delta", "epsilon", "varepsilon", "zeta",   "eta",
                  "theta", "vartheta", "iota",  "kappa", "lambda",  "mu",         "nu",     "xi",
                  "rho",   "varrho",   "sigma", "tau",   "upsilon", "phi",        "varphi", "chi",
                  "psi",   "omega",    "Gamma", "Delta", "Theta",   "Lambda",     "Xi",     "Pi",
                  "Sigma", "Phi",      "Psi",   "Omega", "ell",     "hbar",       "mho"};

const Names beyond{"int",       "iint",           "oint",       "lim",
                   "limsup",    "liminf",         "ldots",      "cdots",
                   "dots",      "dotsc",          "dotsb",      "vdots",
                   "ddots",     "pmod",           "bmod",       "mod",
                   "to",        "rightarrow",     "Rightarrow", "implies",
                   "iff",       "land",           "lor",        "neg",
                   "forall",    "exists",         "partial",    "longrightarrow",
                   "mapsto",    "Leftrightarrow", "notin",      "not",
                   "subset",    "subseteq",       "circ",       "because",
                   "therefore", "substack",       "sim",        "cong",
                   "parallel",  "perp",           "propto",     "oplus",
                   "otimes",    "wedge",          "vee",        "deg",
                   "tag",       "label",          "ref",        "input",
                   "def",       "newcommand",     "|",          "Vert",
                   "nmid",      "nabla",          "underbrace", "overbrace",
                   "stackrel",  "xrightarrow"};

const Names changing{
    "more",   "less",    "least",    "most",      "not",           "no",      "except", "over",
    "under",  "above",   "below",    "squared",   "cubed",         "half",    "halves", "third",
    "thirds", "quarter", "quarters", "if",        "for",           "when",    "where",  "otherwise",
    "than",   "between", "to",       "up",        "approximately", "about",   "around", "mod",
    "times",  "plus",    "minus",    "remainder", "roughly",       "nearly",  "almost", "false",
    "wrong",  "is",      "are",      "was",       "since",         "because", "base",   "factorial",
    "and",    "or",      "but",      "so",        "then",          "with",    "we",     "it",
    "which",  "that"};

} // namespace

std::string lower_case(std::string_view text) {
    std::string lowered(text);
    std::transform(lowered.begin(), lowered.end(), lowered.begin(), [](char c) { return lower(c); });
    return lowered;
}

std::string single_spaced(std::string_view text) {
    std::string words;
    for (const char c : text) {
        if (!is_space(c) && c != '~') {
            words += c;
        } else if (!words.empty() && words.back() != ' ') {
            words += ' ';
        }
    }
    if (!words.empty() && words.back() == ' ') words.pop_back();
    return words;
}

bool is_function(std::string_view name) { return functions.contains(name); }

std::optional<std::string> constant(std::string_view name) {
    const auto found = constants.find(name);
    if (found == constants.end()) return std::nullopt;
    return std::string(found->second);
}

bool is_greek(std::string_view command) { return greek.contains(command); }

bool is_beyond_reading(std::string_view command) { return beyond.contains(command); }

bool is_connector(std::string_view text) {
    std::string words;
    for (const char c : lower_case(text)) words += c == ',' || c == ';' || c == '/' ? ' ' : c;
    words = single_spaced(words);
    if (words.empty()) return text.find_first_of(",;") != std::string_view::npos;
    return words == "and" || words == "or" || words == "and or";
}

bool is_yes_or_no(std::string_view word) {
    const std::string name = lower_case(word);
    return name == "yes" || name == "no" || name == "true" || name == "false" || name == "none" ||
           name == "all";
}

bool is_percent(std::string_view word) {
    const std::string name = lower_case(word);
    return name == "percent" || name == "pct" || name == "percentage" || name == "per cent" || name == "%";
}

std::optional<std::string> scale(std::string_view word) {
    static const std::map<std::string, std::string> scales{
        {"dozen", "12"},           {"hundred", "100"},         {"thousand", "1000"},
        {"million", "1000000"},    {"millions", "1000000"},    {"thousands", "1000"},
        {"billion", "1000000000"}, {"billions", "1000000000"}, {"trillion", "1000000000000"}};
    const auto found = scales.find(lower_case(word));
    if (found == scales.end()) return std::nullopt;
    return found->second;
}

bool changes_number(std::string_view words) {
    const std::string all = lower_case(words);
    for (size_t at = 0; at < all.size();) {
        if (!is_letter(all[at])) {
            if (is_digit(all[at])) return true;
            ++at;
            continue;
        }
        size_t end = at;
        while (end < all.size() && is_letter(all[end])) ++end;
        const auto word = std::string_view(all).substr(at, end - at);
        if (changing.contains(word) || scale(word)) return true;
        at = end;
    }
    return false;
}

bool is_product_of_letters(std::string_view run) {
    if (std::all_of(run.begin(), run.end(), [](char c) { return c >= 'A' && c <= 'Z'; }))
        return run.size() <= 6;
    if (run.size() <= 2) return true;
    return run.size() <= 5 && lower_case(run).find_first_of("eiou") == std::string::npos;
}

bool lists_letters(std::string_view text) {
    bool connected = false;
    for (size_t at = 0; at < text.size();) {
        size_t end = at;
        while (end < text.size() && (is_letter(text[end]) || is_digit(text[end]))) ++end;
        const std::string_view word = text.substr(at, end - at);
        if (word.size() > 1 && !is_connector(word)) return false;
        connected = connected || (word.size() > 1 && is_connector(word));
        at = std::max(end, at + 1);
    }
    return connected;
}

std::optional<std::string> number_word(std::string_view word) {
    constexpr std::array<std::string_view, 21> names{
        "zero",     "one",     "two",     "three",     "four",     "five",     "six",
        "seven",    "eight",   "nine",    "ten",       "eleven",   "twelve",   "thirteen",
        "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"};
    const auto found = std::find(names.begin(), names.end(), word);
    if (found == names.end()) return std::nullopt;
    return std::to_string(found - names.begin());
}

} // namespace stillroom::maths
