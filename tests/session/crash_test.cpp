// SPDX-License-Identifier: GPL-3.0-or-later
// Runs that are killed, and runs whose disk is full. The program itself is run, as a user runs it.
#include "tests/session/support.h"

#include "base/philox.h"
#include "train/checkpoint.h"

#include <csignal>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace stillroom::session {
namespace {

namespace fs = std::filesystem;

pid_t start(const std::vector<std::string>& arguments) {
    const pid_t child = fork();
    if (child != 0) return child;
    const int null = open("/dev/null", O_WRONLY);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    setenv("STILLROOM_RESOURCES", (test::source_folder() / "resources").c_str(), 1);
    std::vector<char*> raw{const_cast<char*>(STILLROOM_CLI)};
    for (const auto& argument : arguments) raw.push_back(const_cast<char*>(argument.c_str()));
    raw.push_back(nullptr);
    execv(STILLROOM_CLI, raw.data());
    _exit(127);
}

int wait_for(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

std::vector<std::string> train_arguments(const fs::path& run) {
    std::vector<std::string> arguments{"train",     "sample-opd", "--device", "cpu",
                                       "--threads", "1",          "--out",    run.string()};
    for (const char* setting :
         {"run.steps=20", "rollout.prompts_per_step=4", "rollout.max_new=48", "evaluation.limit=5",
          "evaluation.every=0", "evaluation.at_start=false", "checkpoint.every=1", "checkpoint.keep_last=2",
          "checkpoint.export_at_end=false"}) {
        arguments.insert(arguments.end(), {"--set", setting});
    }
    return arguments;
}

TEST(Crash, a_run_that_is_killed_again_and_again_ends_bit_for_bit_as_an_uninterrupted_one) {
    const test::TemporaryFolder folder;
    const fs::path whole = folder / "whole", killed = folder / "killed";
    ASSERT_EQ(wait_for(start(train_arguments(whole))), 0);
    PhiloxStream random(7, 1);
    int kills = 0, status = -1;
    for (int attempt = 0; attempt < 40 && status != 0; ++attempt) {
        // A killed run may not even have made its folder or store: then it is started, not resumed.
        const bool resumable = fs::exists(killed / "run.sqlite") && fs::exists(killed / "recipe.toml");
        if (!resumable) fs::remove_all(killed);
        const pid_t child = start(resumable ? std::vector<std::string>{"resume", killed.string(), "--device",
                                                                       "cpu", "--threads", "1"}
                                            : train_arguments(killed));
        // Half of the kills hit as a checkpoint is being written, the others at any time within the first
        // steps.
        if (attempt < 6) {
            const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
            const auto writing = [&] {
                std::error_code code;
                for (const auto& entry : fs::directory_iterator(killed / "checkpoints", code)) {
                    if (entry.path().extension() == ".partial") return true;
                }
                return false;
            };
            if (attempt % 2 == 0) {
                while (!writing() && std::chrono::steady_clock::now() < deadline &&
                       waitpid(child, nullptr, WNOHANG) == 0) {
                    std::this_thread::sleep_for(std::chrono::microseconds(200));
                }
            } else {
                std::this_thread::sleep_for(std::chrono::milliseconds(800 + random.below(700)));
            }
            kills += kill(child, SIGKILL) == 0;
        }
        status = wait_for(child);
    }
    ASSERT_EQ(status, 0);
    EXPECT_GE(kills, 3);
    EXPECT_EQ(test::weights_hash(whole, 20), test::weights_hash(killed, 20));
    EXPECT_EQ(test::metrics_of(whole), test::metrics_of(killed));
    EXPECT_TRUE(train::verify_checkpoint(train::checkpoint_folder(killed, 20)));
}

TEST(Crash, a_killed_run_is_known_as_interrupted_with_the_checkpoint_it_can_resume_from) {
    const test::TemporaryFolder folder;
    const pid_t child = start(train_arguments(folder / "run"));
    while (!fs::exists(folder / "run/checkpoints/step-000002"))
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    kill(child, SIGKILL);
    wait_for(child);
    const auto summary = record::RunReader::open(folder / "run").value().summary().value();
    EXPECT_EQ(summary.state, record::RunState::Interrupted);
}

TEST(Signals, the_first_interrupt_finishes_the_step_and_saves) {
    const test::TemporaryFolder folder;
    const pid_t child = start(train_arguments(folder / "run"));
    while (!fs::exists(folder / "run/checkpoints/step-000001"))
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    kill(child, SIGINT);
    EXPECT_EQ(wait_for(child), 130);
    EXPECT_EQ(record::RunReader::open(folder / "run").value().summary().value().state,
              record::RunState::Stopped);
    const auto newest = train::newest_checkpoint(folder / "run");
    EXPECT_FALSE(newest.folder.empty());
    EXPECT_TRUE(newest.broken.empty());
}

TEST(FullDisk, loses_nothing_that_was_saved_and_says_what_it_did) {
    const test::TemporaryFolder folder;
    const fs::path disk = folder / "disk";
    fs::create_directory(disk);
    if (mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=30m") != 0)
        GTEST_SKIP() << "needs the right to mount a small tmpfs";
    const auto recipe = test::small_recipe(
        "sample-opd", {"run.steps=5", "checkpoint.every=1", "checkpoint.keep_last=9", "record.top16=true"});
    const auto outcome = test::run(recipe, disk / "run");
    // A checkpoint takes about 10 MB: the third cannot be written, the run goes on, its last save fails.
    EXPECT_FALSE(outcome.result);
    EXPECT_EQ(outcome.all<StepDone>().size(), 5u);
    EXPECT_TRUE(outcome.mentions("not saved"));
    const auto newest = train::newest_checkpoint(disk / "run");
    EXPECT_FALSE(newest.folder.empty());
    EXPECT_TRUE(newest.broken.empty());
    for (const auto& [step, checkpoint] : train::checkpoints_of(disk / "run"))
        EXPECT_TRUE(train::verify_checkpoint(checkpoint)) << step;
    EXPECT_TRUE(record::RunReader::open(disk / "run"));
    umount2(disk.c_str(), MNT_DETACH);
}

} // namespace
} // namespace stillroom::session
