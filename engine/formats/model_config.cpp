// SPDX-License-Identifier: GPL-3.0-or-later
// Reading config.json. Nothing that shapes the arithmetic gets a default: what is missing, or not understood,
// is named.
#include "formats/model_config.h"

#include "base/strings.h"
#include "formats/json_lines.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace stillroom::formats {

namespace {

using nlohmann::json;

// Far above any decoder, and low enough that no product of two or three sizes overflows.
constexpr int64_t max_vocab = 1 << 24, max_hidden = 1 << 20, max_intermediate = 1 << 22, max_layers = 4096,
                  max_heads = 1 << 14, max_head_size = 1 << 12, max_context = INT32_MAX;

// Keys without effect on what a decoder computes when it is run for text. Dropout acts in Hugging Face's
// training loops alone; window sizes act only with use_sliding_window, which is checked.
const std::set<std::string, std::less<>> harmless{
    "_attn_implementation",
    "_attn_implementation_autoset",
    "attn_implementation",
    "attention_dropout",
    "attn_pdrop",
    "max_window_layers",
    "output_attentions",
    "output_hidden_states",
    "return_dict",
    "pretraining_tp",
    "initializer_range",
    "transformers_version",
    "use_cache",
    "_name_or_path",
    "use_flash_attn",
    "use_flash_attention_2",
    "original_max_position_embeddings",
};

// Keys that have an effect unless they say this (or null, which always means "not set").
const std::vector<std::pair<std::string, json>> neutral{
    {"use_sliding_window", false},
    {"use_mrope", false},
    {"rope_interleaved", false},
    {"partial_rotary_factor", 1},
    {"rotary_pct", 1},
    {"logits_scaling", 1},
    {"logit_scale", 1},
    {"residual_multiplier", 1},
    {"embedding_multiplier", 1},
    {"add_cross_attention", false},
    {"is_encoder_decoder", false},
    {"pruned_heads", json::object()},
    {"num_experts", 0},
    {"num_local_experts", 0},
    {"auto_map", nullptr},
};

struct FamilyFacts {
    Family family;
    std::string_view model_type, architecture;
};
constexpr std::array families{FamilyFacts{Family::Llama, "llama", "LlamaForCausalLM"},
                              FamilyFacts{Family::Qwen2, "qwen2", "Qwen2ForCausalLM"},
                              FamilyFacts{Family::Qwen3, "qwen3", "Qwen3ForCausalLM"}};

std::string shown(const json& value) {
    return value.is_string() ? stillroom::quoted(value.get_ref<const std::string&>())
                             : value.dump(-1, ' ', false, json::error_handler_t::replace).substr(0, 60);
}

// Reads one object's keys, remembers which were asked for, and throws the Error that names a faulty one.
class KeyReader {
public:
    KeyReader(const json& object, std::string prefix, const std::string& where)
        : object_(object), prefix_(std::move(prefix)), where_(where) {}

