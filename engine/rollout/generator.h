// SPDX-License-Identifier: GPL-3.0-or-later
// Continuous batching over a paged key-value cache: a finished row's pages are freed at once and the next
// request takes its place; requests with one prompt share its pages; when pages run out the youngest row is
// put back and recomputed.
#pragma once

#include "model/model.h"
#include "rollout/rollout.h"

#include <atomic>
#include <functional>
#include <memory>
#include <span>

namespace stillroom::rollout {

struct GeneratorOptions {
    int64_t batch_rows = 0; // rows decoded at once; 0: min(requests, 256)
    int64_t page_tokens = 64;
    int64_t cache_tokens = 0; // 0: enough for batch_rows full answers, within 60 % of the free device memory
    int64_t prefill_tokens = 8192; // tokens of prompts a prefill pass
};

/// Figures of one call, for the metrics of the R column.
struct GenerationReport {
    int64_t sampled_tokens = 0, prefill_tokens = 0, decode_steps = 0, preemptions = 0;
    double live_rows_mean = 0; // over decode steps
    int64_t batch_rows = 0;
    int64_t pages = 0, pages_used_max = 0;
    double kv_bytes_read = 0; // by decode attention, for mbu_rollout
    double seconds = 0;
};

class Generator {
public:
    /// Reads the very tensors of `model`, which must outlive it and may change between calls.
    Generator(const model::Model& model, GeneratorOptions options);
    ~Generator();

    /// One rollout a request, in order. `progress(finished, tokens)` is called now and then; returning false
    /// cancels: what is unfinished ends as Cancelled. An error: a prompt that leaves no room in the model's
    /// context, an id outside the vocabulary, a cache too small for one row.
    Result<std::vector<Rollout>> generate(std::span<const Request> requests, const SamplingPolicy& policy,
                                          GenerationReport* report = nullptr,
                                          const std::function<bool(int64_t, int64_t)>& progress = {});

    /// Gives the cache's memory back to the allocator until the next call.
    void release();

private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace stillroom::rollout
