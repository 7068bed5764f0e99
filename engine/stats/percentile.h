// SPDX-License-Identifier: GPL-3.0-or-later
// Percentiles with linear interpolation between order statistics (type 7): position p (n - 1), counted from
// 0.
#pragma once

#include <optional>
#include <span>

namespace stillroom::stats {

/// `probability` in [0, 1]. nullopt for no values. A NaN among the values sorts above all others.
std::optional<double> percentile(std::span<const double> values, double probability);

/// The same of values that are in ascending order already; at least one.
double percentile_of_sorted(std::span<const double> ascending, double probability);

} // namespace stillroom::stats
