// SPDX-License-Identifier: GPL-3.0-or-later
#include "stats/summary.h"

#include "base/ensure.h"

#include <algorithm>
#include <cmath>

namespace stillroom::stats {

namespace {

/// sqrt(Q / (Q - 1) sum (c_q - n_q pooled)^2) / N: the linearised error of a ratio of sums.
std::optional<double> error_of_pooled(std::span<const QuestionCounts> questions, double right,
                                      double samples) {
    const double count = double(questions.size());
    if (count < 2) return std::nullopt;
    double sum = 0;
    for (const QuestionCounts& question : questions) {
        // c_q N - n_q C in whole numbers below 2^53: exactly 0 where the question is as good as the pool.
        const double residual = double(question.right) * samples - double(question.samples) * right;
        sum += residual * residual;
    }
    return std::sqrt(count / (count - 1) * sum) / (samples * samples);
}

/// (1 / Q) sqrt(sum m_q (1 - m_q) / (n_q - 1)).
std::optional<double> error_of_sampling(std::span<const QuestionCounts> questions) {
    double sum = 0;
    for (const QuestionCounts& question : questions) {
        if (question.samples < 2) return std::nullopt;
        sum += question.mean() * (1 - question.mean()) / double(question.samples - 1);
    }
    return std::sqrt(sum) / double(questions.size());
}

} // namespace

VarianceComponents variance_components(std::span<const QuestionCounts> questions) {
    VarianceComponents parts;
    double samples = 0, right = 0, squares = 0, within = 0;
    for (const QuestionCounts& question : questions) {
        const double n = double(question.samples), c = double(question.right);
        samples += n;
        right += c;
        squares += n * n;
        within += c * (n - c) / n;
    }
    const double count = double(questions.size());
    if (samples > count) parts.within = parts.ms_within = within / (samples - count);
    if (count >= 2) {
        const double pooled = right / samples;
        double between = 0;
        for (const QuestionCounts& question : questions) {
            const double apart = question.mean() - pooled;
            between += double(question.samples) * apart * apart;
        }
        parts.ms_between = between / (count - 1);
        parts.n0 = (samples - squares / samples) / (count - 1);
    }
    if (parts.ms_between && parts.ms_within) {
        parts.between_raw = (*parts.ms_between - *parts.ms_within) / *parts.n0;
        parts.between = std::max(0.0, *parts.between_raw);
        const double total = *parts.between + *parts.within;
        if (total > 0) parts.icc = *parts.between / total;
    }
    return parts;
}

Summary summarise(std::span<const QuestionCounts> questions) {
    Summary summary;
    summary.questions = int64_t(questions.size());
    if (questions.empty()) return summary;
    int64_t right = 0;
    for (const QuestionCounts& question : questions) {
        ensure(question.samples >= 1 && question.right >= 0 && question.right <= question.samples,
               std::to_string(question.right) + " right of " + std::to_string(question.samples) + " samples");
        summary.samples += question.samples;
        right += question.right;
        summary.question_means.push_back(question.mean());
    }
    const double n = double(summary.samples);
    summary.avg = mean(summary.question_means);
    summary.pooled = double(right) / n;
    summary.se_clustered = standard_error(summary.question_means);
    summary.se_pooled = error_of_pooled(questions, double(right), n);
    summary.se_sampling = error_of_sampling(questions);
    summary.se_naive = std::sqrt(*summary.pooled * (1 - *summary.pooled) / n);
    if (summary.se_clustered && *summary.se_naive > 0) {
        summary.design_effect = std::pow(*summary.se_clustered / *summary.se_naive, 2);
    }
    summary.interval_t95 = t_interval_95(*summary.avg, summary.se_clustered, summary.questions - 1);
    if (right == 0 || right == summary.samples) {
        summary.zero_error_bound = 3.0 / double(summary.questions);
    }
    summary.variance = variance_components(questions);
    return summary;
}

} // namespace stillroom::stats
