// SPDX-License-Identifier: GPL-3.0-or-later
// Where models begin, for the files of this folder.
#pragma once

#include "model/model.h"

namespace stillroom::model {

/// Normal numbers of mean 0 in fp32 on the CPU, decided by (seed, stream).
torch::Tensor normal(const std::vector<int64_t>& shape, double deviation, uint64_t seed, uint64_t stream);

/// The model that config.json in `folder` describes, with its tokenizer and all weights 0. Throws
/// ErrorException.
Model model_without_weights(const std::filesystem::path& folder, const LoadOptions& options);

} // namespace stillroom::model
