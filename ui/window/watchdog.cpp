// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/watchdog.h"

#include <algorithm>
#include <numeric>

namespace stillroom::ui {

Watchdog::Watchdog(QObject* parent) : QObject(parent) {
    timer_.setTimerType(Qt::PreciseTimer);
    timer_.setInterval(interval);
    connect(&timer_, &QTimer::timeout, this, &Watchdog::tick);
    restart();
    timer_.start();
}

void Watchdog::restart() {
    std::fill(counts_.begin(), counts_.end(), 0);
    longest_ = 0;
    total_.start();
    since_.start();
}

void Watchdog::tick() {
    const double late = std::max(0.0, double(since_.nsecsElapsed()) / 1e6 - interval);
    since_.restart();
    longest_ = std::max(longest_, late);
    ++counts_[size_t(std::min(bins - 1, int(late * 4)))];
}

Stalls Watchdog::stalls() const {
    Stalls stalls{double(total_.elapsed()) / 1000, longest_, 0, 0};
    const int64_t ticks = std::accumulate(counts_.begin(), counts_.end(), int64_t{0});
    int64_t seen = 0;
    for (int bin = 0; bin < bins; ++bin) {
        const int64_t before = seen;
        seen += counts_[size_t(bin)];
        const double late = (bin + 1) / 4.0; // the bin's upper end
        if (before * 2 < ticks && seen * 2 >= ticks) stalls.median = late;
        if (before * 100 < ticks * 99 && seen * 100 >= ticks * 99) stalls.p99 = late;
    }
    return stalls;
}

} // namespace stillroom::ui
