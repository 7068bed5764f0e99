// SPDX-License-Identifier: GPL-3.0-or-later
// An evaluation: n answers to each question, graded in process, scored with errors clustered by question,
// under a protocol that says everything which decides the figures (metrics.md sections 6 and 7).
#pragma once

#include "data/dataset.h"
#include "formats/recipe.h"
#include "maths/extraction.h"
#include "record/records.h"
#include "rollout/generator.h"
#include "teacher/prompts.h"

#include <functional>
#include <nlohmann/json.hpp>

namespace stillroom::eval {

struct Protocol {
    std::string set, set_sha256; // file and its hash
    int64_t samples = 1, max_new = 256;
    double temperature = 1, top_p = 1;
    int64_t top_k = 0;
    uint64_t seed = 42; // not part of the hash
    maths::Rule rule = maths::Rule::BoxedLast;
    maths::Rule format_rule = maths::Rule::BoxedLast; // what counts as an answer in the asked form
    std::string system, instruction, user;            // prompt texts
    bool thinking = false;
    std::vector<int64_t> eos_ids;
    std::string template_sha256, dtype;
    std::vector<std::string> question_ids;
};
/// Canonical JSON of every field of metrics.md section 7, and its SHA-256 without those that the page marks.
nlohmann::json to_json(const Protocol& protocol);
std::string protocol_hash(const Protocol& protocol);

/// (finished samples, of how many, tokens so far); false cancels: what is finished is scored.
using EvaluationProgress = std::function<bool(int64_t, int64_t, int64_t)>;

/// Samples sample-major (each question once before any twice) and grades. Sampled under `counter_step`, which
/// keeps an evaluation's random streams apart from training's. `metrics` holds eval_* of section 6.1 and se_*
/// of 6.2.
Result<record::EvaluationRecord> evaluate(rollout::Generator& generator, const model::Model& model,
                                          const teacher::PromptBuilder& prompts,
                                          const std::vector<data::Example>& questions,
                                          const Protocol& protocol, const EvaluationProgress& progress = {});

/// The figures of given answers: used by evaluate() and to score stored answers again.
record::Metrics score(const std::vector<record::EvaluationAnswer>& answers);

} // namespace stillroom::eval