    /// The value, or nothing where the key is absent or null.
    const json* find(const std::string& key) {
        asked_.insert(key);
        const auto found = object_.find(key);
        return found == object_.end() || found->is_null() ? nullptr : &*found;
    }
    const json& need(const std::string& key) {
        const json* value = find(key);
        if (!value) fail(key, "is missing");
        return *value;
    }
    int64_t whole_number(const std::string& key, const json& value, int64_t least, int64_t most) const {
        const bool fits =
            value.is_number_unsigned() ? value.get<uint64_t>() <= uint64_t(most) : value.is_number_integer();
        if (!fits || value.get<int64_t>() < least || value.get<int64_t>() > most) {
            fail(key, "is " + shown(value) + ", a whole number of " + std::to_string(least) + " to " +
                          std::to_string(most) + " is expected");
        }
        return value.get<int64_t>();
    }
    int64_t size(const std::string& key, int64_t most) { return whole_number(key, need(key), 1, most); }
    double positive(const std::string& key) {
        const json& value = need(key);
        if (!value.is_number() || !(value.get<double>() > 0) || !std::isfinite(value.get<double>())) {
            fail(key, "is " + shown(value) + ", a positive number is expected");
        }
        return value.get<double>();
    }
    bool flag(const std::string& key, bool absent) {
        const json* value = find(key);
        if (value && !value->is_boolean()) fail(key, "is " + shown(*value) + ", true or false is expected");
        return value ? value->get<bool>() : absent;
    }
    std::optional<std::string> text(const std::string& key) {
        const json* value = find(key);
        if (value && !value->is_string()) fail(key, "is " + shown(*value) + ", a string is expected");
        return value ? std::optional(value->get<std::string>()) : std::nullopt;
    }
    std::optional<int64_t> token_id(const std::string& key, int64_t vocab) {
        const json* value = find(key);
        return value ? std::optional(whole_number(key, *value, 0, vocab - 1)) : std::nullopt;
    }
    /// Keys that nobody asked for, without those that are null.
    std::vector<std::string> unasked() const {
        std::vector<std::string> keys;
        for (const auto& [key, value] : object_.items()) {
            if (!value.is_null() && !asked_.contains(key)) keys.push_back(key);
        }
        return keys;
    }
    [[noreturn]] void fail(const std::string& key, const std::string& what,
                           const std::string& remedy = {}) const {
        throw ErrorException({prefix_ + key + " " + what, where_, remedy});
    }

private:
    const json& object_;
    std::string prefix_;
    const std::string& where_;
    std::set<std::string> asked_;
};

Family read_family(KeyReader& keys) {
    std::vector<std::string> known_types, known_architectures;
    for (const FamilyFacts& facts : families) {
        known_types.emplace_back(facts.model_type);
        known_architectures.emplace_back(facts.architecture);
    }
    std::optional<Family> family;
    if (const auto type = keys.text("model_type")) {
        const auto known = std::ranges::find(families, *type, &FamilyFacts::model_type);
        if (known == families.end()) {
            keys.fail("model_type", "is " + stillroom::quoted(*type) + ", one of " + join(known_types, ", ") +
                                        " is expected");
        }
        family = known->family;
    }
    const json* architectures = keys.find("architectures");
    if (!architectures && !family) keys.fail("model_type", "is missing, and so is architectures");
    if (!architectures) return *family;
    if (!architectures->is_array() || architectures->empty() || !architectures->front().is_string()) {
        keys.fail("architectures", "is " + shown(*architectures) + ", a list of names is expected");
    }
    for (const json& name : *architectures) {
        const auto known = std::ranges::find_if(
            families, [&](const FamilyFacts& facts) { return name == facts.architecture; });
        if (known == families.end()) {
            keys.fail("architectures", "names " + shown(name) + ", one of " +
                                           join(known_architectures, ", ") + " is expected");
        }
        if (family && known->family != *family) {
            keys.fail("architectures", "names " + shown(name) + ", but model_type is " + to_string(*family));
        }
        family = known->family;
    }
    return *family;
}

// What `rope_scaling` or `rope_parameters` says.
struct Rope {
    std::optional<double> theta;
    std::optional<RopeScaling> scaling;
};

Rope read_rope(const json& object, const std::string& key, const std::string& where) {
    if (!object.is_object())
        throw ErrorException({key + " is " + shown(object) + ", an object is expected", where});
    KeyReader keys(object, key + ".", where);
    Rope rope;
    if (keys.find("rope_theta")) rope.theta = keys.positive("rope_theta");
    if (const json* partial = keys.find("partial_rotary_factor"); partial && *partial != 1) {
        keys.fail("partial_rotary_factor", "is " + shown(*partial) + ", only 1 is supported");
    }
    const auto newer = keys.text("rope_type"), older = keys.text("type");
    if (newer && older && *newer != *older) {
        keys.fail("rope_type",
                  "is " + stillroom::quoted(*newer) + ", but type is " + stillroom::quoted(*older));
    }
    const auto type = newer ? newer : older;
    if (type == "llama3") {
        RopeScaling scaling;
        scaling.factor = keys.positive("factor");
        scaling.low_freq_factor = keys.positive("low_freq_factor");
        scaling.high_freq_factor = keys.positive("high_freq_factor");
        scaling.original_context = keys.size("original_max_position_embeddings", max_context);
        if (scaling.factor < 1)
            keys.fail("factor", "is " + shown(object["factor"]) + ", at least 1 is expected");
        if (scaling.low_freq_factor >= scaling.high_freq_factor) {
            keys.fail("low_freq_factor",
                      "is " + shown(object["low_freq_factor"]) + ", less than high_freq_factor is expected");
        }
        rope.scaling = scaling;
    } else if (type && *type != "default") {
        keys.fail(newer ? "rope_type" : "type",
                  "is " + stillroom::quoted(*type) + ", default or llama3 is expected");
    }
    if (const auto rest = keys.unasked(); !rest.empty()) {
        keys.fail(rest.front(), "is not understood" +
                                    std::string(type ? " beside rope_type " + stillroom::quoted(*type) : ""));
    }
    return rope;
}

// Older files have rope_theta and rope_scaling, newer ones rope_parameters; a file with both must say one
// thing.
void read_rotation(KeyReader& keys, const std::string& where, ModelConfig& config) {
    std::optional<double> theta;
    if (keys.find("rope_theta")) theta = keys.positive("rope_theta");
    std::optional<Rope> told;
    for (const std::string key : {"rope_scaling", "rope_parameters"}) {
        const json* object = keys.find(key);
        if (!object) continue;
        const Rope rope = read_rope(*object, key, where);
        if (rope.theta && theta && *rope.theta != *theta)
            keys.fail(key + ".rope_theta", "differs from rope_theta");
        if (told && told->scaling != rope.scaling) keys.fail(key, "differs from rope_scaling");
        if (rope.theta) theta = rope.theta;
        told = rope;
    }
    if (!theta) keys.fail("rope_theta", "is missing");
    config.rope_theta = *theta;
    if (told) config.rope_scaling = told->scaling;
}

void read_biases_and_norms(KeyReader& keys, ModelConfig& config) {
    const bool qwen2 = config.family == Family::Qwen2;
    const bool attention_bias = keys.flag("attention_bias", qwen2);
    if (qwen2 && !attention_bias) keys.fail("attention_bias", "is false, but Qwen2 has biases on q, k and v");
    config.qkv_bias = attention_bias;
    config.output_bias = attention_bias && !qwen2;
    config.mlp_bias = keys.flag("mlp_bias", false);
    if (config.mlp_bias && config.family != Family::Llama) {
        keys.fail("mlp_bias", "is true, but " + to_string(config.family) + " has no bias in its MLP");
    }
    config.qk_norm = config.family == Family::Qwen3;
    if (keys.flag("use_qk_norm", config.qk_norm) != config.qk_norm) {
        keys.fail("use_qk_norm", "differs from what " + to_string(config.family) + " does");
    }
}

void read_token_ids(KeyReader& keys, ModelConfig& config) {
    config.bos_id = keys.token_id("bos_token_id", config.vocab);
    config.pad_id = keys.token_id("pad_token_id", config.vocab);
    const json* eos = keys.find("eos_token_id");
    if (!eos) return;
    const json list = eos->is_array() ? *eos : json::array({*eos});
    for (const json& id : list)
        config.eos_ids.push_back(keys.whole_number("eos_token_id", id, 0, config.vocab - 1));
}

void read_dtype(KeyReader& keys, ModelConfig& config) {
    const auto newer = keys.text("dtype"), older = keys.text("torch_dtype");
    if (newer && older && *newer != *older) {
        keys.fail("dtype",
                  "is " + stillroom::quoted(*newer) + ", but torch_dtype is " + stillroom::quoted(*older));
    }
    config.dtype = newer.value_or(older.value_or(""));
    for (const std::string_view known : {"", "float32", "bfloat16", "float16"}) {
        if (config.dtype == known) return;
    }
    keys.fail(newer ? "dtype" : "torch_dtype",
              "is " + stillroom::quoted(config.dtype) + ", float32, bfloat16 or float16 is expected");
}

void check_layer_types(KeyReader& keys, const ModelConfig& config) {
    const json* types = keys.find("layer_types");
    if (!types) return;
    if (!types->is_array() || types->size() != size_t(config.layers)) {
        keys.fail("layer_types", "is no list of " + std::to_string(config.layers) + " entries, one a layer");
    }
    for (const json& type : *types) {
        if (type != "full_attention")
            keys.fail("layer_types", "holds " + shown(type) + ", only \"full_attention\" is supported");
    }
}

void refuse_what_is_not_understood(KeyReader& keys, const ModelConfig& config) {
    for (const auto& [key, value] : neutral) {
        const json* found = keys.find(key);
        if (found && *found != value) {
            keys.fail(key, "is " + shown(*found) + ", which changes the arithmetic and is not supported",
                      value.is_null() ? "" : "only " + value.dump() + " is");
        }
    }
    const json* window = keys.find("sliding_window"); // Qwen: without effect, as use_sliding_window is off
    if (window && config.family == Family::Llama)
        keys.fail("sliding_window", "is " + shown(*window) + ", a llama has none");
    for (const std::string& key : keys.unasked()) {
        if (harmless.contains(key) || !may_change_arithmetic(key)) continue;
        keys.fail(key, "is not understood, and its name says that it may change the arithmetic");
    }
}

} // namespace

