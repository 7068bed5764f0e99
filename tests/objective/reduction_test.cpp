// SPDX-License-Identifier: GPL-3.0-or-later
// Reductions however a batch is split (T7), and rows that are paired by response position (T8), through the
// head pass.
#include "objective/head.h"
#include "objective/json_tensors.h"
#include "objective/reduction.h"
#include "tests/objective/examples.h"

#include <gtest/gtest.h>
#include <numeric>

namespace stillroom::objective {
namespace {

using nlohmann::json;

// Rows whose logits are given: the hidden states are the logits and the heads the identity.
HeadInputs given_logits(const torch::Tensor& student, const torch::Tensor& teacher) {
    const int64_t N = student.size(0), V = student.size(1);
    HeadInputs inputs;
    inputs.student_hidden = student;
    inputs.teacher_hidden = teacher;
    inputs.student_head = inputs.teacher_head = torch::eye(V, torch::kFloat64);
    inputs.sampled = torch::zeros({N}, torch::kInt64);
    inputs.decile = torch::zeros({N}, torch::kInt64);
    inputs.weight = torch::ones({N}, torch::kFloat64);
    inputs.scale = torch::full({N}, 1.0 / double(N), torch::kFloat64);
    inputs.real_vocab = V;
    return inputs;
}

TEST(Reduction, every_mode_gives_the_golden_loss_and_gradient_for_every_split) {
    int compared = 0;
    for (const json& golden_case : test::golden_cases("reduction")) {
        const auto lengths = golden_case.at("sequence_lengths").get<std::vector<int64_t>>();
        const auto sequence_of_row = golden_case.at("sequence_of_row").get<std::vector<int64_t>>();
        const int64_t longest = golden_case.at("params").at("max_response_length");
        const int64_t n_global = std::accumulate(lengths.begin(), lengths.end(), int64_t(0));
        const int64_t live =
            std::count_if(lengths.begin(), lengths.end(), [](int64_t length) { return length > 0; });
        const auto student = tensor_of(golden_case.at("inputs").at("student_logits"), torch::kFloat64, "z");
        const auto teacher = tensor_of(golden_case.at("inputs").at("teacher_logits"), torch::kFloat64, "zt");
        const Spec spec = Spec::of(test::named("kl_reverse")).value();
        for (const auto& [mode, expected] : golden_case.at("expected").at("modes").items()) {
            const auto by_sequence = row_scales(mode, lengths, n_global, live, longest);
            std::vector<double> scale;
            for (const int64_t b : sequence_of_row) scale.push_back(by_sequence[size_t(b)]);
            const auto row_weight = tensor_of(expected.at("row_weight"), torch::kFloat64, "row_weight");
            EXPECT_LE((torch::tensor(scale, torch::kFloat64) - row_weight).abs().max().item<double>(), 1e-15)
                << mode;
            const auto golden_gradient = tensor_of(expected.at("grad"), torch::kFloat64, "grad");
            for (const auto& [split, parts] : expected.at("splits").items()) {
                StepSums sums;
                auto gradient = torch::zeros_like(student);
                auto d_head = torch::zeros({student.size(1), student.size(1)}, torch::kFloat64);
                double loss = 0;
                for (size_t part = 0; part < parts.at("micro_batches").size(); ++part) {
                    const auto chosen = parts.at("micro_batches")[part].get<std::vector<int64_t>>();
                    std::vector<int64_t> rows;
                    for (size_t row = 0; row < sequence_of_row.size(); ++row) {
                        if (std::find(chosen.begin(), chosen.end(), sequence_of_row[row]) != chosen.end())
                            rows.push_back(int64_t(row));
                    }
                    const auto index = torch::tensor(rows, torch::kInt64);
                    auto inputs =
                        given_logits(student.index_select(0, index), teacher.index_select(0, index));
                    inputs.scale = torch::tensor(scale, torch::kFloat64).index_select(0, index);
                    const auto outputs = head_pass(spec, inputs, d_head, sums, 2);
                    EXPECT_NEAR(outputs.loss, parts.at("loss_parts")[part].get<double>(), 1e-12)
                        << mode << " " << split;
                    loss += outputs.loss;
                    gradient.index_add_(0, index, outputs.d_hidden);
                    ++compared;
                }
                const double golden_loss = expected.at("loss").get<double>();
                EXPECT_NEAR(loss, golden_loss, 1e-12) << mode << " " << split;
                EXPECT_LE(test::largest(gradient - golden_gradient), 1e-12) << mode << " " << split;
                EXPECT_LE(test::largest(d_head - golden_gradient.t().mm(student)), 1e-12)
                    << mode << " " << split;
                EXPECT_NEAR(sums.metrics(n_global).at("loss"), golden_loss, 1e-12);
                const json& wrong = golden_case.at("expected").at("wrong_mean_of_micro_batch_means");
                if (mode == "token_mean_global" && wrong.contains(split)) {
                    EXPECT_GT(std::abs(loss - wrong.at(split).get<double>()), 1e-3) << split;
                }
            }
        }
    }
    EXPECT_EQ(compared, 4 * (1 + 3 + 5 + 3));
}

TEST(Alignment, rows_paired_by_response_position_give_the_golden_values_and_other_pairings_do_not) {
    int compared = 0;
    for (const json& golden_case : test::golden_cases("alignment")) {
        const json& expected = golden_case.at("expected");
        const auto all = [&](const char* name) {
            return tensor_of(golden_case.at("inputs").at(name), torch::kFloat64, name);
        };
        const auto student = all("student_logits_all_positions"),
                   teacher = all("teacher_logits_all_positions");
        const int64_t P_S = golden_case.at("shapes").at("P_S"), P_T = golden_case.at("shapes").at("P_T"),
                      L = golden_case.at("shapes").at("L");
        const auto rows = [&](const torch::Tensor& logits, int64_t prompt) {
            return logits.narrow(0, prompt - 1, L);
        };
        auto inputs = given_logits(rows(student, P_S), rows(teacher, P_T));
        inputs.sampled =
            tensor_of(golden_case.at("inputs").at("response_ids"), torch::kInt64, "response_ids");
        StepSums sums;
        const Spec spec = Spec::of(test::named("kl_reverse")).value();
        const auto outputs = head_pass(spec, inputs, {}, sums, 1024);
        EXPECT_NEAR(outputs.loss, expected.at("loss").get<double>(), 1e-12);
        const auto golden = [&](const char* name) {
            return tensor_of(expected.at(name), torch::kFloat64, name);
        };
        EXPECT_LE(test::largest(outputs.rows.loss - golden("row")), 1e-6); // row records are fp32
        EXPECT_LE(test::largest(outputs.rows.student_logprob - golden("logp_student_of_response")), 1e-6);
        EXPECT_LE(test::largest(outputs.rows.teacher_logprob - golden("logp_teacher_of_response")), 1e-6);
        for (const char* wrong : {"wrong_teacher_shifted_by_one", "wrong_absolute_position"}) {
            EXPECT_GT(std::abs(outputs.loss - golden(wrong).mean().item<double>()), 1e-3)
                << golden_case.at("name") << " " << wrong;
            ++compared;
        }
    }
    EXPECT_EQ(compared, 6);
}

TEST(Reduction, a_sequence_without_rows_has_no_share) {
    const std::vector<int64_t> lengths{3, 0, 1};
    EXPECT_EQ(row_scales("seq_mean_token_mean", lengths, 4, 2, 8), (std::vector<double>{1.0 / 6, 0, 0.5}));
}

} // namespace
} // namespace stillroom::objective
