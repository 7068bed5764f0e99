// SPDX-License-Identifier: GPL-3.0-or-later
#include "record/record_writer.h"

#include "record/liveness.h"
#include "record/rollout_figures.h"
#include "record/token_blob.h"

#include <nlohmann/json.hpp>

namespace stillroom::record {

namespace {

std::string json_of(const Metrics& metrics) {
    nlohmann::json object = nlohmann::json::object();
    for (const auto& [name, value] : metrics) {
        if (is_undefined(value)) {
            object[name] = nullptr;
        } else if (std::isfinite(value)) {
            object[name] = value;
        } else {
            object[name] = std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
        }
    }
    return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Binds parameters from left to right and runs the statement.
class Row {
public:
    explicit Row(SQLite::Statement& statement) : statement_(statement) { statement_.tryReset(); }
    Row& integer(int64_t value) { return statement_.bind(++index_, value), *this; }
    Row& real(double value) { return statement_.bind(++index_, value), *this; } // NaN becomes NULL
    Row& value(double value) { return bind_value(statement_, ++index_, value), *this; }
    Row& text(const std::string& value) { return bind_bytes(statement_, ++index_, value), *this; }
    Row& blob(const std::string& value) {
        return bind_blob(statement_, ++index_, value), *this;
    } // outlives run()
    void run() {
        statement_.exec();
        statement_.tryReset();
    }

private:
    SQLite::Statement& statement_;
    int index_ = 0;
};

} // namespace

RecordWriter::RecordWriter(SQLite::Database& database, int64_t session)
    : database_(database), session_(session),
      metric_(database, "INSERT OR REPLACE INTO metric VALUES (?, ?, ?)"),
      step_time_(database, "INSERT OR REPLACE INTO step_time VALUES (?, ?, ?, ?, ?)"),
      run_step_(database, "UPDATE run SET step = ?, heartbeat = ?"),
      rollout_(database, "INSERT INTO rollout VALUES "
                         "(NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
      rollout_text_(database, "INSERT INTO rollout_text VALUES (?, ?, ?, ?, ?)"),
      rollout_tokens_(database, "INSERT INTO rollout_tokens VALUES (?, ?, ?)"),
      rollout_top16_(database, "INSERT INTO rollout_top16 VALUES (?, ?, ?, ?, ?)"),
      oldest_random_(
          database,
          "SELECT t.rollout, t.bytes, r.step FROM rollout_top16 t JOIN rollout r ON r.id = t.rollout "
          "WHERE t.may_thin = 1 ORDER BY t.rollout LIMIT 1"),
      delete_top16_(database, "DELETE FROM rollout_top16 WHERE rollout = ?"),
      unmark_(database, "UPDATE rollout SET kept_because = '' WHERE id = ?"),
      delete_answers_(database, "DELETE FROM evaluation_answer WHERE evaluation IN "
                                "(SELECT id FROM evaluation WHERE tag = ?1 AND step = ?2)"),
      delete_evaluation_(database, "DELETE FROM evaluation_metric WHERE evaluation IN "
                                   "(SELECT id FROM evaluation WHERE tag = ?1 AND step = ?2)"),
      evaluation_(database, "INSERT OR REPLACE INTO evaluation VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)"),
      evaluation_metric_(database, "INSERT INTO evaluation_metric VALUES (?, ?, ?)"),
      answer_(database, "INSERT INTO evaluation_answer VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
      checkpoint_(database, "INSERT OR REPLACE INTO checkpoint VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"),
      event_(database, "INSERT INTO event VALUES (NULL, ?, ?, ?, ?, ?)"),
      state_(database, "UPDATE run SET state = ?, state_text = ?, step = ?, heartbeat = ?"),
      alarm_(database, "INSERT OR REPLACE INTO alarm VALUES (?, ?, ?, ?, ?, ?, ?)") {}

void RecordWriter::begin() {
    totals_ = read_totals(database_);
    thinned_ = thinned_bytes_ = not_kept_ = 0;
}

void RecordWriter::finish() {
    write_totals(database_, totals_);
    const auto megabytes = [](int64_t bytes) {
        return std::to_string((bytes + 500'000) / 1'000'000) + " MB";
    };
    if (thinned_ > 0) {
        write(EventRecord{newest_step_, "thinning",
                          std::to_string(thinned_) + " top-16 records of random rollouts (" +
                              megabytes(thinned_bytes_) + ", up to step " + std::to_string(thinned_until_) +
                              ") removed to stay within " + megabytes(byte_budget)});
    }
    if (not_kept_ > 0) {
        write(EventRecord{newest_step_, "thinning",
                          std::to_string(not_kept_) + " new top-16 records not kept: the budget of " +
                              megabytes(byte_budget) + " is used up by records that are never removed"});
    }
}

void RecordWriter::metric(const std::string& tag, int64_t step, double value) {
    metric_.tryReset();
    metric_.bindNoCopy(1, tag);
    metric_.bind(2, step);
    bind_value(metric_, 3, value);
    metric_.exec();
}

void RecordWriter::write(const StepRecord& step) {
    for (const auto& [phase, seconds] : step.phase_seconds) metric("time_" + phase, step.step, seconds);
    for (const auto& [tag, value] : step.metrics) metric(tag, step.step, value);
    metric_.tryReset();
    Row(step_time_)
        .integer(step.step)
        .integer(session_)
        .real(step.wall_seconds)
        .real(step.active_seconds)
        .integer(step.tokens_trained)
        .run();
    Row(run_step_).integer(step.step).real(unix_time()).run();
}

bool RecordWriter::make_room(int64_t bytes) {
    if (byte_budget <= 0) return true;
    while (totals_.rollout_bytes + totals_.top16_bytes + bytes > byte_budget) {
        oldest_random_.tryReset();
        if (!oldest_random_.executeStep()) return false;
        const int64_t rollout = oldest_random_.getColumn(0).getInt64(),
                      freed = oldest_random_.getColumn(1).getInt64();
        thinned_until_ = oldest_random_.getColumn(2).getInt64();
        oldest_random_.tryReset();
        Row(delete_top16_).integer(rollout).run();
        Row(unmark_).integer(rollout).run();
        totals_.top16 -= 1;
        totals_.top16_bytes -= freed;
        thinned_ += 1;
        thinned_bytes_ += freed;
    }
    return true;
}

void RecordWriter::write(const RolloutRecord& rollout) {
    newest_step_ = std::max(newest_step_, rollout.step);
    const std::string tokens = encode(rollout.tokens), prompt = encode_ids(rollout.prompt_ids),
                      teacher_prompt = encode_ids(rollout.teacher_prompt_ids);
    const int64_t bytes = int64_t(rollout.problem.size() + rollout.text.size() + prompt.size() +
                                  teacher_prompt.size() + tokens.size());
    make_room(bytes);
    std::string top16 = rollout.top16 ? encode(*rollout.top16) : std::string();
    const bool protect = rollout.pinned || rollout.kept_because.find("alarm") != std::string::npos;
    bool keep = rollout.top16.has_value();
    if (keep && !make_room(bytes + int64_t(top16.size())) && !protect) {
        keep = false;
        not_kept_ += 1;
    }
    const RolloutFigures figures = figures_of(rollout);
    Row(rollout_)
        .integer(rollout.step)
        .text(rollout.prompt_id)
        .integer(rollout.prompt)
        .integer(rollout.sample)
        .integer(rollout.length > 0 ? rollout.length : int64_t(rollout.tokens.ids.size()))
        .text(rollout.finish_reason)
        .text(rollout.verdict)
        .text(rollout.why)
        .text(rollout.extracted)
        .text(rollout.gold)
        .integer(rollout.format_ok)
        .integer(rollout.pinned)
        .text(keep ? rollout.kept_because : std::string())
        .real(figures.kl_mean)
        .real(figures.kl_max)
        .real(figures.entropy)
        .real(figures.overlap)
        .real(figures.gain)
        .real(figures.clipped)
        .text(json_of(rollout.means))
        .run();
    const int64_t id = database_.getLastInsertRowid();
    Row(rollout_text_)
        .integer(id)
        .text(rollout.problem)
        .text(rollout.text)
        .blob(prompt)
        .blob(teacher_prompt)
        .run();
    Row(rollout_tokens_).integer(id).integer(token_record_version).blob(tokens).run();
    totals_.rollouts += 1;
    totals_.rollout_bytes += bytes;
    if (!keep) return;
    Row(rollout_top16_)
        .integer(id)
        .integer(token_record_version)
        .integer(int64_t(top16.size()))
        .integer(rollout.kept_because == "random" && !rollout.pinned)
        .blob(top16)
        .run();
    totals_.top16 += 1;
    totals_.top16_bytes += int64_t(top16.size());
}

void RecordWriter::write(const EvaluationRecord& evaluation) {
    for (SQLite::Statement* statement : {&delete_answers_, &delete_evaluation_}) {
        Row(*statement).text(evaluation.tag).integer(evaluation.step).run();
    }
    Row(evaluation_)
        .integer(evaluation.step)
        .text(evaluation.tag)
        .integer(session_)
        .real(unix_time())
        .text(evaluation.protocol)
        .text(evaluation.protocol_hash)
        .integer(int64_t(evaluation.answers.size()))
        .run();
    const int64_t id = database_.getLastInsertRowid();
    for (const auto& [name, value] : evaluation.metrics) {
        Row(evaluation_metric_).integer(id).text(name).value(value).run();
    }
    int64_t number = 0;
    for (const EvaluationAnswer& answer : evaluation.answers) {
        const std::string ids = encode_ids(answer.ids);
        Row(answer_)
            .integer(id)
            .integer(number++)
            .text(answer.question)
            .integer(answer.sample)
            .integer(answer.length)
            .text(answer.finish_reason)
            .text(answer.text)
            .text(answer.extracted)
            .text(answer.gold)
            .text(answer.verdict)
            .text(answer.why)
            .integer(answer.format_ok)
            .value(answer.mean_logprob)
            .blob(ids)
            .run();
    }
}

void RecordWriter::write(const CheckpointRecord& checkpoint) {
    Row(checkpoint_)
        .text(checkpoint.folder)
        .integer(checkpoint.step)
        .real(unix_time())
        .integer(checkpoint.bytes)
        .real(checkpoint.seconds)
        .value(checkpoint.score.value_or(Undefined))
        .text(checkpoint.sha256)
        .text(checkpoint.kept_because)
        .integer(checkpoint.removed)
        .run();
}

void RecordWriter::write(const EventRecord& event) {
    Row(event_)
        .real(event.time > 0 ? event.time : unix_time())
        .integer(session_)
        .integer(event.step)
        .text(event.kind)
        .text(event.text)
        .run();
}

void RecordWriter::write(const StateRecord& state) {
    Row(state_).text(to_string(state.state)).text(state.text).integer(state.step).real(unix_time()).run();
    write(EventRecord{state.step, "state",
                      state.text.empty() ? to_string(state.state)
                                         : to_string(state.state) + ": " + state.text});
}

void RecordWriter::write(const AlarmRecord& alarm) {
    Row(alarm_)
        .text(alarm.name)
        .integer(alarm.first_step)
        .integer(alarm.last_step)
        .text(alarm.level)
        .integer(alarm.count)
        .text(alarm.evidence)
        .integer(alarm.active)
        .run();
}

namespace {

int64_t counter(SQLite::Database& database, const char* name) {
    SQLite::Statement query(database, "SELECT value FROM counter WHERE name = ?");
    query.bind(1, name);
    return query.executeStep() ? query.getColumn(0).getInt64() : 0;
}

} // namespace

Totals read_totals(SQLite::Database& database) {
    return {.rollouts = counter(database, "rollouts"),
            .rollout_bytes = counter(database, "rollout_bytes"),
            .top16 = counter(database, "top16"),
            .top16_bytes = counter(database, "top16_bytes")};
}

void write_totals(SQLite::Database& database, const Totals& totals) {
    SQLite::Statement write(database, "INSERT OR REPLACE INTO counter VALUES (?, ?)");
    const std::pair<const char*, int64_t> counters[]{{"rollouts", totals.rollouts},
                                                     {"rollout_bytes", totals.rollout_bytes},
                                                     {"top16", totals.top16},
                                                     {"top16_bytes", totals.top16_bytes}};
    for (const auto& [name, value] : counters) Row(write).text(name).integer(value).run();
}

Totals count_totals(SQLite::Database& database) {
    const auto number = [&](const char* sql) { return database.execAndGet(sql).getInt64(); };
    return {.rollouts = number("SELECT count(*) FROM rollout"),
            .rollout_bytes =
                number("SELECT ifnull(sum(length(cast(t.problem AS BLOB)) + length(cast(t.text AS BLOB)) + "
                       "length(t.prompt_ids) + length(t.teacher_prompt_ids) + length(k.record)), 0) "
                       "FROM rollout_text t JOIN rollout_tokens k USING (rollout)"),
            .top16 = number("SELECT count(*) FROM rollout_top16"),
            .top16_bytes = number("SELECT ifnull(sum(bytes), 0) FROM rollout_top16")};
}

} // namespace stillroom::record
