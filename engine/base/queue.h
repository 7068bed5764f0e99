// SPDX-License-Identifier: GPL-3.0-or-later
// A queue between two threads, bounded by a cost that the caller gives each item (bytes, or 1).
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace stillroom {

template <typename T>
class BoundedQueue {
public:
    explicit BoundedQueue(size_t capacity) : capacity_(capacity) {}

    /// False, and nothing taken, where the item would pass the capacity or the queue is closed.
    bool try_push(T item, size_t cost = 1) {
        {
            const std::lock_guard lock(mutex_);
            if (closed_ || (used_ + cost > capacity_ && !items_.empty())) return false;
            used_ += cost;
            items_.emplace_back(std::move(item), cost);
        }
        ready_.notify_one();
        return true;
    }
    /// The oldest item; nothing after `timeout`, or once the queue is closed and empty.
    std::optional<T> pop(std::chrono::milliseconds timeout) {
        std::unique_lock lock(mutex_);
        ready_.wait_for(lock, timeout, [&] { return closed_ || !items_.empty(); });
        return take();
    }
    std::optional<T> try_pop() {
        const std::lock_guard lock(mutex_);
        return take();
    }
    void close() {
        {
            const std::lock_guard lock(mutex_);
            closed_ = true;
        }
        ready_.notify_all();
    }
    bool closed() const {
        const std::lock_guard lock(mutex_);
        return closed_;
    }
    size_t used() const {
        const std::lock_guard lock(mutex_);
        return used_;
    }

private:
    std::optional<T> take() {
        if (items_.empty()) return std::nullopt;
        auto [item, cost] = std::move(items_.front());
        items_.pop_front();
        used_ -= cost;
        return std::move(item);
    }

    mutable std::mutex mutex_;
    std::condition_variable ready_;
    std::deque<std::pair<T, size_t>> items_;
    const size_t capacity_;
    size_t used_ = 0;
    bool closed_ = false;
};

} // namespace stillroom
