// SPDX-License-Identifier: GPL-3.0-or-later
#include "formats/model_config.h"

#include "formats/check_weights.h"
#include "formats/safetensors.h"
#include "tests/support/golden.h"

#include <gtest/gtest.h>

namespace stillroom::formats {

namespace {

const std::vector<std::string> model_folders{"qwen2-tied",        "qwen2-untied",       "qwen2-untied-bf16",
                                             "qwen3-tied",        "llama-smol-sharded", "llama-rope3",
                                             "llama-rope3-near",  "opd-qwen2/student",  "opd-qwen2/teacher",
                                             "opd-qwen3/student", "opd-qwen3/teacher"};

nlohmann::json plain() { return test::read_json(test::golden("models/malformed/config-ok-plain.json")); }

void expect_same(const ModelConfig& a, const ModelConfig& b, const std::string& name) {
    const auto sizes = [](const ModelConfig& c) {
        return std::vector<int64_t>{int64_t(c.family), c.vocab,    c.hidden,    c.intermediate, c.layers,
                                    c.heads,           c.kv_heads, c.head_size, c.context,      c.qkv_bias,
                                    c.output_bias,     c.mlp_bias, c.qk_norm,   c.tied};
    };
    EXPECT_EQ(sizes(a), sizes(b)) << name;
    EXPECT_EQ(a.norm_eps, b.norm_eps) << name;
    EXPECT_EQ(a.rope_theta, b.rope_theta) << name;
    EXPECT_EQ(a.rope_scaling, b.rope_scaling) << name;
    EXPECT_EQ(a.dtype, b.dtype) << name;
    EXPECT_EQ(a.eos_ids, b.eos_ids) << name;
    EXPECT_EQ(a.bos_id, b.bos_id) << name;
    EXPECT_EQ(a.pad_id, b.pad_id) << name;
}

// The error must name the key.
void expect_refused(const nlohmann::json& config, const std::string& key) {
    const auto parsed = parse_model_config(config, "config.json");
    ASSERT_FALSE(parsed) << key << " " << config.value(key, nlohmann::json());
    EXPECT_TRUE(parsed.error().message().starts_with("config.json: ")) << parsed.error().message();
    EXPECT_NE(parsed.error().message().find(key), std::string::npos)
        << key << ": " << parsed.error().message();
}

} // namespace

TEST(ModelConfig, every_malformed_config_is_refused_and_the_sound_one_read) {
    size_t refused = 0, read = 0;
    for (const auto& item : test::read_json(test::golden("models/malformed/manifest.json"))) {
        if (item["kind"] != "config") continue;
        const auto config =
            read_model_config(test::golden("models/malformed/" + item["file"].get<std::string>()));
        EXPECT_EQ(bool(config), item["expected"] == "ok")
            << item["file"] << ": "
            << (config ? item["problem"].get<std::string>() : config.error().message());
        (config ? read : refused) += 1;
        if (!config) {
            EXPECT_NE(config.error().message().find(item["file"].get<std::string>()), std::string::npos);
        }
    }
    EXPECT_EQ(refused, 20u);
    EXPECT_EQ(read, 1u);
}

TEST(ModelConfig, both_layouts_of_every_golden_model_say_the_same) {
    for (const std::string& name : model_folders) {
        const auto newer = read_model_config(test::golden("models/" + name + "/config.json"));
        ASSERT_TRUE(newer) << newer.error().message();
        const auto older_file = test::golden("models/" + name + "/config.v4-form.json");
        if (!std::filesystem::exists(older_file)) continue;
        const auto older = read_model_config(older_file);
        ASSERT_TRUE(older) << older.error().message();
        expect_same(*newer, *older, name);
    }
}

TEST(ModelConfig, the_golden_models_have_the_sizes_of_their_table) {
    const auto qwen3 = read_model_config(test::golden("models/qwen3-tied/config.json")).value();
    EXPECT_EQ(qwen3.family, Family::Qwen3);
    EXPECT_EQ(qwen3.vocab, 300);
    EXPECT_EQ(qwen3.head_size, 32);
    EXPECT_EQ(qwen3.rope_theta, 1e6);
    EXPECT_TRUE(qwen3.qk_norm);
    EXPECT_TRUE(qwen3.tied);
    EXPECT_FALSE(qwen3.qkv_bias);
    EXPECT_EQ(qwen3.eos_ids, (std::vector<int64_t>{63}));
    const auto llama = read_model_config(test::golden("models/llama-rope3-near/config.json")).value();
    EXPECT_EQ(llama.family, Family::Llama);
    EXPECT_EQ(llama.norm_eps, 1e-5);
    EXPECT_EQ(llama.rope_scaling, (RopeScaling{32, 1, 4, 48}));
    const auto qwen2 = read_model_config(test::golden("models/qwen2-untied-bf16/config.json")).value();
    EXPECT_EQ(qwen2.dtype, "bfloat16");
    EXPECT_TRUE(qwen2.qkv_bias);
    EXPECT_FALSE(qwen2.output_bias);
    EXPECT_FALSE(qwen2.tied);
    EXPECT_EQ(qwen2.head_size, 8);
}

TEST(ModelConfig, every_weight_of_the_golden_models_has_the_shape_that_the_config_asks_for) {
    for (const std::string& name : model_folders) {
        const auto folder = test::golden("models/" + name);
        const auto config = read_model_config(folder / "config.json");
        const auto weights = WeightFiles::open(folder);
        ASSERT_TRUE(weights) << weights.error().message();
        const auto expected = weight_shapes(*config);
        EXPECT_EQ(expected.size(), weights->tensors().size()) << name;
        for (const WeightShape& weight : expected) {
            const TensorView* tensor = weights->find(weight.name);
            ASSERT_NE(tensor, nullptr) << name << " " << weight.name;
            EXPECT_EQ(tensor->shape, weight.shape) << name << " " << weight.name;
        }
    }
}

TEST(ModelConfig, weights_beside_or_against_the_config_are_refused_by_name) {
    const auto folder = test::golden("models/qwen2-tied");
    const auto config = read_model_config(folder / "config.json").value();
    const auto source = WeightFiles::open(folder).value();
    ASSERT_TRUE(check_weights(source, config, "folder"));
    const auto checked = [&](const std::vector<TensorView>& tensors) {
        const test::TemporaryFolder copy;
        write_weights(copy.path(), tensors, {}, 1 << 30).value();
        return check_weights(WeightFiles::open(copy.path()).value(), config, "folder");
    };
    const auto refused = [&](const std::vector<TensorView>& tensors, const std::string& name) {
        const auto result = checked(tensors);
        ASSERT_FALSE(result) << name;
        EXPECT_NE(result.error().message().find(name), std::string::npos) << result.error().message();
    };
    const TensorView embedding = *source.find("model.embed_tokens.weight");
    auto more = source.tensors(), fewer = more, other = more, head = more, different = more;
    more.push_back({"model.layers.0.self_attn.q_norm.weight", DType::F32, {4}, embedding.bytes.first(16)});
    refused(more, "q_norm");
    std::erase_if(fewer, [](const TensorView& tensor) { return tensor.name == "model.norm.weight"; });
    refused(fewer, "model.norm.weight");
    for (TensorView& tensor : other) {
        if (tensor.name == "model.norm.weight") tensor.dtype = DType::I32;
    }
    refused(other, "model.norm.weight");
    head.push_back(
        {"lm_head.weight", embedding.dtype, embedding.shape, embedding.bytes}); // a tied head, written twice
    EXPECT_TRUE(checked(head));
    const std::vector<std::byte> zeros(embedding.bytes.size());
    different.push_back({"lm_head.weight", embedding.dtype, embedding.shape, zeros});
    refused(different, "lm_head.weight");
}

TEST(ModelConfig, the_configs_of_published_models_are_read) {
    struct Facts {
        std::string file;
        Family family;
        int64_t vocab, hidden, layers, head_size;
        double theta;
        bool tied;
    };
    const std::vector<Facts> published{
        {"DeepSeek-R1-Distill-Qwen-1.5B", Family::Qwen2, 151936, 1536, 28, 128, 1e4, false},
        {"DeepSeek-R1-Distill-Qwen-1.5B.finetuned-resaved", Family::Qwen2, 151936, 1536, 28, 128, 1e4, false},
        {"Qwen2.5-0.5B", Family::Qwen2, 151936, 896, 24, 64, 1e6, true},
        {"Qwen2.5-0.5B-Instruct.resaved", Family::Qwen2, 151936, 896, 24, 64, 1e6, true},
        {"Qwen2.5-1.5B-Instruct", Family::Qwen2, 151936, 1536, 28, 128, 1e6, true},
        {"Qwen2.5-1.5B.as-logged", Family::Qwen2, 151936, 1536, 28, 128, 1e6, true},
        {"Qwen3-0.6B", Family::Qwen3, 151936, 1024, 28, 128, 1e6, true},
        {"Qwen3-1.7B", Family::Qwen3, 151936, 2048, 28, 128, 1e6, true},
        {"SmolLM2-135M", Family::Llama, 49152, 576, 30, 64, 1e5, true},
        {"SmolLM2-135M.transformers5", Family::Llama, 49152, 576, 30, 64, 1e5, true},
    };
    for (const Facts& facts : published) {
        const auto config = read_model_config(test::data("configs/" + facts.file + ".json"));
        ASSERT_TRUE(config) << config.error().message();
        EXPECT_EQ(config->family, facts.family) << facts.file;
        EXPECT_EQ(config->vocab, facts.vocab) << facts.file;
        EXPECT_EQ(config->hidden, facts.hidden) << facts.file;
        EXPECT_EQ(config->layers, facts.layers) << facts.file;
        EXPECT_EQ(config->head_size, facts.head_size) << facts.file;
        EXPECT_EQ(config->rope_theta, facts.theta) << facts.file;
        EXPECT_EQ(config->tied, facts.tied) << facts.file;
        EXPECT_FALSE(config->rope_scaling) << facts.file;
    }
    size_t files = 0;
    for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator(test::data("configs")))
        ++files;
    EXPECT_EQ(files, published.size()) << "a config is not in the table";
}

