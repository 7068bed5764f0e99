// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/chart_csv.h"

#include "base/files.h"
#include "ui/models/smoothing.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace stillroom::ui {

namespace {

struct Column {
    std::string name;
    Series series;
};

struct Row {
    double wall = 0, active = 0;
    int64_t tokens = 0;
};

std::string quoted_cell(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string cell = "\"";
    for (const char c : text) cell += c == '"' ? "\"\"" : std::string(1, c);
    return cell + '"';
}

/// The shortest text that reads back as the same number.
void append_number(std::string& text, double value) {
    if (record::is_undefined(value)) return;
    if (!std::isfinite(value)) {
        text += std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
        return;
    }
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, value);
    text.append(digits, end.ptr);
}

} // namespace

Result<std::string> metrics_csv(record::RunReader& reader, const CsvRequest& request) {
    const auto summary = reader.summary();
    if (!summary) return summary.error();
    std::vector<std::string> tags = request.tags;
    if (tags.empty()) {
        const auto metrics = reader.metrics();
        if (!metrics) return metrics.error();
        for (const auto& metric : *metrics) tags.push_back(metric.tag);
    }
    std::vector<Column> columns;
    std::map<int64_t, Row> rows;
    for (const auto& tag : tags) {
        const auto points = reader.series(tag);
        if (!points) return points.error();
        Column column{tag, {}};
        for (const auto& point : *points) {
            column.series.step.push_back(point.step);
            column.series.value.push_back(point.value);
            rows.try_emplace(point.step, Row{point.wall_seconds, point.active_seconds, point.tokens_trained});
        }
        columns.push_back(std::move(column));
        if (request.half_life <= 0) continue;
        Smoothing smoothing(request.half_life, false);
        smoothing.extend(columns.back().series, request.breaks, columns.back().series.step.size());
        columns.push_back({tag + "_smooth_h" + std::to_string(request.half_life), smoothing.series()});
    }
    std::string text = "run,step,wall_s,active_s,tokens";
    for (const auto& column : columns) text += "," + quoted_cell(column.name);
    text += '\n';
    const std::string name = quoted_cell(summary->name);
    std::vector<size_t> next(columns.size(), 0);
    for (const auto& [step, row] : rows) {
        text += name + ',' + std::to_string(step) + ',';
        append_number(text, row.wall);
        text += ',';
        append_number(text, row.active);
        text += ',' + std::to_string(row.tokens);
        for (size_t c = 0; c < columns.size(); ++c) {
            text += ',';
            const Series& series = columns[c].series;
            if (next[c] < series.step.size() && series.step[next[c]] == step)
                append_number(text, series.value[next[c]++]);
        }
        text += '\n';
    }
    return text;
}

Result<int64_t> write_metrics_csv(record::RunReader& reader, const CsvRequest& request,
                                  const std::filesystem::path& to) {
    const auto text = metrics_csv(reader, request);
    if (!text) return text.error();
    if (const auto written = write_file(to, *text); !written) return written.error();
    std::error_code fault;
    const auto size = std::filesystem::file_size(to, fault);
    if (fault || size != text->size())
        return Error{"holds " + std::to_string(fault ? 0 : size) + " bytes after writing, expected " +
                         std::to_string(text->size()),
                     to.string()};
    return int64_t(std::count(text->begin(), text->end(), '\n')) - 1;
}

} // namespace stillroom::ui
