// SPDX-License-Identifier: GPL-3.0-or-later
// The reader of a run's store: its own read-only connection, which sees whole transactions only, so that a
// record that is just being written does not exist yet. A damaged or foreign file is an error, never a crash.
// One thread a reader.
#pragma once

#include "base/result.h"
#include "record/records.h"
#include "record/rollout_figures.h"
#include "record/run_summary.h"

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace stillroom::record {

struct MetricSummary {
    std::string tag; // of an evaluation's metric: "<evaluation tag>.<metric>"
    int64_t count = 0, first_step = 0, last_step = 0;
    int64_t undefined = 0, not_finite = 0; // of `count`
    double last = Undefined;
};

struct SeriesPoint {
    int64_t step = 0;
    double value = Undefined; // Undefined, NaN and infinities as they were recorded
    double wall_seconds = 0, active_seconds = 0;
    int64_t tokens_trained = 0;
};

/// What a list of rollouts is sorted and bounded by. Recorded: by id. Verdict: different, unknown, equal;
/// Format, Truncated, Pinned: no before yes.
enum class RolloutOrder {
    Recorded,
    MeanKl,
    MaxKl,
    Length,
    Entropy,
    Overlap,
    Gain,
    Clipped,
    Step,
    Prompt,
    Sample,
    Verdict,
    Format,
    Truncated,
    Pinned
};

/// A value strictly above or below a bound; a rollout without the value does not fit.
struct RolloutBound {
    RolloutOrder value = RolloutOrder::MeanKl;
    bool above = true;
    double bound = 0;
    bool operator==(const RolloutBound&) const = default;
};

/// A page of rollouts. All conditions hold together; an empty text or no value is no condition.
struct RolloutFilter {
    std::optional<int64_t> first_step, last_step, prompt;
    std::string prompt_id, verdict, finish_reason;
    std::optional<bool> format_ok;
    bool top16_only = false, pinned_only = false, alarmed_only = false;
    std::vector<RolloutBound> bounds;
    RolloutOrder order = RolloutOrder::Recorded;
    bool descending = false;
    int64_t limit = 256;
    std::optional<std::pair<double, int64_t>> after; // (order_value, id) of the last one of the page before
};

struct RolloutSummary {
    int64_t id = 0, step = 0, prompt = 0, sample = 0, length = 0;
    std::string prompt_id, finish_reason, verdict, extracted, gold, kept_because;
    bool format_ok = false, pinned = false, has_top16 = false;
    RolloutFigures figures{};
    double order_value = 0;
};

struct EvaluationSummary {
    int64_t id = 0, step = 0, answers = 0;
    std::string tag, protocol_hash;
    double time = 0; // Unix seconds
    Metrics metrics;
};

struct StoredEvent {
    int64_t id = 0, session = 0;
    EventRecord event;
};

class RunReader {
public:
    /// Of a run's folder, or of a store file. Fails on what is no run store, on another schema version, on a
    /// missing table.
    static Result<RunReader> open(const std::filesystem::path& run);
    RunReader(RunReader&&) noexcept;
    RunReader& operator=(RunReader&&) noexcept;
    ~RunReader();

    Result<RunSummary> summary() const;
    Result<std::map<std::string, std::string>> settings() const;

    /// All metrics, by name.
    Result<std::vector<MetricSummary>> metrics() const;
    /// Points of steps after `after`, ascending; empty for a tag that was not recorded.
    Result<std::vector<SeriesPoint>> series(const std::string& tag, int64_t after = -1) const;

    Result<std::vector<RolloutSummary>> rollouts(const RolloutFilter& filter) const;
    /// How many fit, on all pages. Looks at every rollout of the steps asked for.
    Result<int64_t> rollout_count(const RolloutFilter& filter) const;
    /// With tokens, and top-16 where kept. `sampler_logprob` is empty.
    Result<RolloutRecord> rollout(int64_t id) const;

    /// Ascending by step, then tag.
    Result<std::vector<EvaluationSummary>> evaluations() const;
    Result<EvaluationRecord> evaluation(int64_t id) const;

    Result<std::vector<CheckpointRecord>> checkpoints() const;
    /// The newest `limit` (0: all), oldest of them first.
    Result<std::vector<StoredEvent>> events(int64_t limit = 0) const;
    Result<std::vector<AlarmRecord>> alarms() const;

    /// Reads every page of the file: what SQLite finds wrong with it, nothing if it is sound. Takes as long
    /// as reading the file does.
    Result<std::vector<std::string>> faults() const;

private:
    struct Connection;
    explicit RunReader(std::unique_ptr<Connection> connection);
    std::unique_ptr<Connection> connection_;
};

} // namespace stillroom::record
