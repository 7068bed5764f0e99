// SPDX-License-Identifier: GPL-3.0-or-later
// What an evaluation leaves behind: per question its samples with their verdicts. Questions, not samples, are
// the independent units, so everything in this folder starts from these.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace stillroom::stats {

enum class Outcome { Wrong, Right, Undecided };

struct Sample {
    Outcome outcome = Outcome::Wrong;
    bool has_answer = true; // in the asked form
    bool truncated = false; // ended by the length limit
    std::optional<int64_t> tokens;
    std::optional<std::string> answer; // representative of its class: equal strings vote together
};

struct Question {
    std::string id;
    std::optional<std::string> gold; // the class that is right, in the terms of Sample::answer
    std::vector<Sample> samples;
};

/// c_q of n_q samples of one question are right.
struct QuestionCounts {
    int64_t right = 0;
    int64_t samples = 0;
    double mean() const { return double(right) / double(samples); }
};

/// How an undecided verdict is scored: as wrong (the headline) or as right (the upper bound).
enum class Undecided { AsWrong, AsRight };

/// Counts of the questions that have samples, in order; questions without any are left out.
std::vector<QuestionCounts> counts_of(std::span<const Question> questions,
                                      Undecided undecided = Undecided::AsWrong);

/// Two sides brought to the questions that both have (by id, in the order of the first) with at least one
/// sample.
struct Matched {
    std::vector<std::string> ids;
    std::vector<QuestionCounts> baseline, checkpoint;
};
Matched match_questions(std::span<const Question> baseline, std::span<const Question> checkpoint,
                        Undecided undecided = Undecided::AsWrong);

} // namespace stillroom::stats
