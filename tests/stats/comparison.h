// SPDX-License-Identifier: GPL-3.0-or-later
// Compares a whole expected JSON value with what was computed: every key of the expectation, counted.
#pragma once

#include "stats/estimate.h"
#include "stats/scores.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace stillroom::stats::test {

using nlohmann::json;

inline json value(const std::optional<double>& number) { return number ? json(*number) : json(nullptr); }
inline json value(const std::optional<Interval>& interval) {
    return interval ? json{interval->low, interval->high} : json(nullptr);
}

/// Floats within the golden file's tolerance 1e-12 + 1e-9 max(|a|, |b|); whole numbers, strings, null and the
/// lengths of lists exactly. Returns how many leaves were compared.
inline int compare(const json& expected, const json& found, const std::string& path) {
    int compared = 0;
    if (expected.is_object()) {
        for (const auto& [key, item] : expected.items()) {
            if (!found.is_object() || !found.contains(key)) {
                ADD_FAILURE() << path << "." << key << " was not computed";
            } else {
                compared += compare(item, found.at(key), path + "." + key);
            }
        }
    } else if (expected.is_array()) {
        EXPECT_TRUE(found.is_array() && found.size() == expected.size()) << path << ": " << found.dump();
        if (!found.is_array() || found.size() != expected.size()) return compared;
        for (size_t i = 0; i < expected.size(); ++i) {
            compared += compare(expected[i], found[i], path + "[" + std::to_string(i) + "]");
        }
        if (expected.empty()) ++compared;
    } else if (expected.is_number_float() && found.is_number()) {
        const double a = expected.get<double>(), b = found.get<double>();
        EXPECT_LE(std::abs(a - b), 1e-12 + 1e-9 * std::max(std::abs(a), std::abs(b)))
            << path << ": expected " << a << ", found " << b;
        ++compared;
    } else {
        EXPECT_EQ(expected, found) << path;
        ++compared;
    }
    return compared;
}

inline std::vector<QuestionCounts> counts(const json& correct) {
    std::vector<QuestionCounts> questions;
    for (const auto& samples : correct) {
        QuestionCounts question;
        for (const auto& right : samples) {
            question.right += right.get<int>();
            ++question.samples;
        }
        questions.push_back(question);
    }
    return questions;
}

inline std::vector<QuestionCounts> counts(const json& c, const json& n) {
    std::vector<QuestionCounts> questions;
    for (size_t q = 0; q < c.size(); ++q) questions.push_back({c[q].get<int64_t>(), n[q].get<int64_t>()});
    return questions;
}

} // namespace stillroom::stats::test
