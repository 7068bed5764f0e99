// SPDX-License-Identifier: GPL-3.0-or-later
// Drawing on the CPU. Almost no token can win against the best key so far, and a bound on the uniform number
// alone shows it, so that logarithms are taken for a few tokens a row only.
#include "rollout/sampler.h"

#include <ATen/Parallel.h>
#include <algorithm>
#include <cmath>
#include <limits>

namespace stillroom::rollout {

namespace {

/// One row of logits and exp(y - largest y) of each, in fp32.
struct Row {
    std::span<const float> logits, weights;
    float largest = 0; // logit
};

/// The logit below which the filters drop an entry.
float threshold(const Row& row, const SamplingPolicy& policy, std::vector<float>& scratch) {
    const int64_t vocab = int64_t(row.logits.size());
    float lowest = -std::numeric_limits<float>::infinity();
    if (policy.top_k > 0 && policy.top_k < vocab) {
        scratch.assign(row.logits.begin(), row.logits.end());
        std::nth_element(scratch.begin(), scratch.begin() + (policy.top_k - 1), scratch.end(),
                         std::greater<>());
        lowest = scratch[size_t(policy.top_k - 1)];
    }
    if (policy.top_p >= 1) return lowest;

    const auto mass_of = [&](float logit) {
        return std::exp((double(logit) - double(row.largest)) / policy.temperature);
    };
    scratch.clear();
    double total = 0;
    for (const float logit : row.logits) {
        if (logit < lowest) continue;
        scratch.push_back(logit);
        total += mass_of(logit);
    }
    // Entries below (1 - top_p) total / V cannot hold more than 1 - top_p together: the run ends before them,
    // and only the others need sorting. Half of it leaves room for rounding.
    const double negligible = 0.5 * (1 - policy.top_p) * total / double(vocab);
    const auto end = std::partition(scratch.begin(), scratch.end(),
                                    [&](float logit) { return mass_of(logit) >= negligible; });
    std::sort(scratch.begin(), end, std::greater<>());
    double mass = 0;
    for (auto entry = scratch.begin(); entry != end; ++entry) {
        lowest = *entry;
        mass += mass_of(*entry) / total;
        if (mass >= policy.top_p) break;
    }
    return lowest;
}

int64_t best_key(const Row& row, const int64_t* place, double temperature, float lowest) {
    constexpr double largest_uniform = 1 - 0x1p-24;
    const PhiloxKey key{uint32_t(place[0]), uint32_t(place[1])};
    const auto vocab = uint32_t(row.logits.size());
    int64_t winner = 0;
    double best = -std::numeric_limits<double>::infinity();
    // A key above `best` needs E < exp(y - best), and u <= E: u has to be below weight * reach. The margin of
    // 1e-3 covers the weights' fp32 rounding.
    double reach = std::numeric_limits<double>::infinity();
    for (uint32_t block = 0; block * 4 < vocab; ++block) {
        const auto words = philox(key, {block, uint32_t(place[2]), uint32_t(place[3]), uint32_t(place[4])});
        const uint32_t count = std::min<uint32_t>(4, vocab - block * 4);
        for (uint32_t word = 0; word < count; ++word) {
            const uint32_t id = block * 4 + word;
            const double u = std::min((words[word] + 0.5) * 0x1p-32, largest_uniform);
            if (u > double(row.weights[id]) * reach || row.logits[id] < lowest) continue;
            const double value = double(row.logits[id]) / temperature - std::log(-std::log1p(-u));
            if (value <= best) continue;
            best = value;
            winner = id;
            reach = 1.001 * std::exp(double(row.largest) / temperature - best);
        }
    }
    return winner;
}

} // namespace

Draws draw_by_loop(const torch::Tensor& logits, const torch::Tensor& places, const SamplingPolicy& policy,
                   int64_t real_vocab) {
    const torch::NoGradGuard no_grad;
    const int64_t rows = logits.size(0);
    const bool greedy = policy.temperature == 0;
    const double temperature = greedy ? 1 : policy.temperature;
    const auto real = logits.narrow(1, 0, real_vocab).contiguous();
    const auto largest = real.amax(1);
    const auto weights = (real - largest.unsqueeze(1)).mul_(1 / temperature).exp_().contiguous();
    const auto winner = greedy ? real.argmax(1) : torch::Tensor();
    const auto where = places.contiguous();
    Draws draws{torch::empty({rows}, torch::kInt64), torch::empty({rows}, torch::kFloat32)};

    const float* logit_of = real.data_ptr<float>();
    const float* weight_of = weights.data_ptr<float>();
    const float* largest_of = largest.data_ptr<float>();
    const int64_t* place_of = where.data_ptr<int64_t>();
    int64_t* id_of = draws.ids.data_ptr<int64_t>();
    float* logprob_of = draws.logprobs.data_ptr<float>();
    at::parallel_for(0, rows, 1, [&](int64_t first, int64_t last) {
        std::vector<float> scratch;
        for (int64_t index = first; index < last; ++index) {
            const Row row{{logit_of + index * real_vocab, size_t(real_vocab)},
                          {weight_of + index * real_vocab, size_t(real_vocab)},
                          largest_of[index]};
            double sum = 0;
            bool finite = true;
            for (size_t id = 0; id < row.logits.size(); ++id) {
                sum += row.weights[id];
                finite &= std::isfinite(row.logits[id]);
            }
            if (!finite) {
                id_of[index] = -1;
                logprob_of[index] = std::numeric_limits<float>::quiet_NaN();
                continue;
            }
            const float lowest = policy.filtered() && !greedy ? threshold(row, policy, scratch)
                                                              : -std::numeric_limits<float>::infinity();
            const int64_t id = greedy ? winner.data_ptr<int64_t>()[index]
                                      : best_key(row, place_of + index * 5, temperature, lowest);
            id_of[index] = id;
            logprob_of[index] =
                float((double(row.logits[size_t(id)]) - double(row.largest)) / temperature - std::log(sum));
        }
    });
    return draws;
}

} // namespace stillroom::rollout
