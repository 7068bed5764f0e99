// SPDX-License-Identifier: GPL-3.0-or-later
// The recorder under failing writes: the caller goes on at once, records wait, what does not fit is dropped
// in the stated order, and all of it is told.
#include "record/recorder.h"

#include "record/rollout_figures.h"
#include "tests/record/examples.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <atomic>
#include <cmath>
#include <fstream>
#include <functional>
#include <sys/mount.h>

namespace stillroom::record {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// The store of `run`, failing as long as `fault` says so.
struct Faulty {
    std::atomic<bool> failing = false, refusing_rollouts = false;
    std::atomic<int> attempts = 0, largest_batch = 0;

    class Sink : public RecordSink {
    public:
        Sink(RunStore store, Faulty& faulty) : store_(std::move(store)), faulty_(faulty) {}
        Result<void> append(std::span<const Record> records) override {
            ++faulty_.attempts;
            faulty_.largest_batch = std::max<int>(faulty_.largest_batch, int(records.size()));
            refused_ = false;
            if (faulty_.failing) return Error{"no space left: database or disk is full", "run.sqlite"};
            for (const Record& record : records) {
                if (faulty_.refusing_rollouts && std::holds_alternative<RolloutRecord>(record)) {
                    refused_ = true;
                    return Error{"constraint failed", "run.sqlite"};
                }
            }
            return store_.append(records);
        }
        bool refused() const override { return refused_; }
        Result<void> heartbeat(int64_t progress) override {
            if (faulty_.failing) return Error{"no space left: database or disk is full", "run.sqlite"};
            return store_.heartbeat(progress);
        }

