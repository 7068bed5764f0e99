// SPDX-License-Identifier: GPL-3.0-or-later
// What `inspect` finds out about one file or folder, every check of its reader made.
#pragma once

#include "base/result.h"

#include <filesystem>
#include <nlohmann/json.hpp>

namespace stillroom::cli {

/// "kind" (model folder, checkpoint, run, tokenizer folder, safetensors, index, gguf, config, generation
/// config, tokenizer), then what that kind holds; "tensors" is a list of {name, type, shape, bytes}.
Result<nlohmann::ordered_json> inspected(const std::filesystem::path& path);

} // namespace stillroom::cli
