// SPDX-License-Identifier: GPL-3.0-or-later
#include "record/store.h"

#include "tests/record/examples.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <cmath>
#include <limits>

namespace stillroom::record {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN(),
                 inf = std::numeric_limits<double>::infinity();

TEST(RunStore, keeps_metrics_with_their_clocks_and_phases_as_series) {
    const ExampleRun run;
    RunStore store = run.create();
    for (const int64_t step : {1, 2, 3}) ASSERT_TRUE(store.append(example_step(step)));
    const RunReader reader = run.read();
    const auto loss = reader.series("loss").value();
    ASSERT_EQ(loss.size(), 3u);
    EXPECT_EQ(loss[2].step, 3);
    EXPECT_EQ(loss[2].value, 1.0 / 3);
    EXPECT_EQ(loss[2].wall_seconds, 30);
    EXPECT_EQ(loss[2].active_seconds, 27);
    EXPECT_EQ(loss[2].tokens_trained, 300);
    EXPECT_EQ(reader.series("time_learn").value()[0].value, 5.25);
    EXPECT_TRUE(reader.series("never_recorded").value().empty());
    EXPECT_EQ(reader.settings().value(),
              (std::map<std::string, std::string>{{"run.seed", "42"}, {"optimizer.lr", "1e-06"}}));
}

TEST(RunStore, tells_undefined_from_nan_from_infinite_from_absent) {
    const ExampleRun run;
    RunStore store = run.create();
    ASSERT_TRUE(store.append(StepRecord{.step = 1, .metrics = {{"m", Undefined}}}));
    ASSERT_TRUE(store.append(StepRecord{.step = 2, .metrics = {{"m", nan}}}));
    ASSERT_TRUE(store.append(StepRecord{.step = 3, .metrics = {{"m", inf}}}));
    ASSERT_TRUE(store.append(StepRecord{.step = 4, .metrics = {{"m", -inf}}}));
    ASSERT_TRUE(store.append(StepRecord{.step = 5, .metrics = {{"other", 0}}}));
    ASSERT_TRUE(store.append(StepRecord{.step = 6, .metrics = {{"m", -0.0}}}));
    const RunReader reader = run.read();
    const auto points = reader.series("m").value();
    ASSERT_EQ(steps_of(points), (std::vector<int64_t>{1, 2, 3, 4, 6}));
    EXPECT_TRUE(is_undefined(points[0].value));
    EXPECT_TRUE(std::isnan(points[1].value));
    EXPECT_FALSE(is_undefined(points[1].value));
    EXPECT_EQ(points[2].value, inf);
    EXPECT_EQ(points[3].value, -inf);
    EXPECT_EQ(points[4].value, 0);
    const auto metrics = reader.metrics().value();
    ASSERT_EQ(metrics.size(), 2u);
    EXPECT_EQ(metrics[0].tag, "m");
    EXPECT_EQ(metrics[0].count, 5);
    EXPECT_EQ(metrics[0].undefined, 1);
    EXPECT_EQ(metrics[0].not_finite, 3);
    EXPECT_EQ(metrics[0].first_step, 1);
    EXPECT_EQ(metrics[0].last_step, 6);
    EXPECT_EQ(metrics[0].last, 0);
    // Any program that reads SQLite can tell them apart.
    SQLite::Database database((run.folder / "run.sqlite").string());
    SQLite::Statement query(database,
                            "SELECT group_concat(ifnull(value, 'NULL')) FROM metric WHERE tag = 'm'");
    ASSERT_TRUE(query.executeStep());
    EXPECT_EQ(query.getColumn(0).getString(), "NULL,nan,inf,-inf,0.0");
}

TEST(RunStore, keeps_a_rollout_whole) {
    const ExampleRun run;
    RunStore store = run.create();
    RolloutRecord rollout = example_rollout(3, 2, 40);
    rollout.text = std::string("broken \xe2\x96 and \0 zero", 19);
    rollout.means = {{"kl_reverse_exact", 0.75}, {"gain_mean", Undefined}, {"loss", inf}};
    rollout.top16 = example_top16(40);
    rollout.kept_because = "longest";
    rollout.pinned = true;
    ASSERT_TRUE(store.append(rollout));
    const RunReader reader = run.read();
    const auto list = reader.rollouts({}).value();
    ASSERT_EQ(list.size(), 1u);
    EXPECT_EQ(list[0].length, 40);
    EXPECT_TRUE(list[0].has_top16);
    EXPECT_EQ(list[0].figures.kl_mean, 0.75);                  // as the run stated it
    EXPECT_EQ(list[0].figures.kl_max, 39.0 / 32);              // from the tokens
    EXPECT_DOUBLE_EQ(list[0].figures.entropy, 0.125 * 39 / 2); // the mean of 0 .. 39, times 1/8
    EXPECT_EQ(list[0].figures.clipped, 0.5); // the example clips half of every position's KL
    EXPECT_TRUE(std::isnan(list[0].figures.gain));
    const RolloutRecord back = reader.rollout(list[0].id).value();
    EXPECT_EQ(back.text, rollout.text);
    EXPECT_EQ(back.problem, rollout.problem);
    EXPECT_EQ(back.prompt_ids, rollout.prompt_ids);
    EXPECT_EQ(back.teacher_prompt_ids, rollout.teacher_prompt_ids);
    EXPECT_EQ(back.prompt_id, "train-3");
    EXPECT_EQ(back.prompt, 7);
    EXPECT_EQ(back.sample, 2);
    EXPECT_EQ(back.verdict, "equal");
    EXPECT_EQ(back.why, rollout.why);
    EXPECT_EQ(back.extracted, "2");
    EXPECT_EQ(back.gold, "2");
    EXPECT_EQ(back.kept_because, "longest");
    EXPECT_TRUE(back.format_ok);
    EXPECT_TRUE(back.pinned);
    EXPECT_EQ(back.tokens.ids, rollout.tokens.ids);
    EXPECT_EQ(back.tokens.kl, rollout.tokens.kl);
    ASSERT_TRUE(back.top16);
    EXPECT_EQ(back.top16->student_ids_teacher, rollout.top16->student_ids_teacher);
    EXPECT_EQ(back.means.at("loss"), inf);
    EXPECT_TRUE(is_undefined(back.means.at("gain_mean")));
    EXPECT_FALSE(reader.rollout(99));
}

TEST(RunStore, keeps_evaluations_and_replaces_one_that_is_run_again) {
    const ExampleRun run;
    RunStore store = run.create();
    EvaluationRecord evaluation{.step = 5, .tag = "proxy", .protocol = "{}", .protocol_hash = "f00d"};
    evaluation.metrics = {{"eval_avg_at_n", 0.25}, {"se_clustered", 0.125}, {"eval_pass_at_8", Undefined}};
    evaluation.answers = {{.question = "q1",
                           .sample = 1,
                           .length = 3,
                           .finish_reason = "eos",
                           .text = "\xff",
                           .extracted = "4",
                           .gold = "5",
                           .verdict = "different",
                           .why = "4 is not 5",
                           .format_ok = true,
                           .mean_logprob = -0.5,
                           .ids = {4, 5, 6}},
                          {.question = "q2", .mean_logprob = nan}};
    ASSERT_TRUE(store.append(evaluation));
    const RunReader reader = run.read();
    ASSERT_EQ(reader.evaluations().value().size(), 1u);
    EXPECT_EQ(reader.evaluations().value()[0].answers, 2);
    const EvaluationRecord back = reader.evaluation(reader.evaluations().value()[0].id).value();
    EXPECT_EQ(back.metrics.at("eval_avg_at_n"), 0.25);
    EXPECT_TRUE(is_undefined(back.metrics.at("eval_pass_at_8")));
    ASSERT_EQ(back.answers.size(), 2u);
    EXPECT_EQ(back.answers[0].ids, (std::vector<int32_t>{4, 5, 6}));
    EXPECT_EQ(back.answers[0].text, "\xff");
    EXPECT_EQ(back.answers[0].mean_logprob, -0.5);
    EXPECT_EQ(back.answers[0].verdict, "different");
    EXPECT_TRUE(std::isnan(back.answers[1].mean_logprob));
    EXPECT_EQ(back.protocol_hash, "f00d");

    evaluation.metrics = {{"eval_avg_at_n", 0.5}};
    evaluation.answers.resize(1);
    ASSERT_TRUE(store.append(evaluation));
    ASSERT_EQ(reader.evaluations().value().size(), 1u);
    EXPECT_EQ(reader.evaluations().value()[0].metrics, (Metrics{{"eval_avg_at_n", 0.5}}));
    EXPECT_EQ(reader.evaluation(reader.evaluations().value()[0].id).value().answers.size(), 1u);
    EXPECT_EQ(reader.series("proxy.eval_avg_at_n").value().size(), 1u);
    EXPECT_EQ(reader.summary().value().score, 0.5);
    SQLite::Database database((run.folder / "run.sqlite").string());
    EXPECT_EQ(database.execAndGet("SELECT count(*) FROM evaluation_answer").getInt(), 1);
    EXPECT_EQ(database.execAndGet("SELECT count(*) FROM evaluation_metric").getInt(), 1);
}

TEST(RunStore, keeps_checkpoints_events_alarms_and_the_state) {
    const ExampleRun run;
    RunStore store = run.create();
    const CheckpointRecord checkpoint{20,   "checkpoints/step-000020", 1 << 30, 2.5, 0.625, "beef", "last",
                                      false};
    CheckpointRecord removed = checkpoint;
    removed.removed = true;
    const std::vector<Record> records{
        checkpoint,
        EventRecord{20, "checkpoint", "saved", 1e9},
        AlarmRecord{"Entropy falls", "warning", 3, 5, 3, "0.4 x its start", true},
        AlarmRecord{"Entropy falls", "warning", 3, 9, 7, "0.3 x its start", false},
        removed,
        StateRecord{RunState::Finished, 20, "deadline reached"}};
    ASSERT_TRUE(store.append(records));
    const RunReader reader = run.read();
    const auto checkpoints = reader.checkpoints().value();
    ASSERT_EQ(checkpoints.size(), 1u);
    EXPECT_EQ(checkpoints[0].bytes, 1 << 30);
    EXPECT_EQ(checkpoints[0].score, 0.625);
    EXPECT_EQ(checkpoints[0].sha256, "beef");
    EXPECT_TRUE(checkpoints[0].removed);
    const auto events = reader.events().value();
    ASSERT_EQ(events.size(), 2u);
    EXPECT_EQ(events[0].event.time, 1e9);
    EXPECT_EQ(events[1].event.kind, "state");
    EXPECT_EQ(events[1].event.text, "finished: deadline reached");
    EXPECT_EQ(reader.events(1).value()[0].event.text, "finished: deadline reached");
    const auto alarms = reader.alarms().value();
    ASSERT_EQ(alarms.size(), 1u);
    EXPECT_EQ(alarms[0].last_step, 9);
    EXPECT_FALSE(alarms[0].active);
    const RunSummary summary = reader.summary().value();
    EXPECT_EQ(summary.state, RunState::Finished);
    EXPECT_EQ(summary.step, 20);
    EXPECT_EQ(summary.steps_planned, 100);
    EXPECT_EQ(state_line(summary), "finished at step 20 of 100: deadline reached");
}

TEST(RunStore, appends_all_of_a_group_or_nothing) {
    const ExampleRun run;
    RunStore store = run.create();
    RolloutRecord contradictory = example_rollout(2, 0, 4);
    contradictory.tokens.kl.pop_back();
    const std::vector<Record> group{example_step(2), example_rollout(2, 1, 4), contradictory};
    const auto appended = store.append(group);
    ASSERT_FALSE(appended);
    EXPECT_TRUE(store.refused());
    const RunReader reader = run.read();
    EXPECT_TRUE(reader.series("loss").value().empty());
    EXPECT_TRUE(reader.rollouts({}).value().empty());
    EXPECT_EQ(reader.summary().value().rollouts, 0);
    ASSERT_TRUE(store.append(example_step(1))); // and goes on
    EXPECT_EQ(reader.series("loss").value().size(), 1u);
}

TEST(RunStore, thins_the_oldest_random_top16_records_at_its_budget_and_says_so) {
    const ExampleRun run;
    RunStore store = run.create();
    const auto rollout = [](int64_t step, const std::string& reason, bool pinned) {
        RolloutRecord record = example_rollout(step, 0, 100);
        record.top16 = example_top16(100); // 26,008 bytes; tokens and text 2,062
        record.kept_because = reason;
        record.pinned = pinned;
        return record;
    };
    store.set_byte_budget(100'000); // room for three of them, or for 2 and some token records
    ASSERT_TRUE(store.append(std::vector<Record>{rollout(1, "longest", false), rollout(2, "random", true),
                                                 rollout(3, "random", false)}));
    EXPECT_EQ(run.read().summary().value().top16, 3);
    ASSERT_TRUE(store.append(rollout(4, "random", false)));
    ASSERT_TRUE(store.append(rollout(5, "alarm, longest", false))); // thins step 4
    ASSERT_TRUE(store.append(rollout(6, "longest", false)));        // nothing left to thin: not kept
    ASSERT_TRUE(store.append(rollout(7, "pinned", true)));          // kept whatever it costs
    std::map<int64_t, std::string> kept;
    const auto list = run.read().rollouts({}).value();
    for (const RolloutSummary& one : list) {
        EXPECT_EQ(one.has_top16, !one.kept_because.empty());
        if (one.has_top16) kept[one.step] = one.kept_because;
    }
    EXPECT_EQ(kept, (std::map<int64_t, std::string>{
                        {1, "longest"}, {2, "random"}, {5, "alarm, longest"}, {7, "pinned"}}));
    EXPECT_EQ(run.read().rollout(3).value().tokens.ids.size(), 100u); // token records stay
    std::vector<std::string> thinning;
    const auto events = run.read().events().value();
    for (const StoredEvent& event : events) thinning.push_back(event.event.kind);
    EXPECT_EQ(thinning, (std::vector<std::string>(3, "thinning")));
    const RunSummary summary = run.read().summary().value();
    EXPECT_EQ(summary.rollouts, 7);
    EXPECT_EQ(summary.top16, 4);
    EXPECT_EQ(summary.top16_bytes, 4 * 26'008);
    EXPECT_EQ(summary.rollout_bytes, 7 * (2'008 + 18 + 8 + 12 + 16));
}

TEST(RunStore, lists_rollouts_by_page_in_a_stable_order) {
    const ExampleRun run;
    RunStore store = run.create();
    std::vector<Record> group;
    for (int64_t i = 0; i < 25; ++i) {
        RolloutRecord rollout = example_rollout(1 + i / 5, i, 4);
        rollout.means["kl_reverse_exact"] = double(i % 4);
        if (i == 13) {
            rollout.tokens = {};
            rollout.means = {};
        }
        rollout.verdict = i % 2 ? "equal" : "different";
        group.push_back(rollout);
    }
    ASSERT_TRUE(store.append(group));
    const RunReader reader = run.read();
    RolloutFilter filter{.order = RolloutOrder::MeanKl, .descending = true, .limit = 7};
    std::vector<int64_t> samples;
    for (;;) {
        const auto page = reader.rollouts(filter).value();
        for (const RolloutSummary& rollout : page) samples.push_back(rollout.sample);
        if (page.size() < 7) break;
        filter.after = std::pair{page.back().order_value, page.back().id};
    }
    ASSERT_EQ(samples.size(), 25u);
    EXPECT_EQ(samples.front(), 23); // the last one with KL 3
    EXPECT_EQ(samples.back(), 13);  // without a KL
    EXPECT_EQ(std::set<int64_t>(samples.begin(), samples.end()).size(), 25u);
    const auto some = reader.rollouts({.first_step = 2, .last_step = 3, .verdict = "equal"}).value();
    std::vector<int64_t> expected;
    for (int64_t i = 5; i < 15; ++i) {
        if (i % 2) expected.push_back(i);
    }
    samples.clear();
    for (const RolloutSummary& rollout : some) samples.push_back(rollout.sample);
    EXPECT_EQ(samples, expected);
}

TEST(RunStore, resumed_from_a_checkpoint_equals_one_that_was_never_interrupted) {
    const auto write = [](RunStore& store, int64_t first, int64_t last) {
        for (int64_t step = first; step <= last; ++step) {
            RolloutRecord rollout = example_rollout(step, 0, 20);
            rollout.top16 = example_top16(20);
            rollout.kept_because = "random";
            ASSERT_TRUE(store.append(std::vector<Record>{
                rollout, example_step(step), AlarmRecord{"Gradient", "severe", step, step, 1, "", true},
                EvaluationRecord{.step = step,
                                 .tag = "proxy",
                                 .metrics = {{"eval_avg_at_n", 0.5}},
                                 .answers = {{.question = "q"}}},
                CheckpointRecord{.step = step, .folder = "checkpoints/step-" + std::to_string(step)}}));
        }
    };
    const ExampleRun straight, resumed;
    {
        RunStore store = straight.create();
        write(store, 1, 9);
        RunStore interrupted = resumed.create();
        write(interrupted, 1, 7);
    }
    RunStore again = std::move(RunStore::open(resumed.folder.path())).value();
    ASSERT_TRUE(again.truncate_after(4));
    EXPECT_EQ(resumed.read().summary().value().step, 4);
    EXPECT_EQ(steps_of(resumed.read().series("loss").value()), (std::vector<int64_t>{1, 2, 3, 4}));
    write(again, 5, 9);
    SQLite::Database database((resumed.folder / "run.sqlite").string(), SQLite::OPEN_READWRITE);
    database.exec("ATTACH '" + (straight.folder / "run.sqlite").string() + "' AS straight");
    for (const std::string query :
         {"SELECT * FROM $metric",
          "SELECT step, wall_seconds, active_seconds, tokens_trained FROM $step_time",
          "SELECT * FROM $rollout", "SELECT * FROM $rollout_text", "SELECT * FROM $rollout_tokens",
          "SELECT * FROM $rollout_top16", "SELECT id, step, tag, answers FROM $evaluation",
          "SELECT * FROM $evaluation_metric", "SELECT * FROM $evaluation_answer",
          "SELECT folder, step FROM $checkpoint", "SELECT * FROM $alarm", "SELECT * FROM $counter",
          "SELECT step, state FROM $run"}) {
        const auto in = [&](const std::string& schema) {
            return std::string(query).replace(query.find('$'), 1, schema + ".");
        };
        EXPECT_GT(database.execAndGet("SELECT count(*) FROM (" + in("main") + ")").getInt(), 0) << query;
        for (const auto& difference :
             {in("main") + " EXCEPT " + in("straight"), in("straight") + " EXCEPT " + in("main")}) {
            EXPECT_EQ(database.execAndGet("SELECT count(*) FROM (" + difference + ")").getInt(), 0)
                << difference;
        }
    }
    // What was set aside can still be drawn.
    EXPECT_EQ(database
                  .execAndGet(
                      "SELECT group_concat(session || ':' || step) FROM superseded_metric WHERE tag = 'loss'")
                  .getString(),
              "1:5,1:6,1:7");
    const auto events = resumed.read().events().value();
    ASSERT_EQ(events.size(), 2u);
    EXPECT_EQ(events[0].event.kind, "interrupted"); // the first session never closed the run
    EXPECT_EQ(events[1].event.kind, "resume");
    EXPECT_NE(events[1].event.text.find("3 later steps set aside"), std::string::npos)
        << events[1].event.text;
    EXPECT_EQ(events[1].session, 2);
}

TEST(RunStore, is_not_made_over_an_existing_one) {
    const ExampleRun run;
    { RunStore store = run.create(); }
    const auto again = RunStore::create(run.folder.path(), {});
    ASSERT_FALSE(again);
    EXPECT_NE(again.error().message().find("exists already"), std::string::npos);
    EXPECT_FALSE(RunStore::create(run.folder / "no-such-folder", {}));
    EXPECT_FALSE(RunStore::open(run.folder / "no-such-folder"));
}

TEST(RunReader, sees_what_a_writer_adds_while_it_is_open) {
    const ExampleRun run;
    RunStore store = run.create();
    const RunReader reader = run.read();
    EXPECT_TRUE(reader.series("loss").value().empty());
    ASSERT_TRUE(store.append(example_step(1)));
    EXPECT_EQ(reader.series("loss").value().size(), 1u);
}

} // namespace
} // namespace stillroom::record
