// SPDX-License-Identifier: GPL-3.0-or-later
// The plain form of drawing, and what both forms share. Noise and filters are fp64: two forms (and two
// devices) then disagree only where two keys are equal to 1e-15.
#include "rollout/sampler.h"

#include "base/ensure.h"

#include <cmath>
#include <limits>

namespace stillroom::rollout {

namespace {

constexpr int64_t word_mask = 0xffffffff;
constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

/// High and low 32 bits of a 32 bit constant times 32 bit values held in int64. The product wraps modulo
/// 2^64, and masking drops the sign bits that the shift copies in.
std::pair<torch::Tensor, torch::Tensor> product(int64_t constant, const torch::Tensor& values) {
    const auto wide = values * constant;
    return {at::bitwise_right_shift(wide, 32).bitwise_and_(word_mask), wide & word_mask};
}

/// -log E [B, columns] fp64 for the first `columns` logits of each row.
torch::Tensor gumbel_noise(const torch::Tensor& places, int64_t columns) {
    constexpr double largest = 1 - 0x1p-24;
    auto u = random_words(places, (columns + 3) / 4).narrow(1, 0, columns).to(torch::kFloat64);
    u = u.add_(0.5).mul_(0x1p-32).clamp_max_(largest);
    return u.neg_().log1p_().neg_().log_().neg_();
}

/// Logits [B, V] with those that the policy's filters drop at minus infinity.
torch::Tensor filtered(const torch::Tensor& logits, const SamplingPolicy& policy) {
    const int64_t vocab = logits.size(1);
    auto kept = logits;
    if (policy.top_k > 0 && policy.top_k < vocab) {
        const auto threshold = std::get<0>(kept.topk(policy.top_k, 1)).narrow(1, policy.top_k - 1, 1);
        kept = kept.masked_fill(kept < threshold, minus_infinity);
    }
    if (policy.top_p < 1) {
        const auto descending = std::get<0>(kept.sort(1, true));
        const auto mass = descending.to(torch::kFloat64).div_(policy.temperature).softmax(1).cumsum(1);
        // An entry is needed while the mass of those before it is short of top_p; the first always is.
        const auto needed = (mass < policy.top_p).sum(1, true).clamp_max_(vocab - 1);
        kept = kept.masked_fill(kept < descending.gather(1, needed), minus_infinity);
    }
    return kept;
}

/// Splitmix64's output function.
uint64_t mixed(uint64_t value) {
    value += 0x9E3779B97F4A7C15u;
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
    return value ^ (value >> 31);
}

Draws draw_rows(const torch::Tensor& logits, const torch::Tensor& places, const SamplingPolicy& policy) {
    const double temperature = policy.temperature > 0 ? policy.temperature : 1;
    const auto tempered = logits.to(torch::kFloat64).div_(temperature); // y [B, V]
    auto ids = policy.temperature == 0 ? logits.argmax(1)
                                       : filtered(logits, policy)
                                             .to(torch::kFloat64)
                                             .div_(temperature)
                                             .add_(gumbel_noise(places, logits.size(1)))
                                             .argmax(1);
    const auto logprobs = tempered.gather(1, ids.unsqueeze(1)).squeeze(1) - tempered.logsumexp(1);
    const auto finite = logits.isfinite().all(1);
    return {torch::where(finite, ids, -1), logprobs.to(torch::kFloat32)};
}

} // namespace

PhiloxKey stream_key(uint64_t seed, int64_t step) {
    const uint64_t key = mixed(seed) + uint64_t(step);
    return {uint32_t(key), uint32_t(key >> 32)};
}

torch::Tensor to_tensor(std::span<const DrawPlace> places) {
    auto tensor = torch::empty({int64_t(places.size()), 5}, torch::kInt64);
    int64_t* out = tensor.data_ptr<int64_t>();
    for (const auto& place : places) {
        for (const int64_t value : {place.key[0], place.key[1], place.position, place.sample, place.prompt})
            *out++ = value;
    }
    return tensor;
}

torch::Tensor random_words(const torch::Tensor& places, int64_t blocks) {
    // The constants of base/philox.h.
    constexpr int64_t multiplier0 = 0xD2511F53, multiplier1 = 0xCD9E8D57, weyl0 = 0x9E3779B9,
                      weyl1 = 0xBB67AE85;
    const auto column = [&](int64_t index) { return places.narrow(1, index, 1); };
    auto key0 = column(0), key1 = column(1);
    auto c0 = torch::arange(blocks, places.options()).unsqueeze(0), c1 = column(2), c2 = column(3),
         c3 = column(4);
    for (int round = 0; round < 10; ++round) {
        const auto [high0, low0] = product(multiplier0, c0);
        const auto [high1, low1] = product(multiplier1, c2);
        c0 = high1 ^ c1 ^ key0;
        c1 = low1;
        c2 = high0 ^ c3 ^ key1;
        c3 = low0;
        key0 = (key0 + weyl0) & word_mask;
        key1 = (key1 + weyl1) & word_mask;
    }
    const std::vector<int64_t> shape{places.size(0), blocks};
    return torch::stack({c0.expand(shape), c1.expand(shape), c2.expand(shape), c3.expand(shape)}, 2)
        .flatten(1);
}

std::optional<Error> fault_of(const SamplingPolicy& policy) {
    const auto fault = [](const char* key, double found, const char* expected) {
        return Error{std::string(key) + " is " + std::to_string(found) + ", expected " + expected,
                     "sampling policy"};
    };
    if (!(policy.temperature >= 0) || !std::isfinite(policy.temperature))
        return fault("temperature", policy.temperature, "0 (greedy) or more");
    if (policy.top_k < 0) return fault("top_k", double(policy.top_k), "0 (off) or more");
    if (!(policy.top_p > 0 && policy.top_p <= 1))
        return fault("top_p", policy.top_p, "a share above 0, at most 1");
    if (policy.max_new < 1) return fault("max_new", double(policy.max_new), "1 or more");
    return std::nullopt;
}

Draws draw_plain(const torch::Tensor& logits, const torch::Tensor& places, const SamplingPolicy& policy,
                 int64_t real_vocab) {
    const torch::NoGradGuard no_grad;
    // The random words of all rows at once would take eight times the logits' memory or more.
    constexpr int64_t logits_at_once = int64_t{1} << 24;
    const int64_t rows_at_once = std::max<int64_t>(1, logits_at_once / real_vocab);
    std::vector<torch::Tensor> ids, logprobs;
    for (int64_t row = 0; row < logits.size(0); row += rows_at_once) {
        const int64_t rows = std::min(rows_at_once, logits.size(0) - row);
        const auto part = draw_rows(logits.narrow(0, row, rows).narrow(1, 0, real_vocab),
                                    places.narrow(0, row, rows), policy);
        ids.push_back(part.ids);
        logprobs.push_back(part.logprobs);
    }
    return {torch::cat(ids), torch::cat(logprobs)};
}

Draws draw(const torch::Tensor& logits, const torch::Tensor& places, const SamplingPolicy& policy,
           int64_t real_vocab) {
    ensure(logits.dim() == 2 && logits.scalar_type() == torch::kFloat32 && real_vocab >= 1 &&
               real_vocab <= logits.size(1) && places.size(0) == logits.size(0) && places.size(1) == 5,
           "draw() needs fp32 logits [B, V], places [B, 5] and 1 <= real_vocab <= V");
    return logits.is_cpu() ? draw_by_loop(logits, places, policy, real_vocab)
                           : draw_plain(logits, places, policy, real_vocab);
}

} // namespace stillroom::rollout