std::string to_string(Family family) { return std::string(families[size_t(family)].model_type); }

bool may_change_arithmetic(std::string_view key) {
    static constexpr std::array hints{
        "rope",   "rotary",   "attention",   "attn",  "norm",    "scale",      "scaling", "moe",
        "expert", "window",   "bias",        "quant", "softcap", "multiplier", "alibi",   "activation",
        "logit",  "residual", "compression", "qkv",   "clip",    "sparse"};
    return std::ranges::any_of(
        hints, [&](std::string_view hint) { return key.find(hint) != std::string_view::npos; });
}

Result<void> check_sizes(const ModelConfig& config, const std::string& where) {
    const std::vector<std::tuple<std::string, int64_t, int64_t>> limits{
        {"vocab_size", config.vocab, max_vocab},
        {"hidden_size", config.hidden, max_hidden},
        {"intermediate_size", config.intermediate, max_intermediate},
        {"num_hidden_layers", config.layers, max_layers},
        {"num_attention_heads", config.heads, max_heads},
        {"num_key_value_heads", config.kv_heads, max_heads},
        {"head_dim", config.head_size, max_head_size},
        {"max_position_embeddings", config.context, max_context}};
    for (const auto& [name, size, limit] : limits) {
        if (size < 1 || size > limit) {
            return Error{name + " is " + std::to_string(size) + ", 1 to " + std::to_string(limit) +
                             " is expected",
                         where};
        }
    }
    if (config.heads % config.kv_heads != 0) {
        return Error{"num_attention_heads " + std::to_string(config.heads) +
                         " is no multiple of num_key_value_heads " + std::to_string(config.kv_heads),
                     where};
    }
    if (config.head_size % 2 != 0) {
        return Error{
            "head_dim " + std::to_string(config.head_size) + " is odd and cannot be rotated in pairs", where};
    }
    return {};
}

