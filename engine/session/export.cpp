// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/export.h"

#include "base/files.h"
#include "formats/recipe.h"
#include "model/golden_texts.h"
#include "session/model_card.h"
#include "train/checkpoint.h"

namespace stillroom::session {

namespace fs = std::filesystem;

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
        return write_file(partial / "README.md", model_card(run, *note, model->weights_sha256, *recipe));
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
    if (verified) return verified;
    fs::path aside = to;
    aside += "-unverified";
    std::error_code code;
    fs::rename(to, aside, code);
    Error error = verified.error();
    error.remedy = code ? "do not use this folder" : "what was written is kept as " + aside.string();
    return error;
}

} // namespace stillroom::session
