// SPDX-License-Identifier: GPL-3.0-or-later
// Loading and saving of Hugging Face folders: what is read back is what was written, and what does not fit is
// named.
#include "base/hash.h"
#include "tests/model/support.h"

namespace stillroom {
namespace {

namespace fs = std::filesystem;
using test::golden;

const std::vector<std::string> models{"qwen2-tied", "qwen2-untied", "qwen3-tied", "llama-smol-sharded",
                                      "llama-rope3-near"};

model::LoadOptions on_cpu(torch::Dtype type = torch::kFloat32) { return {torch::kCPU, type}; }

void copy_model(const fs::path& from, const fs::path& to) {
    fs::copy(from / "config.json", to / "config.json");
    fs::copy(from / "generation_config.json", to / "generation_config.json");
}

/// A copy of a golden model's folder with some tensors changed before they are written.
void write_changed(const std::string& name, const fs::path& to,
                   const std::function<void(test::Tensors&)>& change) {
    copy_model(golden("models/" + name), to);
    auto tensors = test::read_weights(golden("models/" + name));
    change(tensors);
    std::vector<formats::TensorView> views;
    for (auto& [tensor_name, tensor] : tensors) {
        tensor = tensor.contiguous();
        views.push_back({tensor_name,
                         tensor.scalar_type() == torch::kInt64 ? formats::DType::I64 : formats::DType::F32,
                         tensor.sizes().vec(),
                         {static_cast<const std::byte*>(tensor.const_data_ptr()), size_t(tensor.nbytes())}});
    }
    formats::write_safetensors(to / "model.safetensors", views, {}).value();
}

TEST(LoadModel, every_stored_weight_is_where_its_name_says) {
    for (const std::string& name : models) {
        const auto stored = test::read_weights(golden("models/" + name));
        const auto loaded = test::parts_of(test::load(golden("models/" + name)).weights);
        ASSERT_EQ(loaded.size(), stored.size()) << name;
        for (const auto& [tensor_name, tensor] : stored)
            EXPECT_TRUE(loaded.at(tensor_name).equal(tensor)) << tensor_name;
    }
}

TEST(LoadModel, the_hash_is_that_of_the_weight_files) {
    const auto folder = golden("models/qwen2-tied");
    EXPECT_EQ(test::load(folder).weights_sha256, sha256_of_file(folder / "model.safetensors").value());
}

TEST(LoadModel, end_tokens_come_from_the_generation_config_first) {
    const test::TemporaryFolder folder;
    write_changed("qwen2-tied", folder.path(), [](test::Tensors&) {});
    fs::remove(folder / "generation_config.json");
    EXPECT_EQ(test::load(folder.path()).eos_ids(), std::vector<int64_t>{126}); // config.json's
    std::ofstream(folder / "generation_config.json") << R"({"eos_token_id": [5, 7]})";
    EXPECT_EQ(test::load(folder.path()).eos_ids(), (std::vector<int64_t>{5, 7}));
    std::ofstream(folder / "generation_config.json") << R"({"eos_token_id": 307})";
    const auto refused = model::load_model(folder.path(), on_cpu());
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message().find("307"), std::string::npos) << refused.error().message();
}

struct Fault {
    std::string what, model;
    std::function<void(test::Tensors&)> change;
    std::vector<std::string> said; // in the message
};

TEST(LoadModel, what_does_not_fit_is_named) {
    const std::string q = "model.layers.1.self_attn.q_proj.weight";
    const std::vector<Fault> faults{
        {"missing", "qwen2-tied", [&](auto& tensors) { tensors.erase(q); }, {q, "missing", "[96, 96]"}},
        {"shape",
         "qwen2-tied",
         [&](auto& tensors) {
             tensors[q] = torch::zeros({96, 95});
         },
         {q, "[96, 95]", "[96, 96]"}},
        {"type",
         "qwen2-tied",
         [&](auto& tensors) {
             tensors[q] = torch::zeros({96, 96}, torch::kInt64);
         },
         {q, "I64"}},
        {"unexpected",
         "qwen2-tied",
         [&](auto& tensors) { tensors["model.layers.0.self_attn.q_norm.weight"] = torch::ones({16}); },
         {"model.layers.0.self_attn.q_norm.weight", "qwen2"}},
        {"layer too many",
         "qwen2-tied",
         [&](auto& tensors) {
             tensors["model.layers.2.mlp.up_proj.weight"] = torch::zeros({112, 96});
         },
         {"model.layers.2.mlp.up_proj.weight"}},
        {"no head",
         "qwen2-untied",
         [&](auto& tensors) { tensors.erase("lm_head.weight"); },
         {"lm_head.weight", "missing"}},
        {"untied",
         "qwen2-tied",
         [&](auto& tensors) {
             tensors["lm_head.weight"] = torch::zeros({307, 96});
         },
         {"lm_head.weight", "tie_word_embeddings"}}};
    for (const Fault& fault : faults) {
        const test::TemporaryFolder folder;
        write_changed(fault.model, folder.path(), fault.change);
        const auto loaded = model::load_model(folder.path(), on_cpu());
        ASSERT_FALSE(loaded) << fault.what;
        const std::string message = loaded.error().message();
        for (const std::string& part : fault.said)
            EXPECT_NE(message.find(part), std::string::npos) << message;
        EXPECT_NE(message.find(folder.path().string()), std::string::npos) << message;
    }
}

TEST(LoadModel, tensors_that_follow_from_the_rest_are_accepted) {
    const test::TemporaryFolder folder;
    write_changed("qwen2-tied", folder.path(), [](test::Tensors& tensors) {
        tensors["lm_head.weight"] = tensors.at("model.embed_tokens.weight").clone();
        tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = torch::ones({8});
    });
    EXPECT_TRUE(
        test::load(folder.path()).weights.flat.equal(test::load(golden("models/qwen2-tied")).weights.flat));
}

TEST(LoadModel, a_path_that_is_no_model_is_named) {
    for (const std::string path : {"/nowhere/at-all", "models/verification.json", "models/malformed"}) {
        const auto loaded = model::load_model(golden(path), on_cpu());
        ASSERT_FALSE(loaded) << path;
        EXPECT_NE(loaded.error().message().find(golden(path).string()), std::string::npos)
            << loaded.error().message();
    }
}

TEST(SaveModel, weights_come_back_identical_in_whole_files_and_shards) {
    for (const std::string& name : models) {
        for (const uint64_t shard_bytes : {uint64_t(5'000'000'000), uint64_t(50'000)}) {
            const test::TemporaryFolder folder;
            const auto model = test::load(golden("models/" + name));
            model::save_model(model, folder.path(), torch::kFloat32, shard_bytes).value();
            EXPECT_EQ(fs::exists(folder / "model.safetensors.index.json"), shard_bytes < 1'000'000) << name;
            const auto again = test::load(folder.path());
            EXPECT_TRUE(again.weights.flat.equal(model.weights.flat)) << name;
            EXPECT_EQ(again.eos_ids(), model.eos_ids());
            EXPECT_EQ(again.config.tied, model.config.tied);
            const auto stored = test::read_weights(folder.path());
            EXPECT_EQ(stored.contains("lm_head.weight"), !model.config.tied) << name;
            EXPECT_EQ(stored.size(), test::read_weights(golden("models/" + name)).size()) << name;
        }
    }
}

TEST(SaveModel, bf16_weights_are_stored_as_they_are) {
    const test::TemporaryFolder folder;
    const auto model = test::load(golden("models/qwen2-untied-bf16"), "cpu", torch::kBFloat16);
    model::save_model(model, folder.path(), torch::kBFloat16).value();
    const auto original = test::read_weights(golden("models/qwen2-untied-bf16"));
    const auto stored = test::read_weights(folder.path());
    for (const auto& [name, tensor] : original) EXPECT_TRUE(stored.at(name).equal(tensor)) << name;
    EXPECT_EQ(test::read_json(folder / "config.json")["dtype"], "bfloat16");
    EXPECT_EQ(test::read_json(folder / "config.json")["torch_dtype"], "bfloat16");
}

TEST(SaveModel, masters_are_written_in_place_of_the_weights) {
    const test::TemporaryFolder folder;
    const auto model = test::load(golden("models/qwen3-tied"), "cpu", torch::kBFloat16);
    const auto masters = test::load(golden("models/qwen3-tied")).weights.flat;
    model::save_model(model, {model.weights.layout, masters}, folder.path(), torch::kFloat32).value();
    EXPECT_TRUE(test::load(folder.path()).weights.flat.equal(masters));
}

TEST(SaveModel, lora_is_merged_on_the_way_and_stays_in_the_model) {
    const test::TemporaryFolder folder;
    auto model = test::load(golden("models/qwen2-untied"));
    model::add_lora(model, {2, 4, {"q", "down"}}, 5);
    model.adapters.flat.fill_(0.1);
    const auto base = model.weights.flat.clone();
    model::save_model(model, folder.path(), torch::kFloat32).value();
    EXPECT_TRUE(model.lora.has_value());
    EXPECT_TRUE(model.weights.flat.equal(base));
    const auto stored = test::read_weights(folder.path());
    const auto original = test::read_weights(golden("models/qwen2-untied"));
    // B A = rank x 0.1 x 0.1, scaled by alpha / rank = 2.
    for (const auto& [name, tensor] : original) {
        const bool target = name.ends_with("q_proj.weight") || name.ends_with("down_proj.weight");
        EXPECT_LE(test::difference(stored.at(name), tensor + (target ? 2 * 2 * 0.01 : 0)), 1e-6) << name;
    }
}

TEST(RandomModel, weights_follow_the_documented_distribution) {
    const auto folder = golden("models/qwen2-untied");
    const auto model = model::random_model(folder, on_cpu(), 1).value();
    for (const auto& [name, tensor] : test::parts_of(model.weights)) {
        const auto values = tensor.to(torch::kFloat64);
        if (name.ends_with("norm.weight")) {
            EXPECT_TRUE(tensor.equal(torch::ones_like(tensor))) << name;
        } else if (name.ends_with("bias")) {
            EXPECT_TRUE(tensor.equal(torch::zeros_like(tensor))) << name;
        } else {
            const bool residual = name.ends_with("o_proj.weight") || name.ends_with("down_proj.weight");
            const double deviation = residual ? 0.02 / std::sqrt(2.0 * 3) : 0.02;
            const double n = double(values.numel());
            // Four standard errors of the mean, and of the standard deviation of normal numbers.
            EXPECT_NEAR(values.mean().item<double>(), 0, 4 * deviation / std::sqrt(n)) << name;
            EXPECT_NEAR(values.std().item<double>(), deviation, 4 * deviation / std::sqrt(2 * n)) << name;
            EXPECT_GT(test::largest(values), 2.5 * deviation) << name; // tails as a normal distribution has
        }
    }
    EXPECT_TRUE(model.weights_sha256.empty());
}

TEST(RandomModel, a_seed_gives_its_weights_again_and_no_two_tensors_are_alike) {
    const auto folder = golden("models/qwen2-untied");
    const auto first = model::random_model(folder, on_cpu(), 1).value();
    EXPECT_TRUE(model::random_model(folder, on_cpu(), 1)->weights.flat.equal(first.weights.flat));
    EXPECT_FALSE(model::random_model(folder, on_cpu(), 2)->weights.flat.equal(first.weights.flat));
    EXPECT_TRUE(model::random_model(folder, on_cpu(torch::kBFloat16), 1)
                    ->weights.flat.equal(first.weights.flat.to(torch::kBFloat16)));
    const auto parts = test::parts_of(first.weights);
    EXPECT_FALSE(parts.at("lm_head.weight").equal(parts.at("model.embed_tokens.weight")));
    EXPECT_FALSE(
        parts.at("model.layers.0.mlp.up_proj.weight").equal(parts.at("model.layers.0.mlp.gate_proj.weight")));
}

TEST(LoadOptions, device_and_type_are_read_as_the_command_line_says) {
    const auto cpu = model::load_options("cpu", "auto").value();
    EXPECT_TRUE(cpu.device.is_cpu());
    EXPECT_EQ(cpu.dtype, torch::kFloat32);
    EXPECT_EQ(model::load_options("cpu", "bf16")->dtype, torch::kBFloat16);
    for (const std::string device : {"gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:99", "CPU"}) {
        EXPECT_FALSE(model::load_options(device, "auto")) << device;
    }
    EXPECT_FALSE(model::load_options("cpu", "fp16"));
    const auto automatic = model::load_options("auto", "auto").value();
    EXPECT_EQ(automatic.device.is_cuda(), torch::cuda::is_available());
    EXPECT_EQ(automatic.dtype, torch::cuda::is_available() ? torch::kBFloat16 : torch::kFloat32);
}

} // namespace
} // namespace stillroom