TEST(ModelConfig, llama_3_is_read_with_its_rope_scaling) {
    for (const std::string name : {"Llama-3.2-1B", "Llama-3.2-1B-Instruct"}) {
        const auto file = test::shared("data/configs/" + name + ".json");
        if (!file)
            GTEST_SKIP()
                << "Llama's licence keeps its files out of the repository, and ../shared is not here";
        const auto config = read_model_config(*file);
        ASSERT_TRUE(config) << config.error().message();
        EXPECT_EQ(config->rope_scaling, (RopeScaling{32, 1, 4, 8192})) << name;
        EXPECT_EQ(config->rope_theta, 5e5) << name;
        EXPECT_EQ(config->head_size, 64) << name;
        EXPECT_EQ(config->eos_ids.size(), name == "Llama-3.2-1B" ? 1u : 3u);
    }
}

TEST(ModelConfig, keys_that_change_the_arithmetic_are_refused_by_name) {
    const std::vector<std::pair<std::string, nlohmann::json>> changes{
        {"use_sliding_window", true},
        {"use_mrope", true},
        {"rope_interleaved", true},
        {"partial_rotary_factor", 0.5},
        {"quantization_config", {{"bits", 4}}},
        {"logits_scaling", 8.0},
        {"final_logit_softcapping", 30.0},
        {"attn_logit_softcapping", 50.0},
        {"residual_multiplier", 0.2},
        {"attention_multiplier", 0.0078125},
        {"attention_bias", false}, // this one is a Qwen2
        {"mlp_bias", true},
        {"use_qk_norm", true},
        {"num_experts", 8},
        {"num_experts_per_tok", 2},
        {"norm_topk_prob", true},
        {"layer_types", {"full_attention", "sliding_attention"}},
        {"layer_types", {"full_attention"}},
        {"attention_chunk_size", 8192},
        {"no_rope_layers", {1, 0}},
        {"clip_qkv", 8.0},
        {"hidden_act", "gelu"},
        {"auto_map", {{"AutoModelForCausalLM", "modeling.Other"}}},
        {"torch_dtype", "float8_e4m3fn"},
        {"dtype", "bfloat16"}, // torch_dtype is float32
        {"architectures", {"Qwen2ForSequenceClassification"}},
        {"architectures", {"LlamaForCausalLM"}},
        {"model_type", "mistral"},
        {"tie_word_embeddings", "yes"},
        {"bos_token_id", 307},
        {"pad_token_id", -1},
        {"eos_token_id", {1, 307}},
        {"eos_token_id", "2"},
        {"rms_norm_eps", "1e-6"},
        {"head_dim", 0},
        {"max_position_embeddings", nullptr},
        {"intermediate_size", nullptr},
        {"num_key_value_heads", nullptr},
        {"rms_norm_eps", nullptr},
        {"rope_theta", nullptr},
        {"hidden_act", nullptr},
    };
    for (const auto& [key, value] : changes) {
        auto config = plain();
        config[key] = value;
        expect_refused(config, key);
    }
    auto llama = plain();
    llama["model_type"] = "llama";
    llama["architectures"] = {"LlamaForCausalLM"};
    ASSERT_TRUE(parse_model_config(llama, "x"));
    llama["sliding_window"] = 4096;
    expect_refused(llama, "sliding_window");
}

