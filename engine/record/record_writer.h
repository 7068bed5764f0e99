// SPDX-License-Identifier: GPL-3.0-or-later
// Rows for each kind of record, by statements prepared once. Works inside a transaction that the store opens.
#pragma once

#include "record/records.h"
#include "record/schema.h"

namespace stillroom::record {

/// Kept in the table `counter`, because counting rows of a large store takes long.
struct Totals {
    int64_t rollouts = 0, rollout_bytes = 0, top16 = 0, top16_bytes = 0;
};

class RecordWriter {
public:
    RecordWriter(SQLite::Database& database, int64_t session);

    void write(const StepRecord& step);
    void write(const RolloutRecord& rollout);
    void write(const EvaluationRecord& evaluation);
    void write(const CheckpointRecord& checkpoint);
    void write(const EventRecord& event);
    void write(const StateRecord& state);
    void write(const AlarmRecord& alarm);

    /// Before the first record of a transaction, and before its commit: totals, and one event for all
    /// thinning.
    void begin();
    void finish();

    int64_t byte_budget = 0; // 0: none

private:
    bool make_room(int64_t bytes);
    void metric(const std::string& tag, int64_t step, double value);

    SQLite::Database& database_;
    int64_t session_;
    Totals totals_;
    int64_t thinned_ = 0, thinned_bytes_ = 0, not_kept_ = 0, thinned_until_ = 0, newest_step_ = 0;
    SQLite::Statement metric_, step_time_, run_step_, rollout_, rollout_text_, rollout_tokens_,
        rollout_top16_, oldest_random_, delete_top16_, unmark_, delete_answers_, delete_evaluation_,
        evaluation_, evaluation_metric_, answer_, checkpoint_, event_, state_, alarm_;
};

Totals read_totals(SQLite::Database& database);
void write_totals(SQLite::Database& database, const Totals& totals);
/// Counted anew from the rows, after a deletion.
Totals count_totals(SQLite::Database& database);

} // namespace stillroom::record
