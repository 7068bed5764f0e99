// SPDX-License-Identifier: GPL-3.0-or-later
#include "data/order.h"

#include "base/ensure.h"
#include "base/philox.h"

#include <limits>
#include <numeric>
#include <string>
#include <utility>

namespace stillroom::data {

namespace {
constexpr uint64_t random_stream = 0x6f72646572ull << 24; // "order"; the epoch is added
}

PromptOrder::PromptOrder(int64_t size, uint64_t seed, bool shuffled)
    : size_(size), seed_(seed), shuffled_(shuffled) {
    ensure(size > 0 && size <= std::numeric_limits<uint32_t>::max(),
           "order of " + std::to_string(size) + " examples");
    arrange();
}

int64_t PromptOrder::next() {
    if (cursor_.position == size_) {
        cursor_ = {cursor_.epoch + 1, 0};
        arrange();
    }
    const int64_t position = cursor_.position++;
    return shuffled_ ? order_[size_t(position)] : position;
}

std::vector<int64_t> PromptOrder::next(int64_t count) {
    std::vector<int64_t> indices;
    for (int64_t i = 0; i < count; ++i) indices.push_back(next());
    return indices;
}

void PromptOrder::set_cursor(OrderCursor cursor) {
    ensure(cursor.epoch >= 0 && cursor.position >= 0 && cursor.position <= size_,
           "cursor at " + std::to_string(cursor.position) + " of " + std::to_string(size_) + " examples");
    const bool same_epoch = cursor.epoch == cursor_.epoch;
    cursor_ = cursor;
    if (!same_epoch) arrange();
}

void PromptOrder::arrange() {
    if (!shuffled_) return;
    order_.resize(size_t(size_));
    std::iota(order_.begin(), order_.end(), 0);
    PhiloxStream random(seed_, random_stream + uint64_t(cursor_.epoch));
    for (size_t i = order_.size() - 1; i > 0; --i)
        std::swap(order_[i], order_[random.below(uint32_t(i + 1))]);
}

} // namespace stillroom::data