TEST(ModelConfig, keys_without_effect_are_accepted) {
    auto config = plain();
    config.update({{"initializer_range", 0.02},
                   {"use_cache", false},
                   {"attention_dropout", 0.1},
                   {"pretraining_tp", 2},
                   {"sliding_window", 4096},
                   {"max_window_layers", 21},
                   {"use_mrope", false},
                   {"partial_rotary_factor", 1.0},
                   {"unsloth_version", "2025.1"},
                   {"_attn_implementation_autoset", true},
                   {"quantization_config", nullptr},
                   {"auto_map", nullptr},
                   {"num_experts", nullptr},
                   {"torch_dtype", nullptr},
                   {"pad_token_id", nullptr}});
    const auto parsed = parse_model_config(config, "config.json");
    ASSERT_TRUE(parsed) << parsed.error().message();
    EXPECT_EQ(parsed->source, config);
    EXPECT_EQ(parsed->dtype, "");
}

TEST(ModelConfig, rope_types_other_than_default_and_llama3_are_refused_by_name) {
    for (const std::string type : {"linear", "dynamic", "yarn", "longrope", "su", "mrope"}) {
        for (const std::string key : {"rope_type", "type"}) {
            auto config = plain();
            config["rope_scaling"] = {{key, type}, {"factor", 2.0}};
            expect_refused(config, type);
            config.erase("rope_theta");
            config["rope_scaling"] = nullptr;
            config["rope_parameters"] = {{key, type}, {"factor", 2.0}, {"rope_theta", 1e4}};
            expect_refused(config, type);
        }
    }
}

