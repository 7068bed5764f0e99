// SPDX-License-Identifier: GPL-3.0-or-later
// The README.md of an exported checkpoint: where its weights come from. Internal to session/.
#pragma once

#include "formats/recipe.h"
#include "train/checkpoint.h"

namespace stillroom::session {

/// Base model, teacher, data with hashes, recipe and what differs from its preset, steps, seed, scores with
/// standard errors and protocols, licences as far as the base's folder tells them.
std::string model_card(const std::filesystem::path& run, const train::CheckpointNote& note,
                       const std::string& weights_sha256, const formats::Recipe& recipe);

} // namespace stillroom::session
