// SPDX-License-Identifier: GPL-3.0-or-later
// LoRA's pairs in the forward pass. Their gradients are tested with the training pass.
#include "tests/model/support.h"

namespace stillroom {
namespace {

using test::difference;
using test::golden;
using test::largest;

const model::LoraShape all_layers{4, 6, {"q", "k", "v", "o", "gate", "up", "down"}};

std::vector<std::vector<int32_t>> inputs_of(const std::string& name) {
    return test::sequences(test::read_json(golden("models/" + name + "/expected.json"))["inputs"]);
}

void fill_b(model::Model& model) {
    for (const auto& slice : model.adapters.layout->slices) {
        if (!slice.name.ends_with("lora_b")) continue;
        const auto values = torch::linspace(-0.2, 0.2, slice.count, torch::kFloat64).view(slice.shape);
        model.adapters.view(slice).copy_(values);
    }
}

class Lora : public test::OnDevice<std::string> {
protected:
    std::string device() const override { return GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(both, Lora, test::devices, [](const auto& info) { return info.param; });

TEST_P(Lora, fresh_pairs_change_nothing) {
    auto model = test::load(golden("models/qwen2-tied"), device());
    const auto before = test::hidden_of(model, inputs_of("qwen2-tied"));
    model::add_lora(model, all_layers, 3);
    EXPECT_EQ(difference(test::hidden_of(model, inputs_of("qwen2-tied")), before), 0);
    EXPECT_GT(largest(model.adapters.flat), 0); // A is not zero
}

TEST_P(Lora, merged_weights_give_what_the_pairs_gave) {
    for (const std::string name : {"qwen2-tied", "qwen3-tied", "llama-rope3"}) {
        auto model = test::load(golden("models/" + name), device(), torch::kFloat64);
        const auto without = test::hidden_of(model, inputs_of(name));
        model::add_lora(model, all_layers, 3);
        fill_b(model);
        const auto unmerged = test::hidden_of(model, inputs_of(name));
        EXPECT_GT(difference(unmerged, without), 1e-2 * largest(without)) << name;
        model::merge_lora(model);
        EXPECT_FALSE(model.lora.has_value());
        EXPECT_LE(difference(test::hidden_of(model, inputs_of(name)), unmerged), 1e-11 * largest(unmerged))
            << name;
    }
}

TEST_P(Lora, a_clone_moves_apart_from_its_original) {
    auto model = test::load(golden("models/qwen2-tied"), device());
    model::add_lora(model, all_layers, 3);
    const auto frozen = model.clone();
    const auto before = frozen.adapters.flat.clone();
    model.adapters.flat.add_(1);
    model.weights.flat.add_(1);
    EXPECT_TRUE(frozen.adapters.flat.equal(before));
    EXPECT_TRUE(frozen.weights.flat.equal(test::load(golden("models/qwen2-tied"), device()).weights.flat));
}

TEST(LoraPairs, a_is_normal_with_variance_one_over_rank_and_b_zero) {
    auto model = test::load(golden("models/qwen2-tied"));
    model::add_lora(model, {16, 32, {"q", "gate"}}, 11);
    for (const auto& slice : model.adapters.layout->slices) {
        const auto values = model.adapters.view(slice).to(torch::kFloat64);
        if (slice.name.ends_with("lora_b")) {
            EXPECT_EQ(largest(values), 0);
            continue;
        }
        // 16 x 96 values: standard errors 0.0064 of the mean, 0.0023 of the mean square; bounds of four of
        // them.
        EXPECT_NEAR(values.mean().item<double>(), 0, 4 * 0.0064) << slice.name;
        EXPECT_NEAR(values.square().mean().item<double>(), 1.0 / 16, 4 * 0.0023) << slice.name;
    }
}

} // namespace
} // namespace stillroom
