// SPDX-License-Identifier: GPL-3.0-or-later
// A model in memory: its architecture, its parameters in flat arenas, its tokenizer. Letters: V vocabulary, d
// hidden size, L layers, H query heads, G key-value heads, h head size, T tokens of a pack.
#pragma once

#include "base/result.h"
#include "formats/model_config.h"
#include "text/tokenizer.h"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <torch/torch.h>
#include <vector>

namespace stillroom::model {

/// One tensor of an arena. Fused tensors ("layers.0.qkv") consist of parts with Hugging Face names, split by
/// rows.
struct Slice {
    std::string name;
    std::vector<int64_t> shape;
    int64_t offset = 0; // in elements
    int64_t count = 0;  // elements
    struct Part {
        std::string hf_name; // "model.layers.0.self_attn.q_proj.weight"
        int64_t row = 0, rows = 0;
    };
    std::vector<Part> parts; // one, unless fused
};

/// Names, shapes and places of every parameter of an architecture, in one fixed order: "embedding", the
/// layers, "final_norm", "head" (absent if tied). A layer has, after "layers.0.": input_norm, qkv, qkv_bias,
/// q_norm, k_norm, o, o_bias, post_norm, gate_up, gate_up_bias, down, down_bias, of these what the
/// architecture uses. Places are multiples of 64 elements.
struct ParameterLayout {
    std::vector<Slice> slices;
    int64_t size = 0;                               // elements
    const Slice& at(const std::string& name) const; // asserts that there is one
    bool contains(const std::string& name) const;

    static ParameterLayout of(const formats::ModelConfig& config);
};

/// A low-rank pair beside a linear layer: y += scale (x A^T) B^T, A [r, in], B [out, r].
struct LoraShape {
    int64_t rank = 0;
    double alpha = 0;                 // scale = alpha / rank
    std::vector<std::string> targets; // q k v o gate up down
};

/// A flat arena and its layout. Weights, gradients, masters and moments are each one.
struct Arena {
    std::shared_ptr<const ParameterLayout> layout;
    torch::Tensor flat; // [layout->size]
    torch::Tensor view(const Slice& slice) const;
    torch::Tensor view(const std::string& name) const { return view(layout->at(name)); }
};

class Model {
public:
    formats::ModelConfig config;
    formats::GenerationConfig generation;
    std::optional<text::Tokenizer> tokenizer; // absent only for test models without one
    std::filesystem::path source;             // folder or file that it was loaded from
    std::string weights_sha256; // of the weight files it was loaded from, joined; empty for random ones

    Arena weights; // bf16 or fp32, on one device
    std::optional<LoraShape> lora;
    Arena adapters; // LoRA's pairs, if any; fp32 or the weights' type

    /// What the optimizer moves: `adapters` with LoRA, else `weights`.
    Arena& trainable() { return lora ? adapters : weights; }
    const Arena& trainable() const { return lora ? adapters : weights; }

    torch::Device device() const { return weights.flat.device(); }
    torch::Dtype dtype() const { return weights.flat.scalar_type(); }
    /// End tokens: those of the generation config, else of config.json.
    const std::vector<int64_t>& eos_ids() const {
        return generation.eos_ids.empty() ? config.eos_ids : generation.eos_ids;
    }
    /// Real tokens, V_real <= V: what the tokenizer knows (V without a tokenizer).
    int64_t real_vocab() const;
    /// The head's weight [V, d]; the embedding where they are tied.
    torch::Tensor head() const { return weights.view(config.tied ? "embedding" : "head"); }
    /// A copy with its own parameters (a frozen or averaged teacher).
    Model clone() const;
};

struct LoadOptions {
    torch::Device device = torch::kCPU;
    torch::Dtype dtype = torch::kFloat32;
};

/// A Hugging Face folder, a checkpoint folder, or a .gguf file.
Result<Model> load_model(const std::filesystem::path& path, const LoadOptions& options);

/// Fresh weights for the config.json (and the tokenizer) in `folder`: normal with the config's
/// initializer_range (0.02), norms 1, biases 0; residual outputs (o and down) scaled by 1/sqrt(2 L).
Result<Model> random_model(const std::filesystem::path& folder, const LoadOptions& options, uint64_t seed);

/// Adds LoRA pairs: A normal with variance 1/rank by `seed`, B zero.
void add_lora(Model& model, const LoraShape& shape, uint64_t seed);
/// Folds the pairs into the weights and drops them.
void merge_lora(Model& model);

/// Writes what Hugging Face loads into `folder` (which exists): weights of `dtype` split by Hugging Face's
/// names, tied heads kept tied, config.json, generation_config.json, tokenizer files, chat_template.jinja.
/// LoRA is merged on the fly.
Result<void> save_model(const Model& model, const std::filesystem::path& folder, torch::Dtype dtype,
                        uint64_t shard_bytes = 5'000'000'000);
/// save_model with values taken from `weights` (fp32 masters, over model.trainable().layout) in place of the
/// model's own.
Result<void> save_model(const Model& model, const Arena& weights, const std::filesystem::path& folder,
                        torch::Dtype dtype, uint64_t shard_bytes = 5'000'000'000);

/// Device and element type as --device and --dtype say. auto: cuda:0 if there is one, bf16 there, fp32 on a
/// CPU.
Result<LoadOptions> load_options(const std::string& device, const std::string& dtype);

} // namespace stillroom::model
