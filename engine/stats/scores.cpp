// SPDX-License-Identifier: GPL-3.0-or-later
#include "stats/scores.h"

#include <unordered_map>

namespace stillroom::stats {

namespace {

QuestionCounts counts_of(const Question& question, Undecided undecided) {
    QuestionCounts counts{0, int64_t(question.samples.size())};
    for (const Sample& sample : question.samples) {
        const bool right = sample.outcome == Outcome::Right ||
                           (sample.outcome == Outcome::Undecided && undecided == Undecided::AsRight);
        counts.right += right ? 1 : 0;
    }
    return counts;
}

} // namespace

std::vector<QuestionCounts> counts_of(std::span<const Question> questions, Undecided undecided) {
    std::vector<QuestionCounts> counts;
    counts.reserve(questions.size());
    for (const Question& question : questions) {
        if (!question.samples.empty()) counts.push_back(counts_of(question, undecided));
    }
    return counts;
}

Matched match_questions(std::span<const Question> baseline, std::span<const Question> checkpoint,
                        Undecided undecided) {
    std::unordered_map<std::string, const Question*> by_id;
    for (const Question& question : checkpoint) by_id.emplace(question.id, &question);
    Matched matched;
    for (const Question& question : baseline) {
        const auto other = by_id.find(question.id);
        if (other == by_id.end() || question.samples.empty() || other->second->samples.empty()) continue;
        matched.ids.push_back(question.id);
        matched.baseline.push_back(counts_of(question, undecided));
        matched.checkpoint.push_back(counts_of(*other->second, undecided));
    }
    return matched;
}

} // namespace stillroom::stats
