// SPDX-License-Identifier: GPL-3.0-or-later
// Stores that are cut, overwritten, of another program or of the future: an error that names the file, never
// a crash.
#include "base/files.h"
#include "tests/record/examples.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fstream>

namespace stillroom::record {
namespace {

std::string message_of_opening(const ExampleRun& run) {
    const auto reader = RunReader::open(run.folder.path());
    return reader ? "" : reader.error().message();
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// Reads all there is; whether every query succeeded.
bool read_everything(const RunReader& reader) {
    bool all =
        bool(reader.summary()) && bool(reader.settings()) && bool(reader.events()) && bool(reader.alarms());
    all = bool(reader.checkpoints()) && bool(reader.evaluations()) && bool(reader.faults()) && all;
    const auto metrics = reader.metrics();
    if (!metrics) return false;
    for (const MetricSummary& metric : *metrics) all = bool(reader.series(metric.tag)) && all;
    const auto rollouts = reader.rollouts({.order = RolloutOrder::MaxKl, .limit = 100000});
    if (!rollouts) return false;
    for (const RolloutSummary& rollout : *rollouts) all = bool(reader.rollout(rollout.id)) && all;
    return all;
}

void fill(const ExampleRun& run) {
    RunStore store = run.create();
    for (int64_t step = 1; step <= 30; ++step) {
        RolloutRecord rollout = example_rollout(step, 0, 200);
        rollout.top16 = example_top16(200);
        ASSERT_TRUE(
            store.append(std::vector<Record>{example_step(step), rollout, EventRecord{step, "note", "x"}}));
    }
    ASSERT_TRUE(store.append(StateRecord{RunState::Finished, 30, ""}));
}

void change(const ExampleRun& run, const std::string& sql) {
    SQLite::Database database((run.folder / "run.sqlite").string(), SQLite::OPEN_READWRITE);
    database.exec(sql);
}

TEST(BrokenStore, of_a_future_version_is_refused_by_reader_and_writer_with_both_versions) {
    const ExampleRun run;
    fill(run);
    change(run, "PRAGMA user_version = 7");
    const std::string message = message_of_opening(run);
    EXPECT_TRUE(contains(message, "run.sqlite: schema version 7, this program knows version 1")) << message;
    EXPECT_TRUE(contains(message, "newer Stillroom")) << message;
    const auto writer = RunStore::open(run.folder.path());
    ASSERT_FALSE(writer);
    EXPECT_TRUE(contains(writer.error().message(), "schema version 7"));
}

TEST(BrokenStore, of_another_program_is_refused_and_left_as_it_is) {
    const ExampleRun run;
    const std::string file = (run.folder / "run.sqlite").string();
    SQLite::Database(file, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec("CREATE TABLE run(a)");
    const std::string before = read_file(file).value();
    EXPECT_TRUE(contains(message_of_opening(run), "not the store of a Stillroom run"));
    EXPECT_FALSE(RunStore::open(run.folder.path()));
    EXPECT_EQ(read_file(file).value(), before);
}

TEST(BrokenStore, without_a_table_or_column_is_refused_by_its_name) {
    const ExampleRun run;
    fill(run);
    change(run, "ALTER TABLE rollout DROP COLUMN verdict");
    EXPECT_TRUE(contains(message_of_opening(run), "column `rollout.verdict` is missing"));
    change(run, "DROP TABLE step_time");
    change(run, "DROP TABLE rollout");
    EXPECT_TRUE(contains(message_of_opening(run), "table `rollout` is missing"));
}

TEST(BrokenStore, that_is_no_database_or_empty_or_a_folder_is_refused) {
    const ExampleRun run;
    std::ofstream(run.folder / "run.sqlite") << std::string(5000, 'x');
    EXPECT_TRUE(contains(message_of_opening(run), "run.sqlite: not a run store")) << message_of_opening(run);
    std::ofstream(run.folder / "run.sqlite", std::ios::trunc).flush();
    EXPECT_TRUE(contains(message_of_opening(run), "not the store of a Stillroom run"))
        << message_of_opening(run);
    std::filesystem::remove(run.folder / "run.sqlite");
    std::filesystem::create_directory(run.folder / "run.sqlite");
    EXPECT_TRUE(contains(message_of_opening(run), "no such file"));
}

TEST(BrokenStore, without_its_run_row_or_with_an_unknown_state_is_an_error) {
    const ExampleRun run;
    fill(run);
    change(run, "UPDATE run SET state = 'asleep'");
    const auto asleep = run.read().summary();
    ASSERT_FALSE(asleep);
    EXPECT_TRUE(contains(asleep.error().message(), "\"asleep\""));
    change(run, "DELETE FROM run");
    EXPECT_FALSE(run.read().summary());
    EXPECT_FALSE(RunStore::open(run.folder.path()));
}

TEST(BrokenStore, cut_at_any_length_gives_an_error_or_what_is_still_there) {
    const ExampleRun run;
    fill(run);
    const std::string whole = read_file(run.folder / "run.sqlite").value();
    ASSERT_GT(whole.size(), 200'000u);
    size_t complete = 0;
    for (size_t size = 1; size < whole.size(); size += 7919) {
        const ExampleRun cut;
        std::ofstream(cut.folder / "run.sqlite", std::ios::binary) << whole.substr(0, size);
        const auto reader = RunReader::open(cut.folder.path());
        if (reader && read_everything(*reader)) {
            // What SQLite could read must at least not be called sound.
            complete += reader->faults().value().empty();
        }
    }
    EXPECT_EQ(complete, 0u);
}

TEST(BrokenStore, with_overwritten_pages_gives_errors_that_name_the_file) {
    const ExampleRun run;
    fill(run);
    const std::string whole = read_file(run.folder / "run.sqlite").value();
    constexpr size_t page = 8192;
    size_t noticed = 0, pages = whole.size() / page;
    for (size_t i = 1; i < pages; i += 2) {
        const ExampleRun damaged;
        std::string bytes = whole;
        bytes.replace(i * page, page, std::string(page, '\xa5'));
        std::ofstream(damaged.folder / "run.sqlite", std::ios::binary) << bytes;
        const auto reader = RunReader::open(damaged.folder.path());
        if (!reader) {
            EXPECT_TRUE(contains(reader.error().message(), "run.sqlite"));
            ++noticed;
        } else if (const auto faults = reader->faults();
                   !read_everything(*reader) || !faults || !faults->empty()) {
            ++noticed;
        }
    }
    // An overwritten page in the middle of a blob's chain shows nowhere but in the blob's bytes.
    EXPECT_GT(noticed, pages / 8);
}

TEST(BrokenStore, with_a_malformed_token_record_fails_for_that_rollout_alone) {
    const ExampleRun run;
    fill(run);
    change(run, "UPDATE rollout_tokens SET record = x'0100000005000000' WHERE rollout = 3");
    change(run, "UPDATE rollout_top16 SET record = x'09000000c8000000' WHERE rollout = 4");
    change(run, "UPDATE rollout SET means = '{\"a\"' WHERE id = 5");
    change(run, "UPDATE rollout_text SET prompt_ids = x'010203' WHERE rollout = 6");
    const RunReader reader = run.read();
    EXPECT_TRUE(reader.rollout(2));
    const auto cut = reader.rollout(3), newer = reader.rollout(4);
    ASSERT_FALSE(cut);
    EXPECT_TRUE(contains(cut.error().message(), "rollout 3, token record: a record of 8 bytes, expected 108"))
        << cut.error().message();
    ASSERT_FALSE(newer);
    EXPECT_TRUE(contains(newer.error().message(), "rollout 4, top-16 record: record version 9"))
        << newer.error().message();
    EXPECT_FALSE(reader.rollout(5));
    EXPECT_FALSE(reader.rollout(6));
}

TEST(BrokenStore, with_a_half_written_last_transaction_does_not_have_it_yet) {
    const ExampleRun run, cut;
    std::string log, base;
    {
        RunStore store = run.create();
        ASSERT_TRUE(store.append(example_step(1)));
        const size_t after_first = read_file(run.folder / "run.sqlite-wal").value().size();
        ASSERT_TRUE(store.append(std::vector<Record>{example_step(2), example_rollout(2, 0, 3000)}));
        base = read_file(run.folder / "run.sqlite").value();
        log = read_file(run.folder / "run.sqlite-wal").value();
        ASSERT_GT(log.size(), after_first + 10'000);
        log.resize(after_first + (log.size() - after_first) / 2); // as a power failure leaves it
    }
    std::ofstream(cut.folder / "run.sqlite", std::ios::binary) << base;
    std::ofstream(cut.folder / "run.sqlite-wal", std::ios::binary) << log;
    const RunReader reader = cut.read();
    EXPECT_EQ(steps_of(reader.series("loss").value()), (std::vector<int64_t>{1}));
    EXPECT_TRUE(reader.rollouts({}).value().empty());
    EXPECT_TRUE(reader.faults().value().empty());
}

} // namespace
} // namespace stillroom::record
