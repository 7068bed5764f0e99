// SPDX-License-Identifier: GPL-3.0-or-later
// Learning rates by the formulas of recipes.md: constant, linear decay over the run, cosine, each after a
// linear warm-up.
#include "train/schedule.h"

#include <cmath>
#include <gtest/gtest.h>

namespace stillroom::train {
namespace {

formats::OptimizerSection schedule(const std::string& name, double lr, int64_t warmup = 0,
                                   double min_lr = 0) {
    formats::OptimizerSection section;
    section.schedule = name;
    section.lr = lr;
    section.warmup = warmup;
    section.min_lr = min_lr;
    return section;
}

TEST(Schedule, constant_never_changes) {
    for (const int64_t step : {1, 2, 50, 100}) {
        EXPECT_EQ(learning_rate(schedule("constant", 3e-6), step, 100), 3e-6);
    }
}

TEST(Schedule, linear_falls_by_the_same_amount_each_step_and_would_reach_zero_after_the_last) {
    const auto linear = schedule("linear", 5e-6); // the OPSD recipe: 100 steps
    for (int64_t step = 1; step <= 100; ++step) {
        EXPECT_NEAR(learning_rate(linear, step, 100), 5e-6 * double(101 - step) / 100, 1e-18);
    }
    EXPECT_EQ(learning_rate(linear, 1, 1), 5e-6);
}

TEST(Schedule, linear_ends_at_min_lr) {
    const auto linear = schedule("linear", 1e-3, 0, 1e-4);
    EXPECT_NEAR(learning_rate(linear, 6, 10), 0.5 * (1e-3 + 1e-4), 1e-15);
    EXPECT_NEAR(learning_rate(linear, 11, 10), 1e-4, 1e-15);
    EXPECT_NEAR(learning_rate(linear, 50, 10), 1e-4, 1e-15);
}

TEST(Schedule, cosine_is_half_way_in_the_middle_and_flat_at_both_ends) {
    const auto cosine = schedule("cosine", 2e-5, 0, 2e-6);
    EXPECT_EQ(learning_rate(cosine, 1, 100), 2e-5);
    EXPECT_NEAR(learning_rate(cosine, 51, 100), 1.1e-5, 1e-17);
    EXPECT_NEAR(learning_rate(cosine, 101, 100), 2e-6, 1e-17);
    // One quarter: (1 + cos 45 degrees) / 2 of the way.
    EXPECT_NEAR(learning_rate(cosine, 26, 100), 2e-6 + 1.8e-5 * (2 + std::sqrt(2.0)) / 4, 1e-17);
}

TEST(Schedule, warm_up_rises_linearly_to_the_full_rate_and_the_rest_spans_what_is_left) {
    for (const char* name : {"constant", "linear", "cosine"}) {
        const auto warm = schedule(name, 2e-5, 10);
        for (int64_t step = 1; step <= 10; ++step) {
            EXPECT_NEAR(learning_rate(warm, step, 110), 2e-5 * double(step) / 10, 1e-18);
        }
        EXPECT_NEAR(learning_rate(warm, 11, 110), 2e-5, 1e-18) << name;
    }
    EXPECT_NEAR(learning_rate(schedule("linear", 2e-5, 10), 61, 110), 1e-5, 1e-18);
    EXPECT_NEAR(learning_rate(schedule("cosine", 2e-5, 10), 61, 110), 1e-5, 1e-18);
    EXPECT_EQ(learning_rate(schedule("constant", 2e-5, 10), 110, 110), 2e-5);
}

TEST(Schedule, a_warm_up_as_long_as_the_run_never_falls) {
    EXPECT_NEAR(learning_rate(schedule("linear", 1e-4, 5), 5, 5), 1e-4, 1e-18);
}

} // namespace
} // namespace stillroom::train
