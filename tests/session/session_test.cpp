// SPDX-License-Identifier: GPL-3.0-or-later
// A run from its start to its end, driven through the session as both programs drive it.
#include "session/state.h"
#include "tests/session/support.h"

#include "formats/safetensors.h"
#include "record/liveness.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <optional>
#include <set>

namespace stillroom::session {
namespace {

using test::run;
using test::small_recipe;

TEST(Session, a_run_trains_records_evaluates_saves_and_ends_as_finished) {
    const test::TemporaryFolder folder;
    const auto recipe =
        small_recipe("sample-opd", {"evaluation.at_start=true", "checkpoint.every=2",
                                    "checkpoint.keep_last=2", "checkpoint.export_at_end=true"});
    const auto outcome = run(recipe, folder / "run");
    ASSERT_TRUE(outcome.result) << outcome.result.error().message();
    EXPECT_EQ(outcome.all<StepDone>().size(), 4u);
    EXPECT_EQ(outcome.all<EvaluationDone>().size(), 2u); // before and after

    const auto reader = record::RunReader::open(folder / "run").value();
    const auto summary = reader.summary().value();
    EXPECT_EQ(summary.state, record::RunState::Finished);
    const auto loss = reader.series("loss").value();
    ASSERT_EQ(loss.size(), 4u);
    EXPECT_EQ(loss.back().step, 4);
    for (const char* metric : {"kl_reverse_exact", "entropy_student", "entropy_teacher", "overlap_top16",
                               "grad_norm", "lr", "update_ratio", "response_length_mean", "rollout_accuracy",
                               "format_rate", "mismatch_logp_max", "time_rollout", "time_learn"}) {
        EXPECT_EQ(reader.series(metric).value().size(), 4u) << metric;
    }
    const auto rollouts = reader.rollouts({}).value();
    ASSERT_EQ(rollouts.size(), 16u);
    const auto rollout = reader.rollout(rollouts[3].id).value();
    EXPECT_EQ(rollout.tokens.ids.size(), rollout.tokens.kl.size());
    EXPECT_FALSE(rollout.text.empty());
    EXPECT_EQ(reader.checkpoints().value().size(), 2u);
    EXPECT_TRUE(std::filesystem::exists(folder / "run/export/model.safetensors"));
    EXPECT_TRUE(formats::read_recipe(folder / "run/recipe.toml"));
}

TEST(Session, the_sampler_and_the_trainer_compute_the_same_log_probs) {
    const test::TemporaryFolder folder;
    const auto outcome = run(small_recipe("sample-opd"), folder / "run");
    ASSERT_TRUE(outcome.result);
    for (const auto& done : outcome.all<StepDone>())
        EXPECT_LT(done.step->metrics.at("mismatch_logp_max"), 1e-3);
}

TEST(Session, a_live_self_teacher_in_the_same_context_teaches_nothing) {
    const test::TemporaryFolder folder;
    const auto recipe = small_recipe(
        "sample-opd", {"teacher.kind=self_live", "teacher.model=\"\"", "objective.name=kl_reverse"});
    const auto outcome = run(recipe, folder / "run");
    ASSERT_TRUE(outcome.result) << outcome.result.error().message();
    for (const auto& done : outcome.all<StepDone>()) {
        EXPECT_EQ(done.step->metrics.at("loss"), 0);
        EXPECT_EQ(done.step->metrics.at("grad_norm"), 0);
    }
}

TEST(Session, two_runs_with_one_seed_are_identical_and_another_seed_differs) {
    const test::TemporaryFolder folder;
    ASSERT_TRUE(run(small_recipe("sample-opsd"), folder / "a").result);
    ASSERT_TRUE(run(small_recipe("sample-opsd"), folder / "b").result);
    ASSERT_TRUE(run(small_recipe("sample-opsd", {"run.seed=43"}), folder / "c").result);
    EXPECT_EQ(test::weights_hash(folder / "a", 4), test::weights_hash(folder / "b", 4));
    EXPECT_EQ(test::metrics_of(folder / "a"), test::metrics_of(folder / "b"));
    EXPECT_NE(test::weights_hash(folder / "a", 4), test::weights_hash(folder / "c", 4));
}

// Every kind of state that a checkpoint holds: an averaged teacher, warm-up and decay, shuffled data, LoRA.
TEST(Session, stopped_and_resumed_equals_uninterrupted) {
    const std::vector<std::vector<std::string>> variants{
        {"teacher.kind=self_ema", "teacher.ema_decay=0.9", "optimizer.schedule=linear", "optimizer.warmup=2"},
        {"student.trainable=lora", "student.lora.rank=4", "optimizer.schedule=cosine"},
    };
    for (const auto& settings : variants) {
        const test::TemporaryFolder folder;
        const auto recipe = small_recipe("sample-opsd", settings);
        ASSERT_TRUE(run(recipe, folder / "whole").result);
        const auto stopped = run(recipe, folder / "parts", false, [](Session& session, const Event& event) {
            const auto* done = std::get_if<StepDone>(&event);
            if (done && done->step->step == 1) session.send(StopAfterStep{});
        });
        ASSERT_TRUE(stopped.result);
        EXPECT_EQ(record::RunReader::open(folder / "parts").value().summary().value().state,
                  record::RunState::Stopped);
        ASSERT_LT(stopped.all<StepDone>().size(), 4u);
        const auto resumed = run(recipe, folder / "parts", true);
        ASSERT_TRUE(resumed.result) << resumed.result.error().message();
        EXPECT_EQ(test::weights_hash(folder / "whole", 4), test::weights_hash(folder / "parts", 4));
        EXPECT_EQ(test::metrics_of(folder / "whole"), test::metrics_of(folder / "parts"));
    }
}

TEST(Session, a_step_that_is_given_up_is_taken_anew_on_resuming) {
    const test::TemporaryFolder folder;
    const auto recipe = small_recipe("sample-opd");
    ASSERT_TRUE(run(recipe, folder / "whole").result);
    const auto stopped = run(recipe, folder / "parts", false, [](Session& session, const Event& event) {
        const auto* progress = std::get_if<PhaseProgress>(&event);
        if (progress && progress->step == 2) session.send(StopNow{});
        const auto* done = std::get_if<StepDone>(&event);
        if (done && done->step->step == 2) session.send(StopNow{}); // a fast step shows no progress
    });
    ASSERT_TRUE(stopped.result);
    ASSERT_TRUE(run(recipe, folder / "parts", true).result);
    EXPECT_EQ(test::weights_hash(folder / "whole", 4), test::weights_hash(folder / "parts", 4));
    EXPECT_EQ(test::metrics_of(folder / "whole"), test::metrics_of(folder / "parts"));
}

TEST(Session, a_step_of_several_updates_is_given_up_before_its_first_or_finished) {
    const test::TemporaryFolder folder;
    const auto recipe =
        small_recipe("sample-opd", {"optimizer.updates_per_batch=4", "optimizer.micro_tokens=1"});
    ASSERT_TRUE(run(recipe, folder / "whole").result);
    const auto stopped = run(recipe, folder / "parts", false, [](Session& session, const Event& event) {
        const auto* progress = std::get_if<PhaseProgress>(&event);
        if (progress && progress->phase == "learn") session.send(StopNow{});
    });
    ASSERT_TRUE(stopped.result) << stopped.result.error().message();
    ASSERT_TRUE(run(recipe, folder / "parts", true).result);
    EXPECT_EQ(test::weights_hash(folder / "whole", 4), test::weights_hash(folder / "parts", 4));
}

TEST(Session, pausing_holds_the_run_and_resuming_changes_nothing) {
    const test::TemporaryFolder folder;
    const auto recipe = small_recipe("sample-opd");
    ASSERT_TRUE(run(recipe, folder / "whole").result);
    bool asked = false;
    const auto paused = run(recipe, folder / "paused", false, [&](Session& session, const Event& event) {
        if (std::holds_alternative<StepDone>(event) && !asked) {
            asked = true;
            session.send(Pause{});
        }
        const auto* state = std::get_if<StateChanged>(&event);
        if (state && state->to == RunState::Paused && state->from != RunState::Saving) {
            session.send(SaveNow{});
            session.send(Resume{});
        }
    });
    ASSERT_TRUE(paused.result);
    int times = 0;
    for (const auto& change : paused.all<StateChanged>())
        times += change.to == RunState::Paused && change.from == RunState::Pausing;
    EXPECT_EQ(times, 1);
    EXPECT_EQ(test::weights_hash(folder / "whole", 4), test::weights_hash(folder / "paused", 4));
}

TEST(Session, every_change_of_state_is_a_legal_one) {
    const test::TemporaryFolder folder;
    const auto outcome = run(
        small_recipe("sample-opd", {"evaluation.at_start=true", "evaluation.every=2", "checkpoint.every=1"}),
        folder / "run");
    for (const auto& change : outcome.all<StateChanged>()) {
        EXPECT_TRUE(change.from == change.to || may_follow(change.from, change.to))
            << record::to_string(change.from) << " -> " << record::to_string(change.to);
    }
    EXPECT_FALSE(outcome.mentions("should not be followed"));
}

TEST(Session, retention_keeps_the_last_the_best_and_what_is_pinned) {
    const test::TemporaryFolder folder;
    const auto recipe = small_recipe("sample-opd", {"run.steps=6", "checkpoint.every=1",
                                                    "checkpoint.keep_last=2", "checkpoint.keep_best=0"});
    const auto outcome = run(recipe, folder / "run", false, [&](Session&, const Event& event) {
        const auto* saved = std::get_if<CheckpointSaved>(&event);
        if (saved && saved->checkpoint.step == 1 && !saved->checkpoint.removed) {
            std::ofstream(folder / "run/checkpoints/step-000001/pinned") << "";
        }
    });
    ASSERT_TRUE(outcome.result);
    std::set<std::string> kept;
    for (const auto& entry : std::filesystem::directory_iterator(folder / "run/checkpoints"))
        kept.insert(entry.path().filename());
    EXPECT_TRUE(kept.contains("step-000005") && kept.contains("step-000006"));
    EXPECT_LE(kept.size(), 3u);
}

TEST(Session, a_deadline_leaves_time_to_save) {
    const test::TemporaryFolder folder;
    const double started = record::unix_time();
    const auto recipe = small_recipe("sample-opd", {"run.steps=100000", "run.deadline=\"12s\""});
    const auto outcome = run(recipe, folder / "run");
    ASSERT_TRUE(outcome.result) << outcome.result.error().message();
    EXPECT_LT(record::unix_time() - started, 30); // a slow machine may overrun by a step, not by minutes
    const auto summary = record::RunReader::open(folder / "run").value().summary().value();
    EXPECT_EQ(summary.state, record::RunState::Finished);
    EXPECT_LT(outcome.all<StepDone>().size(), 100000u);
    EXPECT_FALSE(outcome.all<CheckpointSaved>().empty());
}

TEST(Session, time_left_before_the_deadline_goes_to_the_best_checkpoint_with_another_seed) {
    const test::TemporaryFolder folder;
    const auto settings = [](const char* confirm) {
        return std::vector<std::string>{"run.steps=4",
                                        "run.deadline=\"12s\"",
                                        "checkpoint.every=2",
                                        "evaluation.every=2",
                                        "evaluation.limit=10",
                                        "evaluation.samples=1",
                                        "evaluation.greedy_too=false",
                                        std::string("evaluation.confirm=") + confirm};
    };
    const auto outcome = run(small_recipe("sample-opd", settings("true")), folder / "run");
    ASSERT_TRUE(outcome.result) << outcome.result.error().message();
    std::map<int64_t, double> scores;
    std::optional<record::EvaluationRecord> confirmed;
    for (const auto& done : outcome.all<EvaluationDone>()) {
        if (done.evaluation->tag == "confirm") {
            confirmed = *done.evaluation;
        } else if (done.evaluation->step > 0) {
            scores[done.evaluation->step] = done.evaluation->metrics.at("proxy_score");
        }
    }
    ASSERT_TRUE(confirmed);
    const auto best = std::max_element(scores.begin(), scores.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    EXPECT_EQ(scores.at(confirmed->step), best->second);
    const auto protocol = nlohmann::json::parse(confirmed->protocol);
    EXPECT_EQ(protocol.at("seed"), 43);
    EXPECT_GE(confirmed->answers.size(), 10u);
    EXPECT_EQ(confirmed->answers.size() % 10, 0u); // whole rounds
    EXPECT_EQ(record::RunReader::open(folder / "run").value().summary().value().state,
              record::RunState::Finished);
    const auto without = run(small_recipe("sample-opd", settings("false")), folder / "other");
    for (const auto& done : without.all<EvaluationDone>()) EXPECT_NE(done.evaluation->tag, "confirm");
}

TEST(Session, an_evaluation_ends_early_where_it_clearly_differs_from_the_first_one) {
    const test::TemporaryFolder folder;
    const auto recipe =
        small_recipe("sample-opd", {"run.steps=2", "evaluation.at_start=true", "evaluation.samples=8",
                                    "evaluation.limit=60", "evaluation.until_clear=true"});
    const auto last = [](const auto& outcome) {
        return outcome.template all<EvaluationDone>().back().evaluation;
    };
    const auto moved =
        formats::with_settings(recipe, {"run.steps=30", "optimizer.lr=3e-4", "rollout.prompts_per_step=32"})
            .value();
    const auto learnt = run(moved, folder / "learnt"); // .4 to .9 in 30 steps
    ASSERT_TRUE(learnt.result) << learnt.result.error().message();
    const auto first = learnt.all<EvaluationDone>().front().evaluation;
    EXPECT_EQ(first->answers.size(), 480u); // nothing to differ from
    EXPECT_LT(last(learnt)->answers.size(), 480u);
    EXPECT_GE(last(learnt)->answers.size(), 120u); // two rounds at least
    EXPECT_EQ(last(learnt)->answers.size() % 60, 0u);
    EXPECT_EQ(last(learnt)->protocol_hash, first->protocol_hash);
    const auto without =
        run(formats::with_settings(moved, {"evaluation.until_clear=false"}).value(), folder / "whole");
    EXPECT_EQ(last(without)->answers.size(), 480u);
}

TEST(Session, a_missing_model_fails_with_one_clear_error) {
    const test::TemporaryFolder folder;
    const auto outcome =
        run(small_recipe("sample-opd", {"student.model=\"/no/such/model\""}), folder / "run");
    ASSERT_FALSE(outcome.result);
    EXPECT_NE(outcome.result.error().message().find("/no/such/model"), std::string::npos);
    EXPECT_EQ(record::RunReader::open(folder / "run").value().summary().value().state,
              record::RunState::Failed);
}

TEST(Session, a_recipe_with_relative_paths_can_be_resumed) {
    const test::TemporaryFolder folder;
    auto recipe = small_recipe("sample-opd");
    std::filesystem::copy(test::source_folder() / "resources/sample/heldout.jsonl", folder / "train.jsonl");
    recipe.data.files = {"train.jsonl"};
    recipe.file = folder / "own.toml";
    ASSERT_TRUE(run(recipe, folder / "runs/run").result);
    auto again = formats::read_recipe(folder / "runs/run/recipe.toml").value();
    again.run.steps = 5;
    const auto resumed = run(again, folder / "runs/run", true);
    ASSERT_TRUE(resumed.result) << resumed.result.error().message();
}

TEST(Session, an_existing_folder_is_never_overwritten) {
    const test::TemporaryFolder folder;
    std::filesystem::create_directory(folder / "run");
    std::ofstream(folder / "run/precious") << "data";
    const auto outcome = run(small_recipe("sample-opd"), folder / "run");
    ASSERT_FALSE(outcome.result);
    EXPECT_NE(outcome.result.error().message().find("exists"), std::string::npos);
    EXPECT_TRUE(std::filesystem::exists(folder / "run/precious"));
    EXPECT_FALSE(std::filesystem::exists(folder / "run/run.sqlite"));
}

TEST(Deadline, is_read_as_a_span_or_a_date_and_else_refused) {
    EXPECT_EQ(deadline_time("2h30m", 1000).value(), 1000 + 9000);
    EXPECT_EQ(deadline_time("45s", 0).value(), 45);
    EXPECT_EQ(deadline_time("1d2h", 0).value(), 93600);
    EXPECT_TRUE(deadline_time("2026-12-24 18:00", 0));
    for (const char* bad : {"soon", "2", "h", "-3h", "0s", "2h x"})
        EXPECT_FALSE(deadline_time(bad, 0)) << bad;
}

} // namespace
} // namespace stillroom::session
