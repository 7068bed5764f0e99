// SPDX-License-Identifier: GPL-3.0-or-later
#include "data/overlap.h"

#include "text/unicode.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

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

namespace {

/// Hashes of all runs of n words, each once.
std::unordered_set<uint64_t> runs_of(std::string_view problem, int64_t n) {
    const std::string plain = text::to_lower(text::normalized(problem, text::NormalForm::KC));
    std::vector<uint64_t> words; // FNV-1a of each
    constexpr uint64_t start = 14695981039346656037ULL, prime = 1099511628211ULL;
    uint64_t word = start;
    const auto end_word = [&] {
        if (word != start) words.push_back(std::exchange(word, start));
    };
    for (size_t at = 0; at < plain.size();) {
        const char32_t character = text::next_character(plain, at);
        if (text::is_word(character) || text::is_numeric(character)) {
            word = (word ^ uint64_t(character)) * prime;
        } else {
            end_word();
        }
    }
    end_word();
    std::unordered_set<uint64_t> runs;
    for (size_t i = 0; i + size_t(n) <= words.size(); ++i) {
        uint64_t run = start;
        for (size_t k = i; k < i + size_t(n); ++k) run = (run ^ words[k]) * prime;
        runs.insert(run);
    }
    return runs;
}

} // namespace

std::vector<SharedRuns> shared_runs(const Dataset& left, const Dataset& right, int64_t n,
                                    double least_share) {
    constexpr size_t most_places = 1000; // of one run; what is in more examples is a phrase, not a problem
    std::unordered_map<uint64_t, std::vector<int64_t>> places;
    for (const Example& example : right.examples) {
        for (const uint64_t run : runs_of(example.problem, n)) {
            auto& found = places[run];
            if (found.size() < most_places) found.push_back(example.index);
        }
    }
    std::vector<SharedRuns> all;
    for (const Example& example : left.examples) {
        const auto runs = runs_of(example.problem, n);
        std::map<int64_t, int64_t> counts;
        for (const uint64_t run : runs) {
            const auto found = places.find(run);
            if (found == places.end()) continue;
            for (const int64_t other : found->second) ++counts[other];
        }
        const auto most = std::max_element(counts.begin(), counts.end(),
                                           [](const auto& a, const auto& b) { return a.second < b.second; });
        if (most == counts.end()) continue;
        const double share = double(most->second) / double(runs.size());
        if (share >= least_share) all.push_back({example.index, most->first, share});
    }
    return all;
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
