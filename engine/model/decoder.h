// SPDX-License-Identifier: GPL-3.0-or-later
// The decoder's forward and backward pass in plain ATen operations, over tokens packed without padding. What
// attends to what is the caller's: training attends within each sequence, generation to a paged cache.
#pragma once

#include "model/model.h"

#include <functional>
#include <span>
#include <torch/torch.h>
#include <vector>

namespace stillroom::model {

/// Attention of one layer: q [T, H, h]; k and v [T, G, h] after norm and rotation -> [T, H, h].
using Attention = std::function<torch::Tensor(int64_t layer, const torch::Tensor& q, const torch::Tensor& k,
                                              const torch::Tensor& v)>;

/// Sequences one after the other.
struct Pack {
    torch::Tensor ids;            // [T] int64, on the model's device
    torch::Tensor positions;      // [T] int64, from 0 in each sequence
    std::vector<int64_t> offsets; // cu_seqlens: B + 1 entries, offsets[B] = T

    static Pack of(std::span<const std::vector<int32_t>> sequences, torch::Device device);
    int64_t tokens() const { return offsets.empty() ? 0 : offsets.back(); }
};

/// Causal attention within each sequence of `pack`, none across (softmax scale 1/sqrt(h)).
Attention causal_attention(const Pack& pack, const formats::ModelConfig& config);

/// Final hidden states [T, d] after the last norm (what the head multiplies), no gradient kept.
/// `after_layer`, if given, sees the residual stream [T, d] after each layer.
torch::Tensor forward(const Model& model, const torch::Tensor& ids, const torch::Tensor& positions,
                      const Attention& attention,
                      const std::function<void(int64_t, const torch::Tensor&)>& after_layer = {});

/// fp32 logits [N, V] of hidden rows [N, d] (fp32 accumulation and output whatever the weights' type).
torch::Tensor logits(const torch::Tensor& hidden, const torch::Tensor& head);

enum class Recompute { None, Layer };

/// A forward pass that can be run backward once. Layer: keeps each layer's input and computes the layer
/// again.
class TrainingPass {
public:
    TrainingPass(const Model& model, Pack pack, Recompute recompute);

    /// Hidden states [N, d] (after the final norm) at `rows` [N] int64, indices into the pack.
    torch::Tensor forward(const torch::Tensor& rows);
    /// Adds the gradients of every trainable parameter to `gradients` (fp32 arena over
    /// model.trainable().layout), given d_hidden [N, d], the gradient of the loss by forward()'s result. The
    /// head's own gradient is the caller's: it adds to gradients.view("head") (or "embedding" if tied)
    /// itself.
    void backward(const torch::Tensor& d_hidden, Arena& gradients);

private:
    struct State;
    std::shared_ptr<State> state_;
};

/// Zeroed fp32 arena for the model's trainable parameters, on its device.
Arena zero_gradients(const Model& model);

} // namespace stillroom::model
