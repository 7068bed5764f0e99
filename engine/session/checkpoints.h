// SPDX-License-Identifier: GPL-3.0-or-later
// What a person does with the checkpoints of a run, beside the rule that keeps them.
#pragma once

#include "base/result.h"
#include "record/records.h"

#include <filesystem>
#include <vector>

namespace stillroom::session {

/// A checkpoint as the store and the disk show it.
struct CheckpointFacts {
    record::CheckpointRecord record;
    std::filesystem::path folder; // absolute
    bool on_disk = false;         // with its stillroom.json
    bool pinned = false;
    double saved = 0;          // Unix seconds; 0: not on disk
    int64_t weights_bytes = 0; // of what an export copies: no optimizer state
};
/// Ascending by step.
Result<std::vector<CheckpointFacts>> checkpoint_facts(const std::filesystem::path& run);

/// Keeps a checkpoint from the rule, or no longer: a file `pinned` in its folder, and the store's word of it.
Result<void> pin_checkpoint(const std::filesystem::path& run, int64_t step, bool pinned);

/// Removes a checkpoint from the disk; its line in the store stays, marked as removed, and an event says so.
/// Refused for a pinned one, while a process works on the run, and for the only one from which a run that
/// has not finished can be resumed.
Result<void> delete_checkpoint(const std::filesystem::path& run, int64_t step);

} // namespace stillroom::session