TEST(ModelConfig, rope_parameters_that_contradict_one_another_are_refused) {
    const nlohmann::json llama3{{"rope_type", "llama3"},
                                {"factor", 8.0},
                                {"low_freq_factor", 1.0},
                                {"high_freq_factor", 4.0},
                                {"original_max_position_embeddings", 8192}};
    auto config = plain();
    config["rope_scaling"] = llama3;
    ASSERT_TRUE(parse_model_config(config, "x"));
    config["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 10000.0}};
    expect_refused(config, "rope_parameters");
    config["rope_parameters"] = llama3;
    config["rope_parameters"]["rope_theta"] = 500000.0;
    expect_refused(config, "rope_theta");
    config["rope_parameters"]["rope_theta"] = 10000.0;
    EXPECT_TRUE(parse_model_config(config, "x"));
    for (const auto& [key, value] :
         std::vector<std::pair<std::string, nlohmann::json>>{{"factor", 0.5},
                                                             {"factor", "8"},
                                                             {"low_freq_factor", 4.0},
                                                             {"high_freq_factor", -1},
                                                             {"original_max_position_embeddings", 0},
                                                             {"mrope_section", {1, 2}},
                                                             {"type", "linear"}}) {
        auto faulty = plain();
        faulty["rope_scaling"] = llama3;
        faulty["rope_scaling"][key] = value;
        expect_refused(faulty, key == "type" ? "rope_type" : key);
    }
}

TEST(ModelConfig, attention_bias_of_a_llama_reaches_the_output_projection) {
    auto config = test::read_json(test::golden("models/llama-rope3/config.json"));
    config["attention_bias"] = true;
    config["mlp_bias"] = true;
    const auto parsed = parse_model_config(config, "x").value();
    EXPECT_TRUE(parsed.qkv_bias && parsed.output_bias && parsed.mlp_bias);
    size_t biases = 0;
    for (const WeightShape& weight : weight_shapes(parsed)) biases += weight.name.ends_with(".bias");
    EXPECT_EQ(biases, 7u * 2);
}

TEST(ModelConfig, what_is_saved_reads_back_as_the_same_model) {
    for (const std::string& name : model_folders) {
        const auto config = read_model_config(test::golden("models/" + name + "/config.json")).value();
        const auto saved = to_config_json(config, config.dtype);
        const auto read = parse_model_config(saved, name);
        ASSERT_TRUE(read) << read.error().message();
        expect_same(*read, config, name);
        for (const auto& [key, value] : config.source.items()) { // nothing that it said is lost
            if (key == "rope_parameters") continue;
            EXPECT_EQ(saved[key], value) << name << " " << key;
        }
        auto older = saved; // what transformers 4 looks at
        older.erase("rope_parameters");
        older.erase("dtype");
        expect_same(parse_model_config(older, name).value(), config, name);
        auto newer = saved;
        for (const char* key : {"rope_theta", "rope_scaling", "torch_dtype"}) newer.erase(key);
        expect_same(parse_model_config(newer, name).value(), config, name);
        EXPECT_EQ(to_config_json(config, "bfloat16")["torch_dtype"], "bfloat16");
    }
}

TEST(GenerationConfig, end_tokens_and_sampling_defaults_are_read) {
    const auto golden = read_generation_config(test::golden("models/llama-rope3"));
    ASSERT_TRUE(golden) << golden.error().message();
    EXPECT_EQ(golden->eos_ids, (std::vector<int64_t>{121, 216}));
    EXPECT_FALSE(golden->temperature);
    test::TemporaryFolder folder;
    std::ofstream(folder / "generation_config.json")
        << R"({"eos_token_id": 7, "temperature": 0.6, "top_p": 0.95, "top_k": 20, "do_sample": true})";
    const auto qwen = read_generation_config(folder.path()).value();
    EXPECT_EQ(qwen.eos_ids, (std::vector<int64_t>{7}));
    EXPECT_EQ(qwen.temperature, 0.6);
    EXPECT_EQ(qwen.top_p, 0.95);
    EXPECT_EQ(qwen.top_k, 20);
}

TEST(GenerationConfig, an_absent_file_says_nothing) {
    test::TemporaryFolder folder;
    const auto config = read_generation_config(folder.path());
    ASSERT_TRUE(config);
    EXPECT_TRUE(config->eos_ids.empty());
}

TEST(GenerationConfig, faulty_values_are_refused_by_name) {
    for (const auto& [key, value] :
         std::vector<std::pair<std::string, std::string>>{{"eos_token_id", "-1"},
                                                          {"eos_token_id", "[1, \"2\"]"},
                                                          {"eos_token_id", "1.5"},
                                                          {"temperature", "-0.1"},
                                                          {"temperature", "\"hot\""},
                                                          {"top_p", "1.5"},
                                                          {"top_k", "-3"}}) {
        test::TemporaryFolder folder;
        std::ofstream(folder / "generation_config.json") << "{\"" << key << "\": " << value << "}";
        const auto config = read_generation_config(folder.path());
        ASSERT_FALSE(config) << key << value;
        EXPECT_NE(config.error().message().find(key), std::string::npos) << config.error().message();
    }
}

} // namespace stillroom::formats
