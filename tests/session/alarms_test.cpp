// SPDX-License-Identifier: GPL-3.0-or-later
// Each rule of ui.md 3.6 at both sides of its limit, and how an alarm begins, goes on and becomes past.
#include "session/alarms.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace stillroom::session {

namespace {

/// A healthy step.
record::StepRecord step(int64_t number) {
    record::StepRecord step;
    step.step = number;
    step.metrics = {{"truncated_fraction", 0.1},  {"repetition_rate", 0.0},
                    {"entropy_student", 1.0},     {"student_mass_top16", 0.9},
                    {"entropy_teacher", 1.2},     {"gap_abs_mean", 0.2},
                    {"mismatch_logp_mean", 1e-6}, {"mismatch_logp_max", 1e-5},
                    {"leak_rate", 0.0},           {"grad_norm", 0.5},
                    {"time_step", 2.0},           {"recorder_dropped", 0},
                    {"disk_free", 1e12},          {"clip_removed_fraction", 0.1}};
    return step;
}

/// The alarms of `count` healthy steps followed by `bad` ones with one metric changed.
std::vector<record::AlarmRecord> after(const std::string& metric, double value, int64_t bad,
                                       int64_t count = 6) {
    Alarms alarms(1000);
    std::vector<record::AlarmRecord> last;
    for (int64_t i = 1; i <= count; ++i) {
        last = alarms.after_step(step(i));
        EXPECT_TRUE(last.empty()) << last[0].name;
    }
    for (int64_t i = 1; i <= bad; ++i) {
        auto wrong = step(count + i);
        wrong.metrics[metric] = value;
        last = alarms.after_step(wrong);
    }
    return last;
}

bool raised(const std::vector<record::AlarmRecord>& alarms, const std::string& name,
            const std::string& level) {
    return std::any_of(alarms.begin(), alarms.end(), [&](const auto& alarm) {
        return alarm.name == name && alarm.level == level && alarm.active && !alarm.evidence.empty();
    });
}

} // namespace

TEST(Alarms, each_rule_fires_beyond_its_limit_and_not_within) {
    const struct {
        const char *metric, *name, *level;
        double beyond, within;
        int64_t steps;
    } rules[] = {
        {"truncated_fraction", "Truncation", "warning", 0.26, 0.25, 5},
        {"truncated_fraction", "Truncation", "severe", 0.61, 0.25, 5},
        {"repetition_rate", "Repetition", "warning", 0.11, 0.1, 1},
        {"entropy_student", "Entropy falls", "warning", 0.49, 0.51, 1},
        {"entropy_student", "Entropy rises", "warning", 1.61, 1.59, 1},
        {"student_mass_top16", "Mass leak", "warning", 0.879, 0.881, 1},
        {"clip_removed_fraction", "Clamp dominates", "warning", 0.51, 0.49, 1},
        {"entropy_teacher", "Uniform teacher", "severe", 0.81 * std::log(1000.0), 0.79 * std::log(1000.0), 1},
        {"gap_abs_mean", "No learning signal", "info", 9e-4, 1.1e-3, 3},
        {"mismatch_logp_mean", "Sampler-trainer mismatch", "warning", 0.021, 0.019, 1},
        {"mismatch_logp_max", "Sampler-trainer mismatch", "warning", 1.1, 0.9, 1},
        {"leak_rate", "Leak phrases", "warning", 0.011, 0.009, 1},
        {"grad_norm", "Gradient", "warning", 5.1, 4.9, 1},
        {"grad_norm", "Gradient", "severe", std::numeric_limits<double>::infinity(), 4.9, 1},
        {"time_step", "Slow step", "info", 4.1, 3.9, 1},
        {"recorder_dropped", "Recording", "severe", 1, 0, 1},
        {"checkpoint_bytes", "Disk", "warning", 5e11, 4e11, 1},
    };
    for (const auto& rule : rules) {
        EXPECT_TRUE(raised(after(rule.metric, rule.beyond, rule.steps), rule.name, rule.level))
            << rule.metric << " " << rule.beyond;
        EXPECT_TRUE(after(rule.metric, rule.within, rule.steps).empty()) << rule.metric << " " << rule.within;
        if (rule.steps > 1) {
            EXPECT_TRUE(after(rule.metric, rule.beyond, rule.steps - 1).empty())
                << rule.metric << " too early";
        }
    }
}

TEST(Alarms, an_alarm_goes_on_until_ten_steps_without_its_condition) {
    Alarms alarms(1000);
    for (int64_t i = 1; i <= 6; ++i) (void)alarms.after_step(step(i));
    for (int64_t i = 7; i <= 9; ++i) {
        auto wrong = step(i);
        wrong.metrics["repetition_rate"] = 0.5;
        const auto now = alarms.after_step(wrong);
        ASSERT_EQ(now.size(), 1u);
        EXPECT_EQ(now[0].first_step, 7);
        EXPECT_EQ(now[0].last_step, i);
        EXPECT_EQ(now[0].count, i - 6);
    }
    for (int64_t i = 10; i <= 18; ++i) EXPECT_TRUE(alarms.after_step(step(i)).empty()) << i;
    const auto past = alarms.after_step(step(19));
    ASSERT_EQ(past.size(), 1u);
    EXPECT_FALSE(past[0].active);
    EXPECT_EQ(past[0].last_step, 9);
    // The next time it is a new alarm.
    auto wrong = step(20);
    wrong.metrics["repetition_rate"] = 0.5;
    EXPECT_EQ(alarms.after_step(wrong).at(0).first_step, 20);
}

TEST(Alarms, metrics_that_a_run_does_not_compute_raise_nothing) {
    Alarms alarms(1000);
    for (int64_t i = 1; i <= 30; ++i) {
        record::StepRecord bare;
        bare.step = i;
        bare.metrics["loss"] = 1;
        EXPECT_TRUE(alarms.after_step(bare).empty());
    }
}

TEST(Alarms, a_teacher_that_moves_between_steps_is_said_at_once) {
    Alarms alarms(1000);
    const auto with = [&](int64_t number, double nll) {
        auto known = step(number);
        known.metrics["golden_nll_teacher"] = nll;
        return alarms.after_step(known);
    };
    EXPECT_FALSE(raised(with(1, 3.00), "Uniform teacher", "severe"));
    EXPECT_FALSE(raised(with(2, 3.04), "Uniform teacher", "severe"));
    EXPECT_TRUE(raised(with(3, 3.10), "Uniform teacher", "severe"));
}

} // namespace stillroom::session
