// SPDX-License-Identifier: GPL-3.0-or-later
// The engine thread: commands in, events out. The command line and the window drive a run through this alone;
// what crosses are plain structs, with no torch and no Qt.
#pragma once

#include "base/result.h"
#include "formats/recipe.h"
#include "record/records.h"

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace stillroom::session {

/// What to run. `run` is the run's folder: made by a new run (never an existing one), opened by a resumed
/// one.
struct RunRequest {
    formats::Recipe recipe;
    std::filesystem::path run;
    bool resume = false;
    std::string device = "auto", dtype = "auto";
    int threads = 0;
};

// Commands. Each takes effect at the next point where it can.
struct Pause {};         // after this step; the weights stay on the device
struct Resume {};        // from pausing or paused
struct StopAfterStep {}; // finish the step, save, end as `stopped`
struct StopNow {};       // give the step up, save what the last finished step left, end as `stopped`
struct KeepRunning {};   // takes a pause or a stop back that hasn't taken effect
struct SaveNow {};       // a checkpoint at the end of this step (at once when paused)
struct EvaluateNow {};   // the proxy, likewise
using Command = std::variant<Pause, Resume, StopAfterStep, StopNow, KeepRunning, SaveNow, EvaluateNow>;

// Events, in the order in which things happened.
struct StateChanged {
    record::RunState from, to;
    int64_t step = 0;
    std::string text; // "Pausing after step 437"
};
struct PhaseProgress {
    int64_t step = 0;
    std::string phase; // rollout, learn, evaluate, ...
    double done = 0;   // 0..1
    std::string text;
};
struct StepDone {
    std::shared_ptr<const record::StepRecord> step;
    std::shared_ptr<const std::vector<record::RolloutRecord>> rollouts;
};
struct EvaluationDone {
    std::shared_ptr<const record::EvaluationRecord> evaluation;
};
struct CheckpointSaved {
    record::CheckpointRecord checkpoint;
};
struct Notice {
    enum class Kind { Information, Warning, Failure } kind = Kind::Information;
    int64_t step = 0;
    std::string text;
};
struct RecordingChanged {
    bool working = true;
    std::string text; // what failed, how much waits in memory
};
using Event = std::variant<StateChanged, PhaseProgress, StepDone, EvaluationDone, CheckpointSaved, Notice,
                           RecordingChanged>;

class Session {
public:
    Session();
    /// Stops what runs as StopAfterStep does, and waits for it.
    ~Session();

    /// Starts the engine thread on one run and returns at once. A session runs one run after another, never
    /// two.
    void start(RunRequest request);
    void send(Command command);

    /// The next event; nothing after `timeout`, or when the run has ended and every event was taken. The
    /// queue is bounded: PhaseProgress is left out where the reader is slow, nothing else ever is.
    std::optional<Event> next_event(std::chrono::milliseconds timeout);
    /// Whether the run has ended and every event was taken.
    bool over() const;

    record::RunState state() const;
    /// Waits for the engine thread. The error that ended the run, if it failed.
    Result<void> wait();

private:
    struct Engine;
    std::unique_ptr<Engine> engine_;
};

/// A folder below `runs` for a new run of this name: the name, or name-2, name-3 where that exists.
std::filesystem::path new_run_folder(const std::filesystem::path& runs, const std::string& name);

/// "2h30m", "45s", "90m", "1d2h" in seconds from `started`, or "2026-12-24 18:00" local time: as unix
/// seconds.
Result<double> deadline_time(const std::string& text, double started);

} // namespace stillroom::session
