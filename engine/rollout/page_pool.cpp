// SPDX-License-Identifier: GPL-3.0-or-later
#include "rollout/page_pool.h"

#include "base/ensure.h"

#include <algorithm>
#include <numeric>
#include <string>

namespace stillroom::rollout {

PagePool::PagePool(int64_t pages) : holders_(size_t(pages), 0), free_(size_t(pages)) {
    std::iota(free_.rbegin(), free_.rend(), 0); // page 0 is taken first
}

int32_t PagePool::take() {
    ensure(!free_.empty(), "no page is free of " + std::to_string(pages()));
    const int32_t page = free_.back();
    free_.pop_back();
    holders_[size_t(page)] = 1;
    used_max_ = std::max(used_max_, used());
    return page;
}

void PagePool::hold(int32_t page) {
    ensure(holders_[size_t(page)] > 0, "page " + std::to_string(page) + " is free and cannot be shared");
    ++holders_[size_t(page)];
}

void PagePool::drop(int32_t page) {
    ensure(holders_[size_t(page)] > 0, "page " + std::to_string(page) + " is free already");
    if (--holders_[size_t(page)] == 0) free_.push_back(page);
}

} // namespace stillroom::rollout
