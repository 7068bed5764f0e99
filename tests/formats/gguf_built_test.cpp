// SPDX-License-Identifier: GPL-3.0-or-later
// GGUF models built here byte by byte, for what no golden file holds: Llama 3's frequencies, biases, keys and
// tensors that change the arithmetic, faulty vocabularies.
#include "formats/gguf.h"

#include "formats/gguf_vocabulary.h"
#include "formats/safetensors.h"
#include "tests/support/golden.h"

#include <cmath>
#include <gtest/gtest.h>

namespace stillroom::formats {

namespace {

template <typename T>
void append(std::string& bytes, T value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}
void append_text(std::string& bytes, const std::string& text) {
    append(bytes, uint64_t(text.size()));
    bytes += text;
}

// A llama of one layer: d 32, 2 heads of 16, 1 key-value head, inner size 8, 4 tokens; all weights zero and
// F32.
class BuiltGguf {
public:
    BuiltGguf() {
        text("general.architecture", "llama");
        for (const auto& [key, value] :
             std::vector<std::pair<std::string, uint32_t>>{{"llama.context_length", 131072},
                                                           {"llama.embedding_length", 32},
                                                           {"llama.block_count", 1},
                                                           {"llama.feed_forward_length", 8},
                                                           {"llama.attention.head_count", 2},
                                                           {"llama.attention.head_count_kv", 1}}) {
            number(key, value);
        }
        real("llama.attention.layer_norm_rms_epsilon", 1e-5f);
        real("llama.rope.freq_base", 500000.0f);
        text("tokenizer.ggml.model", "gpt2");
        text("tokenizer.ggml.pre", "llama-bpe");
        texts("tokenizer.ggml.tokens", {"a", "b", "ab", "<end>"});
        texts("tokenizer.ggml.merges", {"a b"});
        number("tokenizer.ggml.eos_token_id", 3);
        const std::vector<std::pair<std::string, std::vector<uint64_t>>> weights{
            {"token_embd", {32, 4}},    {"output_norm", {32}},           {"blk.0.attn_norm", {32}},
            {"blk.0.ffn_norm", {32}},   {"blk.0.attn_q", {32, 32}},      {"blk.0.attn_k", {32, 16}},
            {"blk.0.attn_v", {32, 16}}, {"blk.0.attn_output", {32, 32}}, {"blk.0.ffn_gate", {32, 8}},
            {"blk.0.ffn_up", {32, 8}},  {"blk.0.ffn_down", {8, 32}}};
        for (const auto& [name, ne] : weights) tensor(name + ".weight", ne);
    }
    BuiltGguf& number(const std::string& key, uint32_t value) {
        std::string bytes;
        append(bytes, uint32_t{4});
        append(bytes, value);
        return keep(key, bytes);
    }
    BuiltGguf& real(const std::string& key, float value) {
        std::string bytes;
        append(bytes, uint32_t{6});
        append(bytes, value);
        return keep(key, bytes);
    }
    BuiltGguf& text(const std::string& key, const std::string& value) {
        std::string bytes;
        append(bytes, uint32_t{8});
        append_text(bytes, value);
        return keep(key, bytes);
    }
    BuiltGguf& texts(const std::string& key, const std::vector<std::string>& values) {
        std::string bytes;
        append(bytes, uint32_t{9});
        append(bytes, uint32_t{8});
        append(bytes, uint64_t(values.size()));
        for (const std::string& value : values) append_text(bytes, value);
        return keep(key, bytes);
    }
    BuiltGguf& tensor(const std::string& name, const std::vector<uint64_t>& ne,
                      std::vector<float> values = {}) {
        uint64_t elements = 1;
        for (const uint64_t size : ne) elements *= size;
        values.resize(elements);
        std::string entry;
        append_text(entry, name);
        append(entry, uint32_t(ne.size()));
        for (const uint64_t size : ne) append(entry, size);
        append(entry, uint32_t{0}); // F32
        append(entry, uint64_t(data_.size()));
        entries_.push_back(entry);
        data_.append(reinterpret_cast<const char*>(values.data()), elements * sizeof(float));
        data_.append((32 - data_.size() % 32) % 32, '\0');
        return *this;
    }
    Gguf opened() const {
        std::string bytes = "GGUF";
        append(bytes, uint32_t{3});
        append(bytes, uint64_t(entries_.size()));
        append(bytes, uint64_t(metadata_.size()));
        for (const auto& [key, value] : metadata_) {
            append_text(bytes, key);
            bytes += value;
        }
        for (const std::string& entry : entries_) bytes += entry;
        bytes.append((32 - bytes.size() % 32) % 32, '\0');
        const test::TemporaryFolder folder;
        std::ofstream(folder / "built.gguf", std::ios::binary) << bytes << data_;
        return Gguf::open(folder / "built.gguf").value();
    }

private:
    BuiltGguf& keep(const std::string& key, const std::string& value) {
        metadata_[key] = value;
        return *this;
    }
    std::map<std::string, std::string> metadata_;
    std::vector<std::string> entries_;
    std::string data_;
};

// What llama3 scaling divides each frequency by, from the golden frequencies of llama-rope3 (theta 5e5, head
// size 16).
std::vector<float> golden_divisors() {
    const auto expected = Safetensors::open(test::golden("models/llama-rope3/expected.safetensors")).value();
    const auto frequencies = to_floats(*expected.find("inv_freq")).value();
    std::vector<float> divisors;
    for (size_t i = 0; i < frequencies.size(); ++i) {
        divisors.push_back(float(std::pow(500000.0, -double(i) / 8) / double(frequencies[i])));
    }
    return divisors;
}

template <typename T>
void expect_refused(const Result<T>& result, const std::string& named) {
    ASSERT_FALSE(result) << named;
    EXPECT_NE(result.error().message().find(named), std::string::npos) << result.error().message();
}

} // namespace

TEST(BuiltGguf, the_plain_one_is_a_usable_model) {
    const auto file = BuiltGguf().opened();
    const auto config = model_config_of(file);
    ASSERT_TRUE(config) << config.error().message();
    const auto checked = check_model(file, *config);
    EXPECT_TRUE(checked) << checked.error().message();
    EXPECT_TRUE(vocabulary_of(file));
    EXPECT_FALSE(config->rope_scaling);
}

TEST(BuiltGguf, llama_3_scaling_is_recovered_from_its_frequencies) {
    const auto file = BuiltGguf().tensor("rope_freqs.weight", {8}, golden_divisors()).opened();
    const auto config = model_config_of(file);
    ASSERT_TRUE(config) << config.error().message();
    ASSERT_TRUE(config->rope_scaling);
    EXPECT_EQ(*config->rope_scaling, (RopeScaling{32, 1, 4, 8192}));
    EXPECT_TRUE(check_model(file, *config));
}

TEST(BuiltGguf, frequencies_that_are_not_llama_3_scaling_are_refused) {
    auto divisors = golden_divisors();
    divisors[4] *= 1.01f;
    expect_refused(model_config_of(BuiltGguf().tensor("rope_freqs.weight", {8}, divisors).opened()),
                   "rope_freqs");
    expect_refused(model_config_of(BuiltGguf().tensor("rope_freqs.weight", {4}).opened()), "rope_freqs");
}

TEST(BuiltGguf, metadata_that_changes_the_arithmetic_is_refused_by_name) {
    const auto refused = [](const std::string& key, BuiltGguf& built) {
        expect_refused(model_config_of(built.opened()), key);
    };
    for (const std::string key :
         {"llama.expert_count", "llama.attention.sliding_window", "llama.rope.dimension_count",
          "llama.attention.value_length", "llama.vocab_size", "llama.attention.head_count_kv"}) {
        BuiltGguf built;
        refused(key, built.number(key, 5));
    }
    for (const std::string key :
         {"llama.logit_scale", "llama.rope.scale_linear", "llama.attention.clamp_kqv"}) {
        BuiltGguf built;
        refused(key, built.real(key, 8));
    }
    BuiltGguf yarn, epsilon, theta;
    refused("llama.rope.scaling.type", yarn.text("llama.rope.scaling.type", "yarn"));
    refused("llama.attention.layer_norm_rms_epsilon",
            epsilon.real("llama.attention.layer_norm_rms_epsilon", -1));
    refused("llama.rope.freq_base", theta.real("llama.rope.freq_base", 0));
}

TEST(BuiltGguf, a_tensor_that_the_decoder_has_no_place_for_is_refused_by_name) {
    const auto file = BuiltGguf().tensor("blk.0.attn_q_norm.weight", {16}).opened();
    expect_refused(check_model(file, model_config_of(file).value()), "blk.0.attn_q_norm.weight");
}

TEST(BuiltGguf, a_bias_on_the_queries_needs_one_on_keys_and_values_and_is_un_permuted) {
    std::vector<float> bias(32);
    for (size_t i = 0; i < bias.size(); ++i) bias[i] = float(i);
    const auto half = BuiltGguf().tensor("blk.0.attn_q.bias", {32}, bias).opened();
    expect_refused(check_model(half, model_config_of(half).value()), "blk.0.attn_k.bias");
    const auto file = BuiltGguf()
                          .tensor("blk.0.attn_q.bias", {32}, bias)
                          .tensor("blk.0.attn_k.bias", {16})
                          .tensor("blk.0.attn_v.bias", {16})
                          .opened();
    const auto config = model_config_of(file).value();
    ASSERT_TRUE(check_model(file, config));
    const auto values = values_of(file, config, "model.layers.0.self_attn.q_proj.bias").value();
    for (size_t i = 0; i < 8; ++i) { // stored row 2i is row i, 2i + 1 is row i + 8, head by head
        EXPECT_EQ(values[i], float(2 * i));
        EXPECT_EQ(values[i + 8], float(2 * i + 1));
        EXPECT_EQ(values[i + 16], float(16 + 2 * i));
    }
}

TEST(BuiltGguf, a_vocabulary_with_a_fault_is_refused_by_the_key) {
    expect_refused(vocabulary_of(BuiltGguf().texts("tokenizer.ggml.tokens", {"a", "b", "ab", "a"}).opened()),
                   "tokens");
    expect_refused(vocabulary_of(BuiltGguf().texts("tokenizer.ggml.tokens", {"a", "b", "ab"}).opened()),
                   "tokens");
    expect_refused(
        vocabulary_of(BuiltGguf().texts("tokenizer.ggml.tokens", {"a", "b", "ab", "\xff"}).opened()),
        "tokens");
    for (const std::string merge : {"ab", "a ", " b", "a c", "b a", ""}) {
        expect_refused(vocabulary_of(BuiltGguf().texts("tokenizer.ggml.merges", {merge}).opened()), "merges");
    }
    expect_refused(vocabulary_of(BuiltGguf().number("tokenizer.ggml.eos_token_id", 4).opened()),
                   "eos_token_id");
    expect_refused(vocabulary_of(BuiltGguf().texts("tokenizer.ggml.token_type", {"1"}).opened()),
                   "token_type");
    expect_refused(vocabulary_of(BuiltGguf().number("tokenizer.ggml.pre", 1).opened()), "tokenizer.ggml.pre");
}

} // namespace stillroom::formats
