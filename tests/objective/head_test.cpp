// SPDX-License-Identifier: GPL-3.0-or-later
// The head pass: golden rows of whole models, gradients against autograd, chunks, rows that do not count,
// metrics.
#include "formats/safetensors.h"
#include "kernels/device.h"
#include "objective/head.h"
#include "objective/json_tensors.h"
#include "tests/objective/examples.h"
#include "tests/support/golden.h"

#include <cmath>
#include <gtest/gtest.h>

namespace stillroom::objective {
namespace {

using nlohmann::json;
using test::largest;

HeadInputs inputs_of(const torch::Tensor& student_hidden, const torch::Tensor& student_head,
                     const torch::Tensor& teacher_hidden, const torch::Tensor& teacher_head,
                     const torch::Tensor& sampled) {
    const int64_t N = student_hidden.size(0);
    const auto type = student_hidden.scalar_type() == torch::kFloat64 ? torch::kFloat64 : torch::kFloat32;
    HeadInputs inputs;
    inputs.student_hidden = student_hidden;
    inputs.student_head = student_head;
    inputs.teacher_hidden = teacher_hidden;
    inputs.teacher_head = teacher_head;
    inputs.sampled = sampled;
    inputs.decile = torch::arange(N) * 10 / N;
    inputs.decile = inputs.decile.to(torch::kInt64);
    inputs.weight = torch::ones({N}, type);
    inputs.scale = torch::full({N}, 1.0 / double(N), type);
    inputs.real_vocab = student_head.size(0);
    return inputs;
}

// Random heads and hidden states, different widths.
HeadInputs random_inputs(int64_t N, int64_t V, uint64_t seed, torch::Dtype type) {
    const auto generator_values = [&](int64_t rows, int64_t columns, uint64_t stream) {
        return test::logits(rows, columns, seed + stream, 1, type);
    };
    return inputs_of(generator_values(N, 6, 1), generator_values(V, 6, 2), generator_values(N, 5, 3),
                     generator_values(V, 5, 4), std::get<1>(test::logits(N, V, seed + 5).max(-1)));
}

struct GoldenKind {
    const char* name;
    formats::ObjectiveSection options;
};
std::vector<GoldenKind> golden_kinds() {
    auto t11 = test::named("kl_reverse"), clamp = test::named("kl_forward");
    t11.student_temperature = t11.teacher_temperature = 1.1;
    clamp.clamp = {"per_entry", 0.05};
    return {{"rkl-t1", test::named("kl_reverse")},
            {"rkl-t1.1", t11},
            {"rkl-top16-tail", test::named("topk_uniform_tail")},
            {"fkl-clamp0.05", clamp},
            {"jsd-b0.5", test::named("jsd")},
            {"sft", test::named("sft")}};
}

torch::Tensor tensor_in(const formats::Safetensors& file, const std::string& name, torch::Dtype type) {
    const auto* view = file.find(name);
    if (!view) throw std::runtime_error("no tensor " + name);
    const auto stored = type == torch::kInt64 ? torch::kInt64 : torch::kFloat32;
    return torch::from_blob(const_cast<std::byte*>(view->bytes.data()), view->shape, stored).clone().to(type);
}

TEST(HeadPass, golden_rows_of_whole_models_give_their_losses_and_gradients) {
    int compared = 0;
    for (const char* family : {"opd-qwen2", "opd-qwen3"}) {
        const auto folder = test::golden(std::string("models/") + family);
        const auto file = formats::Safetensors::open(folder / "rows.safetensors").value();
        const json expected = test::read_json(folder / "expected.json");
        const auto flat = [&](const char* name) { // lists by rollout
            std::vector<torch::Tensor> rollouts;
            for (const json& rollout : expected.at(name))
                rollouts.push_back(tensor_of(rollout, torch::kFloat64, name).view({-1}));
            return torch::cat(rollouts);
        };
        for (const auto type : {torch::kFloat64, torch::kFloat32}) {
            const auto eye = torch::eye(211, type);
            const auto student = tensor_in(file, "student_logits", type),
                       teacher = tensor_in(file, "teacher_logits", type);
            for (const GoldenKind& kind : golden_kinds()) {
                auto inputs =
                    inputs_of(student, eye, teacher, eye, tensor_in(file, "sampled", torch::kInt64));
                auto d_head = torch::zeros({211, 211}, type);
                StepSums sums;
                const auto outputs = head_pass(Spec::of(kind.options).value(), inputs, d_head, sums, 10);
                const json& golden = expected.at("losses").at(kind.name);
                const auto dlogits = tensor_in(file, std::string("dlogits.") + kind.name, type);
                // golden/README: a kernel fed with these rows, 1e-5 of the loss and of the largest gradient.
                EXPECT_NEAR(outputs.loss, golden.at("loss").get<double>(), 1e-5) << family << kind.name;
                EXPECT_LE(largest(outputs.d_hidden - dlogits), 1e-5 * largest(dlogits))
                    << family << kind.name;
                EXPECT_LE(largest(d_head - dlogits.t().mm(student)), 1e-4 * largest(d_head))
                    << family << kind.name;
                const auto per_token = tensor_of(golden.at("per_token"), torch::kFloat64, "per_token");
                EXPECT_LE(largest(outputs.rows.loss.to(torch::kFloat64) - per_token),
                          1e-5 * std::max(1.0, largest(per_token)));
                EXPECT_EQ(sums.nonfinite_rows(), 0);
                if (kind.options.student_temperature == 1) {
                    EXPECT_LE(
                        largest(outputs.rows.student_logprob.to(torch::kFloat64) - flat("student_logprob")),
                        1e-4);
                    EXPECT_LE(
                        largest(outputs.rows.teacher_logprob.to(torch::kFloat64) - flat("teacher_logprob")),
                        1e-4);
                    EXPECT_NEAR(sums.metrics(48).at("teacher_mass_top16"),
                                flat("teacher_top16_mass").mean().item<double>(), 1e-5);
                    EXPECT_TRUE(outputs.rows.teacher_ids.equal(
                        tensor_in(file, "teacher_top16_ids", torch::kInt64).to(torch::kInt32)));
                    EXPECT_LE(largest(outputs.rows.teacher_ids_teacher -
                                      tensor_in(file, "teacher_top16_logprobs", torch::kFloat32)),
                              1e-5);
                }
                ++compared;
            }
        }
    }
    EXPECT_EQ(compared, 24);
}

// The loss by LibTorch's own softmax and autograd: an independent gradient for hidden states and head.
std::pair<torch::Tensor, torch::Tensor>
autograd(const HeadInputs& inputs,
         const std::function<torch::Tensor(torch::Tensor, torch::Tensor)>& row_loss) {
    auto hidden = inputs.student_hidden.clone().requires_grad_(true),
         head = inputs.student_head.clone().requires_grad_(true);
    const auto real = inputs.real_vocab;
    const auto p = hidden.mm(head.t()).narrow(1, 0, real).log_softmax(-1);
    const auto q = inputs.teacher_hidden.mm(inputs.teacher_head.t()).narrow(1, 0, real).log_softmax(-1);
    const auto rows = row_loss(p, q);
    (torch::where(inputs.weight != 0, rows * inputs.weight * inputs.scale, torch::zeros_like(rows)))
        .sum()
        .backward();
    return {hidden.grad(), head.grad()};
}

TEST(HeadPass, gradients_of_hidden_states_and_head_agree_with_autograd) {
    auto inputs = random_inputs(9, 40, 11, torch::kFloat64);
    inputs.real_vocab = 37;
    inputs.sampled = inputs.sampled.clamp_max(36);
    inputs.weight = torch::tensor({1.0, 0.5, 0.0, 2.0, 1.0, 1.0, 0.0, 1.0, 3.0}, torch::kFloat64);
    inputs.scale = torch::tensor({0.1, 0.1, 0.3, 0.2, 0.1, 0.05, 0.1, 0.1, 0.4}, torch::kFloat64);
    const auto y = inputs.sampled.unsqueeze(1);
    const std::vector<std::pair<const char*, std::function<torch::Tensor(torch::Tensor, torch::Tensor)>>>
        losses{
            {"kl_reverse", [](torch::Tensor p, torch::Tensor q) { return (p.exp() * (p - q)).sum(-1); }},
            {"kl_forward", [](torch::Tensor p, torch::Tensor q) { return (q.exp() * (q - p)).sum(-1); }},
            {"sft", [&](torch::Tensor p, torch::Tensor) { return -p.gather(1, y).squeeze(1); }},
            {"k1_pg",
             [&](torch::Tensor p, torch::Tensor q) {
                 const auto k1 = (p - q).gather(1, y).squeeze(1).detach();
                 return k1 * p.gather(1, y).squeeze(1);
             }},
        };
    for (const auto& [name, row_loss] : losses) {
        auto d_head = torch::full({40, 6}, 0.5, torch::kFloat64); // is added to
        StepSums sums;
        const auto outputs = head_pass(Spec::of(test::named(name)).value(), inputs, d_head, sums, 4);
        const auto [hidden, head] = autograd(inputs, row_loss);
        EXPECT_LE(largest(outputs.d_hidden - hidden), 1e-13) << name;
        EXPECT_LE(largest(d_head - 0.5 - head), 1e-13) << name;
        EXPECT_EQ(largest(d_head.narrow(0, 37, 3) - 0.5), 0) << name << ": rows of padding tokens";
    }
}

TEST(HeadPass, chunk_sizes_and_the_order_of_rows_change_nothing_but_rounding) { // T9
    for (const auto& [type, tolerance] :
         {std::pair(torch::kFloat64, 1e-12), std::pair(torch::kFloat32, 1e-5)}) {
        for (const test::Objective& objective : test::objectives()) {
            const auto spec = objective.spec();
            auto inputs = random_inputs(9, 40, 21, type);
            inputs.base_hidden = inputs.teacher_hidden * 0.5;
            inputs.base_head = inputs.teacher_head;
            auto all_head = torch::zeros({40, 6}, type);
            StepSums all_sums;
            const auto all = head_pass(spec, inputs, all_head, all_sums, 1024);
            for (const int64_t chunk : {1, 7}) {
                auto d_head = torch::zeros({40, 6}, type);
                StepSums sums;
                const auto part = head_pass(spec, inputs, d_head, sums, chunk);
                EXPECT_NEAR(part.loss, all.loss, tolerance) << objective.label;
                EXPECT_LE(largest(part.d_hidden - all.d_hidden), tolerance) << objective.label;
                EXPECT_LE(largest(d_head - all_head), tolerance * 10) << objective.label;
                for (const auto& [name, value] : all_sums.metrics(9)) {
                    ASSERT_TRUE(sums.metrics(9).contains(name)) << name;
                    if (std::isnan(value))
                        EXPECT_TRUE(std::isnan(sums.metrics(9).at(name))) << name;
                    else
                        EXPECT_NEAR(sums.metrics(9).at(name), value,
                                    tolerance * 10 * std::max(1.0, std::abs(value)))
                            << objective.label << " " << name;
                }
            }
            const auto order = torch::randperm(9);
            auto permuted = inputs;
            for (torch::Tensor* rows : {&permuted.student_hidden, &permuted.teacher_hidden,
                                        &permuted.base_hidden, &permuted.sampled, &permuted.decile}) {
                *rows = rows->index_select(0, order);
            }
            StepSums sums;
            const auto shuffled = head_pass(spec, permuted, {}, sums, 4);
            EXPECT_LE(largest(shuffled.d_hidden - all.d_hidden.index_select(0, order)), tolerance)
                << objective.label;
            EXPECT_NEAR(shuffled.loss, all.loss, tolerance);
        }
    }
}

TEST(HeadPass, rows_without_weight_have_no_effect_even_where_they_hold_nan) { // T13
    for (const test::Objective& objective : test::objectives()) {
        auto clean = random_inputs(6, 30, 31, torch::kFloat32);
        clean.base_hidden = clean.teacher_hidden * 0.5;
        clean.base_head = clean.teacher_head;
        clean.weight = torch::tensor({1.0f, 0.0f, 1.0f, 1.0f, 0.0f, 1.0f});
        auto dirty = clean;
        for (torch::Tensor* hidden : {&dirty.student_hidden, &dirty.teacher_hidden, &dirty.base_hidden}) {
            *hidden = hidden->clone();
            hidden->select(0, 1).fill_(NAN);
            hidden->select(0, 4).fill_(INFINITY);
        }
        auto clean_head = torch::zeros({30, 6}), dirty_head = torch::zeros({30, 6});
        StepSums clean_sums, dirty_sums;
        const auto expected = head_pass(objective.spec(), clean, clean_head, clean_sums, 4);
        const auto outputs = head_pass(objective.spec(), dirty, dirty_head, dirty_sums, 4);
        EXPECT_EQ(outputs.loss, expected.loss) << objective.label;
        EXPECT_TRUE(outputs.d_hidden.equal(expected.d_hidden)) << objective.label;
        EXPECT_EQ(largest(outputs.d_hidden[1]) + largest(outputs.d_hidden[4]), 0);
        EXPECT_TRUE(dirty_head.equal(clean_head)) << objective.label;
        EXPECT_EQ(dirty_sums.nonfinite_rows(), 0);
        const auto ours = dirty_sums.metrics(4);
        for (const auto& [name, value] : clean_sums.metrics(4)) {
            EXPECT_TRUE(ours.at(name) == value || (std::isnan(value) && std::isnan(ours.at(name))))
                << objective.label << " " << name;
        }
    }
}

TEST(HeadPass, a_row_that_counts_and_is_not_finite_is_counted) {
    auto inputs = random_inputs(5, 30, 41, torch::kFloat32);
    inputs.student_hidden = inputs.student_hidden.clone();
    inputs.student_hidden.select(0, 3).fill_(NAN);
    StepSums sums;
    const auto outputs = head_pass(Spec::of(test::named("kl_reverse")).value(), inputs, {}, sums, 2);
    EXPECT_EQ(sums.nonfinite_rows(), 1);
    EXPECT_TRUE(std::isnan(outputs.loss));
    EXPECT_EQ(sums.metrics(5).at("nonfinite_rows"), 1);
    EXPECT_TRUE(std::isnan(sums.metrics(5).at("kl_reverse_max")));
}

TEST(HeadPass, micro_batches_add_up_to_the_batch) { // T7
    auto options = test::named("kl_forward");
    options.clamp = {"per_entry", 0.02};
    const auto spec = Spec::of(options).value();
    const auto whole = random_inputs(12, 40, 51, torch::kFloat64);
    auto whole_head = torch::zeros({40, 6}, torch::kFloat64);
    StepSums whole_sums;
    const auto all = head_pass(spec, whole, whole_head, whole_sums, 5);
    for (const std::vector<int64_t>& sizes : std::vector<std::vector<int64_t>>{{4, 4, 4}, {1, 11}, {0, 12}}) {
        auto d_head = torch::zeros({40, 6}, torch::kFloat64);
        StepSums sums;
        double loss = 0;
        int64_t at = 0;
        for (const int64_t size : sizes) {
            auto part = whole;
            for (torch::Tensor* rows : {&part.student_hidden, &part.teacher_hidden, &part.sampled,
                                        &part.decile, &part.weight, &part.scale}) {
                *rows = rows->narrow(0, at, size);
            }
            loss += head_pass(spec, part, d_head, sums, 5).loss;
            at += size;
        }
        EXPECT_NEAR(loss, all.loss, 1e-12);
        EXPECT_LE(largest(d_head - whole_head), 1e-12);
        const auto ours = sums.metrics(12);
        for (const auto& [name, value] : whole_sums.metrics(12))
            EXPECT_NEAR(ours.at(name), value, 1e-12) << name;
    }
}

TEST(HeadPass, bf16_weights_give_the_gradient_to_the_rounding_of_their_operands) {
    std::vector<torch::Device> devices{torch::kCPU};
    if (torch::cuda::is_available()) devices.emplace_back(torch::kCUDA, 0);
    for (const torch::Device device : devices) {
        auto inputs = random_inputs(8, 257, 61, torch::kFloat32);
        auto exact = inputs;
        for (auto [rounded, full] : {std::pair(&inputs.student_hidden, &exact.student_hidden),
                                     std::pair(&inputs.student_head, &exact.student_head),
                                     std::pair(&inputs.teacher_hidden, &exact.teacher_hidden),
                                     std::pair(&inputs.teacher_head, &exact.teacher_head)}) {
            *rounded = rounded->to(torch::kBFloat16);
            *full = rounded->to(torch::kFloat64);
            *rounded = rounded->to(device);
        }
        for (torch::Tensor* rows : {&inputs.sampled, &inputs.decile, &inputs.weight, &inputs.scale})
            *rows = rows->to(device);
        exact.weight = exact.weight.to(torch::kFloat64);
        exact.scale = exact.scale.to(torch::kFloat64);
        auto d_head = torch::zeros({257, 6}, torch::TensorOptions().device(device)),
             exact_head = torch::zeros({257, 6}, torch::kFloat64);
        StepSums sums, exact_sums;
        const auto spec = Spec::of(test::named("kl_reverse")).value();
        const auto ours = head_pass(spec, inputs, d_head, sums, 3),
                   golden = head_pass(spec, exact, exact_head, exact_sums, 3);
        EXPECT_EQ(ours.d_hidden.scalar_type(), torch::kFloat32);
        EXPECT_NEAR(ours.loss, golden.loss, 1e-5 * std::max(1.0, golden.loss));
        // Each entry of dlogits is off by at most 2^-8 of itself; a sum by that share of its absolute terms
        // (T2, T-table).
        EXPECT_LE(largest(ours.d_hidden.cpu().to(torch::kFloat64) - golden.d_hidden),
                  0x1p-7 * largest(golden.d_hidden));
        EXPECT_LE(largest(d_head.cpu().to(torch::kFloat64) - exact_head), 0x1p-7 * largest(exact_head));
    }
}

TEST(HeadPass, memory_does_not_grow_with_the_rows) { // T21
    if (!torch::cuda::is_available())
        GTEST_SKIP() << "peak memory is measured by the CUDA allocator, and there is no CUDA device";
    const torch::Device device(torch::kCUDA, 0);
    const auto peak = [&](int64_t N) {
        auto inputs = random_inputs(N, 32000, 71, torch::kFloat32);
        for (torch::Tensor* tensor :
             {&inputs.student_hidden, &inputs.student_head, &inputs.teacher_hidden, &inputs.teacher_head,
              &inputs.sampled, &inputs.decile, &inputs.weight, &inputs.scale}) {
            *tensor = tensor->to(device);
        }
        StepSums sums;
        kernels::empty_cache(device);
        kernels::reset_memory_peaks(device);
        head_pass(Spec::of(test::named("kl_reverse")).value(), inputs, {}, sums, 512);
        return double(kernels::device_memory(device).allocated_peak);
    };
    EXPECT_NEAR(peak(8192) / peak(1024), 1, 0.01);
}

} // namespace
} // namespace stillroom::objective
