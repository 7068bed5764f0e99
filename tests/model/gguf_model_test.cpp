// SPDX-License-Identifier: GPL-3.0-or-later
// Models out of GGUF files against golden logits (tests/golden/README.md). SmolLM2's real file is tested
// where STILLROOM_SMOLLM2_GGUF names it.
#include "tests/model/support.h"

#include <cstdlib>

namespace stillroom {
namespace {

using test::difference;
using test::golden;

class GgufModel : public test::OnDevice<std::string> {
protected:
    std::string device() const override { return GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(both, GgufModel, test::devices, [](const auto& info) { return info.param; });

torch::Tensor logits_of(const model::Model& model, const std::vector<int32_t>& ids) {
    return model::logits(test::hidden_of(model, {ids}), model.head());
}

TEST_P(GgufModel, logits_of_the_small_files_agree) {
    for (const std::string name : {"tiny-llama", "tiny-qwen2", "tiny-qwen3"}) {
        const auto model = test::load(golden("gguf/" + name + ".gguf"), device());
        const auto expected = test::read_json(golden("gguf/" + name + ".expected.json"));
        const auto tensors = test::read_tensors(golden("gguf/" + name + ".expected.safetensors"));
        const auto prompt = expected["prompt_ids"].get<std::vector<int32_t>>();
        EXPECT_LE(difference(logits_of(model, prompt), tensors.at("logits")), 2e-4) << name;
        ASSERT_TRUE(model.tokenizer.has_value());
        EXPECT_EQ(model.tokenizer->encode(expected["rendered"].get<std::string>()), prompt) << name;
        EXPECT_EQ(model.real_vocab(), 283) << name;
        EXPECT_FALSE(model.eos_ids().empty()) << name;
    }
}

TEST_P(GgufModel, weights_stand_in_hugging_face_s_row_order) {
    for (const std::string name : {"tiny-llama", "tiny-qwen2", "tiny-qwen3"}) {
        const auto parts = test::parts_of(test::load(golden("gguf/" + name + ".gguf"), device()).weights);
        int compared = 0;
        for (const auto& [tensor_name, tensor] :
             test::read_tensors(golden("gguf/" + name + ".expected.safetensors"))) {
            if (!parts.contains(tensor_name)) continue;
            // One unit in the last place where multiply and add are fused.
            EXPECT_TRUE(parts.at(tensor_name).allclose(tensor, 1.2e-7, 0)) << name << " " << tensor_name;
            ++compared;
        }
        EXPECT_GE(compared, 4) << name;
    }
}

TEST_P(GgufModel, an_import_loads_as_the_same_model) {
    for (const std::string name : {"tiny-llama", "tiny-qwen2", "tiny-qwen3"}) {
        const test::TemporaryFolder folder;
        const auto model = test::load(golden("gguf/" + name + ".gguf"), device());
        model::save_model(model, folder.path(), torch::kFloat32).value();
        const auto imported = test::load(folder.path(), device());
        EXPECT_TRUE(imported.weights.flat.equal(model.weights.flat)) << name;
        EXPECT_EQ(imported.eos_ids(), model.eos_ids()) << name;
        EXPECT_EQ(imported.config.rope_theta, model.config.rope_theta) << name;
        EXPECT_EQ(imported.config.norm_eps, model.config.norm_eps) << name;
        ASSERT_TRUE(imported.tokenizer.has_value());
        EXPECT_EQ(imported.tokenizer->fingerprint(), model.tokenizer->fingerprint()) << name;
        EXPECT_EQ(imported.tokenizer->chat_template(), model.tokenizer->chat_template()) << name;
    }
}

TEST_P(GgufModel, smollm2_logits_agree) {
    const char* file = std::getenv("STILLROOM_SMOLLM2_GGUF");
    if (!file) GTEST_SKIP() << "STILLROOM_SMOLLM2_GGUF does not name SmolLM2-135M-Instruct.Q4_1.gguf";
    const auto model = test::load(file, device());
    const auto expected = test::read_tensors(golden("gguf/smollm2-135m-q4_1.logits.safetensors"));
    for (const std::string prompt : {"0", "1", "2"}) {
        const auto ids = expected.at(prompt + ".ids").to(torch::kInt32);
        const auto logits =
            logits_of(model, {ids.data_ptr<int32_t>(), ids.data_ptr<int32_t>() + ids.numel()}).cpu();
        const auto best = expected.at(prompt + ".top64_ids").to(torch::kInt64);
        EXPECT_LE(difference(logits.gather(1, best), expected.at(prompt + ".top64_logits")), 1e-3);
        EXPECT_LE(difference(logits.logsumexp({1}), expected.at(prompt + ".logsumexp")), 1e-3);
        EXPECT_LE(difference(std::get<0>(logits.topk(64, 1)), expected.at(prompt + ".top64_logits")), 1e-3);
        const auto log_probs = logits.log_softmax(1);
        EXPECT_LE(difference(-(log_probs.exp() * log_probs).sum(1), expected.at(prompt + ".entropy")), 1e-3);
    }
}

TEST(GgufModelFaults, files_that_are_no_usable_model_are_refused) {
    int refused = 0;
    for (const auto& entry : test::read_json(golden("gguf/malformed/manifest.json"))) {
        if (entry["kind"] != "gguf-model") continue;
        const auto file = golden("gguf/malformed/" + entry["file"].get<std::string>());
        const auto loaded = model::load_model(file, {});
        EXPECT_EQ(bool(loaded), entry["expected"] == "ok") << file;
        if (loaded) continue;
        EXPECT_NE(loaded.error().message().find(file.filename().string()), std::string::npos)
            << loaded.error().message();
        ++refused;
    }
    EXPECT_GE(refused, 10);
}

} // namespace
} // namespace stillroom
