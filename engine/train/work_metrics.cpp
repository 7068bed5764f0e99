// SPDX-License-Identifier: GPL-3.0-or-later
#include "train/work_metrics.h"

namespace stillroom::train {

void Work::add(int64_t prompt, int64_t response) {
    const double n = double(prompt + response);
    tokens += n;
    pairs += n * (n + 1) / 2;
    head_rows += double(response);
}

double forward_flops(const formats::ModelConfig& config, const Work& work) {
    const double d = double(config.hidden), attention = double(config.heads * config.head_size),
                 keys = double(config.kv_heads * config.head_size), layers = double(config.layers);
    const double linear = layers * (2 * d * attention + 2 * d * keys + 3 * d * double(config.intermediate));
    return 2 * linear * work.tokens + 4 * layers * attention * work.pairs +
           2 * d * double(config.vocab) * work.head_rows;
}

void add_mfu(record::Metrics& metrics, const std::string& name, double flops, double seconds,
             const kernels::DevicePeaks& peaks) {
    if (seconds > 0) metrics[name] = flops / (seconds * peaks.flops);
}

void add_mbu(record::Metrics& metrics, const rollout::GenerationReport& generation, double weight_bytes,
             double seconds, const kernels::DevicePeaks& peaks) {
    if (seconds > 0)
        metrics["mbu_rollout"] = (weight_bytes * double(generation.decode_steps) + generation.kv_bytes_read) /
                                 (seconds * peaks.bandwidth);
}

} // namespace stillroom::train
