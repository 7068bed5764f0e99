// SPDX-License-Identifier: GPL-3.0-or-later
// The forward pass without gradients, packs of sequences, causal attention within each, and logits.
#include "model/decoder.h"

#include "base/ensure.h"
#include "model/layers.h"
#include "model/layout.h"

#include <algorithm>

namespace stillroom::model {

Pack Pack::of(std::span<const std::vector<int32_t>> sequences, torch::Device device) {
    std::vector<int64_t> ids, positions, offsets{0};
    for (const auto& sequence : sequences) {
        ids.insert(ids.end(), sequence.begin(), sequence.end());
        for (size_t t = 0; t < sequence.size(); ++t) positions.push_back(int64_t(t));
        offsets.push_back(int64_t(ids.size()));
    }
    return {torch::tensor(ids, torch::kInt64).to(device), torch::tensor(positions, torch::kInt64).to(device),
            std::move(offsets)};
}

Attention causal_attention(const Pack& pack, const formats::ModelConfig& config) {
    const int64_t B = int64_t(pack.offsets.size()) - 1;
    int64_t longest = 0;
    for (int64_t b = 0; b < B; ++b) longest = std::max(longest, pack.offsets[b + 1] - pack.offsets[b]);

    // Sequences are padded on the right to the longest. Under a causal mask no token sees what comes after
    // it, so the padding changes nothing. `slots`: where each token of the pack stands among the padded.
    std::vector<int64_t> places;
    places.reserve(size_t(pack.tokens()));
    for (int64_t b = 0; b < B; ++b) {
        for (int64_t t = 0; t < pack.offsets[b + 1] - pack.offsets[b]; ++t) places.push_back(b * longest + t);
    }
    const bool ragged = pack.tokens() != B * longest;
    const auto slots = torch::tensor(places, torch::kInt64).to(pack.ids.device());
    const int64_t groups = config.heads / config.kv_heads;

    return [=](int64_t, const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v) {
        const auto padded = [&](const torch::Tensor& x) { // [T, n, h] -> [B, n, longest, h]
            const int64_t n = x.size(1), h = x.size(2);
            const auto rows = ragged ? x.new_zeros({B * longest, n, h}).index_copy(0, slots, x) : x;
            return rows.view({B, longest, n, h}).transpose(1, 2);
        };
        const auto shared = [&](const torch::Tensor& x) { // one key head for `groups` query heads
            return groups == 1 ? x : x.repeat_interleave(groups, 1);
        };
        const auto attended =
            at::scaled_dot_product_attention(padded(q), shared(padded(k)), shared(padded(v)), {}, 0.0,
                                             /*is_causal=*/true);
        const auto rows = attended.transpose(1, 2).reshape({B * longest, q.size(1), q.size(2)});
        return ragged ? rows.index_select(0, slots) : rows;
    };
}

torch::Tensor forward(const Model& model, const torch::Tensor& ids, const torch::Tensor& positions,
                      const Attention& attention,
                      const std::function<void(int64_t, const torch::Tensor&)>& after_layer) {
    const torch::NoGradGuard no_grad;
    ensure(ids.dim() == 1 && ids.sizes() == positions.sizes(),
           "ids and positions are one list each, of one length");
    const Lookup view = [](const Arena& arena, const std::string& name) { return arena.view(name); };
    const Rotary rotary = rotary_tables(model, positions);
    torch::Tensor x = model.weights.view("embedding").index_select(0, ids); // [T, d]
    for (int64_t layer = 0; layer < model.config.layers; ++layer) {
        const LayerWeights weights = layer_weights(model, layer, view);
        const Projected projected = project(model.config, weights, rotary, x);
        x = finish(model.config, weights, x, attention(layer, projected.q, projected.k, projected.v));
        if (after_layer) after_layer(layer, x);
    }
    return rms_norm(x, model.weights.view("final_norm"), model.config.norm_eps);
}

torch::Tensor logits(const torch::Tensor& hidden, const torch::Tensor& head) {
    if (hidden.is_cuda() && hidden.scalar_type() == torch::kBFloat16 &&
        head.scalar_type() == torch::kBFloat16) {
        return at::mm(hidden, head.t(), torch::kFloat32);
    }
    const auto type = hidden.scalar_type() == torch::kFloat64 ? torch::kFloat64 : torch::kFloat32;
    return at::mm(hidden.to(type), head.to(type).t());
}

Arena zero_gradients(const Model& model) {
    const auto type =
        model.trainable().flat.scalar_type() == torch::kFloat64 ? torch::kFloat64 : torch::kFloat32;
    return empty_arena(model.trainable().layout, torch::dtype(type).device(model.device()));
}

} // namespace stillroom::model
