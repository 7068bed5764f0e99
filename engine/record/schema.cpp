// SPDX-License-Identifier: GPL-3.0-or-later
#include "record/schema.h"

#include "base/strings.h"
#include "record/records.h"

#include <limits>
#include <map>
#include <set>
#include <sqlite3.h>
#include <vector>

namespace stillroom::record {

namespace {

// metric.value and the like have no declared type, so that SQLite keeps REAL, TEXT and NULL as they come.
constexpr const char* tables = R"sql(
CREATE TABLE run(
    id INTEGER PRIMARY KEY CHECK(id = 1), name TEXT, recipe_hash TEXT, program TEXT, created REAL,
    session INTEGER, state TEXT, state_text TEXT, step INTEGER, steps_planned INTEGER, progress INTEGER,
    pid INTEGER, process_start INTEGER, boot TEXT, host TEXT, pid_namespace TEXT, heartbeat REAL);
CREATE TABLE setting(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE counter(name TEXT PRIMARY KEY, value INTEGER) WITHOUT ROWID;
CREATE TABLE metric(tag TEXT, step INTEGER, value, PRIMARY KEY(tag, step)) WITHOUT ROWID;
CREATE TABLE superseded_metric(session INTEGER, tag TEXT, step INTEGER, value,
    PRIMARY KEY(tag, session, step)) WITHOUT ROWID;
CREATE TABLE step_time(step INTEGER PRIMARY KEY, session INTEGER, wall_seconds REAL, active_seconds REAL,
    tokens_trained INTEGER);
CREATE TABLE rollout(
    id INTEGER PRIMARY KEY, step INTEGER, prompt_id TEXT, prompt INTEGER, sample INTEGER, length INTEGER,
    finish_reason TEXT, verdict TEXT, why TEXT, extracted TEXT, gold TEXT, format_ok INTEGER, pinned INTEGER,
    kept_because TEXT, kl_mean REAL, kl_max REAL, entropy REAL, overlap REAL, gain REAL, clipped REAL, means TEXT);
CREATE INDEX rollout_by_step ON rollout(step);
CREATE TABLE rollout_text(rollout INTEGER PRIMARY KEY, problem, text, prompt_ids BLOB, teacher_prompt_ids BLOB);
CREATE TABLE rollout_tokens(rollout INTEGER PRIMARY KEY, version INTEGER, record BLOB);
CREATE TABLE rollout_top16(rollout INTEGER PRIMARY KEY, version INTEGER, bytes INTEGER, may_thin INTEGER, record BLOB);
CREATE INDEX top16_to_thin ON rollout_top16(rollout) WHERE may_thin = 1;
CREATE TABLE evaluation(id INTEGER PRIMARY KEY, step INTEGER, tag TEXT, session INTEGER, time REAL, protocol TEXT,
    protocol_hash TEXT, answers INTEGER, UNIQUE(tag, step));
CREATE TABLE evaluation_metric(evaluation INTEGER, name TEXT, value, PRIMARY KEY(evaluation, name)) WITHOUT ROWID;
CREATE TABLE evaluation_answer(
    evaluation INTEGER, number INTEGER, question TEXT, sample INTEGER, length INTEGER, finish_reason TEXT, text,
    extracted TEXT, gold TEXT, verdict TEXT, why TEXT, format_ok INTEGER, mean_logprob, ids BLOB);
CREATE INDEX answer_by_evaluation ON evaluation_answer(evaluation, number);
CREATE TABLE checkpoint(folder TEXT PRIMARY KEY, step INTEGER, time REAL, bytes INTEGER, seconds REAL, score,
    sha256 TEXT, kept_because TEXT, removed INTEGER);
CREATE TABLE event(id INTEGER PRIMARY KEY, time REAL, session INTEGER, step INTEGER, kind TEXT, text TEXT);
CREATE TABLE alarm(name TEXT, first_step INTEGER, last_step INTEGER, level TEXT, count INTEGER, evidence TEXT,
    active INTEGER, PRIMARY KEY(name, first_step)) WITHOUT ROWID;
)sql";

using Columns = std::map<std::string, std::set<std::string>>;

Columns columns_of(SQLite::Database& database) {
    Columns columns;
    SQLite::Statement query(database,
                            "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c "
                            "WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'");
    while (query.executeStep())
        columns[query.getColumn(0).getString()].insert(query.getColumn(1).getString());
    return columns;
}

} // namespace

std::filesystem::path store_file(const std::filesystem::path& run) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(run, ignored) ? run : run / "run.sqlite";
}

