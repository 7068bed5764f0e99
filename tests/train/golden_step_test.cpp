// SPDX-License-Identifier: GPL-3.0-or-later
// Whole training steps against golden/models/opd-*: loss, every gradient, the norm, parameters after AdamW's
// steps, and the same whatever the micro-batches.
#include "formats/safetensors.h"
#include "tests/support/golden.h"
#include "train/trainer.h"

#include <gtest/gtest.h>

namespace stillroom::train {
namespace {

using nlohmann::json;

struct Case {
    std::string family, kind;
};

formats::Recipe recipe_of(const std::string& kind, double weight_decay) {
    formats::Recipe recipe;
    recipe.teacher.kind = kind == "sft" ? "none" : "separate";
    auto& objective = recipe.objective;
    if (kind == "rkl-t1.1") objective.student_temperature = objective.teacher_temperature = 1.1;
    if (kind == "rkl-top16-tail") objective.name = "topk_uniform_tail";
    if (kind == "fkl-clamp0.05") {
        objective.name = "kl_forward";
        objective.clamp = {"per_entry", 0.05};
    }
    if (kind == "jsd-b0.5") objective.name = "jsd";
    if (kind == "sft") objective.name = "sft";
    recipe.optimizer.lr = 1e-3;
    recipe.optimizer.weight_decay = weight_decay;
    return recipe;
}

std::vector<Sequence> sequences_of(const json& expected) {
    std::vector<Sequence> sequences;
    for (size_t b = 0; b < expected.at("responses").size(); ++b) {
        auto prompt = std::make_shared<teacher::PreparedPrompt>();
        prompt->index = int64_t(b);
        prompt->student_ids = expected.at("student_prompts")[b].get<std::vector<int32_t>>();
        prompt->teacher_ids = expected.at("teacher_prompts")[b].get<std::vector<int32_t>>();
        prompt->teacher_plain_ids = prompt->teacher_ids;
        Sequence sequence{prompt, {}};
        sequence.rollout.ids = expected.at("responses")[b].get<std::vector<int32_t>>();
        sequence.rollout.logprobs.assign(sequence.rollout.ids.size(), 0.0f);
        const bool ended = sequence.rollout.ids.back() == expected.at("eos_token_id").get<int32_t>();
        sequence.rollout.finish = ended ? rollout::Finish::Eos : rollout::Finish::Length;
        sequences.push_back(std::move(sequence));
    }
    return sequences;
}

std::unique_ptr<Trainer> trainer_of(const Case& what, double weight_decay, torch::Device device) {
    const auto folder = test::golden("models/" + what.family);
    const model::LoadOptions options{device, torch::kFloat32};
    auto student = model::load_model(folder / "student", options).value();
    auto teacher = model::load_model(folder / "teacher", options).value();
    return Trainer::of_models(recipe_of(what.kind, weight_decay), std::move(student), std::move(teacher))
        .value();
}

struct Comparison {
    double largest = 0;             // largest entry of all expected
    double worst = 0;               // largest difference
    int64_t entries = 0, above = 0; // those that differ by more than `small`
};

// Every tensor of `file` against the parts of `arena` of the same Hugging Face names.
Comparison compare(const std::filesystem::path& file, const model::Arena& arena, double small) {
    const auto expected = formats::Safetensors::open(file).value();
    Comparison result;
    size_t found = 0;
    for (const auto& slice : arena.layout->slices) {
        const auto values = arena.view(slice).to(torch::kCPU, torch::kFloat32);
        for (const auto& part : slice.parts) {
            const auto* view = expected.find(part.hf_name);
            if (!view) {
                ADD_FAILURE() << file << " has no " << part.hf_name;
                continue;
            }
            ++found;
            const auto golden =
                torch::from_blob(const_cast<std::byte*>(view->bytes.data()), view->shape, torch::kFloat32);
            const auto ours = values.narrow(0, part.row, part.rows).reshape_as(golden);
            const auto difference = (ours - golden).abs();
            result.largest = std::max(result.largest, golden.abs().max().item<double>());
            result.worst = std::max(result.worst, difference.max().item<double>());
            result.entries += difference.numel();
            result.above += (difference > small).sum().item<int64_t>();
        }
    }
    EXPECT_EQ(found, expected.tensors().size()) << "tensors of " << file << " that no parameter answers to";
    return result;
}

std::vector<torch::Device> devices() {
    std::vector<torch::Device> all{torch::kCPU};
    if (torch::cuda::is_available()) all.emplace_back(torch::kCUDA, 0);
    return all;
}

class GoldenStep : public testing::TestWithParam<Case> {};

TEST_P(GoldenStep, loss_gradients_and_norm_agree_however_the_batch_is_split) {
    const auto folder = test::golden("models/" + GetParam().family);
    const json expected = test::read_json(folder / "expected.json");
    const json& loss = expected.at("losses").at(GetParam().kind);
    const auto sequences = sequences_of(expected);
    for (const torch::Device device : devices()) {
        auto trainer = trainer_of(GetParam(), 0, device);
        const auto rows = ResponseRows::of(sequences, trainer->recipe().rollout, trainer->recipe().objective);
        ASSERT_EQ(rows.n_global, 48);
        for (const int64_t micro_tokens : {1, 40, 10000}) {
            PhaseClock clock(device);
            const auto evaluated = trainer
                                       ->loss_and_gradients(sequences, rows, trainer->gradients(), 1, clock,
                                                            {}, {false, micro_tokens})
                                       .value();
            EXPECT_NEAR(evaluated.loss, loss.at("loss").get<double>(),
                        2e-6 * std::max(1.0, std::abs(loss.at("loss").get<double>())));
            EXPECT_EQ(evaluated.nonfinite_rows, 0);
            const auto gradients =
                compare(folder / (GetParam().kind + ".grad.safetensors"), trainer->gradients(), 0);
            EXPECT_LT(gradients.worst, 3e-5 * gradients.largest) << "micro_tokens " << micro_tokens;
            const double norm = trainer->gradients().flat.to(torch::kFloat64).norm().item<double>();
            EXPECT_NEAR(norm, loss.at("grad_norm").get<double>(), 5e-6 * norm);
        }
    }
}

TEST_P(GoldenStep, parameters_after_one_and_three_steps_agree) {
    const auto folder = test::golden("models/" + GetParam().family);
    const json expected = test::read_json(folder / "expected.json");
    const auto sequences = sequences_of(expected);
    int compared = 0;
    for (const torch::Device device : devices()) {
        for (const std::string decay : {"0", "0.01"}) {
            auto trainer = trainer_of(GetParam(), std::stod(decay), device);
            const auto rows =
                ResponseRows::of(sequences, trainer->recipe().rollout, trainer->recipe().objective);
            for (int step = 1; step <= 3; ++step) {
                PhaseClock clock(device);
                auto evaluated = trainer->loss_and_gradients(sequences, rows, trainer->gradients(), step,
                                                             clock, {}, {false, 60});
                ASSERT_TRUE(evaluated) << evaluated.error().message();
                const auto update = trainer->optimizer().apply(trainer->gradients().flat, 1e-3);
                ASSERT_TRUE(update.applied);
                if (step == 1) {
                    EXPECT_NEAR(update.clip_scale,
                                expected.at("losses").at(GetParam().kind).at("clip_factor").get<double>(),
                                1e-5);
                }
                const auto file = folder / (GetParam().kind + ".after" + std::to_string(step) + ".wd" +
                                            decay + ".safetensors");
                if (!std::filesystem::exists(file)) continue;
                const auto parameters = compare(file, trainer->student().weights, 1e-6);
                EXPECT_LT(parameters.worst, 1e-3) << file;
                EXPECT_LT(double(parameters.above), 0.002 * double(parameters.entries)) << file;
                ++compared;
            }
        }
    }
    EXPECT_EQ(compared, int(devices().size()) * (GetParam().kind == "rkl-t1" ? 4 : 2));
}

TEST_P(GoldenStep, a_teacher_equal_to_the_student_gives_no_loss_and_no_gradient) {
    if (GetParam().kind == "sft" || GetParam().kind == "rkl-top16-tail")
        GTEST_SKIP() << "the target is not the teacher itself";
    const json expected = test::read_json(test::golden("models/" + GetParam().family) / "expected.json");
    const auto sequences = sequences_of(expected);
    auto trainer = trainer_of(GetParam(), 0, torch::kCPU);
    const auto rows = ResponseRows::of(sequences, trainer->recipe().rollout, trainer->recipe().objective);
    PhaseClock clock(torch::kCPU);
    const auto evaluated =
        trainer->loss_and_gradients(sequences, rows, trainer->gradients(), 1, clock, {}, {true, 0}).value();
    EXPECT_EQ(evaluated.loss, 0);
    EXPECT_EQ(trainer->gradients().flat.abs().max().item<double>(), 0);
}

TEST(Alignment, a_shift_by_one_position_changes_the_loss) {
    const json expected = test::read_json(test::golden("models/opd-qwen2/expected.json"));
    auto sequences = sequences_of(expected);
    auto trainer = trainer_of({"opd-qwen2", "rkl-t1"}, 0, torch::kCPU);
    const auto rows = ResponseRows::of(sequences, trainer->recipe().rollout, trainer->recipe().objective);
    for (auto& sequence :
         sequences) { // the teacher's prompt one token shorter: its rows are those of y_(t-1)
        auto shifted = std::make_shared<teacher::PreparedPrompt>(*sequence.prompt);
        shifted->teacher_ids.insert(shifted->teacher_ids.begin() + 1, 7);
        shifted->teacher_ids.pop_back();
        sequence.prompt = shifted;
    }
    PhaseClock clock(torch::kCPU);
    const auto evaluated =
        trainer->loss_and_gradients(sequences, rows, trainer->gradients(), 1, clock, {}, {}).value();
    EXPECT_GT(std::abs(evaluated.loss - expected.at("losses").at("rkl-t1").at("loss").get<double>()), 1e-2);
}

std::vector<Case> cases() {
    std::vector<Case> all;
    for (const char* family : {"opd-qwen2", "opd-qwen3"}) {
        for (const char* kind :
             {"rkl-t1", "rkl-t1.1", "rkl-top16-tail", "fkl-clamp0.05", "jsd-b0.5", "sft"}) {
            all.push_back({family, kind});
        }
    }
    return all;
}

INSTANTIATE_TEST_SUITE_P(All, GoldenStep, testing::ValuesIn(cases()), [](const auto& info) {
    std::string name = info.param.family + "_" + info.param.kind;
    for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    return name;
});

} // namespace
} // namespace stillroom::train
