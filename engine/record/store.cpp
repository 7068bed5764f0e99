// SPDX-License-Identifier: GPL-3.0-or-later
#include "record/store.h"

#include "base/strings.h"
#include "record/liveness.h"
#include "record/record_writer.h"
#include "record/schema.h"

#include <sqlite3.h>
#include <system_error>

namespace stillroom::record {

struct RunStore::Connection {
    Connection(const std::filesystem::path& path, int busy_milliseconds)
        : file(path), database(path.string(), SQLite::OPEN_READWRITE, busy_milliseconds) {}

    void configure() {
        database.exec("PRAGMA journal_mode = WAL");
        // A killed process loses nothing; a power failure at most the last transactions, and never the file.
        database.exec("PRAGMA synchronous = NORMAL");
        database.exec("PRAGMA journal_size_limit = 67108864");
        database.exec("PRAGMA cache_size = -32768"); // KiB
    }

    /// Runs `work` in a transaction; what it did is undone where it or the commit fails.
    Result<void> in_transaction(const auto& work) {
        refused = false;
        try {
            SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
            if (Result<void> done = work(); !done) return done;
            transaction.commit();
            return {};
        } catch (const SQLite::Exception& exception) {
            refused = !may_pass(exception);
            return sqlite_error(exception, file);
        } catch (const std::exception& exception) { // a record that contradicts itself
            refused = true;
            return Error{exception.what(), file.string()};
        }
    }

    void event(int64_t step, const std::string& kind, const std::string& text) {
        writer->write(EventRecord{step, kind, text});
    }

