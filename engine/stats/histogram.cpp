// SPDX-License-Identifier: GPL-3.0-or-later
#include "stats/histogram.h"

#include "base/ensure.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace stillroom::stats {

Histogram::Histogram(double low, double high) : low_(low), high_(high) {
    ensure(std::isfinite(low) && std::isfinite(high) && low < high && std::isfinite(high - low),
           "histogram over [" + std::to_string(low) + ", " + std::to_string(high) + ")");
}

std::optional<Histogram> Histogram::over(std::span<const double> values) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const double value : values) {
        if (!std::isfinite(value)) continue;
        low = std::min(low, value);
        high = std::max(high, value);
    }
    if (low > high) return std::nullopt;
    // The largest value belongs inside; a range of one point gets a width.
    const double step = std::max(std::abs(low), std::abs(high)) * 1e-12;
    Histogram histogram(low, high > low ? std::nextafter(high, INFINITY) : low + std::max(step, 1e-300));
    for (const double value : values) histogram.add(value);
    return histogram;
}

void Histogram::add(double value) {
    if (!std::isfinite(value)) {
        ++nonfinite_;
        return;
    }
    min_ = count_ == 0 ? value : std::min(min_, value);
    max_ = count_ == 0 ? value : std::max(max_, value);
    ++count_;
    if (value < low_ || value >= high_) ++outside_;
    const double place = std::clamp((value - low_) / (high_ - low_) * double(bins), 0.0, double(bins - 1));
    ++counts_[size_t(place)];
}

void Histogram::merge(const Histogram& other) {
    ensure(low_ == other.low_ && high_ == other.high_, "histograms with different ranges cannot be merged");
    if (other.count_ > 0) {
        min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
        max_ = count_ == 0 ? other.max_ : std::max(max_, other.max_);
    }
    for (size_t bin = 0; bin < counts_.size(); ++bin) counts_[bin] += other.counts_[bin];
    count_ += other.count_;
    outside_ += other.outside_;
    nonfinite_ += other.nonfinite_;
}

double Histogram::value_of_rank(int64_t rank) const {
    if (rank <= 0) return min_;
    if (rank >= count_ - 1) return max_;
    int64_t before = 0;
    size_t bin = 0;
    while (before + counts_[bin] <= rank) before += counts_[bin++];
    const double share = (double(rank - before) + 0.5) / double(counts_[bin]);
    return std::clamp(low_ + (double(bin) + share) * bin_width(), min_, max_);
}

std::optional<double> Histogram::percentile(double probability) const {
    ensure(probability >= 0 && probability <= 1, "percentile " + std::to_string(probability));
    if (count_ == 0) return std::nullopt;
    const double position = probability * double(count_ - 1);
    const int64_t below = int64_t(position);
    const double share = position - double(below), value = value_of_rank(below);
    return share == 0 ? value : value + share * (value_of_rank(below + 1) - value);
}

} // namespace stillroom::stats
