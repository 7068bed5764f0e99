// SPDX-License-Identifier: GPL-3.0-or-later
// How fast a store is written and read; prints figures and judges nothing. By hand:
//   test_record --gtest_also_run_disabled_tests --gtest_filter='*Speed*'
#include "tests/record/examples.h"

#include <chrono>
#include <cstdio>

namespace stillroom::record {
namespace {

double seconds_of(const auto& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST(DISABLED_Speed, of_metrics_token_records_and_a_series) {
    const ExampleRun run;
    RunStore store = run.create();
    constexpr int64_t steps = 25'000, tags = 40;
    const double metrics = seconds_of([&] {
        std::vector<Record> batch;
        for (int64_t step = 1; step <= steps; ++step) {
            StepRecord record = example_step(step);
            for (int64_t tag = 0; tag < tags; ++tag)
                record.metrics["metric_number_" + std::to_string(tag)] = 0.1 * double(tag);
            batch.push_back(std::move(record));
            if (batch.size() == 100) {
                ASSERT_TRUE(store.append(batch));
                batch.clear();
            }
        }
    });
    std::printf("metric rows written: %.0f a second\n", double(steps * (tags + 4)) / metrics);
    constexpr int64_t rollouts = 2000;
    const RolloutRecord rollout = example_rollout(1, 0, 65'536 / 20);
    const double tokens = seconds_of([&] {
        for (int64_t i = 0; i < rollouts; i += 50)
            ASSERT_TRUE(store.append(std::vector<Record>(50, rollout)));
    });
    std::printf("token records of 64 KiB written: %.0f a second\n", double(rollouts) / tokens);
    const RunReader reader = run.read();
    size_t points = 0;
    const double series = seconds_of([&] { points = reader.series("loss").value().size(); });
    std::printf("series of %zu points read: %.1f ms\n", points, 1e3 * series);
    const double list = seconds_of([&] { (void)reader.metrics().value(); });
    std::printf("list of metrics over %lld rows: %.0f ms\n", static_cast<long long>(steps * (tags + 4)),
                1e3 * list);
    const double one = seconds_of([&] { (void)reader.rollout(rollouts / 2).value(); });
    std::printf("one rollout of 64 KiB read: %.2f ms\n", 1e3 * one);
}

} // namespace
} // namespace stillroom::record
