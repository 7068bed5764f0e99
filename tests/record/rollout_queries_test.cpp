// SPDX-License-Identifier: GPL-3.0-or-later
// Lists of rollouts, filtered and sorted, against the same done by hand over the records; pinning.
#include "tests/record/examples.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <algorithm>
#include <functional>
#include <set>

namespace stillroom::record {
namespace {

std::vector<RolloutRecord> forty_rollouts() {
    std::vector<RolloutRecord> rollouts;
    for (int64_t i = 0; i < 40; ++i) {
        RolloutRecord rollout = example_rollout(1 + i / 8, i % 4, size_t(1 + (i * 7) % 13));
        rollout.prompt = i % 5;
        rollout.prompt_id = "p" + std::to_string(i % 5);
        rollout.verdict = i % 3 == 0 ? "different" : i % 3 == 1 ? "equal" : "unknown";
        rollout.finish_reason = i % 4 == 0 ? "length" : "eos";
        rollout.format_ok = i % 2 == 0;
        rollout.means = {{"kl_reverse_exact", double((i * 17) % 40) / 8}};
        if (i % 6 == 0) rollout.kept_because = "alarm, random";
        if (i % 10 == 0) rollout.top16 = example_top16(rollout.tokens.ids.size());
        rollouts.push_back(std::move(rollout));
    }
    return rollouts;
}

/// A store of those, in which the id of the i-th is i + 1.
struct FortyRollouts : ExampleRun {
    FortyRollouts() {
        RunStore store = create();
        for (const RolloutRecord& rollout : rollouts) EXPECT_TRUE(store.append(rollout));
    }
    std::vector<RolloutRecord> rollouts = forty_rollouts();

    std::set<int64_t> ids_that(const std::function<bool(const RolloutRecord&)>& fits) const {
        std::set<int64_t> ids;
        for (size_t i = 0; i < rollouts.size(); ++i) {
            if (fits(rollouts[i])) ids.insert(int64_t(i) + 1);
        }
        return ids;
    }
};

std::vector<int64_t> ids_of(const std::vector<RolloutSummary>& list) {
    std::vector<int64_t> ids;
    for (const RolloutSummary& rollout : list) ids.push_back(rollout.id);
    return ids;
}

TEST(RolloutQueries, each_condition_keeps_exactly_the_rollouts_that_meet_it) {
    const FortyRollouts run;
    const RunReader reader = run.read();
    struct Case {
        RolloutFilter filter;
        std::function<bool(const RolloutRecord&)> fits;
    };
    const std::vector<Case> cases{
        {{.prompt_id = "p3"}, [](const auto& r) { return r.prompt_id == "p3"; }},
        {{.format_ok = false}, [](const auto& r) { return !r.format_ok; }},
        {{.format_ok = true}, [](const auto& r) { return r.format_ok; }},
        {{.alarmed_only = true},
         [](const auto& r) { return r.top16 && r.kept_because.starts_with("alarm"); }},
        {{.top16_only = true}, [](const auto& r) { return r.top16.has_value(); }},
        {{.finish_reason = "length"}, [](const auto& r) { return r.finish_reason == "length"; }},
        {{.bounds = {{RolloutOrder::MeanKl, true, 2.5}}},
         [](const auto& r) { return r.means.at("kl_reverse_exact") > 2.5; }},
        {{.bounds = {{RolloutOrder::MeanKl, true, 1.0}, {RolloutOrder::Length, false, 9}}},
         [](const auto& r) { return r.means.at("kl_reverse_exact") > 1.0 && r.tokens.ids.size() < 9; }},
        {{.first_step = 2, .last_step = 3, .verdict = "equal"},
         [](const auto& r) { return r.step >= 2 && r.step <= 3 && r.verdict == "equal"; }},
    };
    for (size_t i = 0; i < cases.size(); ++i) {
        const auto ids = ids_of(reader.rollouts(cases[i].filter).value());
        const auto expected = run.ids_that(cases[i].fits);
        EXPECT_EQ(std::set(ids.begin(), ids.end()), expected) << "case " << i;
        EXPECT_LT(expected.size(), 40u) << "case " << i;
        EXPECT_GT(expected.size(), 0u) << "case " << i;
        EXPECT_EQ(reader.rollout_count(cases[i].filter).value(), int64_t(expected.size())) << "case " << i;
    }
    // No rollout has a gain: none is above or below a bound of it.
    EXPECT_EQ(reader.rollout_count({.bounds = {{RolloutOrder::Gain, true, -1e9}}}).value(), 0);
    EXPECT_EQ(reader.rollout_count({.bounds = {{RolloutOrder::Gain, false, 1e9}}}).value(), 0);
}

TEST(RolloutQueries, pages_by_any_order_follow_each_other_without_a_gap_or_a_repetition) {
    const FortyRollouts run;
    const RunReader reader = run.read();
    for (int order = 0; order <= int(RolloutOrder::Pinned); ++order) {
        for (const bool descending : {false, true}) {
            RolloutFilter filter{.order = RolloutOrder(order), .descending = descending, .limit = 7};
            std::vector<int64_t> ids;
            std::vector<std::pair<double, int64_t>> keys;
            while (true) {
                const auto page = reader.rollouts(filter).value();
                for (const auto& rollout : page) {
                    ids.push_back(rollout.id);
                    keys.emplace_back(rollout.order_value, rollout.id);
                }
                if (page.size() < 7) break;
                filter.after = keys.back();
            }
            EXPECT_EQ(std::set(ids.begin(), ids.end()).size(), 40u) << "order " << order;
            EXPECT_EQ(ids.size(), 40u) << "order " << order;
            if (descending) std::reverse(keys.begin(), keys.end());
            EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end())) << "order " << order;
        }
    }
    const auto by_verdict =
        reader.rollouts({.order = RolloutOrder::Verdict, .descending = true, .limit = 100}).value();
    EXPECT_EQ(by_verdict.front().verdict, "equal");
    EXPECT_EQ(by_verdict.back().verdict, "different");
    EXPECT_EQ(
        reader.rollouts({.order = RolloutOrder::Truncated, .descending = true}).value()[0].finish_reason,
        "length");
}

