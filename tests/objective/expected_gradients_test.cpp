// SPDX-License-Identifier: GPL-3.0-or-later
// T5: the sum over all sampled tokens y of prob(y) times a row's gradient is the gradient that
// objectives.md 5.6 names.
#include "objective/json_tensors.h"
#include "objective/rows.h"
#include "tests/objective/examples.h"

#include <gtest/gtest.h>

namespace stillroom::objective {
namespace {

using nlohmann::json;

struct Models {
    torch::Tensor student, teacher, base, old; // [V] logits
};

// `sampler`: logits that y is drawn from. `old_advantage`: lp_old is the sampler's log-prob.
torch::Tensor expected_gradient(const formats::ObjectiveSection& options, const Models& models,
                                const torch::Tensor& sampler, bool old_policy) {
    const int64_t V = models.student.size(0);
    RowInputs rows;
    rows.real_vocab = V;
    rows.student_logits = models.student.unsqueeze(0).expand({V, V});
    rows.sampled = torch::arange(V);
    rows.teacher_logprob = models.teacher.log_softmax(-1);
    rows.base_logprob = models.base.log_softmax(-1);
    if (old_policy) rows.old_logprob = sampler.log_softmax(-1);
    rows.weight = torch::ones({V}, torch::kFloat64);
    rows.scale = torch::ones({V}, torch::kFloat64);
    const auto result = evaluate_rows(Spec::of(options).value(), rows);
    return (sampler.softmax(-1).unsqueeze(1) * result.gradient).sum(0);
}

torch::Tensor token_pg_gradient(const Models& models, const std::vector<int64_t>& ids) {
    auto options = test::named("topk_token_pg");
    options.ratio = "ppo_clip";
    RowInputs rows;
    rows.real_vocab = models.student.size(0);
    rows.student_logits = models.student.unsqueeze(0);
    rows.student_topk_ids = torch::tensor(ids).unsqueeze(0);
    rows.old_topk_logprob = rows.student_logits.log_softmax(-1).gather(-1, rows.student_topk_ids);
    rows.teacher_topk_logprob = models.teacher.unsqueeze(0).log_softmax(-1).gather(-1, rows.student_topk_ids);
    rows.weight = torch::ones({1}, torch::kFloat64);
    rows.scale = torch::ones({1}, torch::kFloat64);
    return evaluate_rows(Spec::of(options).value(), rows).gradient[0];
}

TEST(ExpectedGradients, are_those_of_the_divergences_that_the_estimators_stand_for) {
    const json cases = test::golden_cases("expected_gradients");
    int compared = 0;
    for (const json& golden_case : cases) {
        const auto logits = [&](const char* name) {
            return tensor_of(golden_case.at("inputs").at(name), torch::kFloat64, name);
        };
        const auto student = logits("student_logits"), teacher = logits("teacher_logits"),
                   base = logits("base_logits"), old = logits("old_logits");
        for (int64_t row = 0; row < student.size(0); ++row) {
            const Models models{student[row], teacher[row], base[row], old[row]};
            const json& expected = golden_case.at("expected").at("rows")[size_t(row)];
            const auto check = [&](const char* identity, const torch::Tensor& ours) {
                const auto golden =
                    tensor_of(expected.at("identities").at(identity).at("grad"), torch::kFloat64, identity);
                EXPECT_LE((ours - golden).abs().max().item<double>(), 1e-12)
                    << golden_case.at("name") << " row " << row << " " << identity;
                ++compared;
            };
            auto k1 = test::named("k1_pg");
            for (const char* ratio : {"none", "is", "truncated", "ppo_clip"}) {
                k1.ratio = ratio;
                check("k1_as_reward", expected_gradient(k1, models, models.student, false));
            }
            k1.ratio = "is";
            check("k1_is_ratio_old_samples_old_advantage", expected_gradient(k1, models, models.old, true));
            check("k2_as_loss", expected_gradient(test::named("k2_loss"), models, models.student, false));
            auto gopd = test::named("gopd_pg");
            gopd.lambda = 1.25;
            check("gopd_lambda1.25_as_reward", expected_gradient(gopd, models, models.student, false));
            check("sft_on_teacher_samples",
                  expected_gradient(test::named("sft"), models, models.teacher, false));
            check("sft_on_own_samples", expected_gradient(test::named("sft"), models, models.student, false));
            check("topk_token_pg_student_p",
                  token_pg_gradient(models, expected.at("student_topk_ids").get<std::vector<int64_t>>()));
        }
    }
    EXPECT_EQ(compared, 30);
}

} // namespace
} // namespace stillroom::objective
