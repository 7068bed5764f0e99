// SPDX-License-Identifier: GPL-3.0-or-later
// Everything that decides the figures of an evaluation (metrics.md 7). Two scores may be compared where their
// protocols are the same.
#pragma once

#include "data/dataset.h"
#include "formats/recipe.h"
#include "maths/verdict.h"

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
    maths::Policy policy;
    std::string system, instruction, user; // prompt texts
    bool thinking = false;
    std::vector<int64_t> eos_ids;
    std::string template_sha256, dtype;
    std::vector<std::string> question_ids;
};

maths::Policy policy_of(const formats::EvaluationSection& evaluation);

/// What a recipe's sections say; the model's part (eos_ids, template_sha256, dtype) is left to fill in. A
/// protocol file is a recipe with only run.seed, [data] (columns, prompt texts), [evaluation] and
/// [provenance].
Result<Protocol> protocol_of(const formats::Recipe& recipe, const std::filesystem::path& set,
                             const data::Dataset& questions);

/// Canonical JSON of every field of metrics.md section 7, and its SHA-256 without those that the page marks.
nlohmann::json to_json(const Protocol& protocol);
std::string protocol_hash(const Protocol& protocol);
std::string protocol_hash(nlohmann::json protocol);

/// The grading part of a stored protocol: rules and policy. Throws nothing; unknown names are errors.
Result<Protocol> grading_of(const nlohmann::json& protocol);

/// Puts that part into a stored protocol.
void set_grading(nlohmann::json& protocol, const Protocol& grading);

/// Names of the fields in which two protocols differ, seeds left out; long values are not spelt out:
/// "temperature: 1 and 0.6", "question_ids differ".
std::vector<std::string> differing_fields(const nlohmann::json& a, const nlohmann::json& b);

/// A shipped protocol's file, resources/protocols/NAME.toml; a path to an existing file is taken as it is.
Result<std::filesystem::path> find_protocol(const std::string& name_or_file);

} // namespace stillroom::eval
