// SPDX-License-Identifier: GPL-3.0-or-later
// A GGUF file as a decoder: its configuration from the metadata, its weights under Hugging Face's names and
// row order.
#include "formats/gguf.h"

#include "base/strings.h"
#include "formats/gguf_metadata.h"
#include "formats/tensors.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

namespace stillroom::formats {

namespace {

// The GGUF name of a Hugging Face weight; empty if there is none.
std::string gguf_name(const std::string& name) {
    static const std::map<std::string, std::string> outer{{"model.embed_tokens.weight", "token_embd.weight"},
                                                          {"model.norm.weight", "output_norm.weight"},
                                                          {"lm_head.weight", "output.weight"}};
    static const std::map<std::string, std::string> inner{
        {"input_layernorm", "attn_norm"},    {"post_attention_layernorm", "ffn_norm"},
        {"self_attn.q_proj", "attn_q"},      {"self_attn.k_proj", "attn_k"},
        {"self_attn.v_proj", "attn_v"},      {"self_attn.o_proj", "attn_output"},
        {"self_attn.q_norm", "attn_q_norm"}, {"self_attn.k_norm", "attn_k_norm"},
        {"mlp.gate_proj", "ffn_gate"},       {"mlp.up_proj", "ffn_up"},
        {"mlp.down_proj", "ffn_down"}};
    if (const auto found = outer.find(name); found != outer.end()) return found->second;
    constexpr std::string_view layers = "model.layers.";
    if (!name.starts_with(layers)) return {};
    const size_t layer_end = name.find('.', layers.size()), kind = name.rfind('.');
    if (layer_end == std::string::npos || kind <= layer_end) return {};
    const auto found = inner.find(name.substr(layer_end + 1, kind - layer_end - 1));
    if (found == inner.end()) return {};
    return "blk." + name.substr(layers.size(), layer_end - layers.size()) + "." + found->second +
           name.substr(kind);
}

Family family_of(MetadataReader& keys) {
    const std::string architecture = keys.text("general.architecture");
    for (const Family family : {Family::Llama, Family::Qwen2, Family::Qwen3}) {
        if (architecture == to_string(family)) return family;
    }
    keys.fail("general.architecture",
              "is " + stillroom::quoted(architecture) + ", llama, qwen2 or qwen3 is expected");
}

void refuse_what_is_not_understood(MetadataReader& keys, const std::string& architecture) {
    const auto neutral = [&](const std::string& key, double value) {
        if (!keys.has(architecture + key)) return;
        if (keys.number(architecture + key) != value)
            keys.fail(architecture + key,
                      "is " + keys.shown(architecture + key) + ", which is not supported");
    };
    neutral(".expert_count", 0);
    neutral(".expert_used_count", 0);
    neutral(".rope.scale_linear", 1);
    neutral(".logit_scale", 1);
    neutral(".residual_scale", 1);
    neutral(".embedding_scale", 1);
    if (keys.has(architecture + ".rope.scaling.type") &&
        keys.text(architecture + ".rope.scaling.type") != "none") {
        keys.fail(architecture + ".rope.scaling.type",
                  "is " + keys.shown(architecture + ".rope.scaling.type") + ", none is expected");
    }
    for (const std::string& key : keys.unasked(architecture + ".")) {
        if (may_change_arithmetic(key))
            keys.fail(key, "is not understood, and its name says that it may change the arithmetic");
    }
}

// What llama3 scaling divides frequency i of the rotation by.
double frequency_divisor(const RopeScaling& scaling, double theta, int64_t head_size, int64_t i) {
    const double wavelength = 2 * std::numbers::pi * std::pow(theta, double(2 * i) / double(head_size));
    const double context = double(scaling.original_context);
    if (wavelength < context / scaling.high_freq_factor) return 1;
    if (wavelength > context / scaling.low_freq_factor) return scaling.factor;
    const double smooth = (context / wavelength - scaling.low_freq_factor) /
                          (scaling.high_freq_factor - scaling.low_freq_factor);
    return 1 / ((1 - smooth) / scaling.factor + smooth);
}

// Llama 3 files keep the divisors of the frequencies (rope_freqs.weight) instead of the numbers that they
// came from. All of Llama 3.1 to 3.3 have 1, 4 and 8192 for the latter three; the divisors must be what these
// give.
std::optional<RopeScaling> scaling_of(const Gguf& file, const ModelConfig& config) {
    const GgufTensor* divisors = file.find("rope_freqs.weight");
    if (!divisors) return std::nullopt;
    const auto stored = Gguf::values(*divisors).value();
    if (divisors->shape != std::vector<int64_t>{config.head_size / 2}) {
        throw ErrorException({"tensor rope_freqs.weight has shape " +
                                  to_string(std::span<const int64_t>(divisors->shape)) + ", [" +
                                  std::to_string(config.head_size / 2) + "] is expected",
                              file.path().string()});
    }
    const RopeScaling scaling{double(stored.back()), 1, 4, 8192};
    for (int64_t i = 0; i < config.head_size / 2; ++i) {
        const double expected = frequency_divisor(scaling, config.rope_theta, config.head_size, i);
        if (!(std::abs(double(stored[size_t(i)]) - expected) <= 1e-4 * expected)) { // the file's are float32
            throw ErrorException({"tensor rope_freqs.weight is not Llama 3's scaling: entry " +
                                      std::to_string(i) + " is " + std::to_string(stored[size_t(i)]) + ", " +
                                      std::to_string(expected) + " is expected",
                                  file.path().string()});
        }
    }
    return scaling;
}

void read_token_ids(MetadataReader& keys, ModelConfig& config) {
    config.bos_id = keys.token_id("tokenizer.ggml.bos_token_id", config.vocab);
    config.pad_id = keys.token_id("tokenizer.ggml.padding_token_id", config.vocab);
    for (const std::string key :
         {"eos", "eot", "eom"}) { // ends of text, of turn, of message: each ends an answer
        const auto id = keys.token_id("tokenizer.ggml." + key + "_token_id", config.vocab);
        if (id && std::ranges::find(config.eos_ids, *id) == config.eos_ids.end())
            config.eos_ids.push_back(*id);
    }
}

// Rows of q and k of one head, from neighbours that rotate together (2i, 2i + 1) to halves (i, i + h / 2).
std::vector<float> unpermuted(const std::vector<float>& stored, int64_t rows, int64_t head_size) {
    const size_t columns = stored.size() / size_t(rows);
    std::vector<float> values(stored.size());
    for (int64_t row = 0; row < rows; ++row) {
        const int64_t within = row % head_size, head_start = row - within;
        const int64_t from =
            head_start + (within < head_size / 2 ? 2 * within : 2 * (within - head_size / 2) + 1);
        std::copy_n(stored.begin() + from * int64_t(columns), columns,
                    values.begin() + row * int64_t(columns));
    }
    return values;
}

} // namespace

Result<ModelConfig> model_config_of(const Gguf& file) try {
    MetadataReader keys(file);
    ModelConfig config;
    config.family = family_of(keys);
    const std::string a = to_string(config.family);
    config.hidden = keys.size(a + ".embedding_length");
    config.intermediate = keys.size(a + ".feed_forward_length");
    config.layers = keys.size(a + ".block_count");
    config.heads = keys.size(a + ".attention.head_count");
    config.kv_heads = keys.size(a + ".attention.head_count_kv");
    if (config.heads % config.kv_heads != 0) {
        keys.fail(a + ".attention.head_count_kv", "is " + std::to_string(config.kv_heads) +
                                                      ", a divisor of the " + std::to_string(config.heads) +
                                                      " heads is expected");
    }
    config.context = keys.size(a + ".context_length");
    if (keys.has(a + ".attention.key_length")) {
        config.head_size = keys.size(a + ".attention.key_length");
    } else if (config.hidden % config.heads == 0) {
        config.head_size = config.hidden / config.heads;
    } else {
        keys.fail(a + ".embedding_length", std::to_string(config.hidden) + " does not divide into " +
                                               std::to_string(config.heads) + " heads");
    }
    for (const std::string same : {".attention.value_length", ".rope.dimension_count"}) {
        if (keys.has(a + same) && keys.size(a + same) != config.head_size) {
            keys.fail(a + same, "is " + keys.shown(a + same) + ", the head size " +
                                    std::to_string(config.head_size) + " is expected");
        }
    }
    config.norm_eps = keys.positive(a + ".attention.layer_norm_rms_epsilon");
    config.rope_theta = keys.positive(a + ".rope.freq_base");

    const GgufTensor* embedding = file.find("token_embd.weight");
    if (!embedding || embedding->shape.size() != 2) keys.fail("token_embd.weight", "is missing or no matrix");
    config.vocab = embedding->shape.front();
    if (const std::string key = a + ".vocab_size"; keys.has(key) && keys.size(key) != config.vocab) {
        keys.fail(key,
                  "is " + keys.shown(key) + ", the embedding has " + std::to_string(config.vocab) + " rows");
    }
    check_sizes(config, file.path().string()).value();

    config.qkv_bias = config.family == Family::Qwen2 || file.find("blk.0.attn_q.bias");
    config.output_bias = file.find("blk.0.attn_output.bias") != nullptr;
    config.mlp_bias = file.find("blk.0.ffn_up.bias") != nullptr;
    config.qk_norm = config.family == Family::Qwen3;
    config.tied = file.find("output.weight") == nullptr;
    config.rope_scaling = scaling_of(file, config);
    read_token_ids(keys, config);
    refuse_what_is_not_understood(keys, a);
    return config;
} catch (const ErrorException& error) {
    return error.error();
}

Result<void> check_model(const Gguf& file, const ModelConfig& config) {
    std::set<std::string> known{"rope_freqs.weight"};
    for (const WeightShape& weight : weight_shapes(config)) {
        const std::string name = gguf_name(weight.name);
        const GgufTensor* tensor = file.find(name);
        if (!tensor) return Error{"tensor " + name + " is missing", file.path().string()};
        if (tensor->shape != weight.shape) {
            return Error{"tensor " + name + " has shape " +
                             to_string(std::span<const int64_t>(tensor->shape)) + ", " +
                             to_string(std::span<const int64_t>(weight.shape)) + " is expected",
                         file.path().string()};
        }
        if (tensor->type == GgufType::Other) {
            return Error{"tensor " + name + " is of type " + tensor->type_name +
                             ", whose values are not read",
                         file.path().string()};
        }
        known.insert(name);
    }
    for (const GgufTensor& tensor : file.tensors()) {
        if (known.contains(tensor.name)) continue;
        return Error{"tensor " + stillroom::quoted(tensor.name, 100) + " is no part of a " +
                         to_string(config.family) + " decoder",
                     file.path().string()};
    }
    return {};
}

Result<std::vector<float>> values_of(const Gguf& file, const ModelConfig& config, const std::string& name) {
    const GgufTensor* tensor = file.find(gguf_name(name));
    if (!tensor) return Error{"there is no tensor for " + stillroom::quoted(name, 100), file.path().string()};
    auto values = Gguf::values(*tensor);
    if (!values) return values;
    const bool rotated =
        name.find(".q_proj.") != std::string::npos || name.find(".k_proj.") != std::string::npos;
    if (!rotated || config.family != Family::Llama) return values;
    const int64_t rows = tensor->shape.empty() ? 0 : tensor->shape.front();
    if (rows <= 0 || rows % config.head_size != 0) {
        return Error{"tensor " + tensor->name + " has " + std::to_string(rows) +
                         " rows, a multiple of the head size is expected",
                     file.path().string()};
    }
    return unpermuted(*values, rows, config.head_size);
}

} // namespace stillroom::formats
