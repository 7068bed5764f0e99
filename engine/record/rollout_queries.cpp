// SPDX-License-Identifier: GPL-3.0-or-later
// The part of the reader that lists and reads rollouts.
#include "record/queries.h"

#include "record/reader_connection.h"
#include "record/token_blob.h"

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

namespace stillroom::record {

namespace {

Metrics metrics_of_json(const std::string& text) {
    Metrics metrics;
    const nlohmann::json object = nlohmann::json::parse(text.empty() ? "{}" : text);
    for (const auto& [name, value] : object.items()) {
        if (value.is_null()) {
            metrics[name] = Undefined;
        } else if (value.is_number()) {
            metrics[name] = value.get<double>();
        } else {
            metrics[name] = value == "inf" ? HUGE_VAL : value == "-inf" ? -HUGE_VAL : std::nan("");
        }
    }
    return metrics;
}

double number_or_nan(const SQLite::Column& column) {
    return column.isNull() ? std::nan("") : column.getDouble();
}

constexpr std::array<const char*, 15> order_columns{
    "r.id",        "r.kl_mean",
    "r.kl_max",    "r.length",
    "r.entropy",   "r.overlap",
    "r.gain",      "r.clipped",
    "r.step",      "r.prompt",
    "r.sample",    "(CASE r.verdict WHEN 'equal' THEN 2 WHEN 'unknown' THEN 1 ELSE 0 END)",
    "r.format_ok", "(r.finish_reason = 'length')",
    "r.pinned"};

/// What `filter` asks for but the page, over the table `rollout` as r.
std::string conditions(const RolloutFilter& filter) {
    std::string sql = "1";
    if (filter.first_step) sql += " AND r.step >= :first";
    if (filter.last_step) sql += " AND r.step <= :last";
    if (filter.prompt) sql += " AND r.prompt = :prompt";
    if (!filter.prompt_id.empty()) sql += " AND r.prompt_id = :prompt_id";
    if (!filter.verdict.empty()) sql += " AND r.verdict = :verdict";
    if (!filter.finish_reason.empty()) sql += " AND r.finish_reason = :finish";
    if (filter.format_ok) sql += " AND r.format_ok = :format";
    if (filter.top16_only) sql += " AND EXISTS(SELECT 1 FROM rollout_top16 t WHERE t.rollout = r.id)";
    if (filter.pinned_only) sql += " AND r.pinned = 1";
    if (filter.alarmed_only) sql += " AND instr(r.kept_because, 'alarm') > 0";
    for (size_t i = 0; i < filter.bounds.size(); ++i) {
        sql += std::string(" AND ") + order_columns[size_t(filter.bounds[i].value)] +
               (filter.bounds[i].above ? " > :bound" : " < :bound") + std::to_string(i);
    }
    return sql;
}

void bind_conditions(SQLite::Statement& query, const RolloutFilter& filter) {
    if (filter.first_step) query.bind(":first", *filter.first_step);
    if (filter.last_step) query.bind(":last", *filter.last_step);
    if (filter.prompt) query.bind(":prompt", *filter.prompt);
    if (!filter.prompt_id.empty()) query.bind(":prompt_id", filter.prompt_id);
    if (!filter.verdict.empty()) query.bind(":verdict", filter.verdict);
    if (!filter.finish_reason.empty()) query.bind(":finish", filter.finish_reason);
    if (filter.format_ok) query.bind(":format", int(*filter.format_ok));
    for (size_t i = 0; i < filter.bounds.size(); ++i)
        query.bind(":bound" + std::to_string(i), filter.bounds[i].bound);
}

} // namespace

Result<int64_t> RunReader::rollout_count(const RolloutFilter& filter) const {
    return connection_->guarded([&]() -> Result<int64_t> {
        SQLite::Statement query(connection_->database,
                                "SELECT count(*) FROM rollout r WHERE " + conditions(filter));
        bind_conditions(query, filter);
        query.executeStep();
        return query.getColumn(0).getInt64();
    });
}

Result<std::vector<RolloutSummary>> RunReader::rollouts(const RolloutFilter& filter) const {
    return connection_->guarded([&]() -> Result<std::vector<RolloutSummary>> {
        // What has no value sorts below all that have one.
        const std::string column = order_columns[size_t(filter.order)];
        const std::string value =
            filter.order == RolloutOrder::Recorded ? column : "ifnull(" + column + ", -9e999)";
        const std::string direction = filter.descending ? " DESC" : " ASC";
        // The page is chosen before anything else of its rows is read.
        std::string page_sql =
            "SELECT r.id AS id, " + value + " AS value FROM rollout r WHERE " + conditions(filter);
        if (filter.after)
            page_sql += " AND (" + value + ", r.id) " + (filter.descending ? "<" : ">") + " (:value, :id)";
        page_sql += " ORDER BY " + value + direction + ", r.id" + direction + " LIMIT :limit";
        SQLite::Statement query(
            connection_->database,
            "SELECT r.id, r.step, r.prompt, r.sample, r.length, r.prompt_id, r.finish_reason, r.verdict, "
            "r.extracted, r.gold, r.kept_because, r.format_ok, r.pinned, t.rollout IS NOT NULL, r.kl_mean, "
            "r.kl_max, r.entropy, r.overlap, r.gain, r.clipped, p.value FROM (" +
                page_sql +
                ") p JOIN rollout r ON r.id = p.id LEFT JOIN rollout_top16 t ON t.rollout = r.id "
                "ORDER BY p.value" +
                direction + ", p.id" + direction);
        bind_conditions(query, filter);
        if (filter.after) {
            query.bind(":value", filter.after->first);
            query.bind(":id", filter.after->second);
        }
        query.bind(":limit", filter.limit);
        std::vector<RolloutSummary> page;
        while (query.executeStep()) {
            RolloutSummary& rollout = page.emplace_back();
            int64_t* const numbers[]{&rollout.id, &rollout.step, &rollout.prompt, &rollout.sample,
                                     &rollout.length};
            std::string* const texts[]{&rollout.prompt_id, &rollout.finish_reason, &rollout.verdict,
                                       &rollout.extracted, &rollout.gold,          &rollout.kept_because};
            bool* const marks[]{&rollout.format_ok, &rollout.pinned, &rollout.has_top16};
            double* const figures[]{&rollout.figures.kl_mean, &rollout.figures.kl_max,
                                    &rollout.figures.entropy, &rollout.figures.overlap,
                                    &rollout.figures.gain,    &rollout.figures.clipped};
            int column = 0;
            for (int64_t* number : numbers) *number = query.getColumn(column++).getInt64();
            for (std::string* text : texts) *text = text_of(query.getColumn(column++));
            for (bool* mark : marks) *mark = query.getColumn(column++).getInt() != 0;
            for (double* figure : figures) *figure = number_or_nan(query.getColumn(column++));
            rollout.order_value = query.getColumn(column).getDouble();
        }
        return page;
    });
}

Result<RolloutRecord> RunReader::rollout(int64_t id) const {
    return connection_->guarded([&]() -> Result<RolloutRecord> {
        SQLite::Database& database = connection_->database;
        const std::string where = connection_->file.string() + ", rollout " + std::to_string(id);
        SQLite::Statement query(
            database, "SELECT r.step, r.prompt, r.sample, r.length, r.prompt_id, r.finish_reason, "
                      "r.verdict, r.why, r.extracted, r.gold, r.kept_because, r.format_ok, r.pinned, "
                      "r.means, x.problem, x.text, x.prompt_ids, x.teacher_prompt_ids, k.record, t.record "
                      "FROM rollout r LEFT JOIN rollout_text x ON x.rollout = r.id "
                      "LEFT JOIN rollout_tokens k ON k.rollout = r.id "
                      "LEFT JOIN rollout_top16 t ON t.rollout = r.id WHERE r.id = ?");
        query.bind(1, id);
        if (!query.executeStep()) return Error{"no such rollout", where};
        RolloutRecord rollout;
        int64_t* const numbers[]{&rollout.step, &rollout.prompt, &rollout.sample, &rollout.length};
        std::string* const texts[]{&rollout.prompt_id,   &rollout.finish_reason, &rollout.verdict,
                                   &rollout.why,         &rollout.extracted,     &rollout.gold,
                                   &rollout.kept_because};
        int column = 0;
        for (int64_t* number : numbers) *number = query.getColumn(column++).getInt64();
        for (std::string* text : texts) *text = text_of(query.getColumn(column++));
        rollout.format_ok = query.getColumn(column++).getInt() != 0;
        rollout.pinned = query.getColumn(column++).getInt() != 0;
        rollout.means = metrics_of_json(query.getColumn(column++).getString());
        rollout.problem = text_of(query.getColumn(column++));
        rollout.text = text_of(query.getColumn(column++));
        for (auto* ids : {&rollout.prompt_ids, &rollout.teacher_prompt_ids}) {
            auto decoded = decode_ids(bytes_of(query.getColumn(column++)));
            if (!decoded) return Error{decoded.error().what, where + ", prompt"};
            *ids = std::move(*decoded);
        }
        const SQLite::Column tokens = query.getColumn(column++), top16 = query.getColumn(column++);
        if (!tokens.isNull()) {
            auto decoded = decode_tokens(bytes_of(tokens));
            if (!decoded)
                return Error{decoded.error().what, where + ", token record", decoded.error().remedy};
            rollout.tokens = std::move(*decoded);
        }
        if (!top16.isNull()) {
            auto decoded = decode_top16(bytes_of(top16));
            if (!decoded)
                return Error{decoded.error().what, where + ", top-16 record", decoded.error().remedy};
            rollout.top16 = std::move(*decoded);
        }
        return rollout;
    });
}

} // namespace stillroom::record
