// SPDX-License-Identifier: GPL-3.0-or-later
#include "stats/percentile.h"

#include "base/ensure.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace stillroom::stats {

double percentile_of_sorted(std::span<const double> ascending, double probability) {
    ensure(!ascending.empty() && probability >= 0 && probability <= 1,
           "percentile " + std::to_string(probability) + " of " + std::to_string(ascending.size()) +
               " values");
    const double position = probability * double(ascending.size() - 1);
    const size_t below = std::min(size_t(position), ascending.size() - 1);
    const size_t above = std::min(below + 1, ascending.size() - 1);
    const double share = position - double(below);
    if (share == 0 || ascending[below] == ascending[above]) return ascending[below];
    return ascending[below] + share * (ascending[above] - ascending[below]);
}

std::optional<double> percentile(std::span<const double> values, double probability) {
    if (values.empty()) return std::nullopt;
    std::vector<double> ascending(values.begin(), values.end());
    std::sort(ascending.begin(), ascending.end(),
              [](double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; });
    return percentile_of_sorted(ascending, probability);
}

} // namespace stillroom::stats
