// SPDX-License-Identifier: GPL-3.0-or-later
// The recorder thread: takes records from the engine at once and writes them in batches. Whatever happens to
// the disk, the engine never waits and never fails for it: what cannot be written waits in memory, and where
// that memory is full the largest and least needed parts are dropped and the gap is recorded.
#pragma once

#include "base/result.h"
#include "record/sink.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace stillroom::record {

struct RecorderOptions {
    size_t capacity = 256u << 20;  // bytes of waiting records, by estimated_bytes()
    size_t batch_bytes = 8u << 20; // of one transaction; a group is never divided
    std::chrono::milliseconds heartbeat{2000};
    std::chrono::milliseconds first_retry{100}, longest_retry{5000}; // doubling in between
};

/// What was lost to a full buffer, or because the store refused it.
struct Dropped {
    int64_t top16 = 0, tokens = 0,
            texts = 0;   // of rollouts, in this order; metrics and events are never dropped
    int64_t refused = 0; // records that the store cannot take, whenever
};

struct RecorderStatus {
    bool writing = true;       // false: the last write failed and is tried again
    double retrying_since = 0; // Unix seconds
    std::string fault;         // of the last failed write, while it fails
    size_t backlog_bytes = 0, backlog_records = 0;
    int64_t written_records = 0;
    Dropped dropped;
};

class Recorder {
public:
    explicit Recorder(std::unique_ptr<RecordSink> sink, RecorderOptions options = {});
    /// close(2 s).
    ~Recorder();
    Recorder(const Recorder&) = delete;
    Recorder& operator=(const Recorder&) = delete;

    /// Takes the records and returns at once. They are written in one transaction, after all that came
    /// before: post all of one step together.
    void post(std::vector<Record> group);
    void post(Record record);
    /// The run got something done within a step: a counter that only grows, written with the next heartbeat.
    void progress(int64_t counter);

    RecorderStatus status() const;
    /// Waits until all that was posted before is written. An error says what keeps it from being so.
    Result<void> flush(std::chrono::milliseconds timeout);
    /// flush(), then ends the thread. What is still unwritten then is lost and said in the error and the log.
    Result<void> close(std::chrono::milliseconds timeout);

private:
    struct Group {
        std::vector<Record> records;
        size_t bytes = 0;
    };
    using Lock = std::unique_lock<std::mutex>;

    void run();
    Group take_batch();
    bool write(Group& batch);
    bool write_singly(Group& batch);
    void enqueue(Group group, bool first);
    void make_room();
    void failed(const Error& error);
    void succeeded(size_t records);
    void beat(Lock& lock);

    std::unique_ptr<RecordSink> sink_; // the thread's alone
    const RecorderOptions options_;

    mutable std::mutex mutex_; // guards all below
    std::condition_variable work_, written_;
    std::deque<Group> waiting_;
    RecorderStatus status_;
    Dropped gap_;                          // since the last "gap" event
    int64_t gap_first_ = 0, gap_last_ = 0; // steps
    int64_t newest_step_ = 0, progress_ = 0;
    bool in_flight_ = false;
    bool closing_ = false;
    std::thread thread_;
};

} // namespace stillroom::record
