// SPDX-License-Identifier: GPL-3.0-or-later
// Arenas: every parameter has a place of its own, and fused tensors fall apart into Hugging Face's.
#include "model/layout.h"
#include "tests/model/support.h"

#include <set>

namespace stillroom {
namespace {

using test::golden;

formats::ModelConfig config_of(const std::string& model) {
    return formats::read_model_config(golden("models/" + model + "/config.json")).value();
}

TEST(ParameterLayout, holds_exactly_the_weights_of_the_architecture) {
    for (const std::string name : {"qwen2-tied", "qwen2-untied", "qwen3-tied", "llama-rope3"}) {
        const auto config = config_of(name);
        std::map<std::string, std::vector<int64_t>> expected, found;
        for (const auto& weight : formats::weight_shapes(config)) expected[weight.name] = weight.shape;
        for (const auto& slice : model::ParameterLayout::of(config).slices) {
            for (const auto& part : slice.parts) {
                found[part.hf_name] = slice.shape;
                found[part.hf_name][0] = part.rows;
            }
        }
        EXPECT_EQ(found, expected) << name;
    }
}

TEST(ParameterLayout, biases_on_every_linear_layer_have_places) {
    auto config = config_of("llama-rope3");
    config.qkv_bias = config.output_bias = config.mlp_bias = true;
    std::set<std::string> expected, found;
    for (const auto& weight : formats::weight_shapes(config)) expected.insert(weight.name);
    for (const auto& slice : model::ParameterLayout::of(config).slices) {
        for (const auto& part : slice.parts) found.insert(part.hf_name);
    }
    EXPECT_EQ(found, expected);
}

TEST(ParameterLayout, places_are_aligned_and_do_not_overlap) {
    const auto layout = model::ParameterLayout::of(config_of("qwen2-untied"));
    int64_t end = 0;
    for (const auto& slice : layout.slices) {
        EXPECT_EQ(slice.offset % 64, 0) << slice.name;
        EXPECT_GE(slice.offset, end) << slice.name;
        end = slice.offset + slice.count;
        int64_t rows = 0;
        for (const auto& part : slice.parts) {
            EXPECT_EQ(part.row, rows) << part.hf_name;
            rows += part.rows;
        }
        EXPECT_EQ(rows, slice.shape[0]) << slice.name;
    }
    EXPECT_GE(layout.size, end);
    EXPECT_EQ(layout.size % 64, 0);
}

TEST(Arena, views_share_its_memory) {
    const auto layout =
        std::make_shared<const model::ParameterLayout>(model::ParameterLayout::of(config_of("qwen3-tied")));
    const model::Arena arena{layout, torch::zeros({layout->size})};
    arena.view("layers.1.down").fill_(3);
    EXPECT_EQ(arena.flat.sum().item<double>(), 3.0 * double(layout->at("layers.1.down").count));
    EXPECT_EQ(arena.view("layers.1.qkv").sizes(), (std::vector<int64_t>{(4 + 2 * 2) * 32, 64}));
}

TEST(LoraLayout, pairs_have_peft_names_and_the_shapes_of_their_layers) {
    const auto layout = model::lora_layout(config_of("qwen2-tied"), {4, 8, {"v", "down"}});
    ASSERT_EQ(layout.slices.size(), 2u * 2 * 2);
    EXPECT_EQ(layout.at("layers.1.v.lora_a").shape, (std::vector<int64_t>{4, 96}));
    EXPECT_EQ(layout.at("layers.1.v.lora_b").shape, (std::vector<int64_t>{2 * 16, 4}));
    EXPECT_EQ(layout.at("layers.0.down.lora_a").shape, (std::vector<int64_t>{4, 112}));
    EXPECT_EQ(layout.at("layers.0.down.lora_b").parts.front().hf_name,
              "base_model.model.model.layers.0.mlp.down_proj.lora_B.weight");
}

TEST(LoraLayout, an_unknown_target_is_named) {
    try {
        model::lora_layout(config_of("qwen2-tied"), {4, 8, {"q", "qkv"}});
        FAIL() << "accepted";
    } catch (const ErrorException& error) {
        EXPECT_NE(std::string(error.what()).find("qkv"), std::string::npos) << error.what();
    }
}

} // namespace
} // namespace stillroom
