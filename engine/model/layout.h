// SPDX-License-Identifier: GPL-3.0-or-later
// How layouts of parameters are built, for the files of this folder.
#pragma once

#include "model/model.h"

namespace stillroom::model {

/// Appends a tensor of sum(parts.rows) rows of `row_shape` ({} for a vector), fused of `parts`, whose `row`
/// is set here.
void append(ParameterLayout& layout, std::string name, std::vector<int64_t> row_shape,
            std::vector<Slice::Part> parts);

/// An arena of zeros.
Arena empty_arena(std::shared_ptr<const ParameterLayout> layout, torch::TensorOptions options);

/// The layout of LoRA's pairs: "layers.0.q.lora_a" [rank, in] and "layers.0.q.lora_b" [out, rank] for each
/// target.
ParameterLayout lora_layout(const formats::ModelConfig& config, const LoraShape& shape);

/// The model's own weights with the pairs of `adapters` folded in; a copy.
Arena merged_weights(const Model& model, const Arena& adapters);

} // namespace stillroom::model
