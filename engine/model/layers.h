// SPDX-License-Identifier: GPL-3.0-or-later
// One decoder layer in three pieces, as inference and training run it: project (norm, q, k, v, rotation),
// attend (the caller's), finish (output projection, residuals, MLP). Works in fp32, bf16 and fp64.
#pragma once

#include "model/decoder.h"

#include <functional>
#include <string>
#include <vector>

namespace stillroom::model {

/// A linear layer, maybe with low-rank pairs on some of its rows.
struct Linear {
    struct Pair {
        int64_t row = 0, rows = 0; // of the fused weight
        torch::Tensor a, b;        // [r, in], [rows, r]
    };
    torch::Tensor weight, bias; // [out, in], [out] or undefined
    std::vector<Pair> pairs;
    double scale = 0; // of the pairs
};

struct LayerWeights {
    torch::Tensor input_norm, post_norm; // [d]
    torch::Tensor q_norm, k_norm;        // [h] or undefined
    Linear qkv, o, gate_up, down;
};

/// How a parameter is looked up: a plain view, or a leaf that autograd follows.
using Lookup = std::function<torch::Tensor(const Arena& arena, const std::string& name)>;

LayerWeights layer_weights(const Model& model, int64_t layer, const Lookup& lookup);

/// Frequencies of the rotation pairs, [h / 2] fp64 on the CPU, with Llama 3's scaling where the config has
/// it.
torch::Tensor rotary_frequencies(const formats::ModelConfig& config);

/// cos and sin of position times frequency, [T, 1, h / 2]: computed in fp64, kept in fp32 (fp64 for fp64
/// weights).
struct Rotary {
    torch::Tensor cos, sin;
};
Rotary rotary_tables(const Model& model, const torch::Tensor& positions);

/// x / sqrt(mean(x^2) + eps) * weight over the last dimension, computed in fp32 (fp64 for fp64), in x's type.
torch::Tensor rms_norm(const torch::Tensor& x, const torch::Tensor& weight, double eps);

struct Projected {
    torch::Tensor q;    // [T, H, h]
    torch::Tensor k, v; // [T, G, h]
};
Projected project(const formats::ModelConfig& config, const LayerWeights& weights, const Rotary& rotary,
                  const torch::Tensor& x);

/// The layer's output [T, d], from its input x [T, d] and what attention gave [T, H, h].
torch::Tensor finish(const formats::ModelConfig& config, const LayerWeights& weights, const torch::Tensor& x,
                     const torch::Tensor& attended);

} // namespace stillroom::model
