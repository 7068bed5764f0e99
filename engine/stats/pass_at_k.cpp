// SPDX-License-Identifier: GPL-3.0-or-later
#include "stats/pass_at_k.h"

#include "base/ensure.h"
#include "stats/estimate.h"
#include "stats/exact.h"

#include <algorithm>

namespace stillroom::stats {

double pass_at_k(int64_t right, int64_t samples, int64_t k) {
    ensure(right >= 0 && right <= samples && k >= 1 && k <= samples,
           "pass@" + std::to_string(k) + " of " + std::to_string(right) + " right in " +
               std::to_string(samples));
    if (samples - right < k) return 1;
    // C(n - c, k) / C(n, k) as a product over whichever of c and k is smaller: symmetric in both.
    const int64_t factors = std::min(right, k), other = std::max(right, k);
    double none = 1;
    for (int64_t i = 0; i < factors; ++i) none *= double(samples - other - i) / double(samples - i);
    return 1 - none;
}

std::string pass_at_k_fraction(int64_t right, int64_t samples, int64_t k) {
    const auto none = exact::binomial<exact::Integer>(samples - right, k);
    const auto all = exact::binomial<exact::Integer>(samples, k);
    return exact::to_string(exact::Rational(all - none, all));
}

AtK pass_at_k(std::span<const QuestionCounts> questions, int64_t k) {
    AtK result{k};
    const bool defined = !questions.empty() && std::all_of(questions.begin(), questions.end(),
                                                           [&](const auto& q) { return q.samples >= k; });
    if (!defined) return result;
    for (const QuestionCounts& question : questions) {
        result.per_question.push_back(pass_at_k(question.right, question.samples, k));
    }
    result.value = mean(result.per_question);
    result.se_clustered = standard_error(result.per_question);
    return result;
}

std::vector<int64_t> usual_k(std::span<const QuestionCounts> questions) {
    std::vector<int64_t> ks;
    if (questions.empty()) return ks;
    const auto fewest = std::min_element(questions.begin(), questions.end(),
                                         [](const auto& a, const auto& b) { return a.samples < b.samples; });
    for (int64_t k = 1; k < fewest->samples; k *= 2) ks.push_back(k);
    ks.push_back(fewest->samples);
    return ks;
}

} // namespace stillroom::stats
