// SPDX-License-Identifier: GPL-3.0-or-later
#include "data/order.h"

#include "base/ensure.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>

namespace stillroom::data {

namespace {
std::vector<int64_t> counted(int64_t size) {
    std::vector<int64_t> all(static_cast<size_t>(size));
    std::iota(all.begin(), all.end(), 0);
    return all;
}
} // namespace

TEST(Order, every_epoch_holds_each_example_once_and_is_another_order) {
    PromptOrder order(100, 42, true);
    std::vector<std::vector<int64_t>> epochs;
    for (int epoch = 0; epoch < 3; ++epoch) {
        epochs.push_back(order.next(100));
        auto sorted = epochs.back();
        EXPECT_NE(sorted, counted(100)); // chance: 1 in 100!
        std::sort(sorted.begin(), sorted.end());
        EXPECT_EQ(sorted, counted(100));
    }
    EXPECT_NE(epochs[0], epochs[1]);
    EXPECT_NE(epochs[1], epochs[2]);
}

TEST(Order, the_seed_alone_decides_it) {
    EXPECT_EQ(PromptOrder(50, 7, true).next(120), PromptOrder(50, 7, true).next(120));
    EXPECT_NE(PromptOrder(50, 7, true).next(50), PromptOrder(50, 8, true).next(50));
    // the upper half of the seed counts too
    EXPECT_NE(PromptOrder(50, 7, true).next(50), PromptOrder(50, 7 + (1ull << 40), true).next(50));
}

TEST(Order, file_order_goes_round) {
    PromptOrder order(3, 42, false);
    EXPECT_EQ(order.next(7), (std::vector<int64_t>{0, 1, 2, 0, 1, 2, 0}));
    EXPECT_EQ(order.cursor(), (OrderCursor{2, 1}));
}

TEST(Order, a_restored_cursor_goes_on_where_it_was_saved) {
    for (const bool shuffled : {true, false}) {
        for (const int64_t taken : {0, 1, 9, 10, 11, 25, 40}) {
            PromptOrder order(10, 3, shuffled);
            order.next(taken);
            PromptOrder resumed(10, 3, shuffled);
            resumed.set_cursor(order.cursor());
            EXPECT_EQ(resumed.next(30), order.next(30)) << taken;
            EXPECT_EQ(resumed.cursor(), order.cursor());
        }
    }
}

TEST(Order, going_back_to_an_earlier_epoch_repeats_it) {
    PromptOrder order(10, 3, true);
    const auto first = order.next(10);
    order.next(15);
    order.set_cursor({0, 0});
    EXPECT_EQ(order.next(10), first);
}

TEST(Order, each_example_comes_first_about_equally_often) {
    // 6,000 epochs of 6: chi-square with 5 degrees of freedom, fixed seed; 20.5 is passed with probability
    // 0.001.
    std::vector<double> first(6);
    PromptOrder order(6, 1, true);
    for (int epoch = 0; epoch < 6000; ++epoch) ++first[size_t(order.next(6).front())];
    double chi_square = 0;
    for (const double count : first) chi_square += (count - 1000) * (count - 1000) / 1000;
    EXPECT_LT(chi_square, 20.5);
}

TEST(Order, one_example_is_enough_and_none_is_a_fault) {
    EXPECT_EQ(PromptOrder(1, 1, true).next(3), (std::vector<int64_t>{0, 0, 0}));
    EXPECT_THROW(PromptOrder(0, 1, true), BrokenInvariant);
    PromptOrder order(3, 1, false);
    EXPECT_THROW(order.set_cursor({0, 4}), BrokenInvariant);
}

} // namespace stillroom::data
