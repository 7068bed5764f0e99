// SPDX-License-Identifier: GPL-3.0-or-later
// Admission, sharing, parting and putting back, followed page by page without a model.
#include "base/ensure.h"
#include "rollout/schedule.h"

#include <gtest/gtest.h>
#include <set>

namespace stillroom::rollout {

namespace {

Rollout waiting(std::vector<int32_t> prompt_ids) {
    Rollout rollout;
    rollout.request.prompt_ids = std::move(prompt_ids);
    return rollout;
}

std::vector<int32_t> prompt_of(int32_t first, int64_t length) {
    std::vector<int32_t> ids;
    for (int64_t token = 0; token < length; ++token) ids.push_back(first + int32_t(token));
    return ids;
}

/// Every live row gets one token; rows whose answer has `cap` tokens leave.
void draw(Schedule& schedule, std::vector<Rollout>& rollouts, size_t cap) {
    std::vector<char> done;
    for (const auto& row : schedule.rows()) {
        rollouts[row.request].ids.push_back(7);
        done.push_back(rollouts[row.request].ids.size() >= cap);
    }
    schedule.retire(done);
}

} // namespace

TEST(PagePool, a_page_is_free_after_its_last_holder) {
    PagePool pool(3);
    const int32_t page = pool.take();
    pool.hold(page);
    EXPECT_TRUE(pool.shared(page));
    pool.drop(page);
    EXPECT_FALSE(pool.shared(page));
    EXPECT_EQ(pool.used(), 1);
    pool.drop(page);
    EXPECT_EQ(pool.used(), 0);
    EXPECT_EQ(pool.used_max(), 1);
    EXPECT_THROW(pool.drop(page), BrokenInvariant);
    EXPECT_THROW(pool.hold(page), BrokenInvariant);
    for (int i = 0; i < 3; ++i) pool.take();
    EXPECT_THROW(pool.take(), BrokenInvariant);
}

TEST(Schedule, samples_of_a_prompt_share_its_pages_and_copy_only_the_partial_one) {
    std::vector<Rollout> rollouts(4, waiting(prompt_of(0, 10))); // pages of 4: two full, one of two tokens
    PagePool pool(100);
    Schedule schedule(rollouts, 4, 4, pool);
    const Round first = schedule.next();
    ASSERT_EQ(schedule.rows().size(), 4u);
    ASSERT_EQ(first.prefills.size(), 1u);
    EXPECT_EQ(first.started_by, (std::vector<std::optional<size_t>>{0, 0, 0, 0}));
    EXPECT_EQ(pool.used(), 3);
    for (const auto& row : schedule.rows()) EXPECT_EQ(row.pages, first.prefills[0].pages);
    draw(schedule, rollouts, 9);

    const Round second = schedule.next();
    EXPECT_EQ(second.decoding, 4u);
    EXPECT_TRUE(second.prefills.empty());
    EXPECT_EQ(second.copies.size(), 3u); // the last row writes in place
    EXPECT_EQ(pool.used(), 2 + 4);
    std::set<int32_t> written;
    for (const auto& row : schedule.rows()) {
        EXPECT_EQ(row.length, 11);
        ASSERT_EQ(row.pages.size(), 3u);
        EXPECT_EQ(row.pages[0], first.prefills[0].pages[0]);
        EXPECT_EQ(row.pages[1], first.prefills[0].pages[1]);
        written.insert(row.pages[2]);
    }
    EXPECT_EQ(written.size(), 4u);
    for (const auto& copy : second.copies) EXPECT_EQ(copy.from, first.prefills[0].pages[2]);

    while (!schedule.finished()) {
        draw(schedule, rollouts, 9);
        if (!schedule.finished()) EXPECT_TRUE(schedule.next().copies.empty());
    }
    EXPECT_EQ(pool.used(), 0);
}

TEST(Schedule, a_prompt_that_fills_its_pages_is_never_copied) {
    std::vector<Rollout> rollouts(3, waiting(prompt_of(0, 8)));
    PagePool pool(100);
    Schedule schedule(rollouts, 3, 4, pool);
    schedule.next();
    draw(schedule, rollouts, 3);
    const Round second = schedule.next();
    EXPECT_TRUE(second.copies.empty());
    EXPECT_EQ(pool.used(), 2 + 3);
}

TEST(Schedule, later_samples_start_from_the_kept_prompt_without_running_it_again) {
    std::vector<Rollout> rollouts(3, waiting(prompt_of(0, 10)));
    PagePool pool(100);
    Schedule schedule(rollouts, 1, 4, pool);
    size_t prefills = 0;
    std::vector<size_t> order;
    while (!schedule.finished()) {
        const Round round = schedule.next();
        prefills += round.prefills.size();
        EXPECT_EQ(schedule.rows().size(), 1u);
        if (!round.started_by.empty()) order.push_back(schedule.rows()[0].request);
        if (order.size() == 2 && !round.started_by.empty()) EXPECT_EQ(round.started_by[0], std::nullopt);
        EXPECT_EQ(schedule.kept(0), order.size() < 3);
        draw(schedule, rollouts, 4);
    }
    EXPECT_EQ(prefills, 1u);
    EXPECT_EQ(order, (std::vector<size_t>{0, 1, 2}));
    EXPECT_EQ(pool.used(), 0);
}

TEST(Schedule, a_finished_row_is_replaced_at_once_in_the_order_of_requests) {
    std::vector<Rollout> rollouts;
    for (int32_t i = 0; i < 5; ++i) rollouts.push_back(waiting(prompt_of(100 * i, 3)));
    PagePool pool(100);
    Schedule schedule(rollouts, 2, 4, pool);
    schedule.next();
    rollouts[0].ids.push_back(1);
    rollouts[1].ids.push_back(1);
    schedule.retire({1, 0}); // request 0 ends
    const Round round = schedule.next();
    EXPECT_EQ(round.decoding, 1u);
    ASSERT_EQ(schedule.rows().size(), 2u);
    EXPECT_EQ(schedule.rows()[0].request, 1u);
    EXPECT_EQ(schedule.rows()[1].request, 2u);
}

TEST(Schedule, the_youngest_row_is_put_back_and_comes_again_with_its_answer_so_far) {
    std::vector<Rollout> rollouts{waiting(prompt_of(0, 4)), waiting(prompt_of(50, 4))};
    PagePool pool(5); // two rows of 4 + 8 tokens would need 3 pages each
    Schedule schedule(rollouts, 2, 4, pool);
    bool came_again = false;
    while (!schedule.finished()) {
        const Round round = schedule.next();
        for (const auto& prefill : round.prefills) {
            if (prefill.prompt) continue;
            came_again = true;
            EXPECT_EQ(prefill.request, 1u);
            EXPECT_EQ(prefill.length, int64_t(4 + rollouts[1].ids.size()));
        }
        // No page belongs to two rows, and every token has a place.
        std::set<int32_t> pages;
        for (const auto& row : schedule.rows()) {
            EXPECT_EQ(int64_t(row.pages.size()), (row.length + 3) / 4);
            for (const int32_t page : row.pages) EXPECT_TRUE(pages.insert(page).second);
        }
        draw(schedule, rollouts, 9);
    }
    EXPECT_TRUE(came_again);
    EXPECT_EQ(schedule.preemptions(), 1);
    EXPECT_EQ(pool.used(), 0);
}

TEST(Schedule, the_smallest_pool_still_answers_every_request) {
    std::vector<Rollout> rollouts;
    for (int i = 0; i < 6; ++i) rollouts.push_back(waiting(prompt_of(100 * (i / 3), 6)));
    PagePool pool(4); // 6 + 10 - 1 tokens need 4 pages of 4
    Schedule schedule(rollouts, 6, 4, pool);
    for (int rounds = 0; !schedule.finished(); ++rounds) {
        ASSERT_LT(rounds, 1000) << "the schedule makes no progress";
        schedule.next();
        draw(schedule, rollouts, 10);
    }
    for (const auto& rollout : rollouts) EXPECT_EQ(rollout.ids.size(), 10u);
    EXPECT_EQ(pool.used(), 0);
}

TEST(Schedule, a_row_that_no_pool_can_hold_is_a_broken_invariant_and_no_endless_loop) {
    std::vector<Rollout> rollouts{waiting(prompt_of(0, 9))};
    PagePool pool(2);
    Schedule schedule(rollouts, 1, 4, pool);
    EXPECT_THROW(schedule.next(), BrokenInvariant);
}

} // namespace stillroom::rollout
