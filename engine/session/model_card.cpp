// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/model_card.h"

#include "base/files.h"
#include "base/hash.h"
#include "record/queries.h"

#include <cstdio>

namespace stillroom::session {

namespace fs = std::filesystem;

namespace {

/// As a model's folder tells it: the `license:` of its README's head, else the first line of a LICENSE file.
std::string licence_of(const fs::path& model) {
    std::error_code ignored;
    if (!fs::is_directory(model, ignored)) return "unknown";
    if (const auto readme = read_file(model / "README.md")) {
        const size_t end = readme->starts_with("---\n") ? readme->find("\n---", 4) : std::string::npos;
        const size_t at = readme->find("\nlicense:");
        if (end != std::string::npos && at < end) {
            const size_t first = readme->find_first_not_of(' ', at + 9);
            return readme->substr(first, readme->find('\n', first) - first);
        }
    }
    for (const char* name : {"LICENSE", "LICENSE.txt", "LICENSE.md"}) {
        const auto text = read_file(model / name);
        if (!text) continue;
        const size_t first = text->find_first_not_of(" \n\r\t");
        if (first != std::string::npos) return text->substr(first, text->find('\n', first) - first);
    }
    return "unknown";
}

std::string short_hash(const Result<std::string>& hash) {
    return hash ? "SHA-256 " + hash->substr(0, 16) : "no longer readable";
}

} // namespace

std::string model_card(const fs::path& run, const train::CheckpointNote& note,
                       const std::string& weights_sha256, const formats::Recipe& recipe) {
    std::string text = "# " + note.run + ", step " + std::to_string(note.step) + "\n\n";
    const auto line = [&](const std::string& what, const std::string& value) {
        text += "- " + what + ": " + value + "\n";
    };
    const auto reader = record::RunReader::open(run); // a run without a store still exports
    const auto summary = reader ? reader->summary() : Result<record::RunSummary>(reader.error());
    line("exported by", summary && !summary->program.empty() ? summary->program : "Stillroom");
    line("base model", recipe.student.model + (note.base_sha256.empty()
                                                   ? std::string(", random weights")
                                                   : " (SHA-256 " + note.base_sha256.substr(0, 16) + ")"));
    line("licence of the base model", licence_of(formats::resolve_path(recipe, recipe.student.model)));
    line("objective", recipe.objective.name);
    line("teacher", recipe.teacher.kind + (recipe.teacher.model.empty() ? "" : " " + recipe.teacher.model));
    for (const auto& file : recipe.data.files)
        line("data", file + " (" + short_hash(sha256_of_file(formats::resolve_path(recipe, file))) +
                         ", licence unknown)");
    line("steps", std::to_string(note.step) + " of " + std::to_string(recipe.run.steps));
    line("seed", std::to_string(recipe.run.seed));
    line("recipe", (recipe.preset.empty() ? recipe.run.name : recipe.preset) + " (hash " +
                       note.recipe_hash.substr(0, 16) + ")");
    line("weights", "SHA-256 " + weights_sha256.substr(0, 16));
    const auto evaluations =
        reader ? reader->evaluations() : Result<std::vector<record::EvaluationSummary>>(reader.error());
    if (evaluations) {
        for (const auto& evaluation : *evaluations) {
            const auto score = evaluation.metrics.find("eval_avg_at_n"),
                       error = evaluation.metrics.find("se_clustered");
            if (evaluation.step != note.step || score == evaluation.metrics.end()) continue;
            char value[96];
            std::snprintf(value, sizeof value, "%.4f", score->second);
            std::string said = value;
            if (error != evaluation.metrics.end()) {
                std::snprintf(value, sizeof value, " ± %.4f (standard error by question)", error->second);
                said += value;
            }
            line(evaluation.tag + ", avg@n of " + std::to_string(evaluation.answers) + " answers",
                 said + ", protocol " + evaluation.protocol_hash.substr(0, 16));
        }
    }
    if (const auto file = formats::find_recipe(recipe.preset); !recipe.preset.empty() && file) {
        if (const auto preset = formats::read_recipe(*file)) {
            const auto theirs = formats::flattened(*preset);
            std::string changed;
            for (const auto& [key, value] : formats::flattened(recipe)) {
                const auto other = theirs.find(key);
                if (key.starts_with("provenance.") || (other != theirs.end() && other->second == value))
                    continue;
                changed += "| `" + key + "` | " + (other == theirs.end() ? "" : other->second) + " | " +
                           value + " |\n";
            }
            if (!changed.empty())
                text += "\n## Differs from the preset\n\n| key | preset | here |\n|---|---|---|\n" + changed;
        }
    }
    return text;
}

} // namespace stillroom::session