int may_thin(const ExampleRun& run, int64_t rollout) {
    SQLite::Database database((run.folder / "run.sqlite").string());
    SQLite::Statement query(database, "SELECT may_thin FROM rollout_top16 WHERE rollout = ?");
    query.bind(1, rollout);
    return query.executeStep() ? query.getColumn(0).getInt() : -1;
}

TEST(Pinning, keeps_a_random_record_from_thinning_while_the_run_is_written) {
    const ExampleRun run;
    RunStore store = run.create();
    RolloutRecord rollout = example_rollout(1, 0, 5);
    rollout.top16 = example_top16(5);
    rollout.kept_because = "random";
    ASSERT_TRUE(store.append(rollout));
    ASSERT_EQ(may_thin(run, 1), 1);
    ASSERT_TRUE(RunStore::set_pinned(run.folder.path(), 1, true));
    EXPECT_EQ(may_thin(run, 1), 0);
    EXPECT_TRUE(run.read().rollout(1).value().pinned);
    EXPECT_EQ(run.read().rollout(1).value().kept_because, "random, pinned");
    ASSERT_TRUE(RunStore::set_pinned(run.folder.path(), 1, true));
    EXPECT_EQ(run.read().rollout(1).value().kept_because, "random, pinned");
    ASSERT_TRUE(store.append(example_step(2))); // the writer goes on
    ASSERT_TRUE(RunStore::set_pinned(run.folder.path(), 1, false));
    EXPECT_EQ(may_thin(run, 1), 1);
    EXPECT_FALSE(run.read().rollout(1).value().pinned);
    EXPECT_EQ(run.read().rollout(1).value().kept_because, "random");
}

TEST(Pinning, of_a_rollout_without_a_top16_record_gives_it_no_reason_to_be_kept) {
    const ExampleRun run;
    RunStore store = run.create();
    ASSERT_TRUE(store.append(example_rollout(1, 0, 5)));
    ASSERT_TRUE(RunStore::set_pinned(run.folder.path(), 1, true));
    EXPECT_EQ(run.read().rollouts({.pinned_only = true}).value().size(), 1u);
    EXPECT_EQ(run.read().rollout(1).value().kept_because, "");
}

TEST(Pinning, of_a_rollout_that_is_not_there_is_an_error_that_names_it) {
    const ExampleRun run;
    const RunStore store = run.create();
    const auto done = RunStore::set_pinned(run.folder.path(), 77, true);
    ASSERT_FALSE(done);
    EXPECT_NE(done.error().message().find("rollout 77"), std::string::npos);
}

} // namespace
} // namespace stillroom::record
