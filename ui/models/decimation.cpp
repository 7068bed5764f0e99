// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/decimation.h"

#include <algorithm>
#include <cmath>

namespace stillroom::ui {

namespace {

void add(Bucket& bucket, const Series& series, uint32_t i) {
    const double value = series.value[i];
    ++bucket.count;
    if (!std::isfinite(value)) {
        ++(record::is_undefined(value) ? bucket.undefined : bucket.not_finite);
        return;
    }
    if (bucket.first == Bucket::none) bucket.first = i;
    if (bucket.low == Bucket::none || value < series.value[bucket.low]) bucket.low = i;
    if (bucket.high == Bucket::none || value > series.value[bucket.high]) bucket.high = i;
    bucket.last = i;
    if (!(value > 0)) {
        ++bucket.not_positive;
        return;
    }
    if (bucket.first_positive == Bucket::none) bucket.first_positive = i;
    if (bucket.low_positive == Bucket::none || value < series.value[bucket.low_positive])
        bucket.low_positive = i;
    bucket.last_positive = i;
}

/// `next` follows `bucket`.
void add(Bucket& bucket, const Series& series, const Bucket& next) {
    const auto value = [&](uint32_t i) { return series.value[i]; };
    const auto lower = [&](uint32_t& kept, uint32_t other) {
        if (other != Bucket::none && (kept == Bucket::none || value(other) < value(kept))) kept = other;
    };
    if (bucket.first == Bucket::none) bucket.first = next.first;
    lower(bucket.low, next.low);
    if (next.high != Bucket::none && (bucket.high == Bucket::none || value(next.high) > value(bucket.high)))
        bucket.high = next.high;
    if (next.last != Bucket::none) bucket.last = next.last;
    if (bucket.first_positive == Bucket::none) bucket.first_positive = next.first_positive;
    lower(bucket.low_positive, next.low_positive);
    if (next.last_positive != Bucket::none) bucket.last_positive = next.last_positive;
    bucket.count += next.count;
    bucket.not_positive += next.not_positive;
    bucket.not_finite += next.not_finite;
    bucket.undefined += next.undefined;
}

bool can_draw(double value, bool log) { return std::isfinite(value) && (!log || value > 0); }

/// Puts points into segments.
class Drawing {
public:
    Drawing(const Series& series, const SeriesStore& clocks, const PlotWindow& window, const Breaks& breaks,
            double scale)
        : series_(series), clocks_(clocks), window_(window), breaks_(breaks), scale_(scale) {}

    /// A point that can be drawn.
    void point(size_t i) {
        const int64_t step = series_.step[i];
        if (broken_ || breaks_.gap_between(last_step_, step)) data.segments.emplace_back();
        broken_ = false;
        last_step_ = step;
        data.segments.back().push_back({x_of(i), series_.value[i] * scale_, step});
    }
    /// A value that a line can't show; `x` is its mark's place.
    void other(double value, double x) {
        broken_ = true;
        if (std::isfinite(value)) {
            data.not_positive.push_back(x);
        } else if (!record::is_undefined(value)) {
            data.not_finite.push_back(x);
        }
    }
    void interrupt() { broken_ = true; }
    double x_of(size_t i) const { return clocks_.x_of(series_.step[i], window_.axis); }

