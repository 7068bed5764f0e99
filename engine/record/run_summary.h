// SPDX-License-Identifier: GPL-3.0-or-later
// One run at a glance, its state told from evidence: not what the store claims but whether the process that
// claimed it is still there (ui.md 6.1, 6.2).
#pragma once

#include "record/liveness.h"
#include "record/records.h"

#include <filesystem>

namespace stillroom::record {

/// How a run that is in a live state is seen from here.
enum class Liveness {
    Ended,      // the state is final
    Here,       // this process works on it
    Elsewhere,  // another process does, with a fresh heartbeat
    Unreachable // the process exists, its heartbeat is old
};

struct RunSummary {
    std::filesystem::path folder;
    std::string fault; // not empty: the store cannot be read, and nothing below but the name is known
    std::string name, recipe_hash, program;
    double created = 0, heartbeat = 0; // Unix seconds
    int64_t session = 0;               // 1, and one more each time it was resumed
    RunState state = RunState::Preparing;
    std::string state_text; // as recorded: "deadline reached", an error
    Liveness liveness = Liveness::Ended;
    ProcessIdentity process;
    int64_t step = 0, steps_planned = 0, progress = 0;
    std::optional<int64_t> resumable_from; // the newest checkpoint that is whole on disk
    std::optional<double> score, score_error;
    int64_t score_step = 0;
    int64_t rollouts = 0, rollout_bytes = 0, top16 = 0, top16_bytes = 0;
};

/// "running, step 437 of 722, process 4711, last sign 2 s ago"; "interrupted at step 437 of 722 (last sign
/// 2026-03-14 14:02:11), resumable from checkpoint 400".
std::string state_line(const RunSummary& summary);

/// The state that the evidence allows: sets `state`, `liveness` and `resumable_from` from what was read of
/// the store and what is found of the process and in the run's checkpoint folder.
void judge(RunSummary& summary, double now = unix_time());

/// The steps of the checkpoints that are whole on disk, ascending: checkpoints/step-NNNNNN with a
/// stillroom.json. An unfinished folder has another name.
std::vector<int64_t> checkpoints_on_disk(const std::filesystem::path& run);

/// Every run in `folder` (its subfolders with a run.sqlite), newest first; unreadable ones with their fault.
std::vector<RunSummary> runs_in(const std::filesystem::path& folder);

} // namespace stillroom::record
