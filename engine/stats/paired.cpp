// SPDX-License-Identifier: GPL-3.0-or-later
#include "stats/paired.h"

#include "base/ensure.h"
#include "stats/planning.h"
#include "stats/summary.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>

namespace stillroom::stats {

namespace {

bool same_samples(std::span<const QuestionCounts> questions) {
    return std::all_of(questions.begin(), questions.end(),
                       [&](const QuestionCounts& q) { return q.samples == questions.front().samples; });
}

/// Pearson's; undefined where either side does not vary.
std::optional<double> correlation_of(std::span<const double> a, std::span<const double> b) {
    const auto deviation_a = deviation(a), deviation_b = deviation(b);
    if (!deviation_a || !deviation_b || *deviation_a == 0 || *deviation_b == 0) return std::nullopt;
    const double mean_a = *mean(a), mean_b = *mean(b);
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) sum += (a[i] - mean_a) * (b[i] - mean_b);
    return std::clamp(sum / double(a.size() - 1) / (*deviation_a * *deviation_b), -1.0, 1.0);
}

McNemar mcnemar(std::span<const QuestionCounts> baseline, std::span<const QuestionCounts> checkpoint) {
    McNemar result;
    for (size_t q = 0; q < baseline.size(); ++q) {
        const bool before = baseline[q].right > 0, after = checkpoint[q].right > 0;
        ++(before ? (after ? result.both_right : result.lost) : (after ? result.gained : result.both_wrong));
    }
    const int64_t discordant = result.gained + result.lost;
    if (discordant > 0) {
        const boost::math::binomial_distribution<double> fair(double(discordant), 0.5);
        result.p_exact =
            std::min(1.0, 2 * boost::math::cdf(fair, double(std::min(result.gained, result.lost))));
    }
    return result;
}

std::optional<DifferenceVariance> difference_variance(std::span<const QuestionCounts> baseline,
                                                      std::span<const QuestionCounts> checkpoint,
                                                      std::optional<double> se_paired) {
    if (!se_paired || !same_samples(baseline) || !same_samples(checkpoint)) return std::nullopt;
    const auto within_baseline = variance_components(baseline).within;
    const auto within_checkpoint = variance_components(checkpoint).within;
    if (!within_baseline || !within_checkpoint) return std::nullopt;
    DifferenceVariance result;
    result.within_baseline = *within_baseline;
    result.within_checkpoint = *within_checkpoint;
    result.raw = double(baseline.size()) * *se_paired * *se_paired -
                 *within_baseline / double(baseline.front().samples) -
                 *within_checkpoint / double(checkpoint.front().samples);
    result.between = std::max(0.0, result.raw);
    return result;
}

} // namespace

Paired compare(std::span<const QuestionCounts> baseline, std::span<const QuestionCounts> checkpoint) {
    ensure(baseline.size() == checkpoint.size(),
           std::to_string(baseline.size()) + " questions against " + std::to_string(checkpoint.size()));
    Paired result;
    result.questions = int64_t(baseline.size());
    if (baseline.empty()) return result;
    for (size_t q = 0; q < baseline.size(); ++q) {
        // In whole numbers first, so that equal differences are equal doubles and 0 is 0.
        const int64_t n1 = baseline[q].samples, n2 = checkpoint[q].samples;
        ensure(n1 >= 1 && n2 >= 1, "a question without samples");
        const int64_t apart = checkpoint[q].right * n1 - baseline[q].right * n2;
        result.question_differences.push_back(double(apart) / double(n1 * n2));
        ++(apart > 0 ? result.questions_better : apart < 0 ? result.questions_worse : result.questions_same);
    }
    const Summary before = summarise(baseline), after = summarise(checkpoint);
    result.difference = mean(result.question_differences);
    result.se_paired = standard_error(result.question_differences);
    if (before.se_clustered && after.se_clustered) {
        result.se_unpaired = std::hypot(*before.se_clustered, *after.se_clustered);
    }
    result.interval_t95 = t_interval_95(*result.difference, result.se_paired, result.questions - 1);
    result.correlation = correlation_of(before.question_means, after.question_means);
    if (result.interval_t95) {
        result.resolved = result.interval_t95->low > 0 || result.interval_t95->high < 0;
        result.smallest_resolvable = resolving_z * *result.se_paired;
    }
    if (result.se_paired && *result.se_paired > 0) {
        result.t = *result.difference / *result.se_paired;
        result.p_two_sided = student_t_p_two_sided(*result.t, result.questions - 1);
        if (*result.difference != 0) result.questions_factor = std::pow(resolving_z / *result.t, 2);
    }
    const auto single = [](const QuestionCounts& q) { return q.samples == 1; };
    if (std::all_of(baseline.begin(), baseline.end(), single) &&
        std::all_of(checkpoint.begin(), checkpoint.end(), single)) {
        result.mcnemar = mcnemar(baseline, checkpoint);
    }
    result.difference_variance = difference_variance(baseline, checkpoint, result.se_paired);
    return result;
}

} // namespace stillroom::stats
