// SPDX-License-Identifier: GPL-3.0-or-later
#include "stats/bootstrap.h"

#include "base/ensure.h"
#include "base/philox.h"
#include "stats/percentile.h"

#include <algorithm>

namespace stillroom::stats {

std::vector<double> resample_means(std::span<const double> values,
                                   std::span<const std::vector<int>> resamples) {
    std::vector<double> means;
    means.reserve(resamples.size());
    for (const std::vector<int>& resample : resamples) {
        double sum = 0;
        for (const int question : resample) sum += values[size_t(question)];
        means.push_back(sum / double(resample.size()));
    }
    return means;
}

Bootstrap describe_resamples(std::span<const double> means) {
    ensure(!means.empty(), "a bootstrap of no resamples");
    std::vector<double> ascending(means.begin(), means.end());
    std::sort(ascending.begin(), ascending.end());
    Bootstrap result;
    result.resamples = int64_t(means.size());
    result.mean = *mean(means);
    result.se = deviation(means);
    result.interval_95 = {percentile_of_sorted(ascending, 0.025), percentile_of_sorted(ascending, 0.975)};
    return result;
}

std::optional<Bootstrap> bootstrap_by_question(std::span<const double> values, uint64_t seed,
                                               int64_t resamples) {
    if (values.empty()) return std::nullopt;
    PhiloxStream random(seed, 0);
    std::vector<double> means(static_cast<size_t>(resamples));
    for (double& mean_of_draw : means) {
        double sum = 0;
        for (size_t draw = 0; draw < values.size(); ++draw)
            sum += values[random.below(uint32_t(values.size()))];
        mean_of_draw = sum / double(values.size());
    }
    Bootstrap result = describe_resamples(means);
    result.seed = seed;
    return result;
}

} // namespace stillroom::stats
