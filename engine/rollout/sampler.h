// SPDX-License-Identifier: GPL-3.0-or-later
// Drawing one token a row from fp32 logits. The random numbers of a row come from a counter-based generator
// keyed by what the row is, never by where it stands in a batch, so that any token can be drawn again alone.
#pragma once

#include "base/philox.h"
#include "base/result.h"
#include "rollout/rollout.h"

#include <optional>
#include <span>
#include <torch/torch.h>
#include <vector>

namespace stillroom::rollout {

/// Philox's key of a step: (mix(seed) + step) mod 2^64, low word first, where mix is splitmix64's output
/// function (Steele et al., OOPSLA 2014). Distinct for every step of a seed.
PhiloxKey stream_key(uint64_t seed, int64_t step);

/// Where a row draws its next token. Logit v takes word v mod 4 of philox(key, {v / 4, position, sample,
/// prompt}).
struct DrawPlace {
    PhiloxKey key{};
    uint32_t position = 0; // of the token in the answer, from 0
    uint32_t sample = 0, prompt = 0;
};

/// Places as a tensor [B, 5] int64 on the CPU: key low, key high, position, sample, prompt.
torch::Tensor to_tensor(std::span<const DrawPlace> places);

struct Draws {
    torch::Tensor ids; // [B] int64; -1 where a row holds a logit that is not finite
    torch::Tensor
        logprobs; // [B] fp32, over ids < real_vocab before filtering, at the temperature (1 for greedy), nats
};

/// One token a row of `logits` [B, V] fp32 among ids < real_vocab. With temperature T > 0: y = logit / T in
/// fp64; top-k keeps what is not below the k-th largest; top-p keeps what is not below the last entry of the
/// shortest run of best entries whose mass (among those that top-k kept) reaches top_p; then the largest y -
/// log E, where u = (bits + 0.5) 2^-32, at most 1 - 2^-24, and E = -log1p(-u). Equal keys: the lower id. T =
/// 0: the largest logit. `places` [B, 5] is on the device of the logits.
Draws draw(const torch::Tensor& logits, const torch::Tensor& places, const SamplingPolicy& policy,
           int64_t real_vocab);

/// draw() in ATen operations, on any device: the form that every faster one is compared with.
Draws draw_plain(const torch::Tensor& logits, const torch::Tensor& places, const SamplingPolicy& policy,
                 int64_t real_vocab);

/// draw() as a loop over CPU memory, for speed: the same tokens; log-probs differ by fp32 rounding.
Draws draw_by_loop(const torch::Tensor& logits, const torch::Tensor& places, const SamplingPolicy& policy,
                   int64_t real_vocab);

/// The random words [B, 4 blocks] int64 (values below 2^32) that `places` [B, 5] give to logits 0, 1, ...
torch::Tensor random_words(const torch::Tensor& places, int64_t blocks);

/// The error of a policy that means nothing (negative temperature, top_p outside (0, 1], ...), if it is one.
std::optional<Error> fault_of(const SamplingPolicy& policy);

} // namespace stillroom::rollout
