// SPDX-License-Identifier: GPL-3.0-or-later
// An evaluation: n answers to each question, graded in process, scored with errors clustered by question,
// under a protocol that says everything which decides the figures (metrics.md sections 6 and 7).
#pragma once

#include "data/dataset.h"
#include "eval/protocol.h"
#include "record/records.h"
#include "rollout/generator.h"
#include "stats/scores.h"
#include "teacher/prompts.h"

#include <functional>

namespace stillroom::eval {

/// (finished samples, of how many, tokens so far); false cancels: what is finished is scored.
using EvaluationProgress = std::function<bool(int64_t, int64_t, int64_t)>;

/// After each round, in which every question was asked once more: the answers so far; false ends the
/// evaluation there. Where it is given, rounds are sampled one after the other.
using AfterRound = std::function<bool(const std::vector<record::EvaluationAnswer>&)>;

/// Samples sample-major (each question once before any twice) and grades. Sampled under `counter_step`, which
/// keeps an evaluation's random streams apart from training's. `metrics` holds eval_* of section 6.1 and se_*
/// of 6.2.
Result<record::EvaluationRecord> evaluate(rollout::Generator& generator, const model::Model& model,
                                          const teacher::PromptBuilder& prompts,
                                          const std::vector<data::Example>& questions,
                                          const Protocol& protocol, const EvaluationProgress& progress = {},
                                          const AfterRound& after_round = {});

/// Samples by question, with what statistics need of them.
std::vector<stats::Question> questions_of(const std::vector<record::EvaluationAnswer>& answers);

/// Judges each answer anew by the protocol's rules; texts and tokens stay.
void grade(std::vector<record::EvaluationAnswer>& answers, const Protocol& protocol);

/// The figures of given answers: used by evaluate() and to score stored answers again.
record::Metrics score(const std::vector<record::EvaluationAnswer>& answers);

} // namespace stillroom::eval
