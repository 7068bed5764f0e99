// SPDX-License-Identifier: GPL-3.0-or-later
// The golden vectors of golden/objectives that hold single rows, in fp64 and fp32, through the code that
// trains.
#include "objective/case.h"
#include "objective/json_tensors.h"
#include "tests/objective/examples.h"

#include <cmath>
#include <gtest/gtest.h>

namespace stillroom::objective {
namespace {

using nlohmann::json;

double number(const json& value) {
    return tensor_of(json::array({value}), torch::kFloat64, "value").item<double>();
}

// |ours - golden| <= tolerance max(1, |golden|) at each place, infinities equal; null and booleans the same.
void near(const json& ours, const json& golden, double tolerance, const std::string& what) {
    if (golden.is_array()) {
        ASSERT_TRUE(ours.is_array()) << what << ": " << ours.dump();
        ASSERT_EQ(ours.size(), golden.size()) << what;
        for (size_t i = 0; i < golden.size(); ++i)
            near(ours[i], golden[i], tolerance, what + "[" + std::to_string(i) + "]");
        return;
    }
    if (golden.is_null() || golden.is_boolean()) {
        EXPECT_EQ(ours, golden) << what;
        return;
    }
    ASSERT_FALSE(ours.is_null()) << what << " is null, expected " << golden.dump();
    const double a = number(ours), b = number(golden);
    if (std::isfinite(b)) {
        EXPECT_NEAR(a, b, tolerance * std::max(1.0, std::abs(b))) << what;
    } else {
        EXPECT_EQ(a, b) << what;
    }
}

// What README.md there allows for statistics: counts exact, the two directions of the gradient 1e-4 in fp32.
void compare_statistics(const json& ours, const json& golden, Precision precision, double tolerance,
                        const std::string& name) {
    for (const auto& [key, value] : golden.items()) {
        ASSERT_TRUE(ours.contains(key)) << name << " has no " << key;
        double allowed = tolerance;
        if (precision == Precision::Fp32 && key.starts_with("clip_grad_")) {
            if (value.is_null()) continue;
            if (key == "clip_grad_cosine" && number(golden.at("clip_grad_norm_ratio")) < 1e-5) continue;
            allowed = 1e-4;
        }
        // A quotient of two sums, of which the lower one can be small.
        if (precision == Precision::Fp32 && key == "clip_removed_fraction") allowed = 1e-4;
        const bool count = key == "clip_fraction_entry" || key == "clip_fraction_token" ||
                           key == "clip_entries_per_token" || key == "negative_token_fraction" ||
                           key == "pg_clip_fraction" || key == "pg_dual_clip_fraction";
        near(ours.at(key), value, count ? 1e-15 : allowed, name + " " + key);
    }
}

void compare(const json& golden_case, Precision precision) {
    const json& expected = golden_case.at("expected");
    const std::string name =
        golden_case.at("name").get<std::string>() + (precision == Precision::Fp32 ? " fp32" : " fp64");
    const auto answer = evaluate_case(golden_case, precision);
    ASSERT_TRUE(answer) << name << ": " << answer.error().message();
    const double tolerance = precision == Precision::Fp32 ? 1e-5 : 1e-12;
    near(answer->at("row"), expected.at("row"), tolerance, name + " row");
    if (expected.contains("defined")) {
        near(answer->at("defined"), expected.at("defined"), 0, name + " defined");
        EXPECT_FALSE(answer->contains("loss")) << name;
        return;
    }
    ASSERT_TRUE(answer->contains("loss")) << name << ": undefined where it should not be";
    const auto N = expected.at("row").size();
    double loss_tolerance = 0;
    for (size_t i = 0; i < N; ++i) {
        const double s = std::max(1.0, std::abs(number(expected.at("row")[i])));
        const double share = number(golden_case.at("weights")[i]) / number(golden_case.at("n_global"));
        loss_tolerance += tolerance * s * share;
        const auto ours = tensor_of(answer->at("grad")[i], torch::kFloat64, "grad");
        const auto golden = tensor_of(expected.at("grad")[i], torch::kFloat64, "grad");
        EXPECT_LE((ours - golden).abs().max().item<double>(), tolerance * s * std::max(1.0, share))
            << name << " grad " << i;
        if (golden_case.at("mask")[i] == 0) {
            EXPECT_EQ(ours.abs().max().item<double>(), 0) << name << " masked row " << i;
        }
        const int64_t real = golden_case.at("shapes").at("V_real");
        EXPECT_EQ(ours.slice(0, real).abs().sum().item<double>(), 0) << name << " padding of row " << i;
    }
    EXPECT_NEAR(number(answer->at("loss")), number(expected.at("loss")), std::max(loss_tolerance, tolerance))
        << name;
    if (expected.contains("stats"))
        compare_statistics(answer->at("stats"), expected.at("stats"), precision, tolerance, name);
    for (const char* estimator : {"k1", "k2", "k3"}) {
        if (expected.contains(estimator))
            near(answer->at(estimator), expected.at(estimator), tolerance, name + " " + estimator);
    }
}

class GoldenFile : public testing::TestWithParam<std::pair<const char*, int>> {};

TEST_P(GoldenFile, every_case_agrees_in_both_precisions) {
    int compared = 0;
    for (json golden_case : test::golden_cases(GetParam().first)) {
        if (golden_case.at("params").value("refused_by_default", false)) {
            EXPECT_FALSE(evaluate_case(golden_case)) << golden_case.at("name") << " must be refused";
            golden_case["params"]["allow_unnormalised"] = true;
        }
        for (const Precision precision : {Precision::Fp64, Precision::Fp32}) compare(golden_case, precision);
        ++compared;
    }
    EXPECT_EQ(compared, GetParam().second);
}

INSTANTIATE_TEST_SUITE_P(All, GoldenFile,
                         testing::Values(std::pair("exact_divergences", 50), std::pair("topk_targets", 51),
                                         std::pair("clamps", 23), std::pair("sampled_estimators", 22),
                                         std::pair("sft", 4)),
                         [](const auto& info) { return info.param.first; });

TEST(Case, names_the_field_that_is_wrong) {
    const json good{
        {"params", {{"objective", "kl_reverse"}}},
        {"inputs", {{"student_logits", {{0.0, 1.0, 2.0}}}, {"teacher_logits", {{1.0, 0.0, 2.0}}}}}};
    ASSERT_TRUE(evaluate_case(good));
    const auto fault = [&](const char* place, const json& value) {
        json bad = good;
        bad[json::json_pointer(place)] = value;
        const auto answer = evaluate_case(bad);
        return answer ? "none" : answer.error().message();
    };
    EXPECT_EQ(fault("/params/objective", "kl_revers"),
              "objective.name: unknown objective \"kl_revers\", nearest is \"kl_reverse\"");
    EXPECT_EQ(fault("/params/tau", 1), "params: unknown key \"tau\"");
    EXPECT_EQ(fault("/params/T_S", "1"), "params.T_S: expected a number, found \"1\"");
    EXPECT_EQ(fault("/inputs/teacher_logits", nullptr),
              "inputs.teacher_logits: missing, kl_reverse reads it");
    EXPECT_EQ(fault("/inputs/student_logits/0/1", nullptr),
              "inputs.student_logits: expected a number, found null");
    EXPECT_EQ(fault("/inputs/teacher_logits", {{1.0, 2.0}}),
              "inputs.teacher_logits: fewer than V_real = 3 logits");
    EXPECT_EQ(fault("/inputs/y", {3}), "inputs.y: an id outside 0..2");
    EXPECT_EQ(fault("/shapes/V_real", 4), "shapes.V_real: V_real 4 of 3 logits");
    EXPECT_EQ(fault("/mask", {0}), "n_global: no row counts: the step is skipped");
    EXPECT_EQ(fault("/mask", {1, 1}), "mask: expected 1 numbers");
}

TEST(Case, refuses_records_that_are_no_distribution) {
    json item{{"params", {{"objective", "topk_uniform_tail"}}},
              {"inputs",
               {{"student_logits", {{0.0, 1.0, 2.0, 0.0}}},
                {"topk_ids", {{2, 1}}},
                {"topk_logprobs", {{-0.5, -1.5}}}}}};
    const double tail = std::log(1 - std::exp(-0.5) - std::exp(-1.5));
    item["inputs"]["log_tail_mass"] = {tail};
    ASSERT_TRUE(evaluate_case(item)) << evaluate_case(item).error().message();
    json off = item;
    off["inputs"]["log_tail_mass"] = {tail + 0.02};
    EXPECT_NE(evaluate_case(off).error().message().find("do not sum to 1"), std::string::npos);
    json twice = item;
    twice["inputs"]["topk_ids"] = {{2, 2}};
    EXPECT_NE(evaluate_case(twice).error().message().find("an id twice"), std::string::npos);
    json outside = item;
    outside["inputs"]["topk_ids"] = {{2, 4}};
    EXPECT_NE(evaluate_case(outside).error().message().find("an id outside 0..3"), std::string::npos);
    json floor = item;
    floor["params"]["tau_min"] = 0.5;
    EXPECT_NE(evaluate_case(floor).error().message().find("leaves the others nothing"), std::string::npos);
}

} // namespace
} // namespace stillroom::objective
