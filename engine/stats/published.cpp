// SPDX-License-Identifier: GPL-3.0-or-later
#include "stats/published.h"

#include "base/ensure.h"

#include <cmath>

namespace stillroom::stats {

namespace {

/// The integers S of the parity of `right` with sqrt((S - right^2 / Q) / divisor) / n within half a unit of
/// the last place of the published error. (c^2 has the parity of c, so sum c_q^2 that of sum c_q.)
std::vector<int64_t> fitting_sums(const PublishedScore& score, double divisor) {
    const double n = double(score.samples_per_question), right = double(score.right);
    const double half = 0.5 * std::pow(10.0, -score.decimals);
    const auto sum_at = [&](double se) {
        return se * std::abs(se) * divisor * n * n + right * right / double(score.questions);
    };
    std::vector<int64_t> fitting;
    const auto last = int64_t(std::floor(sum_at(score.se + half)));
    for (auto sum = int64_t(std::ceil(sum_at(score.se - half))); sum <= last; ++sum) {
        if ((sum - score.right) % 2 == 0) fitting.push_back(sum);
    }
    return fitting;
}

} // namespace

FromPublished from_published(const PublishedScore& score) {
    ensure(score.questions >= 1 && score.samples_per_question >= 1,
           "a published score of no questions or samples");
    const double q = double(score.questions), n = double(score.samples_per_question),
                 se2 = score.se * score.se;
    FromPublished result;
    result.avg = double(score.right) / (q * n);
    const double bernoulli = result.avg * (1 - result.avg);
    result.se_naive = std::sqrt(bernoulli / (q * n));
    if (result.se_naive > 0) result.design_effect = std::pow(score.se / result.se_naive, 2);
    if (score.samples_per_question >= 2) {
        result.within = (bernoulli - (q - 1) * se2) * n / (n - 1);
        result.between = q * se2 - *result.within / n;
        if (*result.between >= 0) result.se_with_endless_samples = std::sqrt(*result.between / q);
    }
    if (score.questions >= 2) {
        result.largest_possible_se = std::sqrt(bernoulli / (q - 1));
        result.sum_of_squared_counts = fitting_sums(score, q * (q - 1));
        result.sum_of_squared_counts_if_q_squared = fitting_sums(score, q * q);
    }
    return result;
}

PublishedDifference published_difference(int64_t right_baseline, int64_t right_checkpoint, int64_t samples,
                                         double se_baseline, double se_checkpoint) {
    ensure(samples >= 1, "a published score of no samples");
    PublishedDifference result;
    result.difference = double(right_checkpoint - right_baseline) / double(samples);
    result.se_unpaired = std::hypot(se_baseline, se_checkpoint);
    if (result.se_unpaired > 0) result.z = result.difference / result.se_unpaired;
    return result;
}

Runs summarise_runs(std::span<const double> values, std::optional<double> reference) {
    Runs runs;
    runs.values.assign(values.begin(), values.end());
    runs.mean = mean(values);
    runs.sd = deviation(values);
    runs.sem = standard_error(values);
    if (!runs.mean) return runs;
    runs.interval_t95 = t_interval_95(*runs.mean, runs.sem, int64_t(values.size()) - 1);
    if (!reference) return runs;
    runs.gain = *runs.mean - *reference;
    if (runs.sem && *runs.sem > 0) runs.gain_in_sem = *runs.gain / *runs.sem;
    return runs;
}

std::string percent(int64_t part, int64_t whole, int decimals) {
    ensure(whole > 0 && part >= 0 && decimals >= 0 && decimals <= 9,
           std::to_string(part) + " of " + std::to_string(whole) + " as a percentage");
    int64_t unit = 1;
    for (int i = 0; i < decimals; ++i) unit *= 10;
    const auto scaled = int64_t((__int128{part} * 100 * unit * 2 + whole) / (__int128{whole} * 2));
    std::string text = std::to_string(scaled / unit);
    if (decimals == 0) return text;
    const std::string fraction = std::to_string(scaled % unit);
    return text + "." + std::string(size_t(decimals) - fraction.size(), '0') + fraction;
}

} // namespace stillroom::stats