    DrawnData data;

private:
    const Series& series_;
    const SeriesStore& clocks_;
    const PlotWindow& window_;
    const Breaks& breaks_;
    double scale_;
    bool broken_ = true;
    int64_t last_step_ = 0;
};

} // namespace

bool Breaks::gap_between(int64_t before, int64_t after) const {
    return std::any_of(gaps.begin(), gaps.end(), [&](const auto& gap) {
        return after - before > 1 && gap.first < after && gap.second > before;
    });
}

bool Breaks::resume_between(int64_t before, int64_t after) const {
    return std::any_of(resumes.begin(), resumes.end(),
                       [&](int64_t resume) { return before <= resume && resume < after; });
}

bool Pyramid::extend(const Series& series, size_t budget) {
    const size_t end = std::min(series.value.size(), size_ + budget);
    for (; size_ < end; ++size_) {
        if ((size_ + 1) % fan != 0) continue;
        Bucket bucket;
        for (size_t i = size_ + 1 - fan; i <= size_; ++i) add(bucket, series, uint32_t(i));
        levels_[0].push_back(bucket);
        for (size_t level = 1; level < level_count && levels_[level - 1].size() % fan == 0; ++level) {
            Bucket sum;
            for (size_t i = levels_[level - 1].size() - fan; i < levels_[level - 1].size(); ++i)
                add(sum, series, levels_[level - 1][i]);
            levels_[level].push_back(sum);
        }
    }
    return size_ == series.value.size();
}

Bucket Pyramid::range(const Series& series, size_t first, size_t last) const {
    Bucket sum;
    size_t i = first;
    while (i < last) {
        // The largest whole bucket that starts here and ends within the range.
        size_t width = 1, level = 0;
        while (level < level_count && i % (width * fan) == 0 && i + width * fan <= last &&
               i / (width * fan) < levels_[level].size()) {
            width *= fan;
            ++level;
        }
        if (level == 0) {
            add(sum, series, uint32_t(i));
        } else {
            add(sum, series, levels_[level - 1][i / width]);
        }
        i += width;
    }
    return sum;
}

DrawnData decimate(const Series& series, const Pyramid& pyramid, const SeriesStore& clocks,
                   const PlotWindow& window, const Breaks& breaks, double scale) {
    const auto steps_end = series.step.begin() + ptrdiff_t(pyramid.size());
    const auto index_of = [&](double x, bool after) {
        const int64_t step = clocks.first_step_from(x, window.axis, after);
        return size_t(std::lower_bound(series.step.begin(), steps_end, step) - series.step.begin());
    };
    const size_t begin = index_of(window.first, false), end = std::max(begin, index_of(window.last, true));
    const int columns = std::max(1, window.columns);
    Drawing drawing(series, clocks, window, breaks, scale);
    DrawnData& data = drawing.data;
    data.total = int64_t(end - begin);
    const auto neighbour = [&](size_t i) {
        if (i < pyramid.size() && can_draw(series.value[i], window.log)) drawing.point(i);
    };
    if (begin > 0) neighbour(begin - 1);
    if (end - begin <= 4 * size_t(columns)) {
        for (size_t i = begin; i < end; ++i) {
            const double value = series.value[i];
            if (can_draw(value, window.log)) {
                drawing.point(i);
                ++data.drawn;
            } else {
                drawing.other(value, drawing.x_of(i));
                data.not_positive_count += std::isfinite(value);
                data.not_finite_count += !std::isfinite(value) && !record::is_undefined(value);
            }
        }
        neighbour(end);
        return data;
    }
    const double width = (window.last - window.first) / columns;
    size_t from = begin;
    for (int column = 0; column < columns; ++column) {
        const double right = window.first + (column + 1) * width;
        const size_t to = column + 1 == columns ? end : std::clamp(index_of(right, false), from, end);
        if (to == from) continue;
        const Bucket bucket = pyramid.range(series, from, to);
        const double middle = right - width / 2;
        if (bucket.not_finite > 0) data.not_finite.push_back(middle);
        if (window.log && bucket.not_positive > 0) data.not_positive.push_back(middle);
        data.not_finite_count += bucket.not_finite;
        if (window.log) data.not_positive_count += bucket.not_positive;
        std::array<uint32_t, 4> kept = {window.log ? bucket.first_positive : bucket.first,
                                        window.log ? bucket.low_positive : bucket.low, bucket.high,
                                        window.log ? bucket.last_positive : bucket.last};
        if (kept[0] == Bucket::none) {
            drawing.interrupt(); // nothing in this column can be drawn
        } else {
            std::sort(kept.begin(), kept.end());
            const auto kept_end = std::unique(kept.begin(), kept.end());
            for (auto i = kept.begin(); i != kept_end; ++i) drawing.point(*i);
            data.drawn += kept_end - kept.begin();
        }
        from = to;
    }
    neighbour(end);
    return data;
}

} // namespace stillroom::ui
