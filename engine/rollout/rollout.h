// SPDX-License-Identifier: GPL-3.0-or-later
// One sampled answer, and the policy it was drawn by. The policy travels with each rollout.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stillroom::rollout {

/// How tokens are drawn: temperature, then top-k, then top-p, then argmax of logit + Gumbel noise.
/// Temperature 0 is greedy.
struct SamplingPolicy {
    double temperature = 1;
    int64_t top_k = 0; // 0: off
    double top_p = 1;  // 1: off
    int64_t max_new = 256;
    std::vector<int64_t> eos_ids;
    uint64_t seed = 42;
    bool filtered() const { return top_k > 0 || top_p < 1; }
};

/// What is asked for. (seed, step, prompt, sample) decide the answer, whatever else is in the batch.
struct Request {
    std::vector<int32_t> prompt_ids;
    int64_t step = 0, prompt = 0, sample = 0; // counters of the random stream
    int64_t max_new = 0;                      // 0: the policy's
};

enum class Finish { Eos, Length, Cancelled };
std::string to_string(Finish finish); // "eos", "length", "cancelled"

struct Rollout {
    Request request;
    std::vector<int32_t> ids; // the sampled tokens, the end token included if one was drawn
    std::vector<float>
        logprobs; // of each, before filtering, at the sampling temperature (1 for greedy), nats
    Finish finish = Finish::Length;
};

} // namespace stillroom::rollout
