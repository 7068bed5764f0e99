// SPDX-License-Identifier: GPL-3.0-or-later
// Mean, standard error and t interval of independent values. Everything that is reported with an error bar
// goes through here, with one value a question (metrics.md 6.2).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace stillroom::stats {

struct Interval {
    double low = 0, high = 0;
};

/// Arithmetic mean; exactly the common value where all are equal. nullopt for none.
std::optional<double> mean(std::span<const double> values);

/// Standard deviation with divisor n - 1; exactly 0 where all are equal. nullopt below two values.
std::optional<double> deviation(std::span<const double> values);

/// sqrt(sum (x - mean)^2 / (n (n - 1))): standard error of the mean. nullopt below two values.
std::optional<double> standard_error(std::span<const double> values);

/// Quantile of Student's t. `probability` in (0, 1), `degrees` >= 1.
double student_t_quantile(double probability, int64_t degrees);

/// Two-sided p of `t` under Student's distribution with `degrees` >= 1.
double student_t_p_two_sided(double t, int64_t degrees);

/// centre -+ t(0.975; degrees) error, not clipped to [0, 1]. nullopt where the error is, or degrees < 1.
std::optional<Interval> t_interval_95(double centre, std::optional<double> error, int64_t degrees);

} // namespace stillroom::stats
