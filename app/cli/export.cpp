// SPDX-License-Identifier: GPL-3.0-or-later
// export: a run's checkpoint as a Hugging Face folder with a card, checked by loading it again.
#include "session/export.h"
#include "app/cli/command.h"
#include "app/cli/commands.h"

#include <iostream>

namespace stillroom::cli {

namespace {

struct Options {
    std::string run, to, dtype = "auto";
    int64_t step = -1;
    bool merge = false;
};

} // namespace

void add_export(CLI::App& app) {
    auto options = std::make_shared<Options>();
    CLI::App* command = app.add_subcommand("export", "a checkpoint as a Hugging Face folder");
    command->add_option("RUN", options->run, "the run's folder")->required();
    command->add_option("TO", options->to, "the new folder")->required();
    command->add_option("--step", options->step, "the checkpoint's step (default: the newest)")
        ->check(not_negative());
    command->add_option("--dtype", options->dtype, "auto (as trained), fp32 or bf16")
        ->check(CLI::IsMember({"auto", "fp32", "bf16"}));
    command->add_flag("--merge", options->merge,
                      "merge adapters into the weights (checkpoints are merged already)");
    command->footer(
        "Example:\n  run=$(mktemp -du)\n"
        "  build/bin/stillroom-cli train sample-opd --steps 2 --set evaluation.limit=20 --out $run\n"
        "  build/bin/stillroom-cli export $run $run/for-others --dtype bf16");
    command->callback([options] {
        const auto exported =
            session::export_checkpoint(options->run, options->step, options->to, options->dtype);
        if (!exported) throw ErrorException(exported.error());
        std::cout << exported->folder.string() << ": step " << exported->step << ", " << exported->bytes
                  << " bytes, loaded again, largest difference " << exported->largest_difference << " in "
                  << exported->compared << " log-probs\n";
        exit_with(Done);
    });
}

} // namespace stillroom::cli