Result<ModelConfig> parse_model_config(const json& object, const std::string& where) try {
    if (!object.is_object()) return Error{"a JSON object is expected", where};
    KeyReader keys(object, "", where);
    ModelConfig config;
    config.source = object;
    config.family = read_family(keys);
    config.vocab = keys.size("vocab_size", max_vocab);
    config.hidden = keys.size("hidden_size", max_hidden);
    config.intermediate = keys.size("intermediate_size", max_intermediate);
    config.layers = keys.size("num_hidden_layers", max_layers);
    config.heads = keys.size("num_attention_heads", max_heads);
    config.kv_heads = keys.size("num_key_value_heads", max_heads);
    config.context = keys.size("max_position_embeddings", max_context);
    if (keys.find("head_dim") || config.family == Family::Qwen3) { // Qwen3's head size is not hidden / heads
        config.head_size = keys.size("head_dim", max_head_size);
    } else if (config.hidden % config.heads != 0) {
        keys.fail("hidden_size", std::to_string(config.hidden) + " does not divide into " +
                                     std::to_string(config.heads) + " heads, and there is no head_dim");
    } else {
        config.head_size = config.hidden / config.heads;
    }
    check_sizes(config, where).value();

    const json& activation = keys.need("hidden_act");
    if (activation != "silu") keys.fail("hidden_act", "is " + shown(activation) + ", \"silu\" is expected");
    config.norm_eps = keys.positive("rms_norm_eps");
    if (config.norm_eps >= 1)
        keys.fail("rms_norm_eps", "is " + shown(object["rms_norm_eps"]) + ", less than 1 is expected");
    read_rotation(keys, where, config);
    read_biases_and_norms(keys, config);
    config.tied = keys.flag("tie_word_embeddings", false); // false is the rule of all three families
    read_dtype(keys, config);
    read_token_ids(keys, config);
    check_layer_types(keys, config);
    refuse_what_is_not_understood(keys, config);
    return config;
} catch (const ErrorException& error) {
    return error.error();
}

Result<ModelConfig> read_model_config(const std::filesystem::path& file) {
    const auto object = read_json(file);
    if (!object) return object.error();
    return parse_model_config(*object, file.string());
}

} // namespace stillroom::formats
