// SPDX-License-Identifier: GPL-3.0-or-later
// Records with values that a test can predict, and a store to put them in.
#pragma once

#include "record/queries.h"
#include "record/store.h"
#include "tests/support/golden.h"

#include <gtest/gtest.h>

namespace stillroom::record {

inline StepRecord example_step(int64_t step) {
    return {step,
            10.0 * double(step),
            9.0 * double(step),
            100 * step,
            {{"loss", 1.0 / double(step)}, {"lr", 1e-6}},
            {{"rollout", 3.5}, {"learn", 5.25}}};
}

/// All values are exact in 16-bit floats.
inline RolloutRecord example_rollout(int64_t step, int64_t sample, size_t length) {
    RolloutRecord rollout;
    rollout.step = step;
    rollout.prompt_id = "train-" + std::to_string(step);
    rollout.prompt = 7;
    rollout.sample = sample;
    rollout.problem = "How much is 1 + 1?";
    rollout.gold = "2";
    rollout.prompt_ids = {1, 2, 151643};
    rollout.teacher_prompt_ids = {1, 2, 3, 4};
    rollout.text = "It is 2.";
    rollout.finish_reason = "eos";
    rollout.verdict = "equal";
    rollout.why = "equal as integers";
    rollout.extracted = "2";
    rollout.format_ok = true;
    for (size_t i = 0; i < length; ++i) {
        const float x = float(i % 64);
        rollout.tokens.ids.push_back(int32_t(100'000 + i));
        rollout.tokens.student_logprob.push_back(-0.25f * x);
        rollout.tokens.teacher_logprob.push_back(-0.5f * x);
        rollout.tokens.student_entropy.push_back(0.125f * x);
        rollout.tokens.teacher_entropy.push_back(0.0625f * x);
        rollout.tokens.kl.push_back(x / 32);
        rollout.tokens.clipped.push_back(x / 64);
        rollout.tokens.overlap.push_back(uint8_t(i % 17));
        rollout.tokens.flags.push_back(i + 1 == length ? 2 : 0);
    }
    return rollout;
}

inline Top16Record example_top16(size_t length) {
    Top16Record top16;
    for (size_t i = 0; i < 16 * length; ++i) {
        const float x = float(i % 128);
        top16.student_ids.push_back(int32_t(i));
        top16.teacher_ids.push_back(int32_t(i + 1));
        top16.student_ids_student.push_back(-x / 8);
        top16.student_ids_teacher.push_back(-x / 4);
        top16.teacher_ids_student.push_back(-x / 2);
        top16.teacher_ids_teacher.push_back(-x);
    }
    for (size_t i = 0; i < length; ++i) {
        top16.student_tail.push_back(-3.5f);
        top16.teacher_tail.push_back(-4.25f);
    }
    return top16;
}

/// A store in a folder of its own.
struct ExampleRun {
    test::TemporaryFolder folder;
    RunStore create() const {
        return std::move(RunStore::create(folder.path(), {"example",
                                                          "abc123",
                                                          "stillroom test",
                                                          100,
                                                          {{"run.seed", "42"}, {"optimizer.lr", "1e-06"}}}))
            .value();
    }
    RunReader read() const { return std::move(RunReader::open(folder.path())).value(); }
};

inline std::vector<int64_t> steps_of(const std::vector<SeriesPoint>& points) {
    std::vector<int64_t> steps;
    for (const SeriesPoint& point : points) steps.push_back(point.step);
    return steps;
}

} // namespace stillroom::record
