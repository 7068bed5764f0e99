// SPDX-License-Identifier: GPL-3.0-or-later
// Whether the weights of a folder are those of its config.json, without loading any.
#pragma once

#include "formats/model_config.h"
#include "formats/safetensors.h"

namespace stillroom::formats {

/// Every tensor of the decoder is there in its shape and a floating type, and none besides, save what follows
/// from the rest: rotary frequencies, and the head of a tied model if it has the embedding's bytes. `where`
/// is the folder.
Result<void> check_weights(const WeightFiles& files, const ModelConfig& config, const std::string& where);

} // namespace stillroom::formats
