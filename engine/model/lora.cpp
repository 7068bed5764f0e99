// SPDX-License-Identifier: GPL-3.0-or-later
// Low-rank pairs beside frozen linear layers (Hu et al., arXiv:2106.09685), kept in an arena of their own.
// Their Hugging Face names are those of PEFT.
#include "base/strings.h"
#include "model/initial.h"
#include "model/layout.h"

#include <algorithm>
#include <cmath>

namespace stillroom::model {

namespace {

/// What a pair can stand beside: PEFT's module, its slice, and which of the slice's parts.
struct Target {
    std::string name, module, slice;
    size_t part;
};

const std::vector<Target>& targets() {
    static const std::vector<Target> all{
        {"q", "self_attn.q_proj", "qkv", 0},     {"k", "self_attn.k_proj", "qkv", 1},
        {"v", "self_attn.v_proj", "qkv", 2},     {"o", "self_attn.o_proj", "o", 0},
        {"gate", "mlp.gate_proj", "gate_up", 0}, {"up", "mlp.up_proj", "gate_up", 1},
        {"down", "mlp.down_proj", "down", 0}};
    return all;
}

void check(const LoraShape& shape) {
    if (shape.rank < 1)
        throw ErrorException({"LoRA's rank is " + std::to_string(shape.rank) + ", at least 1 is expected"});
    if (shape.targets.empty())
        throw ErrorException({"LoRA has no targets, some of q k v o gate up down are expected"});
    for (const std::string& name : shape.targets) {
        if (std::ranges::find(targets(), name, &Target::name) != targets().end()) continue;
        throw ErrorException(
            {"LoRA has no target " + stillroom::quoted(name) + ", one of q k v o gate up down is expected"});
    }
}

} // namespace

ParameterLayout lora_layout(const formats::ModelConfig& config, const LoraShape& shape) {
    check(shape);
    const ParameterLayout base = ParameterLayout::of(config);
    ParameterLayout layout;
    for (int64_t layer = 0; layer < config.layers; ++layer) {
        const std::string own = "layers." + std::to_string(layer) + ".";
        for (const Target& target : targets()) {
            if (std::ranges::find(shape.targets, target.name) == shape.targets.end()) continue;
            const Slice& slice = base.at(own + target.slice);
            const std::string peft = "base_model.model.model." + own + target.module;
            append(layout, own + target.name + ".lora_a", {slice.shape[1]},
                   {{peft + ".lora_A.weight", 0, shape.rank}});
            append(layout, own + target.name + ".lora_b", {shape.rank},
                   {{peft + ".lora_B.weight", 0, slice.parts[target.part].rows}});
        }
    }
    return layout;
}

void add_lora(Model& model, const LoraShape& shape, uint64_t seed) {
    const torch::NoGradGuard no_grad;
    if (model.lora) throw ErrorException({"the model has LoRA pairs already", model.source.string()});
    const auto layout = std::make_shared<const ParameterLayout>(lora_layout(model.config, shape));
    // fp32 beside bf16 weights: the pairs are small, and so need no masters.
    const auto type = model.dtype() == torch::kFloat64 ? torch::kFloat64 : torch::kFloat32;
    model.adapters = empty_arena(layout, torch::dtype(type).device(model.device()));
    model.lora = shape;
    uint64_t stream = 0;
    for (const Slice& slice : layout->slices) {
        ++stream;
        if (!slice.name.ends_with("lora_a")) continue;
        model.adapters.view(slice).copy_(
            normal(slice.shape, 1 / std::sqrt(double(shape.rank)), seed, stream));
    }
}

Arena merged_weights(const Model& model, const Arena& adapters) {
    const torch::NoGradGuard no_grad;
    Arena merged{model.weights.layout, model.weights.flat.clone()};
    const double scale = model.lora->alpha / double(model.lora->rank);
    for (int64_t layer = 0; layer < model.config.layers; ++layer) {
        const std::string own = "layers." + std::to_string(layer) + ".";
        for (const Target& target : targets()) {
            const std::string pair = own + target.name;
            if (!adapters.layout->contains(pair + ".lora_a")) continue;
            const Slice& slice = merged.layout->at(own + target.slice);
            const Slice::Part& part = slice.parts[target.part];
            const auto rows = merged.view(slice).narrow(0, part.row, part.rows);
            const auto delta = at::mm(adapters.view(pair + ".lora_b"), adapters.view(pair + ".lora_a"));
            rows.copy_(rows.to(delta.scalar_type()) + delta * scale); // one rounding to the weights' type
        }
    }
    return merged;
}

void merge_lora(Model& model) {
    if (!model.lora) return;
    model.weights.flat.copy_(merged_weights(model, model.adapters).flat);
    model.lora.reset();
    model.adapters = {};
}

} // namespace stillroom::model
