// SPDX-License-Identifier: GPL-3.0-or-later
// How much of a device's best a step's phases used (metrics.md section 5).
#pragma once

#include "formats/model_config.h"
#include "kernels/device.h"
#include "record/records.h"
#include "rollout/generator.h"

namespace stillroom::train {

/// What passes through a model in a phase; padding never counts.
struct Work {
    double tokens = 0;    // through its layers
    double pairs = 0;     // (query, key) attended within sequences
    double head_rows = 0; // that reach the head

    /// A sequence of `prompt` and `response` tokens; the rows that predict the response reach the head.
    void add(int64_t prompt, int64_t response);
};

/// Floating point operations of one forward pass: 2 P_lin a token, 4 L H h a pair, 2 d V a row of the head.
/// P_lin are the weights of the linear layers without embedding and head.
double forward_flops(const formats::ModelConfig& config, const Work& work);

/// mfu_*: `flops` done in `seconds`; absent where a phase took no time.
void add_mfu(record::Metrics& metrics, const std::string& name, double flops, double seconds,
             const kernels::DevicePeaks& peaks);
/// mbu_rollout: the weights once a decode step and the cache that attention read, of what the memory could
/// have delivered in that time.
void add_mbu(record::Metrics& metrics, const rollout::GenerationReport& generation, double weight_bytes,
             double seconds, const kernels::DevicePeaks& peaks);

} // namespace stillroom::train
