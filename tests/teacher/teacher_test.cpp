// SPDX-License-Identifier: GPL-3.0-or-later
// Kinds of teachers: whose weights score, and how an average follows the student
// (golden/objectives/ema.json).
#include "teacher/teacher.h"

#include "tests/support/golden.h"

#include <cmath>
#include <gtest/gtest.h>

namespace stillroom::teacher {
namespace {

model::Model model_of(const torch::Tensor& weights) {
    model::Model model;
    auto layout = std::make_shared<model::ParameterLayout>();
    layout->size = weights.numel();
    model.weights = {layout, weights.clone()};
    return model;
}

TEST(EmaTeacher, follows_the_golden_sequence) {
    const auto golden = test::read_json(test::golden("objectives/ema.json"));
    int cases = 0;
    for (const auto& one : golden.at("cases")) {
        const double start = one.at("params").at("theta_initial");
        const auto student = model_of(torch::full({3}, start, torch::kFloat32));
        auto teacher = Teacher::self_ema(student, one.at("params").at("rho"), student.weights.flat);
        const auto& thetas = one.at("inputs").at("theta_after_step");
        for (size_t step = 0; step < thetas.size(); ++step) {
            const double used = one.at("expected").at("theta_E_used_by_step")[step];
            EXPECT_NEAR(teacher.weights().weights.flat[0].item<double>(), used, 1e-6);
            const auto theta = torch::full({3}, thetas[step].get<double>(), torch::kFloat32);
            teacher.after_update(theta);
            const double expected = one.at("expected").at("theta_E_after_step")[step];
            EXPECT_NEAR(teacher.average()[2].item<double>(), expected, 1e-6); // fp32
            EXPECT_NEAR(teacher.weights().weights.flat[1].item<double>(), expected, 1e-6);
            const double distance =
                std::abs(thetas[step].get<double>() - expected) / std::abs(thetas[step].get<double>());
            EXPECT_NEAR(teacher.ema_distance(theta), distance, 1e-6);
        }
        ++cases;
    }
    EXPECT_GE(cases, 1);
}

TEST(EmaTeacher, keeps_an_fp32_average_for_a_bf16_student) {
    const auto exact = torch::full({4}, 1.001f); // between 1 and bf16's next number
    const auto student = model_of(exact.to(torch::kBFloat16));
    auto teacher = Teacher::self_ema(student, 0.999, exact);
    EXPECT_TRUE(teacher.average().equal(exact));
    EXPECT_EQ(teacher.weights().dtype(), torch::kBFloat16);
    for (int i = 0; i < 100; ++i) teacher.after_update(torch::full({4}, 2.0f));
    const double expected = 2 - 0.999 * std::pow(0.999, 100);
    EXPECT_NEAR(teacher.average()[0].item<double>(), expected, 1e-5); // bf16 would have stayed where it was
    EXPECT_TRUE(teacher.weights().weights.flat.equal(teacher.average().to(torch::kBFloat16)));
}

TEST(EmaTeacher, never_touches_the_student_or_its_masters) {
    const auto start = torch::ones({4});
    const auto student = model_of(start);
    auto teacher = Teacher::self_ema(student, 0.5, student.weights.flat);
    teacher.after_update(torch::full({4}, 3.0f));
    EXPECT_TRUE(student.weights.flat.equal(start));
    EXPECT_EQ(teacher.average()[0].item<float>(), 2);
}

TEST(EmaTeacher, restores_an_average_for_scoring_too) {
    const auto student = model_of(torch::ones({4}));
    auto teacher = Teacher::self_ema(student, 0.5, student.weights.flat);
    teacher.restore_average(torch::full({4}, 7.0f));
    EXPECT_EQ(teacher.weights().weights.flat[3].item<float>(), 7);
    teacher.after_update(torch::full({4}, 1.0f));
    EXPECT_EQ(teacher.average()[0].item<float>(), 4);
}

TEST(FrozenTeacher, is_a_copy_and_a_live_one_is_the_student_itself) {
    const auto student = model_of(torch::ones({4}));
    const auto frozen = Teacher::self_frozen(student), live = Teacher::self_live(student);
    torch::Tensor moved = student.weights.flat;
    moved.fill_(2);
    EXPECT_EQ(frozen.weights().weights.flat[0].item<float>(), 1);
    EXPECT_EQ(live.weights().weights.flat[0].item<float>(), 2);
    EXPECT_TRUE(std::isnan(frozen.ema_distance(moved)));
}

TEST(FrozenTeacher, of_an_adapted_student_is_its_base_without_a_copy) {
    auto student = model_of(torch::ones({4}));
    student.lora = model::LoraShape{2, 4, {"q"}};
    student.adapters = model_of(torch::full({2}, 5.0f)).weights;
    const auto frozen = Teacher::self_frozen(student);
    EXPECT_FALSE(frozen.weights().lora);
    EXPECT_EQ(frozen.weights().weights.flat.data_ptr(), student.weights.flat.data_ptr());
}

TEST(Kind, names_are_read_back_and_unknown_ones_refused) {
    for (const Kind kind : {Kind::None, Kind::Separate, Kind::SelfFrozen, Kind::SelfEma, Kind::SelfLive})
        EXPECT_EQ(parse_kind(to_string(kind)).value(), kind);
    const auto unknown = parse_kind("self_dead");
    ASSERT_FALSE(unknown);
    EXPECT_NE(unknown.error().message().find("self_dead"), std::string::npos);
}

} // namespace
} // namespace stillroom::teacher