void create_tables(SQLite::Database& database) {
    SQLite::Transaction transaction(database);
    database.exec(tables);
    database.exec("PRAGMA application_id = " + std::to_string(application_id));
    database.exec("PRAGMA user_version = " + std::to_string(schema_version));
    transaction.commit();
}

Result<void> check_schema(SQLite::Database& database, const std::filesystem::path& file) {
    try {
        const int application = database.execAndGet("PRAGMA application_id").getInt();
        const int version = database.execAndGet("PRAGMA user_version").getInt();
        if (application != application_id) {
            return Error{"an SQLite file, but not the store of a Stillroom run", file.string()};
        }
        if (version != schema_version) {
            return Error{"schema version " + std::to_string(version) + ", this program knows version " +
                             std::to_string(schema_version),
                         file.string(), version > schema_version ? "open it with a newer Stillroom" : ""};
        }
        SQLite::Database model(":memory:", SQLite::OPEN_READWRITE);
        model.exec(tables);
        const Columns found = columns_of(database);
        for (const auto& [table, columns] : columns_of(model)) {
            const auto it = found.find(table);
            if (it == found.end()) return Error{"the table `" + table + "` is missing", file.string()};
            for (const std::string& column : columns) {
                if (!it->second.contains(column)) {
                    return Error{"the column `" + table + "." + column + "` is missing", file.string()};
                }
            }
        }
        return {};
    } catch (const SQLite::Exception& exception) {
        return sqlite_error(exception, file);
    }
}

Error sqlite_error(const SQLite::Exception& exception, const std::filesystem::path& file) {
    const std::string detail = exception.what();
    switch (exception.getErrorCode() & 0xff) {
    case SQLITE_CORRUPT:
        return {"the record is damaged: " + detail, file.string(), "the run's checkpoints are not affected"};
    case SQLITE_NOTADB:
        return {"not a run store: " + detail, file.string()};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return {"locked by another program: " + detail, file.string()};
    case SQLITE_FULL:
        return {"no space left: " + detail, file.string(), "free some space on this disk"};
    case SQLITE_READONLY:
        return {"cannot be written: " + detail, file.string()};
    case SQLITE_CANTOPEN:
        return {"cannot be opened: " + detail, file.string()};
    default:
        return {detail, file.string()};
    }
}

bool may_pass(const SQLite::Exception& exception) {
    switch (exception.getErrorCode() & 0xff) {
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_TOOBIG:
    case SQLITE_RANGE:
        return false;
    default:
        return true;
    }
}

void bind_value(SQLite::Statement& statement, int index, double value) {
    if (is_undefined(value)) {
        statement.bind(index);
    } else if (std::isfinite(value)) {
        statement.bind(index, value);
    } else {
        statement.bindNoCopy(index, std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
    }
}

double value_of(const SQLite::Column& column) {
    if (column.isNull()) return Undefined;
    if (!column.isText()) return column.getDouble();
    const std::string text = column.getString();
    if (text == "inf") return std::numeric_limits<double>::infinity();
    if (text == "-inf") return -std::numeric_limits<double>::infinity();
    return std::numeric_limits<double>::quiet_NaN();
}

std::span<const std::byte> bytes_of(const SQLite::Column& column) {
    const void* data = column.getBlob();
    return {static_cast<const std::byte*>(data), data ? size_t(column.getBytes()) : 0};
}

std::string text_of(const SQLite::Column& column) {
    const auto bytes = bytes_of(column);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void bind_bytes(SQLite::Statement& statement, int index, std::string_view bytes) {
    if (is_utf8(bytes) && bytes.find('\0') == std::string_view::npos) {
        statement.bind(index, std::string(bytes));
    } else {
        bind_blob(statement, index, bytes);
    }
}

void bind_blob(SQLite::Statement& statement, int index, std::string_view bytes) {
    // A null pointer would be NULL, not an empty blob.
    statement.bindNoCopy(index, bytes.data() ? bytes.data() : "", int(bytes.size()));
}

} // namespace stillroom::record
