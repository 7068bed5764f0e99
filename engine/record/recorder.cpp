// SPDX-License-Identifier: GPL-3.0-or-later
#include "record/recorder.h"

#include "record/liveness.h"
#include "record/rollout_figures.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <spdlog/spdlog.h>

namespace stillroom::record {

namespace {

constexpr double worth_an_event_seconds = 1;

int64_t step_of(const Record& record) {
    return std::visit(
        [](const auto& one) -> int64_t {
            if constexpr (requires { one.step; }) {
                return one.step;
            } else {
                return one.last_step;
            }
        },
        record);
}

std::string told(const Dropped& dropped) {
    std::vector<std::string> parts;
    const auto add = [&](int64_t count, const char* what) {
        if (count > 0) parts.push_back(std::to_string(count) + " " + what);
    };
    add(dropped.top16, "top-16 records");
    add(dropped.tokens, "token records");
    add(dropped.texts, "texts of rollouts");
    add(dropped.refused, "records that the store refused");
    std::string text;
    for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
    return text;
}

bool any(const Dropped& dropped) {
    return dropped.top16 + dropped.tokens + dropped.texts + dropped.refused > 0;
}

// Each takes one part out of a rollout; false where it is gone already.
bool drop_top16(RolloutRecord& rollout) {
    if (!rollout.top16) return false;
    rollout.top16.reset();
    rollout.kept_because.clear();
    return true;
}

bool drop_tokens(RolloutRecord& rollout) {
    if (rollout.tokens.ids.empty()) return false;
    const RolloutFigures figures =
        figures_of(rollout); // the list still shows what the tokens would have told
    const std::pair<const char*, double> means[]{{"kl_reverse_exact", figures.kl_mean},
                                                 {"kl_reverse_max", figures.kl_max},
                                                 {"entropy_student", figures.entropy},
                                                 {"overlap_top16", figures.overlap},
                                                 {"gain_mean", figures.gain}};
    for (const auto& [name, value] : means) {
        if (!std::isnan(value)) rollout.means.emplace(name, value);
    }
    rollout.length = int64_t(rollout.tokens.ids.size());
    rollout.tokens = {};
    return true;
}

bool drop_text(RolloutRecord& rollout) {
    if (rollout.text.empty() && rollout.problem.empty() && rollout.prompt_ids.empty()) return false;
    for (std::string* text : {&rollout.text, &rollout.problem, &rollout.why}) *text = {};
    for (auto* ids : {&rollout.prompt_ids, &rollout.teacher_prompt_ids}) *ids = {};
    return true;
}

} // namespace

Recorder::Recorder(std::unique_ptr<RecordSink> sink, RecorderOptions options)
    : sink_(std::move(sink)), options_(options), thread_([this] { run(); }) {}

Recorder::~Recorder() { (void)close(std::chrono::seconds(2)); }

void Recorder::post(Record record) {
    std::vector<Record> group;
    group.push_back(std::move(record));
    post(std::move(group));
}

void Recorder::post(std::vector<Record> records) {
    if (records.empty()) return;
    Group group;
    for (Record& record : records) {
        group.bytes += estimated_bytes(record);
        // An event's time is when it happened, not when the disk took it.
        if (auto* event = std::get_if<EventRecord>(&record); event && event->time == 0)
            event->time = unix_time();
    }
    group.records = std::move(records);
    const Lock lock(mutex_);
    for (const Record& record : group.records) newest_step_ = std::max(newest_step_, step_of(record));
    enqueue(std::move(group), false);
    make_room();
}

void Recorder::enqueue(Group group, bool first) {
    status_.backlog_bytes += group.bytes;
    status_.backlog_records += group.records.size();
    if (first) {
        waiting_.push_front(std::move(group));
    } else {
        waiting_.push_back(std::move(group));
    }
    work_.notify_one();
}

void Recorder::progress(int64_t counter) {
    const Lock lock(mutex_);
    progress_ = counter;
}

RecorderStatus Recorder::status() const {
    const Lock lock(mutex_);
    return status_;
}

Result<void> Recorder::flush(std::chrono::milliseconds timeout) {
    Lock lock(mutex_);
    if (written_.wait_for(lock, timeout, [&] { return status_.backlog_records == 0; })) return {};
    return Error{std::to_string(status_.backlog_records) + " records are not written yet" +
                 (status_.writing ? "" : ": " + status_.fault)};
}

Result<void> Recorder::close(std::chrono::milliseconds timeout) {
    if (!thread_.joinable()) return {};
    const auto flushed = flush(timeout);
    {
        const Lock lock(mutex_);
        closing_ = true;
    }
    work_.notify_all();
    thread_.join();
    const Lock lock(mutex_);
    if (status_.backlog_records == 0) return {};
    const Error lost{std::to_string(status_.backlog_records) + " records are lost" +
                     (status_.fault.empty() ? "" : ": " + status_.fault)};
    spdlog::error("recorder: {}", lost.message());
    return lost;
}

void Recorder::run() {
    using Clock = std::chrono::steady_clock;
    auto next_beat = Clock::now() + options_.heartbeat;
    auto delay = options_.first_retry;
    Lock lock(mutex_);
    for (;;) {
        if (status_.writing) {
            work_.wait_until(lock, next_beat, [&] { return closing_ || !waiting_.empty(); });
            delay = options_.first_retry;
        } else {
            work_.wait_for(lock, delay, [&] { return closing_; });
            delay = std::min(2 * delay, options_.longest_retry);
        }
        if (!waiting_.empty()) {
            Group batch = take_batch();
            in_flight_ = true;
            lock.unlock();
            const bool done = write(batch); // takes the lock for its report
            lock.lock();
            in_flight_ = false;
            if (!done) {
                waiting_.push_front(std::move(batch)); // still counted in the backlog
                make_room();
                if (closing_) return;
                continue;
            }
            if (status_.backlog_records == 0) written_.notify_all();
        }
        if (closing_ && waiting_.empty()) return;
        if (Clock::now() >= next_beat || !status_.writing) {
            beat(lock);
            next_beat = Clock::now() + options_.heartbeat;
        }
    }
}

void Recorder::beat(Lock& lock) {
    const int64_t progress = progress_;
    lock.unlock();
    const auto beaten = sink_->heartbeat(progress);
    lock.lock();
    if (!beaten) {
        failed(beaten.error());
    } else if (!status_.writing) {
        succeeded(0);
    }
}

Recorder::Group Recorder::take_batch() {
    Group batch = std::move(waiting_.front());
    waiting_.pop_front();
    while (!waiting_.empty() && batch.bytes + waiting_.front().bytes <= options_.batch_bytes) {
        Group& next = waiting_.front();
        batch.bytes += next.bytes;
        std::move(next.records.begin(), next.records.end(), std::back_inserter(batch.records));
        waiting_.pop_front();
    }
    return batch;
}

bool Recorder::write(Group& batch) {
    const auto written = sink_->append(batch.records);
    if (!written && sink_->refused()) return write_singly(batch);
    const Lock lock(mutex_);
    if (!written) {
        failed(written.error());
        return false;
    }
    status_.backlog_bytes -= batch.bytes;
    status_.backlog_records -= batch.records.size();
    succeeded(batch.records.size());
    return true;
}

bool Recorder::write_singly(Group& batch) {
    while (!batch.records.empty()) {
        Record& record = batch.records.front();
        const auto written = sink_->append(std::span(&record, 1));
        const bool refused = !written && sink_->refused();
        const size_t bytes =
            batch.records.size() == 1 ? batch.bytes : std::min(batch.bytes, estimated_bytes(record));
        const int64_t step = step_of(record);
        const Lock lock(mutex_);
        if (!written && !refused) {
            failed(written.error());
            return false;
        }
        if (refused) {
            spdlog::error("recorder: a record of step {} is refused: {}", step, written.error().message());
            if (!any(gap_)) gap_first_ = step;
            gap_last_ = std::max(gap_last_, step);
            ++gap_.refused;
            ++status_.dropped.refused;
        }
        batch.bytes -= bytes;
        batch.records.erase(batch.records.begin());
        status_.backlog_bytes -= bytes;
        status_.backlog_records -= 1;
        succeeded(refused ? 0 : 1);
    }
    return true;
}

void Recorder::failed(const Error& error) {
    status_.fault = error.message();
    if (!status_.writing) return;
    status_.writing = false;
    status_.retrying_since = unix_time();
    spdlog::warn("recorder: writing fails, records wait in memory: {}", status_.fault);
}

void Recorder::succeeded(size_t records) {
    status_.written_records += int64_t(records);
    const double outage = status_.writing ? 0 : unix_time() - status_.retrying_since;
    if (!status_.writing) spdlog::info("recorder: writing works again after {:.1f} s", outage);
    if (any(gap_) || outage >= worth_an_event_seconds) {
        const std::string cause = outage > 0 ? "nothing could be written for " +
                                                   std::to_string(std::lround(std::ceil(outage))) + " s (" +
                                                   status_.fault + "); "
                                             : "";
        EventRecord event{newest_step_, "recording", cause + "nothing is lost", unix_time()};
        if (any(gap_)) {
            event.kind = "gap";
            event.text = cause + "lost in steps " + std::to_string(gap_first_) + " to " +
                         std::to_string(gap_last_) + ": " + told(gap_);
        }
        Group group;
        group.bytes = estimated_bytes(Record(event));
        group.records.push_back(std::move(event));
        gap_ = {};
        enqueue(std::move(group), true);
    }
    status_.writing = true;
    status_.retrying_since = 0;
    status_.fault.clear();
}

void Recorder::make_room() {
    const auto strip = [&](int64_t Dropped::*kind, bool (*drop)(RolloutRecord&)) {
        for (Group& group : waiting_) {
            for (Record& record : group.records) {
                if (status_.backlog_bytes <= options_.capacity) return;
                auto* rollout = std::get_if<RolloutRecord>(&record);
                const size_t before = estimated_bytes(record);
                if (!rollout || !drop(*rollout)) continue;
                const size_t freed = before - std::min(before, estimated_bytes(record));
                group.bytes -= freed;
                status_.backlog_bytes -= freed;
                gap_first_ = any(gap_) ? std::min(gap_first_, rollout->step) : rollout->step;
                gap_last_ = any(gap_) ? std::max(gap_last_, rollout->step) : rollout->step;
                ++(gap_.*kind);
                ++(status_.dropped.*kind);
            }
        }
    };
    strip(&Dropped::top16, drop_top16);
    strip(&Dropped::tokens, drop_tokens);
    strip(&Dropped::texts, drop_text);
}

} // namespace stillroom::record
