// SPDX-License-Identifier: GPL-3.0-or-later
// How a finding is made, and what the checks read.
#include "session/preflight_checks.h"

#include "formats/gguf.h"

#include <chrono>
#include <cmath>
#include <cstdio>

namespace stillroom::session {

namespace fs = std::filesystem;

Outcome fail(const Error& error) {
    std::vector<Remedy> remedies;
    if (!error.remedy.empty()) remedies.push_back({error.remedy, "", ""});
    return fail(Error{error.what, error.where, ""}.message(), std::move(remedies));
}

Finding found(const char* id, const char* title, const char* why, const std::function<Outcome()>& make) {
    Finding finding;
    finding.id = id;
    finding.title = title;
    finding.why = why;
    const auto started = std::chrono::steady_clock::now();
    Outcome outcome;
    try {
        outcome = make();
    } catch (const ErrorException& error) {
        outcome = fail(error.error());
    } catch (const std::exception& error) {
        const std::string text = error.what();
        outcome = fail("the check itself failed: " + text.substr(0, text.find('\n')));
    }
    finding.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    finding.verdict = outcome.verdict;
    finding.evidence = std::move(outcome.evidence);
    finding.remedies = std::move(outcome.remedies);
    finding.step_seconds = outcome.step_seconds;
    return finding;
}

std::string counted(int64_t count, const std::string& thing) {
    return std::to_string(count) + " " + thing + (count == 1 ? "" : "s");
}

std::string bytes_text(double bytes) {
    constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    for (; bytes >= 1024 && unit + 1 < std::size(units); ++unit) bytes /= 1024;
    return number_text(bytes) + " " + units[unit];
}

std::string number_text(double value, int significant) {
    char text[32];
    std::snprintf(text, sizeof text, "%.*g", significant, value);
    // Whole numbers in full: 1023, not 1.02e+03.
    if (std::abs(value) < 1e6 && std::abs(value) >= std::pow(10.0, significant))
        std::snprintf(text, sizeof text, "%.0f", value);
    return text;
}

namespace {

void read_config(ModelFiles& model) {
    const auto take = [&](Result<formats::ModelConfig> config) {
        if (config) {
            model.eos_ids = config->eos_ids;
            model.config = std::move(*config);
        } else {
            model.config_fault = config.error();
        }
    };
    if (!fs::is_directory(model.path)) {
        const auto file = formats::Gguf::open(model.path);
        take(file ? formats::model_config_of(*file) : file.error());
        return;
    }
    if (!fs::exists(model.path / "config.json")) {
        model.config_fault = Error{"No config.json in " + model.path.string() + "."};
        return;
    }
    take(formats::read_model_config(model.path / "config.json"));
    const auto generation = formats::read_generation_config(model.path);
    if (!generation) {
        model.config_fault = generation.error();
    } else if (!generation->eos_ids.empty()) {
        model.eos_ids = generation->eos_ids;
    }
}

ModelFiles model_files(const std::string& role, const std::string& key, const formats::Recipe& recipe,
                       const std::string& name, bool with_tokenizer) {
    ModelFiles model;
    model.role = role;
    model.key = key;
    model.path = formats::resolve_path(recipe, name);
    if (!fs::exists(model.path)) {
        model.config_fault = model.tokenizer_fault =
            Error{"there is no such file or folder", model.path.string(),
                  "point " + key + " at a model folder or a .gguf file"};
        return model;
    }
    read_config(model);
    if (!with_tokenizer) return model;
    if (auto tokenizer = text::Tokenizer::of_model(model.path); tokenizer) {
        model.tokenizer = std::move(*tokenizer);
    } else {
        model.tokenizer_fault = tokenizer.error();
    }
    return model;
}

Result<data::Dataset> examples_of(const formats::Recipe& recipe) {
    std::vector<fs::path> files;
    for (const auto& file : recipe.data.files) files.push_back(formats::resolve_path(recipe, file));
    auto examples = data::load_dataset(files, recipe.data);
    if (examples && examples->examples.empty())
        return Error{"holds no example",
                     recipe.data.files.empty() ? "data.files" : recipe.data.files.front()};
    return examples;
}

Result<data::Dataset> questions_of(const formats::Recipe& recipe) {
    if (recipe.evaluation.data.empty()) return data::Dataset{};
    formats::DataSection section = recipe.data;
    section.limit = recipe.evaluation.limit;
    return data::load_dataset({formats::resolve_path(recipe, recipe.evaluation.data)}, section);
}

Result<teacher::PromptBuilder> prompts_of(const formats::Recipe& recipe, const ModelFiles& student,
                                          const ModelFiles& scorer) {
    for (const ModelFiles* model : {&student, &scorer}) {
        if (model->config_fault) return *model->config_fault;
        if (model->tokenizer_fault) return *model->tokenizer_fault;
    }
    if (student.eos_ids.empty()) return Error{"names no end token", student.path.string()};
    return teacher::PromptBuilder::make(recipe, *student.tokenizer, student.config->context,
                                        *scorer.tokenizer, scorer.config->context, student.eos_ids.front());
}

} // namespace

ModelSet models_of(const formats::Recipe& recipe, bool with_tokenizers) {
    ModelSet models;
    models.student = model_files("student", "student.model", recipe, recipe.student.model, with_tokenizers);
    if (recipe.teacher.kind == "separate" && recipe.objective.name != "sft")
        models.teacher =
            model_files("teacher", "teacher.model", recipe, recipe.teacher.model, with_tokenizers);
    if (recipe.objective.name == "gopd_pg" && recipe.objective.lambda != 1)
        models.base = model_files("base", "objective.base_model", recipe, recipe.objective.base_model, false);
    return models;
}

Subject Subject::of(const PreflightRequest& request) {
    const formats::Recipe& recipe = request.recipe;
    Subject subject{request, recipe, models_of(recipe, true), examples_of(recipe), questions_of(recipe),
                    Error{}};
    subject.prompts = prompts_of(recipe, subject.models.student, subject.models.scorer());
    return subject;
}

} // namespace stillroom::session
