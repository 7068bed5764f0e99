// SPDX-License-Identifier: GPL-3.0-or-later
// A histogram of 2,048 equal bins: percentiles over the rows of a step without keeping the rows. Its range is
// part of what is stored, because a percentile read from it is right to within one bin only.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace stillroom::stats {

class Histogram {
public:
    static constexpr int64_t bins = 2048;

    /// Bins over [low, high), low < high, both finite.
    Histogram(double low, double high);

    /// The histogram of `values` over exactly their range. nullopt without a finite value.
    static std::optional<Histogram> over(std::span<const double> values);

    /// Values outside the range count in the first or the last bin and in outside(); non-finite ones only in
    /// nonfinite().
    void add(double value);

    /// Adds the counts of a histogram with the same range.
    void merge(const Histogram& other);

    /// Type 7 over the binned values, each bin's values taken as spread evenly in it; the ends are exact.
    /// nullopt while empty.
    std::optional<double> percentile(double probability) const;

    double low() const { return low_; }
    double high() const { return high_; }
    double bin_width() const { return (high_ - low_) / double(bins); }
    int64_t count() const { return count_; }         // finite values
    int64_t outside() const { return outside_; }     // of them, those outside the range
    int64_t nonfinite() const { return nonfinite_; } // NaN and infinities, not in count()
    std::optional<double> min() const { return count_ > 0 ? std::optional(min_) : std::nullopt; }
    std::optional<double> max() const { return count_ > 0 ? std::optional(max_) : std::nullopt; }
    std::span<const int64_t> counts() const { return counts_; }

private:
    double value_of_rank(int64_t rank) const;

    double low_, high_;
    std::array<int64_t, bins> counts_{};
    int64_t count_ = 0, outside_ = 0, nonfinite_ = 0;
    double min_ = 0, max_ = 0;
};

} // namespace stillroom::stats
