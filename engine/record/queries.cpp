// SPDX-License-Identifier: GPL-3.0-or-later
#include "record/queries.h"

#include "record/reader_connection.h"
#include "record/token_blob.h"

#include <array>
#include <fstream>
#include <sqlite3.h>

namespace stillroom::record {

namespace {

/// `file` as a URI, for `immutable=1`: on a read-only medium the WAL's index cannot be made.
std::string immutable_uri(const std::filesystem::path& file) {
    std::string uri = "file:";
    for (const char c : std::filesystem::absolute(file).string()) {
        if (c == '%' || c == '?' || c == '#') {
            constexpr std::string_view digits = "0123456789ABCDEF";
            uri += '%';
            uri += digits[size_t(c) >> 4];
            uri += digits[size_t(c) & 15];
        } else {
            uri += c;
        }
    }
    return uri + "?immutable=1";
}

/// What is wrong with the length of `file`; empty if nothing is. SQLite takes the length for the number of
/// pages where it differs from the header's, and the missing part of a page for zeros: pages at the end that
/// nothing in the rest refers to would go unnoticed. While a log is pending, the file may rightly be shorter
/// than its header says.
std::string missing_end(const std::filesystem::path& file) {
    constexpr size_t header_bytes = 32, page_size_at = 16,
                     page_count_at = 28; // big-endian, of SQLite's file format
    std::error_code fault;
    const uint64_t log_size = std::filesystem::file_size(file.string() + "-wal", fault);
    if (!fault && log_size > 0) return {};
    std::array<unsigned char, header_bytes> header{};
    std::ifstream stream(file, std::ios::binary);
    if (!stream.read(reinterpret_cast<char*>(header.data()), header_bytes))
        return "its header is not readable";
    const uint64_t stored = uint64_t{header[page_size_at]} << 8 | header[page_size_at + 1];
    const uint64_t page = stored == 1 ? 65536 : stored;
    uint64_t pages = 0;
    for (size_t i = 0; i < 4; ++i) pages = pages << 8 | header[page_count_at + i];
    const uint64_t size = std::filesystem::file_size(file, fault);
    if (fault || size >= page * pages) return {};
    return "the file has " + std::to_string(size) + " bytes, its header says " + std::to_string(page * pages);
}

} // namespace

RunReader::RunReader(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}
RunReader::RunReader(RunReader&&) noexcept = default;
RunReader& RunReader::operator=(RunReader&&) noexcept = default;
RunReader::~RunReader() = default;

Result<RunReader> RunReader::open(const std::filesystem::path& run) {
    const std::filesystem::path file = store_file(run);
    const std::filesystem::path folder =
        file == run ? (run.has_parent_path() ? run.parent_path() : ".") : run;
    std::error_code fault;
    if (!std::filesystem::is_regular_file(file, fault))
        return Error{"no such file", file.string(), "expected a run's folder"};
    const auto connect = [&](const std::string& name, int flags) -> Result<RunReader> {
        try {
            auto connection = std::make_unique<Connection>(folder, file, name, flags);
            (void)connection->database.execAndGet(
                "SELECT count(*) FROM sqlite_master"); // opens the file in earnest
            if (auto known = check_schema(connection->database, file); !known) return known.error();
            return RunReader(std::move(connection));
        } catch (const SQLite::Exception& exception) {
            return sqlite_error(exception, file);
        }
    };
    auto reader = connect(file.string(), SQLite::OPEN_READONLY);
    if (reader) return reader;
    const std::filesystem::path log = file.string() + "-wal";
    const bool nothing_pending =
        !std::filesystem::exists(log, fault) || std::filesystem::file_size(log, fault) == 0;
    if (nothing_pending) {
        auto immutable = connect(immutable_uri(file), SQLite::OPEN_READONLY | SQLite::OPEN_URI);
        if (immutable) return immutable;
    }
    return reader;
}

Result<RunSummary> RunReader::summary() const {
    return connection_->guarded([&]() -> Result<RunSummary> {
        SQLite::Database& database = connection_->database;
        SQLite::Statement query(
            database,
            "SELECT name, recipe_hash, program, created, heartbeat, session, state, state_text, step, "
            "steps_planned, progress, pid, process_start, boot, host, pid_namespace FROM run");
        if (!query.executeStep()) return Error{"the table `run` is empty", connection_->file.string()};
        RunSummary summary;
        summary.folder = connection_->folder;
        summary.name = query.getColumn(0).getString();
        summary.recipe_hash = query.getColumn(1).getString();
        summary.program = query.getColumn(2).getString();
        summary.created = query.getColumn(3).getDouble();
        summary.heartbeat = query.getColumn(4).getDouble();
        summary.session = query.getColumn(5).getInt64();
        const std::string state = query.getColumn(6).getString();
        const auto known = run_state(state);
        if (!known)
            return Error{"the run's state is \"" + state + "\", which is none", connection_->file.string()};
        summary.state = *known;
        summary.state_text = query.getColumn(7).getString();
        summary.step = query.getColumn(8).getInt64();
        summary.steps_planned = query.getColumn(9).getInt64();
        summary.progress = query.getColumn(10).getInt64();
        summary.process = {query.getColumn(11).getInt64(), query.getColumn(12).getInt64(),
                           query.getColumn(13).getString(), query.getColumn(14).getString(),
                           query.getColumn(15).getString()};
        SQLite::Statement counters(database, "SELECT name, value FROM counter");
        while (counters.executeStep()) {
            const std::string name = counters.getColumn(0).getString();
            const int64_t value = counters.getColumn(1).getInt64();
            if (name == "rollouts") summary.rollouts = value;
            if (name == "rollout_bytes") summary.rollout_bytes = value;
            if (name == "top16") summary.top16 = value;
            if (name == "top16_bytes") summary.top16_bytes = value;
        }
        SQLite::Statement score(
            database, "SELECT e.step, m.value, s.value FROM evaluation e "
                      "JOIN evaluation_metric m ON m.evaluation = e.id AND m.name = 'eval_avg_at_n' "
                      "LEFT JOIN evaluation_metric s ON s.evaluation = e.id AND s.name = 'se_clustered' "
                      "WHERE e.tag = 'proxy' ORDER BY e.step DESC LIMIT 1");
        if (score.executeStep()) {
            summary.score_step = score.getColumn(0).getInt64();
            summary.score = value_of(score.getColumn(1));
            if (!score.getColumn(2).isNull()) summary.score_error = value_of(score.getColumn(2));
        }
        judge(summary);
        return summary;
    });
}

Result<std::map<std::string, std::string>> RunReader::settings() const {
    return connection_->guarded([&]() -> Result<std::map<std::string, std::string>> {
        std::map<std::string, std::string> settings;
        SQLite::Statement query(connection_->database, "SELECT key, value FROM setting");
        while (query.executeStep()) settings[text_of(query.getColumn(0))] = text_of(query.getColumn(1));
        return settings;
    });
}

Result<std::vector<MetricSummary>> RunReader::metrics() const {
    return connection_->guarded([&]() -> Result<std::vector<MetricSummary>> {
        // With max(), SQLite takes the bare column `value` from the row that has the maximum.
        SQLite::Statement query(
            connection_->database,
            "SELECT tag, count(*), min(step), sum(value IS NULL), sum(typeof(value) = 'text'), "
            "max(step), value FROM "
            "(SELECT tag, step, value FROM metric UNION ALL "
            " SELECT e.tag || '.' || m.name, e.step, m.value FROM evaluation e "
            " JOIN evaluation_metric m ON m.evaluation = e.id) GROUP BY tag ORDER BY tag");
        std::vector<MetricSummary> metrics;
        while (query.executeStep()) {
            MetricSummary& metric = metrics.emplace_back();
            metric.tag = query.getColumn(0).getString();
            metric.count = query.getColumn(1).getInt64();
            metric.first_step = query.getColumn(2).getInt64();
            metric.undefined = query.getColumn(3).getInt64();
            metric.not_finite = query.getColumn(4).getInt64();
            metric.last_step = query.getColumn(5).getInt64();
            metric.last = value_of(query.getColumn(6));
        }
        return metrics;
    });
}

Result<std::vector<SeriesPoint>> RunReader::series(const std::string& tag, int64_t after) const {
    return connection_->guarded([&]() -> Result<std::vector<SeriesPoint>> {
        SQLite::Database& database = connection_->database;
        std::vector<SeriesPoint> points;
        const auto read = [&](SQLite::Statement& query) {
            while (query.executeStep()) {
                points.push_back({query.getColumn(0).getInt64(), value_of(query.getColumn(1)),
                                  query.getColumn(2).getDouble(), query.getColumn(3).getDouble(),
                                  query.getColumn(4).getInt64()});
            }
        };
        SQLite::Statement query(database,
                                "SELECT m.step, m.value, t.wall_seconds, t.active_seconds, t.tokens_trained "
                                "FROM metric m LEFT JOIN step_time t ON t.step = m.step "
                                "WHERE m.tag = ? AND m.step > ? ORDER BY m.step");
        query.bind(1, tag);
        query.bind(2, after);
        read(query);
        const size_t dot = tag.find('.');
        if (!points.empty() || dot == std::string::npos) return points;
        SQLite::Statement evaluations(
            database, "SELECT e.step, m.value, t.wall_seconds, t.active_seconds, t.tokens_trained "
                      "FROM evaluation e JOIN evaluation_metric m ON m.evaluation = e.id "
                      "LEFT JOIN step_time t ON t.step = e.step "
                      "WHERE e.tag = ? AND m.name = ? AND e.step > ? ORDER BY e.step");
        evaluations.bind(1, tag.substr(0, dot));
        evaluations.bind(2, tag.substr(dot + 1));
        evaluations.bind(3, after);
        read(evaluations);
        return points;
    });
}

Result<std::vector<EvaluationSummary>> RunReader::evaluations() const {
    return connection_->guarded([&]() -> Result<std::vector<EvaluationSummary>> {
        std::vector<EvaluationSummary> evaluations;
        SQLite::Statement query(
            connection_->database,
            "SELECT id, step, answers, tag, protocol_hash, time FROM evaluation ORDER BY step, tag");
        SQLite::Statement metrics(connection_->database,
                                  "SELECT name, value FROM evaluation_metric WHERE evaluation = ?");
        while (query.executeStep()) {
            EvaluationSummary& evaluation = evaluations.emplace_back();
            evaluation.id = query.getColumn(0).getInt64();
            evaluation.step = query.getColumn(1).getInt64();
            evaluation.answers = query.getColumn(2).getInt64();
            evaluation.tag = text_of(query.getColumn(3));
            evaluation.protocol_hash = text_of(query.getColumn(4));
            evaluation.time = query.getColumn(5).getDouble();
            metrics.reset();
            metrics.bind(1, evaluation.id);
            while (metrics.executeStep()) {
                evaluation.metrics[text_of(metrics.getColumn(0))] = value_of(metrics.getColumn(1));
            }
        }
        return evaluations;
    });
}

Result<EvaluationRecord> RunReader::evaluation(int64_t id) const {
    return connection_->guarded([&]() -> Result<EvaluationRecord> {
        SQLite::Database& database = connection_->database;
        SQLite::Statement query(database,
                                "SELECT step, tag, protocol, protocol_hash FROM evaluation WHERE id = ?");
        query.bind(1, id);
        if (!query.executeStep())
            return Error{"no such evaluation",
                         connection_->file.string() + ", evaluation " + std::to_string(id)};
        EvaluationRecord evaluation;
        evaluation.step = query.getColumn(0).getInt64();
        evaluation.tag = text_of(query.getColumn(1));
        evaluation.protocol = text_of(query.getColumn(2));
        evaluation.protocol_hash = text_of(query.getColumn(3));
        SQLite::Statement metrics(database, "SELECT name, value FROM evaluation_metric WHERE evaluation = ?");
        metrics.bind(1, id);
        while (metrics.executeStep())
            evaluation.metrics[text_of(metrics.getColumn(0))] = value_of(metrics.getColumn(1));
        SQLite::Statement answers(
            database, "SELECT question, sample, length, finish_reason, text, extracted, gold, verdict, "
                      "why, format_ok, mean_logprob, ids FROM evaluation_answer "
                      "WHERE evaluation = ? ORDER BY number");
        answers.bind(1, id);
        while (answers.executeStep()) {
            EvaluationAnswer& answer = evaluation.answers.emplace_back();
            answer.question = text_of(answers.getColumn(0));
            answer.sample = answers.getColumn(1).getInt64();
            answer.length = answers.getColumn(2).getInt64();
            std::string* const texts[]{&answer.finish_reason, &answer.text,    &answer.extracted,
                                       &answer.gold,          &answer.verdict, &answer.why};
            int column = 3;
            for (std::string* text : texts) *text = text_of(answers.getColumn(column++));
            answer.format_ok = answers.getColumn(9).getInt() != 0;
            answer.mean_logprob = value_of(answers.getColumn(10));
            auto ids = decode_ids(bytes_of(answers.getColumn(11)));
            if (!ids)
                return Error{ids.error().what,
                             connection_->file.string() + ", evaluation " + std::to_string(id)};
            answer.ids = std::move(*ids);
        }
        return evaluation;
    });
}

Result<std::vector<CheckpointRecord>> RunReader::checkpoints() const {
    return connection_->guarded([&]() -> Result<std::vector<CheckpointRecord>> {
        std::vector<CheckpointRecord> checkpoints;
        SQLite::Statement query(connection_->database,
                                "SELECT step, folder, bytes, seconds, score, sha256, kept_because, "
                                "removed FROM checkpoint ORDER BY step");
        while (query.executeStep()) {
            CheckpointRecord& checkpoint = checkpoints.emplace_back();
            checkpoint.step = query.getColumn(0).getInt64();
            checkpoint.folder = text_of(query.getColumn(1));
            checkpoint.bytes = query.getColumn(2).getInt64();
            checkpoint.seconds = query.getColumn(3).getDouble();
            if (!query.getColumn(4).isNull()) checkpoint.score = value_of(query.getColumn(4));
            checkpoint.sha256 = text_of(query.getColumn(5));
            checkpoint.kept_because = text_of(query.getColumn(6));
            checkpoint.removed = query.getColumn(7).getInt() != 0;
        }
        return checkpoints;
    });
}

Result<std::vector<StoredEvent>> RunReader::events(int64_t limit) const {
    return connection_->guarded([&]() -> Result<std::vector<StoredEvent>> {
        std::vector<StoredEvent> events;
        SQLite::Statement query(connection_->database,
                                "SELECT * FROM (SELECT id, session, step, kind, text, time FROM event "
                                "ORDER BY id DESC LIMIT ?) ORDER BY id");
        query.bind(1, limit > 0 ? limit : int64_t{-1});
        while (query.executeStep()) {
            events.push_back({query.getColumn(0).getInt64(),
                              query.getColumn(1).getInt64(),
                              {query.getColumn(2).getInt64(), text_of(query.getColumn(3)),
                               text_of(query.getColumn(4)), query.getColumn(5).getDouble()}});
        }
        return events;
    });
}

Result<std::vector<AlarmRecord>> RunReader::alarms() const {
    return connection_->guarded([&]() -> Result<std::vector<AlarmRecord>> {
        std::vector<AlarmRecord> alarms;
        SQLite::Statement query(connection_->database,
                                "SELECT name, level, first_step, last_step, count, evidence, active "
                                "FROM alarm ORDER BY first_step, name");
        while (query.executeStep()) {
            alarms.push_back({text_of(query.getColumn(0)), text_of(query.getColumn(1)),
                              query.getColumn(2).getInt64(), query.getColumn(3).getInt64(),
                              query.getColumn(4).getInt64(), text_of(query.getColumn(5)),
                              query.getColumn(6).getInt() != 0});
        }
        return alarms;
    });
}

Result<std::vector<std::string>> RunReader::faults() const {
    return connection_->guarded([&]() -> Result<std::vector<std::string>> {
        std::vector<std::string> faults;
        SQLite::Statement query(connection_->database, "PRAGMA quick_check");
        while (query.executeStep()) {
            const std::string line = query.getColumn(0).getString();
            if (line != "ok") faults.push_back(line);
        }
        if (const auto missing = missing_end(connection_->file); !missing.empty()) faults.push_back(missing);
        return faults;
    });
}

} // namespace stillroom::record
