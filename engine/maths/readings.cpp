// SPDX-License-Identifier: GPL-3.0-or-later
#include "maths/readings.h"

#include "maths/latex.h"

#include <algorithm>

namespace stillroom::maths {

namespace {

bool has_comma_between_digits(std::string_view text) {
    for (size_t at = 1; at + 1 < text.size(); ++at) {
        if ((text[at] == ',' || text[at] == ' ') && is_digit(text[at - 1]) && is_digit(text[at + 1]))
            return true;
    }
    return false;
}

/// One comma in all, between digits, and not before a group of three: "1,5", "0,111".
bool may_be_decimal_comma(std::string_view text) {
    if (std::count(text.begin(), text.end(), ',') != 1 || text.find_first_of("([{") != std::string_view::npos)
        return false;
    const size_t comma = text.find(',');
    size_t start = comma, end = comma + 1;
    while (start > 0 && is_digit(text[start - 1])) --start;
    while (end < text.size() && is_digit(text[end])) ++end;
    if (start == comma || end == comma + 1) return false;
    return end - comma - 1 != 3 || text[start] == '0' || comma - start > 3;
}

} // namespace

Readings readings(std::string_view text) {
    Readings all;
    std::vector<Commas> ways{Commas::Separators};
    if (has_comma_between_digits(text)) ways = {Commas::Thousands, Commas::Separators};
    if (may_be_decimal_comma(text)) ways.push_back(Commas::Decimal);
    std::vector<std::string> seen;
    for (const Commas commas : ways) {
        try {
            Tree tree = read(text, commas);
            std::string shown = to_text(tree, tree.root);
            if (std::find(seen.begin(), seen.end(), shown) != seen.end()) continue;
            seen.push_back(std::move(shown));
            all.trees.push_back(std::move(tree));
        } catch (const Unreadable& fault) {
            if (all.why.empty()) all.why = fault.what();
        }
    }
    return all;
}

std::string understood_form(std::string_view answer) {
    const Readings all = readings(answer);
    return all.trees.empty() ? std::string{} : to_text(all.trees[0], all.trees[0].root);
}

} // namespace stillroom::maths
