// SPDX-License-Identifier: GPL-3.0-or-later
// import: a GGUF file as a Hugging Face folder, checked by loading it again.
#include "app/cli/command.h"
#include "app/cli/commands.h"
#include "base/files.h"
#include "model/model.h"

#include <iostream>
#include <memory>
#include <string>

namespace stillroom::cli {

namespace {

struct Options {
    std::string from, to, dtype = "fp32";
};

int import_model(const Options& options) {
    const std::filesystem::path from = options.from;
    if (from.extension() != ".gguf") throw ErrorException({"is no .gguf file", options.from});
    const auto type = model::load_options("cpu", options.dtype).value().dtype;
    const auto model = model::load_model(from, {torch::kCPU, type}).value();
    const std::filesystem::path to = std::filesystem::path(options.to).lexically_normal();
    write_folder(to, [&](const std::filesystem::path& partial) -> Result<void> {
        if (const auto saved = model::save_model(model, partial, type); !saved) return saved;
        const auto again = model::load_model(partial, {torch::kCPU, type});
        if (!again) return again.error();
        if (again->weights.flat.equal(model.weights.flat)) return {};
        return Error{"weights read back differ from those written", to.string()};
    }).value();

    int64_t parameters = 0;
    for (const auto& slice : model.weights.layout->slices) parameters += slice.count;
    std::cout << to.string() << ": " << formats::to_string(model.config.family) << ", " << parameters
              << " parameters in " << options.dtype << ", vocabulary " << model.config.vocab
              << ", loaded again and equal\n";
    return Done;
}

} // namespace

void add_import(CLI::App& app) {
    auto options = std::make_shared<Options>();
    CLI::App* command = app.add_subcommand("import", "a GGUF file as a Hugging Face folder");
    command->add_option("MODEL.gguf", options->from, "the file")->required();
    command->add_option("TO", options->to, "the new folder")->required();
    command->add_option("--dtype", options->dtype, "fp32 keeps every dequantised value, bf16 rounds")
        ->check(CLI::IsMember({"fp32", "bf16"}))
        ->capture_default_str();
    command->footer(
        "Example:\n  build/bin/stillroom-cli import tests/golden/gguf/tiny-llama.gguf $(mktemp -du)");
    command->callback([options] { exit_with(import_model(*options)); });
}

} // namespace stillroom::cli
