// SPDX-License-Identifier: GPL-3.0-or-later
#include "stats/rates.h"

#include "stats/estimate.h"
#include "stats/percentile.h"

#include <algorithm>
#include <vector>

namespace stillroom::stats {

namespace {

std::optional<double> share(int64_t part, int64_t whole) {
    if (whole == 0) return std::nullopt;
    return double(part) / double(whole);
}

} // namespace

Rates rates_of(std::span<const Question> questions) {
    Rates rates;
    int64_t right = 0, undecided = 0, answered = 0, right_answered = 0, truncated = 0, right_finished = 0;
    std::vector<double> lengths, lengths_right, lengths_wrong;
    for (const Question& question : questions) {
        bool any_truncated = false;
        for (const Sample& sample : question.samples) {
            const bool correct = sample.outcome == Outcome::Right;
            ++rates.samples;
            right += correct;
            undecided += sample.outcome == Outcome::Undecided;
            answered += sample.has_answer;
            right_answered += sample.has_answer && correct;
            truncated += sample.truncated;
            right_finished += !sample.truncated && correct;
            any_truncated = any_truncated || sample.truncated;
            if (!sample.tokens) continue;
            lengths.push_back(double(*sample.tokens));
            if (correct) lengths_right.push_back(double(*sample.tokens));
            if (sample.outcome == Outcome::Wrong) lengths_wrong.push_back(double(*sample.tokens));
        }
        rates.questions_with_truncation += any_truncated;
    }
    rates.format_rate = share(answered, rates.samples);
    rates.truncated_fraction = share(truncated, rates.samples);
    rates.undecided_fraction = share(undecided, rates.samples);
    rates.correct_fraction = share(right, rates.samples);
    rates.correct_given_answer = share(right_answered, answered);
    rates.correct_given_finished = share(right_finished, rates.samples - truncated);
    rates.lengths = {mean(lengths),          percentile(lengths, 0.5), percentile(lengths, 0.95),
                     percentile(lengths, 1), mean(lengths_right),      mean(lengths_wrong)};
    return rates;
}

} // namespace stillroom::stats
