// SPDX-License-Identifier: GPL-3.0-or-later
// The architecture of a decoder, as config.json, or the metadata of a GGUF file, states it.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stillroom::formats {

enum class Family { Llama, Qwen2, Qwen3 };
std::string to_string(Family family);

/// Llama 3's frequency scaling ("rope_type": "llama3").
struct RopeScaling {
    double factor = 1, low_freq_factor = 1, high_freq_factor = 4;
    int64_t original_context = 8192; // original_max_position_embeddings

    bool operator==(const RopeScaling&) const = default;
};

/// Qwen2/2.5, Qwen3, Llama 3 and SmolLM2 are this one decoder. Letters as everywhere: V vocabulary, d hidden
/// size, L layers, H query heads, G key-value heads, h head size.
struct ModelConfig {
    Family family = Family::Llama;
    int64_t vocab = 0;        // V, rows of the head
    int64_t hidden = 0;       // d
    int64_t intermediate = 0; // inner size of the MLP
    int64_t layers = 0;       // L
    int64_t heads = 0;        // H
    int64_t kv_heads = 0;     // G
    int64_t head_size = 0;    // h
    int64_t context = 0;      // max_position_embeddings
    double norm_eps = 1e-6;
    double rope_theta = 10000;
    std::optional<RopeScaling> rope_scaling;
    bool qkv_bias = false;    // Qwen2
    bool output_bias = false; // attention_bias of Llama puts one on o_proj too
    bool mlp_bias = false;
    bool qk_norm = false; // Qwen3
    bool tied = false;    // the head is the embedding
    std::string dtype;    // of the stored weights: "float32", "bfloat16", "float16"; empty if not said
    std::vector<int64_t> eos_ids;
    std::optional<int64_t> bos_id, pad_id;
    nlohmann::json source; // config.json as read, so that saving keeps what it said
};

/// Parses a config.json object of either layout (`rope_theta` and `rope_scaling`, or `rope_parameters`). An
/// unknown architecture, a missing size, or a key that would change the arithmetic and is not understood is
/// an error that names the key. `where` is the file for messages.
Result<ModelConfig> parse_model_config(const nlohmann::json& config, const std::string& where);
Result<ModelConfig> read_model_config(const std::filesystem::path& file);

/// Whether a key that is not understood may change the arithmetic, by its name (rope, attention, norm,
/// expert, ...); both readers refuse such a key.
bool may_change_arithmetic(std::string_view key);

/// The limits and divisibility that sizes from any file must keep; `where` is the file. The error names the
/// size as config.json calls it.
Result<void> check_sizes(const ModelConfig& config, const std::string& where);

/// One weight by Hugging Face's name, and its shape.
struct WeightShape {
    std::string name;
    std::vector<int64_t> shape;
};
/// Every weight of the decoder in Hugging Face's order: embedding, layers, final norm, and the head unless
/// tied.
std::vector<WeightShape> weight_shapes(const ModelConfig& config);

/// The config.json to write beside saved weights of `dtype`: both the older and the newer rope keys, so that
/// transformers 4 and 5 read it.
nlohmann::json to_config_json(const ModelConfig& config, const std::string& dtype);

/// generation_config.json: what ends an answer, and the sampling defaults its author recommends (never
/// applied silently).
struct GenerationConfig {
    std::vector<int64_t> eos_ids; // empty: those of config.json count
    std::optional<double> temperature, top_p;
    std::optional<int64_t> top_k;
    nlohmann::json source;
};
/// An absent file is an empty GenerationConfig, not an error.
Result<GenerationConfig> read_generation_config(const std::filesystem::path& folder);

} // namespace stillroom::formats
