// SPDX-License-Identifier: GPL-3.0-or-later
// AdamW over an arena against torch::optim::AdamW, and what it does with clipping, bf16 weights and gradients
// that are not finite.
#include "train/optimizer.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace stillroom::train {
namespace {

model::Arena arena_of(const torch::Tensor& values) {
    auto layout = std::make_shared<model::ParameterLayout>();
    layout->size = values.numel();
    return {layout, values.clone()};
}

torch::Tensor numbers(int64_t count, uint64_t seed, torch::Dtype type) {
    torch::manual_seed(seed);
    return torch::randn({count}, torch::kFloat64).to(type);
}

formats::OptimizerSection options(double weight_decay, double max_norm) {
    formats::OptimizerSection section;
    section.beta1 = 0.9;
    section.beta2 = 0.95;
    section.eps = 1e-8;
    section.weight_decay = weight_decay;
    section.max_norm = max_norm;
    return section;
}

double largest(const torch::Tensor& values) { return values.abs().max().item<double>(); }

struct Setting {
    int64_t count;
    double weight_decay, max_norm;
};

class AgainstTorch : public testing::TestWithParam<Setting> {};

TEST_P(AgainstTorch, parameters_after_each_of_five_updates_agree) {
    const auto [count, weight_decay, max_norm] = GetParam();
    for (const auto type : {torch::kFloat64, torch::kFloat32}) {
        const double tolerance = type == torch::kFloat64 ? 1e-13 : 2e-6; // some roundings of numbers near 1
        const auto start = numbers(count, 1, type);
        auto theirs = start.clone().requires_grad_();
        torch::optim::AdamW reference(
            {theirs},
            torch::optim::AdamWOptions(0.1).betas({0.9, 0.95}).eps(1e-8).weight_decay(weight_decay));
        const auto ours = arena_of(start);
        AdamW optimizer(ours, options(weight_decay, max_norm));
        for (int step = 1; step <= 5; ++step) {
            const double lr = 0.1 / step; // a schedule's rate is another in each step
            auto gradient = numbers(count, uint64_t(10 + step), type);
            theirs.mutable_grad() = gradient.clone();
            const double norm = gradient.to(torch::kFloat64).norm().item<double>();
            double clip = 1;
            if (max_norm > 0) {
                torch::nn::utils::clip_grad_norm_(std::vector<torch::Tensor>{theirs}, max_norm);
                clip = std::min(1.0, max_norm / (norm + 1e-6));
            }
            static_cast<torch::optim::AdamWOptions&>(reference.param_groups()[0].options()).lr(lr);
            const auto before = theirs.detach().clone();
            reference.step();

            const UpdateReport report = optimizer.apply(gradient, lr);
            EXPECT_TRUE(report.applied);
            EXPECT_LT(largest(ours.flat - theirs.detach()), tolerance) << "update " << step;
            EXPECT_NEAR(report.grad_norm, norm, 1e-12 * norm);
            EXPECT_NEAR(report.clip_scale, clip, 1e-12);
            const double ratio = ((theirs.detach() - before).norm() / before.norm()).item<double>();
            EXPECT_NEAR(report.update_ratio, ratio, 1e-5 * ratio);
            EXPECT_EQ(optimizer.updates(), step);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Shapes, AgainstTorch,
                         testing::Values(Setting{1, 0, 0}, Setting{7, 0.01, 0}, Setting{1000, 0, 1},
                                         Setting{1000, 0.1, 0.5}, Setting{4097, 0.01, 1e9}));

TEST(Optimizer, every_piece_of_a_long_arena_moves_by_its_own_gradient) {
    constexpr int64_t count = (int64_t{1} << 25) + 3; // more than the optimizer handles at once
    const auto parameters = arena_of(torch::zeros({count}));
    AdamW optimizer(parameters, options(0, 0));
    auto gradients = torch::full({count}, 0.5f);
    gradients[count - 1] = -2.0f;
    gradients[count - 4] = -1.0f;
    const UpdateReport report = optimizer.apply(gradients, 0.01);
    // The first update moves each parameter by lr against the sign of its gradient, whatever its size.
    EXPECT_NEAR(parameters.flat[count - 1].item<double>(), 0.01, 1e-8);
    EXPECT_NEAR(parameters.flat[count - 4].item<double>(), 0.01, 1e-8);
    EXPECT_NEAR(parameters.flat.sum().item<double>() / (-0.01 * double(count - 4)), 1, 1e-5);
    EXPECT_NEAR(report.grad_norm, std::sqrt(0.25 * double(count - 2) + 5), 1e-6);
}

TEST(Optimizer, a_gradient_that_is_not_finite_moves_nothing_and_leaves_no_trace) {
    for (const double bad :
         {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), -1.0 / 0.0}) {
        const auto start = numbers(50, 1, torch::kFloat32);
        const auto with = arena_of(start), without = arena_of(start);
        AdamW disturbed(with, options(0.1, 1)), undisturbed(without, options(0.1, 1));
        for (int step = 1; step <= 3; ++step) {
            if (step == 2) {
                auto gradient = numbers(50, 99, torch::kFloat32);
                gradient[17] = bad;
                const auto masters = disturbed.masters().clone();
                const UpdateReport report = disturbed.apply(gradient, 0.1);
                EXPECT_FALSE(report.applied);
                EXPECT_FALSE(std::isfinite(report.grad_norm));
                EXPECT_EQ(report.update_ratio, 0);
                EXPECT_EQ(disturbed.updates(), 1);
                EXPECT_TRUE(disturbed.masters().equal(masters));
            }
            auto gradient = numbers(50, uint64_t(step), torch::kFloat32), same = gradient.clone();
            EXPECT_TRUE(disturbed.apply(gradient, 0.1).applied);
            EXPECT_TRUE(undisturbed.apply(same, 0.1).applied);
        }
        EXPECT_TRUE(with.flat.equal(without.flat));
        EXPECT_TRUE(disturbed.first_moment().equal(undisturbed.first_moment()));
        EXPECT_TRUE(disturbed.second_moment().equal(undisturbed.second_moment()));
    }
}

TEST(Optimizer, bf16_weights_follow_fp32_masters_through_updates_too_small_for_bf16) {
    const auto parameters = arena_of(torch::ones({8}, torch::kBFloat16));
    AdamW optimizer(parameters, options(0, 0));
    EXPECT_EQ(optimizer.masters().scalar_type(), torch::kFloat32);
    for (int step = 1; step <= 100; ++step) {
        auto gradient = torch::ones({8});
        optimizer.apply(gradient, 1e-4); // bf16 next to 1 has steps of 2^-8 below it
        if (step == 1) {
            EXPECT_EQ(largest(parameters.flat.to(torch::kFloat32) - 1), 0);
            EXPECT_NEAR(largest(optimizer.masters() - 1), 1e-4, 1e-7);
        }
    }
    EXPECT_NEAR(largest(optimizer.masters() - 1), 1e-2, 1e-5);
    EXPECT_TRUE(parameters.flat.equal(optimizer.masters().to(torch::kBFloat16)));
    EXPECT_LT(parameters.flat[0].item<float>(), 1);
}

TEST(Optimizer, masters_start_from_the_values_before_rounding_where_these_are_given) {
    const auto exact = numbers(100, 3, torch::kFloat32);
    const auto rounded = exact.to(torch::kBFloat16);
    ASSERT_FALSE(rounded.to(torch::kFloat32).equal(exact));
    AdamW given(arena_of(rounded), options(0, 0), exact), alone(arena_of(rounded), options(0, 0));
    EXPECT_TRUE(given.masters().equal(exact));
    EXPECT_TRUE(alone.masters().equal(rounded.to(torch::kFloat32)));
}

TEST(Optimizer, a_restored_optimizer_goes_on_bit_for_bit) {
    for (const auto type : {torch::kFloat32, torch::kBFloat16}) {
        const auto first = arena_of(numbers(64, 1, type)), second = arena_of(torch::zeros({64}, type));
        AdamW original(first, options(0.01, 1)), copy(second, options(0.01, 1));
        for (int step = 1; step <= 2; ++step) {
            auto gradient = numbers(64, uint64_t(step), torch::kFloat32);
            original.apply(gradient, 0.01);
        }
        copy.restore(original.masters(), original.first_moment(), original.second_moment(),
                     original.updates());
        EXPECT_TRUE(second.flat.equal(first.flat));
        auto gradient = numbers(64, 7, torch::kFloat32), same = gradient.clone();
        original.apply(gradient, 0.01);
        copy.apply(same, 0.01);
        EXPECT_TRUE(second.flat.equal(first.flat));
        EXPECT_TRUE(copy.masters().equal(original.masters()));
        EXPECT_EQ(copy.updates(), 3);
    }
}

} // namespace
} // namespace stillroom::train