    std::filesystem::path file;
    SQLite::Database database;
    std::optional<RecordWriter> writer;
    bool refused = false;
};

namespace {

constexpr int busy_milliseconds = 250; // the recorder tries again anyway
constexpr int pin_busy_milliseconds = 2000;

/// A list of reasons ("mean KL, random") with this one, or without it.
std::string with_reason(const std::string& reasons, const std::string& reason, bool wanted) {
    std::vector<std::string> kept;
    for (size_t at = 0; at < reasons.size();) {
        const size_t comma = std::min(reasons.find(", ", at), reasons.size());
        if (reasons.compare(at, comma - at, reason) != 0) kept.push_back(reasons.substr(at, comma - at));
        at = comma + 2;
    }
    if (wanted) kept.push_back(reason);
    return join(kept, ", ");
}

void write_description(SQLite::Database& database, const RunDescription& description) {
    SQLite::Statement run(database, "UPDATE run SET recipe_hash = ?, program = ?, steps_planned = ?");
    run.bind(1, description.recipe_hash);
    run.bind(2, description.program);
    run.bind(3, description.steps_planned);
    run.exec();
    database.exec("DELETE FROM setting");
    SQLite::Statement setting(database, "INSERT INTO setting VALUES (?, ?)");
    for (const auto& [key, value] : description.settings) {
        setting.reset();
        bind_bytes(setting, 1, key);
        bind_bytes(setting, 2, value);
        setting.exec();
    }
}

ProcessIdentity writer_of(SQLite::Database& database) {
    SQLite::Statement query(database, "SELECT pid, process_start, boot, host, pid_namespace FROM run");
    if (!query.executeStep()) return {};
    return {query.getColumn(0).getInt64(), query.getColumn(1).getInt64(), query.getColumn(2).getString(),
            query.getColumn(3).getString(), query.getColumn(4).getString()};
}

void claim(SQLite::Database& database) {
    const ProcessIdentity self = this_process();
    SQLite::Statement run(database,
                          "UPDATE run SET session = session + 1, state = ?, state_text = '', pid = ?, "
                          "process_start = ?, boot = ?, host = ?, pid_namespace = ?, heartbeat = ?");
    run.bind(1, to_string(RunState::Preparing));
    run.bind(2, self.pid);
    run.bind(3, self.start_ticks);
    run.bind(4, self.boot);
    run.bind(5, self.host);
    run.bind(6, self.pid_namespace);
    run.bind(7, unix_time());
    run.exec();
}

} // namespace

RunStore::RunStore(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}
RunStore::RunStore(RunStore&&) noexcept = default;
RunStore::~RunStore() = default;

Result<RunStore> RunStore::create(const std::filesystem::path& run, const RunDescription& description) {
    const std::filesystem::path file = run / "run.sqlite", partial = run / "run.sqlite.partial";
    std::error_code fault;
    if (std::filesystem::exists(file, fault))
        return Error{"exists already", file.string(), "resume this run, or choose another name"};
    if (!std::filesystem::is_directory(run, fault)) return Error{"no such folder", run.string()};
    std::filesystem::remove(partial, fault);
    try {
        {
            SQLite::Database database(partial.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
            database.exec("PRAGMA page_size = 8192");
            create_tables(database);
            SQLite::Transaction transaction(database);
            SQLite::Statement row(
                database,
                "INSERT INTO run(id, name, created, session, step, progress) VALUES (1, ?, ?, 0, 0, 0)");
            row.bind(1, description.name);
            row.bind(2, unix_time());
            row.exec();
            write_description(database, description);
            claim(database);
            transaction.commit();
        }
        std::filesystem::rename(partial, file, fault);
        if (fault) return Error{"cannot be renamed to run.sqlite: " + fault.message(), partial.string()};
        auto connection = std::make_unique<Connection>(file, busy_milliseconds);
        connection->configure();
        connection->writer.emplace(connection->database, 1);
        return RunStore(std::move(connection));
    } catch (const SQLite::Exception& exception) {
        std::filesystem::remove(partial, fault);
        return sqlite_error(exception, file);
    }
}

Result<RunStore> RunStore::open(const std::filesystem::path& run) {
    const std::filesystem::path file = store_file(run);
    std::error_code fault;
    if (!std::filesystem::is_regular_file(file, fault))
        return Error{"no such file", file.string(), "expected a run's folder"};
    try {
        auto connection = std::make_unique<Connection>(file, 2000);
        SQLite::Database& database = connection->database;
        if (auto known = check_schema(database, file); !known) return known.error();
        connection->configure(); // not before: what is no run store stays as it is
        const auto claimed = connection->in_transaction([&]() -> Result<void> {
            SQLite::Statement query(database, "SELECT state, step, heartbeat, session FROM run");
            if (!query.executeStep()) return Error{"the table `run` is empty", file.string()};
            const auto state = run_state(query.getColumn(0).getString());
            const int64_t step = query.getColumn(1).getInt64(), session = query.getColumn(3).getInt64() + 1;
            const double heartbeat = query.getColumn(2).getDouble();
            query.reset();
            const bool left_open = !state || is_live(*state);
            if (left_open) {
                const ProcessIdentity writer = writer_of(database);
                const Presence writer_is = presence(writer);
                const bool fresh = unix_time() - heartbeat <= heartbeat_limit_seconds;
                if ((writer_is == Presence::Alive && writer.pid != this_process().pid) ||
                    (writer_is == Presence::Unknown && fresh)) {
                    return Error{"process " + std::to_string(writer.pid) + " on " + writer.host +
                                     " works on this run",
                                 file.string(), "stop it first: kill -TERM " + std::to_string(writer.pid)};
                }
            }
            claim(database);
            connection->writer.emplace(database, session);
            if (left_open) {
                connection->event(step, "interrupted",
                                  "the program ended at step " + std::to_string(step) +
                                      " without closing the run (last sign " + clock_text(heartbeat) + ")");
            }
            return {};
        });
        if (!claimed) return claimed.error();
        database.setBusyTimeout(busy_milliseconds);
        return RunStore(std::move(connection));
    } catch (const SQLite::Exception& exception) {
        return sqlite_error(exception, file);
    }
}

Result<void> RunStore::append(std::span<const Record> records) {
    return connection_->in_transaction([&]() -> Result<void> {
        connection_->writer->begin();
        for (const Record& record : records) {
            std::visit([&](const auto& one) { connection_->writer->write(one); }, record);
        }
        connection_->writer->finish();
        return {};
    });
}

bool RunStore::refused() const { return connection_->refused; }

Result<void> RunStore::heartbeat(int64_t progress) {
    return connection_->in_transaction([&]() -> Result<void> {
        SQLite::Statement update(connection_->database, "UPDATE run SET heartbeat = ?, progress = ?");
        update.bind(1, unix_time());
        update.bind(2, progress);
        update.exec();
        return {};
    });
}

Result<void> RunStore::describe(const RunDescription& description) {
    return connection_->in_transaction([&]() -> Result<void> {
        write_description(connection_->database, description);
        return {};
    });
}

void RunStore::set_byte_budget(int64_t bytes) { connection_->writer->byte_budget = bytes; }

Result<void> RunStore::truncate_after(int64_t step) {
    return connection_->in_transaction([&]() -> Result<void> {
        SQLite::Database& database = connection_->database;
        const int64_t newest = database.execAndGet("SELECT ifnull(max(step), 0) FROM step_time").getInt64();
        const std::string past = " > " + std::to_string(step);
        // Metrics carry no session of their own: it is that of their step.
        database.exec(
            "INSERT OR REPLACE INTO superseded_metric SELECT ifnull(t.session, 0), m.tag, m.step, m.value "
            "FROM metric m LEFT JOIN step_time t ON t.step = m.step WHERE m.step" +
            past);
        const std::string rollouts = "(SELECT id FROM rollout WHERE step" + past + ")";
        const std::string evaluations = "(SELECT id FROM evaluation WHERE step" + past + ")";
        for (const std::string& deletion :
             {"metric WHERE step" + past, "step_time WHERE step" + past,
              "rollout_text WHERE rollout IN " + rollouts, "rollout_tokens WHERE rollout IN " + rollouts,
              "rollout_top16 WHERE rollout IN " + rollouts, "rollout WHERE step" + past,
              "evaluation_metric WHERE evaluation IN " + evaluations,
              "evaluation_answer WHERE evaluation IN " + evaluations, "evaluation WHERE step" + past,
              "checkpoint WHERE step" + past, "alarm WHERE first_step" + past}) {
            database.exec("DELETE FROM " + deletion);
        }
        write_totals(database, count_totals(database));
        database.exec("UPDATE run SET step = min(step, " + std::to_string(step) + ")");
        const int64_t aside = std::max<int64_t>(0, newest - step);
        connection_->event(step, "resume",
                           "goes on from step " + std::to_string(step) +
                               (aside > 0 ? "; " + std::to_string(aside) + " later steps set aside" : ""));
        return {};
    });
}

const std::filesystem::path& RunStore::file() const { return connection_->file; }

Result<void> RunStore::set_pinned(const std::filesystem::path& run, int64_t rollout, bool pinned) {
    const std::filesystem::path file = store_file(run);
    try {
        Connection connection(file, pin_busy_milliseconds);
        if (auto known = check_schema(connection.database, file); !known) return known.error();
        return connection.in_transaction([&]() -> Result<void> {
            SQLite::Statement read(connection.database, "SELECT kept_because FROM rollout WHERE id = ?");
            read.bind(1, rollout);
            if (!read.executeStep())
                return Error{"no such rollout", file.string() + ", rollout " + std::to_string(rollout)};
            const std::string reasons = with_reason(read.getColumn(0).getString(), "pinned", pinned);
            read.reset();
            // Reasons are those for a top-16 record: without one there is nothing to keep.
            SQLite::Statement mark(
                connection.database,
                "UPDATE rollout SET pinned = ?1, kept_because = CASE WHEN EXISTS(SELECT 1 FROM rollout_top16 "
                "WHERE rollout = ?3) THEN ?2 ELSE kept_because END WHERE id = ?3");
            mark.bind(1, int(pinned));
            mark.bind(2, reasons);
            mark.bind(3, rollout);
            mark.exec();
            SQLite::Statement keep(connection.database,
                                   "UPDATE rollout_top16 SET may_thin = ?1 WHERE rollout = ?2");
            keep.bind(1, int(!pinned && reasons == "random"));
            keep.bind(2, rollout);
            keep.exec();
            return {};
        });
    } catch (const SQLite::Exception& exception) {
        return sqlite_error(exception, file);
    }
}

Result<void> RunStore::change_checkpoint(const std::filesystem::path& run, int64_t step,
                                         const std::function<void(CheckpointRecord&)>& change,
                                         const std::string& said) {
    const std::filesystem::path file = store_file(run);
    try {
        Connection connection(file, pin_busy_milliseconds);
        if (auto known = check_schema(connection.database, file); !known) return known.error();
        return connection.in_transaction([&]() -> Result<void> {
            SQLite::Statement read(connection.database,
                                   "SELECT kept_because, removed FROM checkpoint WHERE step = ?");
            read.bind(1, step);
            if (!read.executeStep())
                return Error{"no such checkpoint", file.string() + ", step " + std::to_string(step)};
            CheckpointRecord checkpoint;
            checkpoint.kept_because = read.getColumn(0).getString();
            checkpoint.removed = read.getColumn(1).getInt() != 0;
            change(checkpoint);
            read.reset();
            SQLite::Statement write(connection.database,
                                    "UPDATE checkpoint SET kept_because = ?, removed = ? WHERE step = ?");
            write.bind(1, checkpoint.kept_because);
            write.bind(2, int(checkpoint.removed));
            write.bind(3, step);
            write.exec();
            SQLite::Statement event(connection.database, "INSERT INTO event(time, session, step, kind, text) "
                                                         "SELECT ?, session, ?, 'checkpoint', ? FROM run");
            event.bind(1, unix_time());
            event.bind(2, step);
            event.bind(3, said);
            event.exec();
            return {};
        });
    } catch (const SQLite::Exception& exception) {
        return sqlite_error(exception, file);
    }
}

Result<void> RunStore::set_checkpoint_pinned(const std::filesystem::path& run, int64_t step, bool pinned) {
    return change_checkpoint(
        run, step,
        [&](CheckpointRecord& checkpoint) {
            checkpoint.kept_because = with_reason(checkpoint.kept_because, "pinned", pinned);
        },
        "checkpoint " + std::to_string(step) + (pinned ? " pinned" : " no longer pinned"));
}

Result<void> RunStore::set_checkpoint_removed(const std::filesystem::path& run, int64_t step) {
    return change_checkpoint(
        run, step,
        [](CheckpointRecord& checkpoint) {
            checkpoint.removed = true;
            checkpoint.kept_because.clear();
        },
        "checkpoint " + std::to_string(step) + " removed by hand");
}

} // namespace stillroom::record
