// SPDX-License-Identifier: GPL-3.0-or-later
// In which order a run goes through its data: as the file stands, or shuffled anew for every epoch by the
// run's seed. Where it is can be saved and restored.
#pragma once

#include <cstdint>
#include <vector>

namespace stillroom::data {

struct OrderCursor {
    int64_t epoch = 0, position = 0; // `position` examples of `epoch` have been given out
    bool operator==(const OrderCursor&) const = default;
};

/// Gives out 0..size-1, each once an epoch, without end. The order of an epoch depends on (seed, epoch)
/// alone.
class PromptOrder {
public:
    PromptOrder(int64_t size, uint64_t seed, bool shuffled);

    int64_t next();
    std::vector<int64_t> next(int64_t count);

    OrderCursor cursor() const { return cursor_; }
    /// Asserts that the position is within the data.
    void set_cursor(OrderCursor cursor);

private:
    void arrange();

    int64_t size_;
    uint64_t seed_;
    bool shuffled_;
    OrderCursor cursor_;
    std::vector<int64_t> order_; // of cursor_.epoch; empty where not shuffled
};

} // namespace stillroom::data
