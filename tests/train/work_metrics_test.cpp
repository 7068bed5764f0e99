// SPDX-License-Identifier: GPL-3.0-or-later
// Operations counted by hand on a small shape, and what they are of a device's best.
#include "train/work_metrics.h"

#include <gtest/gtest.h>

namespace stillroom::train {

namespace {

formats::ModelConfig shape() {
    formats::ModelConfig config;
    config.vocab = 100;
    config.hidden = 8;
    config.intermediate = 20;
    config.layers = 2;
    config.heads = 4;
    config.kv_heads = 2;
    config.head_size = 3;
    return config;
}

} // namespace

TEST(Work, counts_the_pairs_of_causal_attention_one_by_one) {
    Work work;
    work.add(3, 2);
    work.add(1, 4);
    double pairs = 0;
    for (int sequence = 0; sequence < 2; ++sequence)
        for (int query = 0; query < 5; ++query)
            for (int key = 0; key <= query; ++key) pairs += 1;
    EXPECT_EQ(work.pairs, pairs);
    EXPECT_EQ(work.tokens, 10);
    EXPECT_EQ(work.head_rows, 6);
}

TEST(Work, flops_are_those_of_each_product) {
    Work work;
    work.add(3, 2);
    // Each layer multiplies with q 8x12, k and v 8x6, o 12x8, gate, up and down 8x20: a multiply and an add
    // each.
    const double linear = 2 * (8 * 12 + 8 * 6 + 8 * 6 + 12 * 8 + 3 * 8 * 20);
    // Each of 4 heads of 3: query times key, and weight times value.
    const double attention = 2 * 4 * (2 * 3 + 2 * 3);
    const double head = 2 * 8 * 100;
    EXPECT_DOUBLE_EQ(forward_flops(shape(), work), 2 * linear * 5 + attention * 15 + head * 2);
}

TEST(Work, shares_are_of_the_device_s_best_and_absent_without_time) {
    const kernels::DevicePeaks peaks{1e6, 1e3};
    record::Metrics metrics;
    add_mfu(metrics, "mfu_learn", 5e5, 2, peaks);
    EXPECT_DOUBLE_EQ(metrics.at("mfu_learn"), 0.25);
    add_mfu(metrics, "mfu_teacher", 5e5, 0, peaks);
    EXPECT_FALSE(metrics.contains("mfu_teacher"));
    rollout::GenerationReport generation;
    generation.decode_steps = 10;
    generation.kv_bytes_read = 200;
    add_mbu(metrics, generation, 30, 2, peaks);
    EXPECT_DOUBLE_EQ(metrics.at("mbu_rollout"), 0.25);
}

TEST(DevicePeaks, are_known_by_type_and_for_listed_devices_only) {
    const auto bf16 = kernels::device_peaks("NVIDIA H200", torch::kBFloat16),
               fp32 = kernels::device_peaks("NVIDIA H200", torch::kFloat32);
    ASSERT_TRUE(bf16 && fp32);
    EXPECT_GT(bf16->flops, 10 * fp32->flops);
    EXPECT_EQ(bf16->bandwidth, 4.8e12);
    EXPECT_FALSE(kernels::device_peaks("NVIDIA H200", torch::kFloat64));
    EXPECT_FALSE(kernels::device_peaks("Another", torch::kFloat32));
}

} // namespace stillroom::train
