// SPDX-License-Identifier: GPL-3.0-or-later
#include "data/overlap.h"

#include "text/unicode.h"

#include <unordered_map>

namespace stillroom::data {

namespace {

bool tells_problems_apart(char32_t character) {
    constexpr std::u32string_view arithmetic = U"+-*/%^=<>!\u2212\u00d7\u00f7\u00b1\u2264\u2265\u2260";
    return text::is_word(character) || text::is_numeric(character) ||
           arithmetic.find(character) != arithmetic.npos;
}

} // namespace

std::string normalised_problem(std::string_view problem) {
    const std::string plain = text::to_lower(text::normalized(problem, text::NormalForm::KC));
    std::string kept;
    for (size_t at = 0; at < plain.size();) {
        const char32_t character = text::next_character(plain, at);
        if (tells_problems_apart(character)) text::append_utf8(kept, character);
    }
    return kept;
}

std::vector<Coincidence> overlap(const Dataset& left, const Dataset& right) {
    std::vector<Coincidence> pairs;
    std::unordered_map<std::string, std::vector<int64_t>> places;
    for (const Example& example : right.examples)
        places[normalised_problem(example.problem)].push_back(example.index);
    for (const Example& example : left.examples) {
        const auto found = places.find(normalised_problem(example.problem));
        if (found == places.end()) continue;
        for (const int64_t other : found->second) {
            pairs.push_back({example.index, other, example.problem == right.examples[size_t(other)].problem});
        }
    }
    return pairs;
}

std::vector<Coincidence> duplicates(const Dataset& set) {
    std::unordered_map<std::string, int64_t> first;
    std::vector<Coincidence> pairs;
    for (const Example& example : set.examples) {
        const auto [found, is_new] = first.try_emplace(normalised_problem(example.problem), example.index);
        if (is_new) continue;
        pairs.push_back(
            {found->second, example.index, example.problem == set.examples[size_t(found->second)].problem});
    }
    return pairs;
}

} // namespace stillroom::data
