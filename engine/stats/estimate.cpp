// SPDX-License-Identifier: GPL-3.0-or-later
#include "stats/estimate.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace stillroom::stats {

namespace {

bool all_equal(std::span<const double> values) {
    return std::all_of(values.begin(), values.end(), [&](double value) { return value == values.front(); });
}

double squared_deviations(std::span<const double> values) {
    // Equal values must give 0 and not the square of a rounding error: whether a statistic is defined hangs
    // on it.
    if (all_equal(values)) return 0;
    const double centre = *mean(values);
    double sum = 0;
    for (const double value : values) sum += (value - centre) * (value - centre);
    return sum;
}

} // namespace

std::optional<double> mean(std::span<const double> values) {
    if (values.empty()) return std::nullopt;
    if (all_equal(values)) return values.front();
    long double sum = 0;
    for (const double value : values) sum += value;
    return double(sum / static_cast<long double>(values.size()));
}

std::optional<double> deviation(std::span<const double> values) {
    if (values.size() < 2) return std::nullopt;
    return std::sqrt(squared_deviations(values) / double(values.size() - 1));
}

std::optional<double> standard_error(std::span<const double> values) {
    if (values.size() < 2) return std::nullopt;
    const double n = double(values.size());
    return std::sqrt(squared_deviations(values) / (n * (n - 1)));
}

double student_t_quantile(double probability, int64_t degrees) {
    return boost::math::quantile(boost::math::students_t_distribution<double>(double(degrees)), probability);
}

double student_t_p_two_sided(double t, int64_t degrees) {
    const boost::math::students_t_distribution<double> distribution(static_cast<double>(degrees));
    return 2 * boost::math::cdf(boost::math::complement(distribution, std::abs(t)));
}

std::optional<Interval> t_interval_95(double centre, std::optional<double> error, int64_t degrees) {
    if (!error || degrees < 1) return std::nullopt;
    const double half = student_t_quantile(0.975, degrees) * *error;
    return Interval{centre - half, centre + half};
}

} // namespace stillroom::stats
