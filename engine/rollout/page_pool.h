// SPDX-License-Identifier: GPL-3.0-or-later
// Which pages of a key-value cache are free, and how many hold each of the others. Knows nothing of tensors.
#pragma once

#include <cstdint>
#include <vector>

namespace stillroom::rollout {

class PagePool {
public:
    explicit PagePool(int64_t pages);

    int64_t pages() const { return int64_t(holders_.size()); }
    int64_t free() const { return int64_t(free_.size()); }
    int64_t used() const { return pages() - free(); }
    int64_t used_max() const { return used_max_; }

    /// A free page, with one holder; there must be one. The page freed last comes first.
    int32_t take();
    void hold(int32_t page);
    /// One holder less; the page is free after the last.
    void drop(int32_t page);
    bool shared(int32_t page) const { return holders_[size_t(page)] > 1; }

private:
    std::vector<int32_t> holders_; // [P]
    std::vector<int32_t> free_;
    int64_t used_max_ = 0;
};

} // namespace stillroom::rollout
