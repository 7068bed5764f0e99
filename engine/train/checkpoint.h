// SPDX-License-Identifier: GPL-3.0-or-later
// Checkpoints: a folder that Hugging Face loads as it is, with the engine's own state beside it, so that a
// resumed run goes on bit for bit (design.md section 6).
#pragma once

#include "train/trainer.h"

#include <filesystem>
#include <nlohmann/json.hpp>

namespace stillroom::train {

/// What a checkpoint says of itself beside the weights (stillroom.json).
struct CheckpointNote {
    int64_t step = 0;
    std::string recipe_hash, run, base_sha256;   // lineage: the run and the weights it began with
    double wall_seconds = 0, active_seconds = 0; // of the run so far
    nlohmann::json scores;                       // metric -> value, as far as evaluated at this step
};

struct SavedCheckpoint {
    std::filesystem::path folder;
    int64_t bytes = 0;
    double seconds = 0;
    std::string sha256; // of the weights
};

/// Writes <run>/checkpoints/step-000200 beside its place and renames it. A checkpoint of that step that
/// stands there already is kept as it is.
Result<SavedCheckpoint> save_checkpoint(Trainer& trainer, const std::filesystem::path& run,
                                        const CheckpointNote& note);

/// Puts weights, optimizer, average, counters and data order of a checkpoint into a trainer made from the
/// same recipe. Refuses one that began with other weights.
Result<CheckpointNote> restore_checkpoint(Trainer& trainer, const std::filesystem::path& checkpoint);

/// Reads stillroom.json and checks the hash of every file that it names.
Result<CheckpointNote> verify_checkpoint(const std::filesystem::path& checkpoint);

/// The newest checkpoint of a run that verifies, and what is wrong with newer ones.
struct NewestCheckpoint {
    std::filesystem::path folder; // empty: there is none
    std::vector<std::string> broken;
};
NewestCheckpoint newest_checkpoint(const std::filesystem::path& run);

/// Every checkpoint folder of a run by step, whole or not; partial ones are left out.
std::vector<std::pair<int64_t, std::filesystem::path>> checkpoints_of(const std::filesystem::path& run);
std::filesystem::path checkpoint_folder(const std::filesystem::path& run, int64_t step);
bool is_pinned(const std::filesystem::path& checkpoint); // a file "pinned" in it

/// Which steps the rule keeps, and why: the last `keep_last`, the best `keep_best` by score, pinned ones.
std::map<int64_t, std::string>
kept_checkpoints(const std::vector<std::pair<int64_t, std::optional<double>>>& scores,
                 const std::vector<int64_t>& pinned, int64_t keep_last, int64_t keep_best);

} // namespace stillroom::train
