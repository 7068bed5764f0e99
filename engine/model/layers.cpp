// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/layers.h"

#include <cmath>
#include <numbers>

namespace stillroom::model {

namespace {

/// The type in which norms and rotations are computed.
torch::Dtype wide(torch::Dtype type) { return type == torch::kFloat64 ? torch::kFloat64 : torch::kFloat32; }

torch::Tensor apply(const Linear& linear, const torch::Tensor& x) {
    torch::Tensor y = at::linear(x, linear.weight, linear.bias);
    for (const Linear::Pair& pair : linear.pairs) {
        const auto low = at::linear(x, pair.a.to(x.scalar_type()));
        const auto delta = at::linear(low, pair.b.to(x.scalar_type()));
        y.narrow(1, pair.row, pair.rows).add_(delta, linear.scale);
    }
    return y;
}

/// Turns each pair (x[i], x[i + h/2]) by its angle.
torch::Tensor rotate(const torch::Tensor& x, const Rotary& rotary) {
    const auto halves = x.to(rotary.cos.scalar_type()).chunk(2, -1);
    const torch::Tensor &first = halves[0], &second = halves[1];
    return at::cat({first * rotary.cos - second * rotary.sin, second * rotary.cos + first * rotary.sin}, -1)
        .to(x.scalar_type());
}

} // namespace

LayerWeights layer_weights(const Model& model, int64_t layer, const Lookup& lookup) {
    const formats::ModelConfig& config = model.config;
    const std::string prefix = "layers." + std::to_string(layer) + ".";
    const auto weight = [&](const std::string& name) { return lookup(model.weights, prefix + name); };

    // `parts`: the names of LoRA's targets in the order of the fused weight's rows.
    const auto linear = [&](const std::string& name, bool bias, const std::vector<std::string>& parts) {
        Linear result{weight(name), bias ? weight(name + "_bias") : torch::Tensor(), {}, 0};
        if (!model.lora) return result;
        result.scale = model.lora->alpha / double(model.lora->rank);
        const Slice& slice = model.weights.layout->at(prefix + name);
        for (size_t i = 0; i < parts.size(); ++i) {
            const std::string pair = prefix + parts[i];
            if (!model.adapters.layout->contains(pair + ".lora_a")) continue;
            result.pairs.push_back({slice.parts[i].row, slice.parts[i].rows,
                                    lookup(model.adapters, pair + ".lora_a"),
                                    lookup(model.adapters, pair + ".lora_b")});
        }
        return result;
    };

    LayerWeights weights;
    weights.input_norm = weight("input_norm");
    weights.qkv = linear("qkv", config.qkv_bias, {"q", "k", "v"});
    if (config.qk_norm) {
        weights.q_norm = weight("q_norm");
        weights.k_norm = weight("k_norm");
    }
    weights.o = linear("o", config.output_bias, {"o"});
    weights.post_norm = weight("post_norm");
    weights.gate_up = linear("gate_up", config.mlp_bias, {"gate", "up"});
    weights.down = linear("down", config.mlp_bias, {"down"});
    return weights;
}

torch::Tensor rotary_frequencies(const formats::ModelConfig& config) {
    const int64_t pairs = config.head_size / 2;
    auto frequencies = torch::empty({pairs}, torch::kFloat64);
    double* frequency = frequencies.data_ptr<double>();
    for (int64_t i = 0; i < pairs; ++i) {
        frequency[i] = std::pow(config.rope_theta, -double(2 * i) / double(config.head_size));
        if (!config.rope_scaling) continue;
        // Llama 3: wavelengths longer than the original context are stretched by `factor`, short ones are
        // kept, and those between are mixed by how many turns they make in it.
        const formats::RopeScaling& scaling = *config.rope_scaling;
        const double turns = double(scaling.original_context) * frequency[i] / (2 * std::numbers::pi);
        const double kept = std::clamp((turns - scaling.low_freq_factor) /
                                           (scaling.high_freq_factor - scaling.low_freq_factor),
                                       0.0, 1.0);
        frequency[i] *= kept + (1 - kept) / scaling.factor;
    }
    return frequencies;
}

Rotary rotary_tables(const Model& model, const torch::Tensor& positions) {
    const auto frequencies = rotary_frequencies(model.config).to(positions.device());
    const auto angles =
        positions.to(torch::kFloat64).unsqueeze(-1).unsqueeze(-1) * frequencies; // [T, 1, h / 2]
    return {angles.cos().to(wide(model.dtype())), angles.sin().to(wide(model.dtype()))};
}

torch::Tensor rms_norm(const torch::Tensor& x, const torch::Tensor& weight, double eps) {
    const auto type = wide(x.scalar_type());
    const auto wide_x = x.to(type);
    const auto scale = at::rsqrt(wide_x.square().mean(-1, /*keepdim=*/true) + eps);
    return (wide_x * scale * weight.to(type)).to(x.scalar_type());
}

Projected project(const formats::ModelConfig& config, const LayerWeights& weights, const Rotary& rotary,
                  const torch::Tensor& x) {
    const int64_t T = x.size(0), H = config.heads, G = config.kv_heads, h = config.head_size;
    const auto qkv = apply(weights.qkv, rms_norm(x, weights.input_norm, config.norm_eps));
    const auto parts = qkv.split_with_sizes({H * h, G * h, G * h}, 1);
    Projected projected{parts[0].reshape({T, H, h}), parts[1].reshape({T, G, h}),
                        parts[2].reshape({T, G, h})};
    if (config.qk_norm) {
        projected.q = rms_norm(projected.q, weights.q_norm, config.norm_eps);
        projected.k = rms_norm(projected.k, weights.k_norm, config.norm_eps);
    }
    projected.q = rotate(projected.q, rotary);
    projected.k = rotate(projected.k, rotary);
    return projected;
}

torch::Tensor finish(const formats::ModelConfig& config, const LayerWeights& weights, const torch::Tensor& x,
                     const torch::Tensor& attended) {
    const auto middle = x + apply(weights.o, attended.reshape({x.size(0), config.heads * config.head_size}));
    const auto gate_up =
        apply(weights.gate_up, rms_norm(middle, weights.post_norm, config.norm_eps)).chunk(2, 1);
    return middle + apply(weights.down, at::silu(gate_up[0]) * gate_up[1]);
}

} // namespace stillroom::model
