// SPDX-License-Identifier: GPL-3.0-or-later
// What runs and show share: aligned tables, numbers in them and in JSON, and one rollout in both forms.
#pragma once

#include "record/queries.h"
#include "text/tokenizer.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace stillroom::cli {

/// Columns as wide as their widest cell, numbers to the right; a heading that begins with "<" puts its column
/// to the left.
class Table {
public:
    explicit Table(const std::vector<std::string>& headings);
    void add(std::vector<std::string> cells); // one a heading
    void print() const;                       // to standard output

private:
    std::vector<bool> left_;
    std::vector<std::vector<std::string>> rows_; // the headings first
};

/// `value` with so many digits after the point; "-" for record::Undefined.
std::string fixed(double value, int digits);
/// `value` with so many significant digits, no zeros at the end; "-" for record::Undefined.
std::string shortest(double value, int digits = 6);

/// null for record::Undefined; "nan", "inf" and "-inf" as the store has them.
nlohmann::json number(double value);
nlohmann::json numbers(const record::Metrics& metrics);

nlohmann::json as_json(const record::RunSummary& run);

/// One rollout for people: what it answers, its tokens one a line, and the top-16 record where it is kept.
void print_rollout(int64_t id, const record::RolloutRecord& rollout,
                   const std::optional<text::Tokenizer>& tokenizer);
nlohmann::json as_json(int64_t id, const record::RolloutRecord& rollout,
                       const std::optional<text::Tokenizer>& tokenizer);

/// Writes one JSON value to standard output; bytes that are not UTF-8 are replaced.
void print(const nlohmann::json& value);

} // namespace stillroom::cli
