// SPDX-License-Identifier: GPL-3.0-or-later
// The writer of a run's store, <run>/run.sqlite: SQLite in WAL mode, so that readers never wait for it nor it
// for them. One process at a time writes a run. What the tables hold is in schema.cpp; queries.h reads them.
#pragma once

#include "base/result.h"
#include "record/sink.h"

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace stillroom::record {

struct RunDescription {
    std::string name, recipe_hash;
    std::string program; // "stillroom 0.1.0"
    int64_t steps_planned = 0;
    std::map<std::string, std::string> settings; // formats::flattened(recipe)
};

class RunStore : public RecordSink {
public:
    /// A new store in the folder `run`, which exists; claimed by this process, state `preparing`.
    static Result<RunStore> create(const std::filesystem::path& run, const RunDescription& description);
    /// An existing one, to go on with it: claimed by this process as a new session, state `preparing`; what a
    /// session before left open becomes an event. Refused while another process works on the run.
    static Result<RunStore> open(const std::filesystem::path& run);
    RunStore(RunStore&&) noexcept;
    ~RunStore() override;

    Result<void> append(std::span<const Record> records) override;
    Result<void> append(const Record& record) { return append(std::span(&record, 1)); }
    bool refused() const override;
    Result<void> heartbeat(int64_t progress) override;

    /// Replaces the settings and planned steps, and the recipe's hash: a resumed run may have changed some.
    Result<void> describe(const RunDescription& description);
    /// At most so many bytes for rollouts. Past it the oldest top-16 records that were kept by chance alone
    /// are thinned, then no new ones kept but pinned and alarmed ones; token records are always kept. 0: no
    /// limit.
    void set_byte_budget(int64_t bytes);

    /// Sets aside what lies past `step`, so that the run goes on as if it had not happened: metrics move to
    /// superseded_metric, rollouts, evaluations, checkpoints and alarms are deleted, events stay. An event
    /// says so.
    Result<void> truncate_after(int64_t step);

    /// Marks a rollout as pinned, or no longer: the top-16 record of a pinned one is never thinned. Over a
    /// connection of its own, so that it works beside the process that writes the run, which it waits for up
    /// to 2 s.
    static Result<void> set_pinned(const std::filesystem::path& run, int64_t rollout, bool pinned);

    /// Marks a checkpoint as pinned, or no longer; as removed by hand, with an event. As set_pinned, over a
    /// connection of their own.
    static Result<void> set_checkpoint_pinned(const std::filesystem::path& run, int64_t step, bool pinned);
    static Result<void> set_checkpoint_removed(const std::filesystem::path& run, int64_t step);

    const std::filesystem::path& file() const;

private:
    struct Connection;
    explicit RunStore(std::unique_ptr<Connection> connection);
    /// Changes the line of one checkpoint (what keeps it, whether it is removed); an event says so.
    static Result<void> change_checkpoint(const std::filesystem::path& run, int64_t step,
                                          const std::function<void(CheckpointRecord&)>& change,
                                          const std::string& said);
    std::unique_ptr<Connection> connection_;
};

} // namespace stillroom::record
