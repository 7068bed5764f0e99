// SPDX-License-Identifier: GPL-3.0-or-later
// config.json for saved weights, and the weights that a configuration asks for.
#include "formats/model_config.h"

namespace stillroom::formats {

using nlohmann::json;

namespace {

std::string architecture_of(Family family) {
    switch (family) {
    case Family::Llama:
        return "LlamaForCausalLM";
    case Family::Qwen2:
        return "Qwen2ForCausalLM";
    case Family::Qwen3:
        return "Qwen3ForCausalLM";
    }
    return {};
}

json id_or_null(const std::optional<int64_t>& id) { return id ? json(*id) : json(nullptr); }

json ids_or_one(const std::vector<int64_t>& ids) {
    if (ids.empty()) return nullptr;
    return ids.size() == 1 ? json(ids.front()) : json(ids);
}

} // namespace

json to_config_json(const ModelConfig& config, const std::string& dtype) {
    json saved = config.source.is_object() ? config.source : json::object();
    saved["architectures"] = {architecture_of(config.family)};
    saved["model_type"] = to_string(config.family);
    saved["vocab_size"] = config.vocab;
    saved["hidden_size"] = config.hidden;
    saved["intermediate_size"] = config.intermediate;
    saved["num_hidden_layers"] = config.layers;
    saved["num_attention_heads"] = config.heads;
    saved["num_key_value_heads"] = config.kv_heads;
    saved["head_dim"] = config.head_size;
    saved["max_position_embeddings"] = config.context;
    saved["hidden_act"] = "silu";
    saved["rms_norm_eps"] = config.norm_eps;
    saved["tie_word_embeddings"] = config.tied;
    saved["bos_token_id"] = id_or_null(config.bos_id);
    saved["eos_token_id"] = ids_or_one(config.eos_ids);
    saved["pad_token_id"] = id_or_null(config.pad_id);
    saved["torch_dtype"] = dtype; // transformers 4
    saved["dtype"] = dtype;       // transformers 5
    if (config.family == Family::Llama) {
        saved["attention_bias"] = config.qkv_bias;
        saved["mlp_bias"] = config.mlp_bias;
    }
    if (config.family == Family::Qwen3) saved["attention_bias"] = config.qkv_bias;

    json scaling = nullptr;
    json parameters{{"rope_type", "default"}, {"rope_theta", config.rope_theta}};
    if (const auto& rope = config.rope_scaling) {
        scaling = {{"rope_type", "llama3"},
                   {"factor", rope->factor},
                   {"low_freq_factor", rope->low_freq_factor},
                   {"high_freq_factor", rope->high_freq_factor},
                   {"original_max_position_embeddings", rope->original_context}};
        parameters.update(scaling);
    }
    saved["rope_theta"] = config.rope_theta; // transformers 4
    saved["rope_scaling"] = std::move(scaling);
    saved["rope_parameters"] = std::move(parameters); // transformers 5
    return saved;
}

std::vector<WeightShape> weight_shapes(const ModelConfig& config) {
    const int64_t d = config.hidden, q = config.heads * config.head_size,
                  kv = config.kv_heads * config.head_size;
    std::vector<WeightShape> weights{{"model.embed_tokens.weight", {config.vocab, d}}};
    for (int64_t layer = 0; layer < config.layers; ++layer) {
        const std::string prefix = "model.layers." + std::to_string(layer) + ".";
        const auto linear = [&](const std::string& name, int64_t out, int64_t in, bool bias) {
            weights.push_back({prefix + name + ".weight", {out, in}});
            if (bias) weights.push_back({prefix + name + ".bias", {out}});
        };
        weights.push_back({prefix + "input_layernorm.weight", {d}});
        linear("self_attn.q_proj", q, d, config.qkv_bias);
        linear("self_attn.k_proj", kv, d, config.qkv_bias);
        linear("self_attn.v_proj", kv, d, config.qkv_bias);
        linear("self_attn.o_proj", d, q, config.output_bias);
        if (config.qk_norm) {
            weights.push_back({prefix + "self_attn.q_norm.weight", {config.head_size}});
            weights.push_back({prefix + "self_attn.k_norm.weight", {config.head_size}});
        }
        weights.push_back({prefix + "post_attention_layernorm.weight", {d}});
        linear("mlp.gate_proj", config.intermediate, d, config.mlp_bias);
        linear("mlp.up_proj", config.intermediate, d, config.mlp_bias);
        linear("mlp.down_proj", d, config.intermediate, config.mlp_bias);
    }
    weights.push_back({"model.norm.weight", {d}});
    if (!config.tied) weights.push_back({"lm_head.weight", {config.vocab, d}});
    return weights;
}

} // namespace stillroom::formats
