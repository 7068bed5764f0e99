// SPDX-License-Identifier: GPL-3.0-or-later
// What the .cpp files of the reader share; nobody else includes it.
#pragma once

#include "record/queries.h"
#include "record/schema.h"

namespace stillroom::record {

struct RunReader::Connection {
    Connection(std::filesystem::path run_folder, std::filesystem::path store, const std::string& name,
               int flags)
        : folder(std::move(run_folder)), file(std::move(store)), database(name, flags, busy_milliseconds) {}

    /// What `query` returns, SQLite's exceptions and those of a malformed value as errors that name the file.
    template <typename Query>
    auto guarded(const Query& query) const -> decltype(query()) {
        try {
            return query();
        } catch (const SQLite::Exception& exception) {
            return sqlite_error(exception, file);
        } catch (const std::exception& exception) {
            return Error{std::string("the record is damaged: ") + exception.what(), file.string()};
        }
    }

    static constexpr int busy_milliseconds = 2000;
    std::filesystem::path folder, file;
    mutable SQLite::Database database;
};

} // namespace stillroom::record
