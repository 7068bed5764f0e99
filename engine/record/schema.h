// SPDX-License-Identifier: GPL-3.0-or-later
// What writer and reader of a run store share: the tables, the checks on opening, errors of SQLite as ours,
// and how a metric's value is kept. Only the .cpp files of this folder include it.
#pragma once

#include "base/result.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace stillroom::record {

inline constexpr int schema_version = 1;
inline constexpr int application_id = 0x5374696c; // "Stil": what `file` and other programs see

/// The store of a run: `run`/run.sqlite, or `run` itself where it is a file.
std::filesystem::path store_file(const std::filesystem::path& run);

/// Makes all tables of a fresh file. Throws SQLite::Exception.
void create_tables(SQLite::Database& database);

/// Refuses what is not a run store, one of another version, and one that lacks a table or column.
Result<void> check_schema(SQLite::Database& database, const std::filesystem::path& file);

/// An exception of SQLite as an error that names the file: damaged, not a database, locked, disk full, and so
/// on.
Error sqlite_error(const SQLite::Exception& exception, const std::filesystem::path& file);
/// Whether the same write may succeed later: locked, disk full, input or output failed, read-only, out of
/// memory.
bool may_pass(const SQLite::Exception& exception);

/// A value as a column: REAL where finite, the text 'nan', 'inf' or '-inf' where not (SQLite turns a bound
/// NaN into NULL), NULL where undefined. value_of is its inverse.
void bind_value(SQLite::Statement& statement, int index, double value);
double value_of(const SQLite::Column& column);

/// The 0-based column's bytes, text or blob; valid until the statement moves on.
std::span<const std::byte> bytes_of(const SQLite::Column& column);
std::string text_of(const SQLite::Column& column);
/// Text as TEXT, or as BLOB where it is not UTF-8 or holds a NUL. The bytes are not copied.
void bind_bytes(SQLite::Statement& statement, int index, std::string_view bytes);
void bind_blob(SQLite::Statement& statement, int index, std::string_view bytes);

} // namespace stillroom::record
