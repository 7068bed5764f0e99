// SPDX-License-Identifier: GPL-3.0-or-later
// A run's state is told from evidence: these tests make dead, alive and foreign writers and look at the run.
#include "record/liveness.h"

#include "tests/record/examples.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <csignal>
#include <fstream>
#include <sys/wait.h>
#include <unistd.h>

namespace stillroom::record {
namespace {

/// Runs `work` in a child process; what it returns is its exit status. The child is killed and waited for at
/// the end.
class Child {
public:
    explicit Child(const auto& work) : pid_(fork()) {
        if (pid_ == 0) _exit(work());
    }
    ~Child() {
        if (pid_ > 0) kill_and_wait();
    }
    void kill_and_wait() {
        ::kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
        pid_ = -1;
    }
    pid_t pid() const { return pid_; }

private:
    pid_t pid_;
};

/// A byte from one process to another: "I am there now".
class Signal {
public:
    Signal() { EXPECT_EQ(pipe(ends_), 0); }
    ~Signal() {
        close(ends_[0]);
        close(ends_[1]);
    }
    void send() const { (void)!write(ends_[1], "x", 1); }
    void wait() const {
        char byte;
        (void)!read(ends_[0], &byte, 1);
    }

private:
    int ends_[2];
};

int sleep_forever() {
    for (;;) pause();
}

void change_run(const ExampleRun& run, const std::string& assignment) {
    SQLite::Database database((run.folder / "run.sqlite").string(), SQLite::OPEN_READWRITE, 2000);
    database.exec("UPDATE run SET " + assignment);
}

void make_checkpoint(const ExampleRun& run, const std::string& name, bool whole) {
    std::filesystem::create_directories(run.folder / "checkpoints" / name);
    if (whole) std::ofstream(run.folder / "checkpoints" / name / "stillroom.json") << "{}";
}

TEST(Presence, of_this_process_is_alive_and_of_one_with_another_start_time_gone) {
    ProcessIdentity self = this_process();
    EXPECT_GT(self.start_ticks, 0);
    EXPECT_EQ(self.boot.size(), 36u); // a UUID
    EXPECT_EQ(presence(self), Presence::Alive);
    self.start_ticks += 1; // the id was given to another process
    EXPECT_EQ(presence(self), Presence::Gone);
}

TEST(Presence, of_a_process_that_ended_is_gone_even_before_it_is_waited_for) {
    ProcessIdentity other = this_process();
    const pid_t pid = fork();
    if (pid == 0) _exit(0);
    siginfo_t ended{};
    ASSERT_EQ(waitid(P_PID, id_t(pid), &ended, WEXITED | WNOWAIT), 0); // a zombie now
    other.pid = pid;
    EXPECT_EQ(presence(other), Presence::Gone);
    waitpid(pid, nullptr, 0);
    EXPECT_EQ(presence(other), Presence::Gone);
}

TEST(Presence, before_a_restart_is_gone_and_on_another_machine_unknown) {
    ProcessIdentity other = this_process();
    other.boot = "00000000-0000-0000-0000-000000000000";
    EXPECT_EQ(presence(other), Presence::Gone);
    other.host += "-elsewhere";
    EXPECT_EQ(presence(other), Presence::Unknown);
    other = this_process();
    other.pid_namespace = "pid:[1]";
    EXPECT_EQ(presence(other), Presence::Unknown);
}

TEST(RunState, has_a_name_each_that_reads_back) {
    for (int i = 0; i <= int(RunState::Interrupted); ++i)
        EXPECT_EQ(run_state(to_string(RunState(i))), RunState(i));
    EXPECT_EQ(run_state("asleep"), std::nullopt);
    EXPECT_TRUE(is_live(RunState::Stopping));
    EXPECT_FALSE(is_live(RunState::Finished));
}

TEST(RunSummary,
     of_a_run_whose_process_was_killed_is_interrupted_and_resumable_from_the_newest_whole_checkpoint) {
    const ExampleRun run;
    const Signal ready;
    Child child([&] {
        RunStore store = run.create();
        if (!store.append(StateRecord{RunState::Running, 0, ""})) return 1;
        if (!store.append(example_step(437))) return 1;
        ready.send();
        return sleep_forever();
    });
    ready.wait();
    const RunSummary before = run.read().summary().value();
    EXPECT_EQ(before.state, RunState::Running);
    EXPECT_EQ(before.liveness, Liveness::Elsewhere);
    EXPECT_EQ(before.process.pid, child.pid());
    EXPECT_NE(state_line(before).find("running, step 437 of 100, process " + std::to_string(child.pid())),
              std::string::npos)
        << state_line(before);
    const auto refused = RunStore::open(run.folder.path());
    ASSERT_FALSE(refused) << "two processes would write one run";
    EXPECT_NE(refused.error().message().find("process " + std::to_string(child.pid())), std::string::npos);

    child.kill_and_wait();
    const RunSummary without = run.read().summary().value();
    EXPECT_EQ(without.state, RunState::Interrupted);
    EXPECT_EQ(without.liveness, Liveness::Ended);
    EXPECT_NE(state_line(without).find("no checkpoint to resume from"), std::string::npos)
        << state_line(without);
    make_checkpoint(run, "step-000200", true);
    make_checkpoint(run, "step-000400", true);
    make_checkpoint(run, "step-000430", false);
    make_checkpoint(run, "step-000437.partial", true);
    const RunSummary after = run.read().summary().value();
    EXPECT_EQ(after.step, 437);
    EXPECT_EQ(after.resumable_from, 400);
    EXPECT_NE(state_line(after).find("interrupted at step 437"), std::string::npos) << state_line(after);
    EXPECT_NE(state_line(after).find("resumable from checkpoint 400"), std::string::npos)
        << state_line(after);
    EXPECT_TRUE(RunStore::open(run.folder.path()));
}

TEST(RunSummary, with_an_old_heartbeat_of_a_process_that_exists_is_unreachable_not_interrupted) {
    const ExampleRun run;
    const Signal ready;
    Child child([&] {
        RunStore store = run.create();
        ready.send();
        return sleep_forever();
    });
    ready.wait();
    change_run(run, "heartbeat = heartbeat - 16");
    const RunSummary summary = run.read().summary().value();
    EXPECT_EQ(summary.liveness, Liveness::Unreachable);
    EXPECT_EQ(summary.state, RunState::Preparing);
    EXPECT_NE(state_line(summary).find("busy or stuck"), std::string::npos);
}

TEST(RunSummary, of_another_machine_goes_by_the_heartbeat_alone) {
    const ExampleRun run;
    RunStore store = run.create();
    change_run(run, "host = 'elsewhere', boot = 'another'");
    EXPECT_EQ(run.read().summary().value().liveness, Liveness::Elsewhere);
    change_run(run, "heartbeat = heartbeat - 16");
    EXPECT_EQ(run.read().summary().value().state, RunState::Interrupted);
    ASSERT_TRUE(store.heartbeat(12));
    EXPECT_EQ(run.read().summary().value().liveness, Liveness::Elsewhere);
    EXPECT_EQ(run.read().summary().value().progress, 12);
}

TEST(RunSummary, of_a_closed_run_stays_as_it_was_closed) {
    const ExampleRun run;
    ASSERT_TRUE(run.create().append(StateRecord{RunState::Failed, 12, "out of memory in learn"}));
    change_run(run, "pid = 0");
    const RunSummary summary = run.read().summary().value();
    EXPECT_EQ(summary.state, RunState::Failed);
    EXPECT_EQ(state_line(summary),
              "failed at step 12 of 100: out of memory in learn, no checkpoint to resume from");
}

TEST(RunsIn, a_folder_lists_the_newest_first_and_unreadable_ones_with_their_fault) {
    const test::TemporaryFolder folder;
    for (const char* name : {"a", "b", "c", "not-a-run"}) std::filesystem::create_directory(folder / name);
    { auto a = RunStore::create(folder / "a", {.name = "a"}); }
    { auto b = RunStore::create(folder / "b", {.name = "b"}); }
    std::ofstream(folder.path() / "c" / "run.sqlite")
        << "this is no database, though it is long enough to look at";
    SQLite::Database((folder / "a/run.sqlite").string(), SQLite::OPEN_READWRITE)
        .exec("UPDATE run SET created = created + 9");
    const auto runs = runs_in(folder.path());
    ASSERT_EQ(runs.size(), 3u);
    EXPECT_EQ(runs[0].name, "a");
    EXPECT_EQ(runs[1].name, "b");
    EXPECT_EQ(runs[2].name, "c");
    EXPECT_TRUE(runs[0].fault.empty());
    EXPECT_NE(runs[2].fault.find("run.sqlite"), std::string::npos);
    EXPECT_TRUE(runs_in(folder / "nowhere").empty());
}

TEST(RunStore, killed_in_the_middle_of_a_transaction_has_all_that_came_before_and_nothing_of_it) {
    const ExampleRun run;
    const Signal half_written;
    Child child([&] {
        RunStore store = run.create();
        for (int64_t step = 1; step <= 3; ++step) {
            if (!store.append(std::vector<Record>{example_step(step), example_rollout(step, 0, 50)}))
                return 1;
        }
        // A step that is spilled to the file before its commit, as a large one is.
        SQLite::Database database((run.folder / "run.sqlite").string(), SQLite::OPEN_READWRITE, 2000);
        database.exec("PRAGMA cache_size = 1; BEGIN IMMEDIATE");
        for (int i = 0; i < 2000; ++i) {
            database.exec("INSERT INTO metric VALUES ('spilled" + std::to_string(i) + "', 4, 1.5)");
        }
        half_written.send();
        return sleep_forever();
    });
    half_written.wait();
    EXPECT_GT(std::filesystem::file_size(run.folder / "run.sqlite-wal"), 50'000u) << "nothing was spilled";
    child.kill_and_wait();
    const RunReader reader = run.read();
    EXPECT_EQ(steps_of(reader.series("loss").value()), (std::vector<int64_t>{1, 2, 3}));
    EXPECT_EQ(reader.metrics().value().size(), 4u);
    EXPECT_EQ(reader.rollouts({}).value().size(), 3u);
    EXPECT_TRUE(reader.faults().value().empty());
    RunStore again = std::move(RunStore::open(run.folder.path())).value();
    EXPECT_TRUE(again.append(example_step(4)));
}

TEST(RunStore, killed_at_any_moment_holds_whole_steps) {
    for (const int milliseconds : {5, 20, 45, 90}) {
        const ExampleRun run;
        const Signal ready;
        Child child([&] {
            RunStore store = run.create();
            ready.send();
            for (int64_t step = 1;; ++step) {
                std::vector<Record> group(1, example_step(step));
                for (int64_t sample = 0; sample < 20; ++sample)
                    group.push_back(example_rollout(step, sample, 200));
                if (!store.append(group)) return 1;
            }
        });
        ready.wait();
        usleep(useconds_t(milliseconds) * 1000);
        child.kill_and_wait();
        const RunReader reader = run.read();
        const auto loss = reader.series("loss").value();
        const auto rollouts = reader.rollouts({.limit = 1 << 20}).value();
        ASSERT_EQ(rollouts.size(), 20 * loss.size());
        for (size_t i = 0; i < loss.size(); ++i) EXPECT_EQ(loss[i].step, int64_t(i + 1));
        for (const RolloutSummary& rollout : rollouts)
            EXPECT_EQ(reader.rollout(rollout.id).value().tokens.ids.size(), 200u);
        EXPECT_EQ(reader.summary().value().step, int64_t(loss.size()));
        EXPECT_TRUE(reader.faults().value().empty());
    }
}

} // namespace
} // namespace stillroom::record
