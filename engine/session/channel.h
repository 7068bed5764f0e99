// SPDX-License-Identifier: GPL-3.0-or-later
// The two queues between a session's user and its engine thread.
#pragma once

#include "session/session.h"

#include <condition_variable>
#include <deque>
#include <mutex>

namespace stillroom::session {

class Channel {
public:
    void post_command(Command command) {
        const std::lock_guard lock(mutex_);
        commands_.push_back(std::move(command));
        changed_.notify_all();
    }
    std::optional<Command> take_command() {
        const std::lock_guard lock(mutex_);
        return take(commands_);
    }
    /// The next command, however long it takes.
    Command wait_for_command() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return !commands_.empty(); });
        return *take(commands_);
    }
    bool has_stop_now() const {
        const std::lock_guard lock(mutex_);
        for (const Command& command : commands_) {
            if (std::holds_alternative<StopNow>(command)) return true;
        }
        return false;
    }

    void post_event(Event event) {
        const std::lock_guard lock(mutex_);
        constexpr size_t slow = 256; // events waiting: the reader is slow, progress can be left out
        if (std::holds_alternative<PhaseProgress>(event) && events_.size() > slow) return;
        events_.push_back(std::move(event));
        changed_.notify_all();
    }
    std::optional<Event> next_event(std::chrono::milliseconds timeout) {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, timeout, [&] { return ended_ || !events_.empty(); });
        return take(events_);
    }
    void set_ended(bool ended) {
        const std::lock_guard lock(mutex_);
        ended_ = ended;
        changed_.notify_all();
    }
    bool over() const {
        const std::lock_guard lock(mutex_);
        return ended_ && events_.empty();
    }

private:
    template <typename T>
    static std::optional<T> take(std::deque<T>& queue) {
        if (queue.empty()) return std::nullopt;
        T first = std::move(queue.front());
        queue.pop_front();
        return first;
    }
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Command> commands_;
    std::deque<Event> events_;
    bool ended_ = true;
};

} // namespace stillroom::session
