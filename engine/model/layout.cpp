// SPDX-License-Identifier: GPL-3.0-or-later
// Which parameters an architecture has, and where each lies in a flat arena. Places are multiples of 64
// elements, so that every view is aligned for vector loads whatever the element type; what lies between is
// zero and stays so.
#include "model/layout.h"

#include "base/ensure.h"

namespace stillroom::model {

namespace {

constexpr int64_t alignment = 64; // elements: 128 bytes in bf16

int64_t aligned(int64_t elements) { return (elements + alignment - 1) / alignment * alignment; }

} // namespace

void append(ParameterLayout& layout, std::string name, std::vector<int64_t> row_shape,
            std::vector<Slice::Part> parts) {
    Slice slice;
    slice.name = std::move(name);
    int64_t rows = 0;
    for (Slice::Part& part : parts) {
        part.row = rows;
        rows += part.rows;
    }
    slice.shape = {rows};
    slice.count = rows;
    for (const int64_t size : row_shape) {
        slice.shape.push_back(size);
        slice.count *= size;
    }
    slice.parts = std::move(parts);
    slice.offset = layout.size;
    layout.size = slice.offset + aligned(slice.count);
    layout.slices.push_back(std::move(slice));
}

const Slice& ParameterLayout::at(const std::string& name) const {
    for (const Slice& slice : slices) {
        if (slice.name == name) return slice;
    }
    ensure(false, "no parameter is called " + name);
    std::abort(); // not reached
}

bool ParameterLayout::contains(const std::string& name) const {
    for (const Slice& slice : slices) {
        if (slice.name == name) return true;
    }
    return false;
}

ParameterLayout ParameterLayout::of(const formats::ModelConfig& config) {
    const int64_t d = config.hidden, h = config.head_size, inner = config.intermediate;
    const int64_t query_rows = config.heads * h, key_rows = config.kv_heads * h;
    ParameterLayout layout;
    append(layout, "embedding", {d}, {{"model.embed_tokens.weight", 0, config.vocab}});
    for (int64_t i = 0; i < config.layers; ++i) {
        const std::string own = "layers." + std::to_string(i) + ".";
        const std::string hf = "model." + own, attention = hf + "self_attn.", mlp = hf + "mlp.";
        append(layout, own + "input_norm", {}, {{hf + "input_layernorm.weight", 0, d}});
        append(layout, own + "qkv", {d},
               {{attention + "q_proj.weight", 0, query_rows},
                {attention + "k_proj.weight", 0, key_rows},
                {attention + "v_proj.weight", 0, key_rows}});
        if (config.qkv_bias) {
            append(layout, own + "qkv_bias", {},
                   {{attention + "q_proj.bias", 0, query_rows},
                    {attention + "k_proj.bias", 0, key_rows},
                    {attention + "v_proj.bias", 0, key_rows}});
        }
        if (config.qk_norm) {
            append(layout, own + "q_norm", {}, {{attention + "q_norm.weight", 0, h}});
            append(layout, own + "k_norm", {}, {{attention + "k_norm.weight", 0, h}});
        }
        append(layout, own + "o", {query_rows}, {{attention + "o_proj.weight", 0, d}});
        if (config.output_bias) append(layout, own + "o_bias", {}, {{attention + "o_proj.bias", 0, d}});
        append(layout, own + "post_norm", {}, {{hf + "post_attention_layernorm.weight", 0, d}});
        append(layout, own + "gate_up", {d},
               {{mlp + "gate_proj.weight", 0, inner}, {mlp + "up_proj.weight", 0, inner}});
        if (config.mlp_bias) {
            append(layout, own + "gate_up_bias", {},
                   {{mlp + "gate_proj.bias", 0, inner}, {mlp + "up_proj.bias", 0, inner}});
        }
        append(layout, own + "down", {inner}, {{mlp + "down_proj.weight", 0, d}});
        if (config.mlp_bias) append(layout, own + "down_bias", {}, {{mlp + "down_proj.bias", 0, d}});
    }
    append(layout, "final_norm", {}, {{"model.norm.weight", 0, d}});
    if (!config.tied) append(layout, "head", {d}, {{"lm_head.weight", 0, config.vocab}});
    return layout;
}

torch::Tensor Arena::view(const Slice& slice) const {
    return flat.narrow(0, slice.offset, slice.count).view(slice.shape);
}

Arena empty_arena(std::shared_ptr<const ParameterLayout> layout, torch::TensorOptions options) {
    auto flat = torch::zeros({layout->size}, options.requires_grad(false));
    return {std::move(layout), std::move(flat)};
}

} // namespace stillroom::model
