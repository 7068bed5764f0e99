// SPDX-License-Identifier: GPL-3.0-or-later
// What is refused before a run (objectives.md 13), and records that do not belong to the objective.
#include "tests/objective/examples.h"

#include <gtest/gtest.h>

namespace stillroom::objective {
namespace {

using formats::ObjectiveSection;

std::string refusal(const std::function<void(ObjectiveSection&)>& change) {
    ObjectiveSection options;
    change(options);
    const auto spec = Spec::of(options);
    return spec ? "" : spec.error().message();
}

TEST(Spec, every_id_is_known_by_its_name) {
    const char* names[] = {"kl_reverse",
                           "kl_forward",
                           "jsd",
                           "topk_uniform_tail",
                           "topk_tail_bucket",
                           "topk_renorm",
                           "topk_unnorm_forward",
                           "topk_unnorm_reverse",
                           "topk_const_tail",
                           "k1_pg",
                           "k2_loss",
                           "topk_token_pg",
                           "gopd_pg",
                           "sft"};
    for (const char* name : names) EXPECT_EQ(to_string(Spec::of(test::named(name)).value().kind), name);
}

TEST(Spec, estimators_that_stand_for_another_divergence_are_not_offered) {
    for (const char* name : {"k1_loss", "k3_loss", "k2_pg", "k3_pg", "kl"}) {
        EXPECT_NE(refusal([&](ObjectiveSection& o) { o.name = name; }), "") << name;
    }
}

TEST(Spec, targets_that_do_not_sum_to_one_need_the_override) {
    for (const char* name : {"topk_unnorm_forward", "topk_unnorm_reverse", "topk_const_tail"}) {
        EXPECT_NE(
            refusal([&](ObjectiveSection& o) { o.name = name; }).find("does not come to rest at the teacher"),
            std::string::npos);
        EXPECT_EQ(refusal([&](ObjectiveSection& o) { o.name = name, o.allow_unnormalised = true; }), "");
    }
}

TEST(Spec, options_that_do_not_belong_to_the_objective_are_refused) {
    const std::vector<std::function<void(ObjectiveSection&)>> faults{
        [](auto& o) {
            o.name = "topk_uniform_tail", o.clamp = {"per_entry", 0.1};
        },
        [](auto& o) {
            o.name = "k1_pg", o.clamp = {"per_token", 0.1};
        },
        [](auto& o) {
            o.clamp = {"per_entry", 0};
        },
        [](auto& o) {
            o.clamp = {"per_row", 1};
        },
        [](auto& o) { o.name = "k2_loss", o.ratio = "is"; },
        [](auto& o) { o.ratio = "ppo_clip"; },
        [](auto& o) { o.name = "k1_pg", o.ratio = "ppo"; },
        [](auto& o) { o.name = "k1_pg", o.ratio = "ppo_clip", o.dual_clip = 0.5; },
        [](auto& o) { o.name = "sft", o.t2_factor = true; },
        [](auto& o) { o.name = "sft", o.student_temperature = 1.1; },
        [](auto& o) { o.t2_factor = true, o.student_temperature = 1.1; },
        [](auto& o) { o.name = "topk_tail_bucket", o.direction = "mixed"; },
        [](auto& o) { o.name = "jsd", o.beta = 1.5; },
        [](auto& o) { o.rescale = true; },
        [](auto& o) { o.student_temperature = 0; },
        [](auto& o) { o.name = "topk_uniform_tail", o.tau_min = 0; },
        [](auto& o) { o.name = "topk_renorm", o.top_k = 0; },
        [](auto& o) { o.name = "topk_token_pg", o.token_weights = "student"; },
    };
    for (size_t i = 0; i < faults.size(); ++i) EXPECT_NE(refusal(faults[i]), "") << "fault " << i;
}

TEST(Record, of_another_temperature_is_refused) {
    auto options = test::named("topk_uniform_tail");
    options.top_k = 4;
    const auto student = test::logits(2, 20, 1), teacher = test::logits(2, 20, 2);
    auto rows = test::rows_of(student, teacher, options);
    rows.teacher = top_k_record(teacher.log_softmax(-1), 4, 1.0);
    EXPECT_NO_THROW(evaluate_rows(Spec::of(options).value(), rows));
    options.teacher_temperature = 1.1;
    EXPECT_THROW(evaluate_rows(Spec::of(options).value(), rows), ErrorException);
}

TEST(Record, keeps_the_lower_id_of_equal_logits) {
    const auto logits = torch::tensor({{1.0, 3.0, 3.0, 0.0, 1.0, 3.0}}, torch::kFloat64);
    const auto record = top_k_record(logits.log_softmax(-1), 4, 1);
    EXPECT_TRUE(record.ids.equal(torch::tensor({{1, 2, 5, 0}})));
    EXPECT_NEAR(record.log_tail.item<double>(),
                logits.log_softmax(-1)[0].index_select(0, torch::tensor({3, 4})).logsumexp(0).item<double>(),
                1e-14);
    const auto wide = test::logits(3, 5000, 9); // past the size that is sorted whole
    const auto selected = best(wide, 16);
    const auto sorted = torch::sort(wide, /*stable=*/true, -1, /*descending=*/true);
    EXPECT_TRUE(selected.second.equal(std::get<1>(sorted).narrow(1, 0, 16)));
}

} // namespace
} // namespace stillroom::objective
