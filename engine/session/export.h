// SPDX-License-Identifier: GPL-3.0-or-later
// A checkpoint as a Hugging Face folder, verified by loading what was written.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <filesystem>
#include <string>

namespace stillroom::session {

struct Exported {
    std::filesystem::path folder;
    int64_t step = 0, bytes = 0;
    int64_t compared = 0;          // log-probs of fixed texts, before and after
    double largest_difference = 0; // nats; rounding to another type shows here
};

/// Writes the checkpoint of `step` (-1: the newest that verifies) of `run` to `to`, which must not exist:
/// weights of `dtype` ("auto": as trained), config, generation config, tokenizer files, README.md with where
/// it comes from. Then loads it again and compares log-probs of fixed texts; a difference beyond the type's
/// rounding is an error, and the folder is renamed to <to>-unverified.
Result<Exported> export_checkpoint(const std::filesystem::path& run, int64_t step,
                                   const std::filesystem::path& to, const std::string& dtype);

} // namespace stillroom::session
