// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/run_tables.h"

#include "base/ensure.h"

#include <algorithm>
#include <cmath>
#include <iostream>

namespace stillroom::cli {

using nlohmann::json;

namespace {

/// Characters of `text`, near enough to columns of a terminal.
size_t width_of(const std::string& text) {
    return size_t(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string printed(const char* format, int digits, double value) {
    if (record::is_undefined(value)) return "-";
    char text[64];
    std::snprintf(text, sizeof text, format, digits, value);
    const std::string_view shown = text;
    const bool zero = shown.starts_with('-') && shown.find_first_not_of("-0.") == std::string_view::npos;
    return std::string(shown.substr(zero ? 1 : 0)); // no sign where nothing is left of the value
}

} // namespace

Table::Table(const std::vector<std::string>& headings) : rows_(1) {
    for (const std::string& heading : headings) {
        left_.push_back(heading.starts_with('<'));
        rows_.front().push_back(heading.substr(left_.back() ? 1 : 0));
    }
}

void Table::add(std::vector<std::string> cells) {
    ensure(cells.size() == left_.size(), "a row has one cell a heading");
    rows_.push_back(std::move(cells));
}

void Table::print() const {
    std::vector<size_t> widths(left_.size());
    for (const auto& row : rows_) {
        for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
    }
    for (const auto& row : rows_) {
        std::string line;
        for (size_t i = 0; i < row.size(); ++i) {
            const std::string padding(widths[i] - width_of(row[i]), ' ');
            line += (i > 0 ? "  " : "") + (left_[i] ? row[i] + padding : padding + row[i]);
        }
        std::cout << line.substr(0, line.find_last_not_of(' ') + 1) << '\n';
    }
}

std::string fixed(double value, int digits) { return printed("%.*f", digits, value); }
std::string shortest(double value, int digits) { return printed("%.*g", digits, value); }

json number(double value) {
    if (std::isfinite(value)) return value;
    if (record::is_undefined(value)) return {};
    return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

json numbers(const record::Metrics& metrics) {
    json object = json::object();
    for (const auto& [name, value] : metrics) object[name] = number(value);
    return object;
}

json as_json(const record::RunSummary& run) {
    return {{"name", run.name},
            {"folder", run.folder.string()},
            {"state", run.fault.empty() ? record::to_string(run.state) : "unreadable"},
            {"says", run.fault.empty() ? record::state_line(run) : run.fault},
            {"step", run.step},
            {"steps_planned", run.steps_planned},
            {"score", run.score ? number(*run.score) : json()},
            {"score_error", run.score_error ? number(*run.score_error) : json()},
            {"resumable_from", run.resumable_from ? json(*run.resumable_from) : json()}};
}

void print(const json& value) {
    std::cout << value.dump(2, ' ', false, json::error_handler_t::replace) << '\n';
}

} // namespace stillroom::cli
