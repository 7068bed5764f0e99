// SPDX-License-Identifier: GPL-3.0-or-later
// What the checks of a preflight share, and the checks by file. Internal to session/.
#pragma once

#include "data/dataset.h"
#include "formats/model_config.h"
#include "session/preflight.h"
#include "teacher/prompts.h"
#include "text/tokenizer.h"

#include <memory>
#include <optional>

namespace stillroom::session {

/// What a check found; its id, title, reason and time are the caller's.
struct Outcome {
    Verdict verdict = Verdict::Pass;
    std::string evidence;
    std::vector<Remedy> remedies = {};
    double step_seconds = 0;
};
inline Outcome pass(std::string evidence) { return {Verdict::Pass, std::move(evidence)}; }
inline Outcome skip(std::string evidence) { return {Verdict::Skip, std::move(evidence)}; }
inline Outcome warn(std::string evidence, std::vector<Remedy> remedies = {}) {
    return {Verdict::Warn, std::move(evidence), std::move(remedies)};
}
inline Outcome fail(std::string evidence, std::vector<Remedy> remedies = {}) {
    return {Verdict::Fail, std::move(evidence), std::move(remedies)};
}
Outcome fail(const Error& error);
/// `make()` as a finding, timed; whatever it throws is a FAIL.
Finding found(const char* id, const char* title, const char* why, const std::function<Outcome()>& make);

/// "3 prompts", "1 prompt".
std::string counted(int64_t count, const std::string& thing);
std::string bytes_text(double bytes);                       // "1.9 GiB"
std::string number_text(double value, int significant = 3); // "5e-06", "0.0131"

/// One model of the run as its files say, no weights loaded.
struct ModelFiles {
    std::string role, key;      // "student", "student.model"
    std::filesystem::path path; // resolved
    std::optional<formats::ModelConfig> config;
    std::vector<int64_t> eos_ids; // of the generation config, else of the config
    std::optional<text::Tokenizer> tokenizer;
    std::optional<Error> config_fault, tokenizer_fault;
};

struct ModelSet {
    ModelFiles student;
    std::optional<ModelFiles> teacher, base; // of their own; a self teacher has none
    /// Whose tokenizer and template make the teacher's prompt.
    const ModelFiles& scorer() const { return teacher ? *teacher : student; }
};
ModelSet models_of(const formats::Recipe& recipe, bool with_tokenizers);

/// What the checks read, loaded once.
struct Subject {
    const PreflightRequest& request;
    const formats::Recipe& recipe;
    ModelSet models;
    Result<data::Dataset> examples, questions;
    Result<teacher::PromptBuilder> prompts;

    static Subject of(const PreflightRequest& request);
    bool is_sft() const { return recipe.objective.name == "sft"; }
    bool cancelled() const { return request.cancel && *request.cancel; }
};

/// Prompts made of a data set at most; the evidence says where there are more.
constexpr size_t most_prompts = 20'000;

// preflight_files.cpp: folders, devices, files of models
Outcome check_folder(const Subject& subject);
Outcome check_device(const Subject& subject);
Outcome check_model_files(const Subject& subject);
Outcome check_recorder(const Subject& subject);

// preflight_prompts.cpp: tokenizers, templates, prompts
Outcome check_tokenizers(const Subject& subject);
Outcome check_special_tokens(const Subject& subject);
Outcome check_template(const Subject& subject);
Outcome check_teacher_prompts(const Subject& subject);
/// 214 short texts of many kinds.
std::vector<std::string> probe_texts();

// preflight_data.cpp: data sets and their answers
Outcome check_data(const Subject& subject);
Outcome check_verifier(const Subject& subject);
Outcome check_evaluation_budget(const Subject& subject);

// preflight_recipe.cpp: what the recipe alone says
Outcome check_objective(const Subject& subject);
Outcome check_schedule(const Subject& subject);
Outcome check_memory(const Subject& subject);

} // namespace stillroom::session