    private:
        RunStore store_;
        Faulty& faulty_;
        bool refused_ = false;
    };
    std::unique_ptr<RecordSink> over(RunStore store) {
        return std::make_unique<Sink>(std::move(store), *this);
    }
};

RecorderOptions quick(size_t capacity = 256u << 20) {
    RecorderOptions options;
    options.capacity = capacity;
    options.heartbeat = milliseconds(20);
    options.first_retry = milliseconds(5);
    options.longest_retry = milliseconds(20);
    return options;
}

/// Waits up to 10 s for something that another thread does.
bool comes_true(const std::function<bool()>& condition) {
    for (int i = 0; i < 1000; ++i) {
        if (condition()) return true;
        std::this_thread::sleep_for(milliseconds(10));
    }
    return false;
}

std::vector<Record> example_group(int64_t step, size_t length) {
    RolloutRecord rollout = example_rollout(step, 0, length);
    rollout.top16 = example_top16(length);
    rollout.kept_because = "random";
    return {std::move(rollout), example_step(step)};
}

std::vector<std::string> texts_of(const ExampleRun& run, const std::string& kind) {
    std::vector<std::string> texts;
    const auto events = run.read().events().value();
    for (const StoredEvent& event : events) {
        if (event.event.kind == kind) texts.push_back(event.event.text);
    }
    return texts;
}

TEST(Recorder, writes_all_that_is_posted_in_order) {
    const ExampleRun run;
    Recorder recorder(std::make_unique<RunStore>(run.create()), quick());
    for (int64_t step = 1; step <= 50; ++step) recorder.post(example_group(step, 30));
    recorder.post(StateRecord{RunState::Finished, 50, ""});
    ASSERT_TRUE(recorder.close(seconds(30)));
    EXPECT_EQ(run.read().series("loss").value().size(), 50u);
    const auto rollouts = run.read().rollouts({}).value();
    ASSERT_EQ(rollouts.size(), 50u);
    for (size_t i = 0; i < 50; ++i) EXPECT_EQ(rollouts[i].step, int64_t(i + 1));
    EXPECT_EQ(run.read().summary().value().state, RunState::Finished);
    EXPECT_EQ(recorder.status().written_records, 101);
    EXPECT_EQ(recorder.status().backlog_bytes, 0u);
}

TEST(Recorder, gives_signs_of_life_with_the_progress_while_nothing_is_posted) {
    const ExampleRun run;
    Recorder recorder(std::make_unique<RunStore>(run.create()), quick());
    recorder.progress(77);
    ASSERT_TRUE(comes_true([&] { return run.read().summary().value().progress == 77; }));
    const double first = run.read().summary().value().heartbeat;
    EXPECT_TRUE(comes_true([&] { return run.read().summary().value().heartbeat > first; }));
}

TEST(Recorder, waits_in_memory_while_writing_fails_and_loses_nothing) {
    const ExampleRun run;
    Faulty faulty;
    faulty.failing = true;
    Recorder recorder(faulty.over(run.create()), quick());
    for (int64_t step = 1; step <= 20; ++step) recorder.post(example_group(step, 100));
    ASSERT_TRUE(comes_true([&] { return faulty.attempts >= 3; })) << "it must try again by itself";
    const RecorderStatus during = recorder.status();
    EXPECT_FALSE(during.writing);
    EXPECT_GT(during.retrying_since, 1.7e9);
    EXPECT_NE(during.fault.find("disk is full"), std::string::npos);
    EXPECT_EQ(during.backlog_records, 40u);
    EXPECT_GT(during.backlog_bytes, 20 * 100 * 280u);
    EXPECT_EQ(during.written_records, 0);
    const auto flushed = recorder.flush(milliseconds(50));
    ASSERT_FALSE(flushed);
    EXPECT_NE(flushed.error().message().find("40 records are not written yet: "), std::string::npos);
    faulty.failing = false;
    ASSERT_TRUE(recorder.flush(seconds(30)));
    EXPECT_TRUE(recorder.status().writing);
    EXPECT_EQ(recorder.status().fault, "");
    EXPECT_EQ(run.read().series("loss").value().size(), 20u);
    EXPECT_EQ(run.read().summary().value().top16, 20);
    EXPECT_TRUE(texts_of(run, "gap").empty());
}

TEST(Recorder, drops_top16_records_first_then_tokens_then_texts_never_metrics_and_tells_the_gap) {
    const ExampleRun run;
    Faulty faulty;
    faulty.failing = true;
    const size_t group_bytes =
        estimated_bytes(example_group(1, 1000)[0]) + estimated_bytes(example_group(1, 1000)[1]);
    const auto count = [](const RecorderStatus& status) {
        return std::vector<int64_t>{status.dropped.top16, status.dropped.tokens, status.dropped.texts};
    };
    {
        Recorder recorder(faulty.over(run.create()), quick(4 * group_bytes));
        for (int64_t step = 1; step <= 4; ++step) recorder.post(example_group(step, 1000));
        EXPECT_EQ(count(recorder.status()), (std::vector<int64_t>{0, 0, 0}));
        recorder.post(example_group(5, 1000));
        // A batch that is being tried cannot be changed, so which ones go is only known once it is back.
        ASSERT_TRUE(comes_true([&] { return recorder.status().backlog_bytes <= 4 * group_bytes; }));
        EXPECT_GE(recorder.status().dropped.top16, 1);
        EXPECT_LE(recorder.status().dropped.top16, 2);
        EXPECT_EQ(recorder.status().dropped.tokens, 0);
        for (int64_t step = 6; step <= 400; ++step) {
            recorder.post(example_group(step, 1000));
            recorder.post(EventRecord{step, "note", "still here"});
        }
        ASSERT_TRUE(comes_true([&] { return recorder.status().backlog_bytes <= 4 * group_bytes; }));
        const RecorderStatus status = recorder.status();
        EXPECT_EQ(status.dropped.top16, 400);
        EXPECT_GT(status.dropped.tokens, 300);
        EXPECT_EQ(status.backlog_records, 5 * 2 + 395 * 3u);
        faulty.failing = false;
        ASSERT_TRUE(recorder.flush(seconds(60)));
    }
    EXPECT_EQ(run.read().series("loss").value().size(), 400u);
    EXPECT_EQ(texts_of(run, "note").size(), 395u);
    const auto gaps = texts_of(run, "gap");
    ASSERT_EQ(gaps.size(), 1u);
    EXPECT_NE(gaps[0].find("disk is full"), std::string::npos) << gaps[0];
    EXPECT_NE(gaps[0].find("400 top-16 records"), std::string::npos) << gaps[0];
    EXPECT_NE(gaps[0].find("in steps 1 to 400"), std::string::npos) << gaps[0];
    const auto rollouts = run.read().rollouts({.limit = 1000}).value();
    ASSERT_EQ(rollouts.size(), 400u);
    for (const RolloutSummary& rollout : rollouts) {
        EXPECT_FALSE(rollout.has_top16);
        EXPECT_EQ(rollout.kept_because, "");
        EXPECT_EQ(rollout.length, 1000);              // the list shows them as if nothing had been lost
        EXPECT_EQ(rollout.figures.kl_max, 63.0 / 32); // of 0, 1/32 .. 63/32
    }
}

TEST(Recorder, goes_on_past_a_record_that_the_store_refuses_and_tells_it) {
    const ExampleRun run;
    RolloutRecord contradictory = example_rollout(2, 0, 4);
    contradictory.tokens.kl.pop_back();
    Recorder recorder(std::make_unique<RunStore>(run.create()), quick());
    recorder.post(example_group(1, 10));
    recorder.post({contradictory, example_step(2), example_rollout(2, 1, 4)});
    recorder.post(example_group(3, 10));
    ASSERT_TRUE(recorder.close(seconds(30)));
    EXPECT_EQ(recorder.status().dropped.refused, 1);
    EXPECT_EQ(steps_of(run.read().series("loss").value()), (std::vector<int64_t>{1, 2, 3}));
    EXPECT_EQ(run.read().rollouts({}).value().size(), 3u);
    const auto gaps = texts_of(run, "gap");
    ASSERT_EQ(gaps.size(), 1u);
    EXPECT_NE(gaps[0].find("lost in steps 2 to 2: 1 records that the store refused"), std::string::npos)
        << gaps[0];
}

TEST(Recorder, closed_while_writing_fails_ends_and_says_what_is_lost) {
    const ExampleRun run;
    Faulty faulty;
    faulty.failing = true;
    Recorder recorder(faulty.over(run.create()), quick());
    recorder.post(example_group(1, 10));
    const auto closed = recorder.close(milliseconds(30));
    ASSERT_FALSE(closed);
    EXPECT_NE(closed.error().message().find("2 records are lost: "), std::string::npos)
        << closed.error().message();
}

TEST(Recorder, never_makes_the_caller_wait_for_a_locked_database_and_catches_up) {
    const ExampleRun run;
    Recorder recorder(std::make_unique<RunStore>(run.create()), quick());
    {
        SQLite::Database other((run.folder / "run.sqlite").string(), SQLite::OPEN_READWRITE);
        other.exec("BEGIN IMMEDIATE");
        for (int64_t step = 1; step <= 10; ++step) recorder.post(example_group(step, 10));
        ASSERT_TRUE(comes_true([&] { return !recorder.status().writing; }));
        EXPECT_NE(recorder.status().fault.find("locked by another program"), std::string::npos)
            << recorder.status().fault;
        EXPECT_TRUE(run.read().series("loss").value().empty());
        other.exec("ROLLBACK");
    }
    ASSERT_TRUE(recorder.flush(seconds(30)));
    EXPECT_EQ(run.read().series("loss").value().size(), 10u);
}

TEST(Recorder, survives_a_full_disk_and_catches_up_when_there_is_room) {
    const test::TemporaryFolder mount_point;
    if (mount("tmpfs", mount_point.path().c_str(), "tmpfs", 0, "size=4m") != 0) {
        GTEST_SKIP() << "a small tmpfs can only be mounted as root";
    }
    {
        RunStore store = std::move(RunStore::create(mount_point.path(), {.name = "small"})).value();
        Recorder recorder(std::make_unique<RunStore>(std::move(store)), quick());
        recorder.post(example_group(1, 100));
        EXPECT_TRUE(recorder.flush(seconds(30)));
        const auto ballast = mount_point / "ballast";
        {
            std::ofstream file(ballast, std::ios::binary);
            for (int i = 0; i < 64 && file; ++i) file << std::string(65536, 'x');
        }
        for (int64_t step = 2; step <= 6; ++step) recorder.post(example_group(step, 200));
        EXPECT_TRUE(comes_true([&] { return !recorder.status().writing; }));
        EXPECT_NE(recorder.status().fault.find("full"), std::string::npos) << recorder.status().fault;
        const auto reader = RunReader::open(mount_point.path());
        EXPECT_TRUE(reader && reader->series("loss") && steps_of(*reader->series("loss")).front() == 1);
        std::filesystem::remove(ballast);
        EXPECT_TRUE(recorder.flush(seconds(30)));
        EXPECT_EQ(reader ? reader->series("loss").value().size() : 0, 6u);
        EXPECT_TRUE(reader && reader->faults() && reader->faults()->empty());
    }
    EXPECT_EQ(umount(mount_point.path().c_str()), 0);
}

} // namespace
} // namespace stillroom::record
