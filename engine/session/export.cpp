// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/export.h"

#include "base/files.h"
#include "formats/recipe.h"
#include "model/golden_texts.h"
#include "train/checkpoint.h"

namespace stillroom::session {

namespace fs = std::filesystem;

namespace {

std::string card(const train::CheckpointNote& note, const formats::Recipe& recipe) {
    std::string text =
        "# " + note.run + ", step " + std::to_string(note.step) + "\n\nExported by Stillroom.\n\n";
    const auto line = [&](const char* what, const std::string& value) {
        if (!value.empty()) text += std::string("- ") + what + ": " + value + "\n";
    };
    line("base model", recipe.student.model + " (SHA-256 " + note.base_sha256.substr(0, 16) + ")");
    line("objective", recipe.objective.name);
    line("teacher", recipe.teacher.kind + (recipe.teacher.model.empty() ? "" : " " + recipe.teacher.model));
    line("recipe", recipe.preset + " (hash " + note.recipe_hash.substr(0, 16) + ")");
    for (const auto& [name, value] : note.scores.items()) line(name.c_str(), value.dump());
    return text;
}

} // namespace

Result<Exported> export_checkpoint(const fs::path& run, int64_t step, const fs::path& to,
                                   const std::string& dtype) {
    fs::path checkpoint;
    if (step >= 0) {
        checkpoint = train::checkpoint_folder(run, step);
    } else {
        checkpoint = train::newest_checkpoint(run).folder;
        if (checkpoint.empty()) return Error{"has no complete checkpoint", run.string()};
    }
    if (!fs::is_directory(checkpoint)) return Error{"is no checkpoint", checkpoint.string()};
    auto note = train::verify_checkpoint(checkpoint);
    if (!note) return note.error();
    auto recipe = formats::read_recipe(run / "recipe.toml");
    if (!recipe) return recipe.error();

    auto model = model::load_model(checkpoint, {torch::kCPU, torch::kFloat32});
    if (!model) return model.error();
    const bool bf16 = dtype == "bf16" || (dtype == "auto" && model->config.dtype == "bfloat16");
    const auto written = write_folder(to, [&](const fs::path& partial) -> Result<void> {
        if (auto saved = model::save_model(*model, partial, bf16 ? torch::kBFloat16 : torch::kFloat32);
            !saved)
            return saved;
        return write_file(partial / "README.md", card(*note, *recipe));
    });
    if (!written) return written.error();

    const auto verified = [&]() -> Result<Exported> {
        auto again = model::load_model(to, {torch::kCPU, torch::kFloat32});
        if (!again) return again.error();
        Exported exported{to, note->step};
        const auto difference = (model::golden_logprobs(*model, model->config.vocab) -
                                 model::golden_logprobs(*again, again->config.vocab))
                                    .abs();
        exported.compared = difference.numel();
        exported.largest_difference = difference.max().item<double>();
        // Weights rounded to bf16 move a log-prob by a few hundredths of its size; the same type by nothing.
        const double allowed = bf16 && model->config.dtype != "bfloat16" ? 0.5 : 0;
        if (!(exported.largest_difference <= allowed)) {
            return Error{"loads with other log-probs than its checkpoint (by " +
                             std::to_string(exported.largest_difference) + " nats)",
                         to.string()};
        }
        for (const auto& entry : fs::recursive_directory_iterator(to))
            exported.bytes += entry.is_regular_file() ? int64_t(entry.file_size()) : 0;
        return exported;
    }();
    if (!verified) {
        std::error_code ignored;
        fs::remove_all(to, ignored);
    }
    return verified;
}

} // namespace stillroom::session
