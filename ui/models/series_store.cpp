// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/series_store.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace stillroom::ui {

void SeriesStore::append(const std::string& tag, const std::vector<record::SeriesPoint>& points) {
    Series& series = series_[tag];
    for (const auto& point : points) {
        if (!series.step.empty() && point.step <= series.step.back()) continue;
        series.step.push_back(point.step);
        series.value.push_back(point.value);
        last_step_ = std::max(last_step_, point.step);
        if (point.wall_seconds > 0)
            tick({point.step, point.wall_seconds, point.active_seconds, point.tokens_trained});
    }
    ++revision_;
}

void SeriesStore::append(const record::StepRecord& step) {
    const auto add = [&](const std::string& tag, double value) {
        Series& series = series_[tag];
        if (!series.step.empty() && step.step <= series.step.back()) return;
        series.step.push_back(step.step);
        series.value.push_back(value);
    };
    for (const auto& [tag, value] : step.metrics) add(tag, value);
    for (const auto& [phase, seconds] : step.phase_seconds) add("time_" + phase, seconds);
    last_step_ = std::max(last_step_, step.step);
    tick({step.step, step.wall_seconds, step.active_seconds, step.tokens_trained});
    ++revision_;
}

void SeriesStore::tick(const Clock& clock) {
    if (clocks_.empty() || clock.step > clocks_.back().step) {
        clocks_.push_back(clock);
        return;
    }
    const auto place = std::lower_bound(clocks_.begin(), clocks_.end(), clock.step,
                                        [](const Clock& a, int64_t step) { return a.step < step; });
    if (place->step != clock.step) clocks_.insert(place, clock);
}

const Series* SeriesStore::find(const std::string& tag) const {
    const auto found = series_.find(tag);
    return found == series_.end() || found->second.step.empty() ? nullptr : &found->second;
}

std::vector<std::string> SeriesStore::tags() const {
    std::vector<std::string> tags;
    for (const auto& [tag, series] : series_) {
        if (!series.step.empty()) tags.push_back(tag);
    }
    return tags;
}

double SeriesStore::on(const Clock& clock, XAxis axis) {
    switch (axis) {
    case XAxis::Step:
        return double(clock.step);
    case XAxis::WallTime:
        return clock.wall;
    case XAxis::ActiveTime:
        return clock.active;
    case XAxis::Tokens:
        return double(clock.tokens);
    }
    return 0;
}

double SeriesStore::x_of(int64_t step, XAxis axis) const {
    if (axis == XAxis::Step) return double(step);
    const auto after =
        std::upper_bound(clocks_.begin(), clocks_.end(), step,
                         [](int64_t wanted, const Clock& clock) { return wanted < clock.step; });
    return after == clocks_.begin() ? 0 : on(*std::prev(after), axis);
}

int64_t SeriesStore::step_at(double x, XAxis axis) const {
    if (clocks_.empty()) return last_step_;
    const auto after =
        std::upper_bound(clocks_.begin(), clocks_.end(), x,
                         [&](double wanted, const Clock& clock) { return wanted < on(clock, axis); });
    return after == clocks_.begin() ? clocks_.front().step : std::prev(after)->step;
}

int64_t SeriesStore::first_step_from(double x, XAxis axis, bool after) const {
    constexpr double limit = 9e18; // what an int64_t holds
    if (axis == XAxis::Step)
        return int64_t(std::clamp(after ? std::floor(x) + 1 : std::ceil(x), -limit, limit));
    if (after ? x < 0 : x <= 0) return std::numeric_limits<int64_t>::min();
    const auto found = std::partition_point(clocks_.begin(), clocks_.end(), [&](const Clock& clock) {
        return after ? on(clock, axis) <= x : on(clock, axis) < x;
    });
    return found == clocks_.end() ? std::numeric_limits<int64_t>::max() : found->step;
}

std::vector<std::pair<double, double>> SeriesStore::pauses(XAxis axis) const {
    std::vector<std::pair<double, double>> pauses;
    if (axis != XAxis::WallTime) return pauses;
    constexpr double worth_showing = 1; // seconds
    Clock before;
    for (const Clock& clock : clocks_) {
        const double still = (clock.wall - before.wall) - (clock.active - before.active);
        // A run pauses at the end of a step.
        if (still >= worth_showing) pauses.emplace_back(before.wall, before.wall + still);
        before = clock;
    }
    return pauses;
}

} // namespace stillroom::ui
