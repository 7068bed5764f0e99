// SPDX-License-Identifier: GPL-3.0-or-later
// An evaluation on disk: evaluation.json (protocol, its hash, what was measured, figures) and answers.jsonl
// (every answer with its verdict). The figures can be made again from the answers alone.
#pragma once

#include "base/result.h"
#include "eval/protocol.h"
#include "record/records.h"
#include "stats/paired.h"

#include <filesystem>
#include <optional>

namespace stillroom::eval {

/// What was measured, where and when: fields of metrics.md 7 outside the protocol's hash.
struct Circumstances {
    std::string model, checkpoint_sha256, device, program;
    uint64_t seed = 42;
    double started = 0; // Unix seconds
};

struct Stored {
    nlohmann::json protocol;
    std::string protocol_hash;
    Circumstances circumstances;
    record::Metrics metrics;
    std::vector<record::EvaluationAnswer> answers;
    int64_t asked = 0; // samples of the whole protocol; more than answers.size() where it was stopped
};

nlohmann::json to_json(const record::EvaluationAnswer& answer);
/// The error names the key.
Result<record::EvaluationAnswer> answer_of(const nlohmann::json& line);

/// Writes the folder anew; an error where it exists and holds something else.
Result<void> write_evaluation(const Stored& evaluation, const std::filesystem::path& folder);
Result<Stored> read_evaluation(const std::filesystem::path& folder);

/// An error with the fields that differ, where two scores may not be compared.
Result<void> comparable(const nlohmann::json& protocol, const nlohmann::json& other);

/// Answers against those of a baseline, question by question; nullopt where fewer than two questions are in
/// both.
std::optional<stats::Paired> paired_difference(const std::vector<record::EvaluationAnswer>& baseline,
                                               const std::vector<record::EvaluationAnswer>& answers);

/// The stored evaluation graded anew: other verdicts where the rules differ, the same where they do not.
/// Nothing is sampled; eval_seconds and eval_tokens_per_second stay.
void regrade(Stored& evaluation, const Protocol& grading);

} // namespace stillroom::eval
