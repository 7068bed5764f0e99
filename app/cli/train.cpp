// SPDX-License-Identifier: GPL-3.0-or-later
// train and resume: a recipe becomes a run folder. Both drive the engine through a Session, as the window
// does.
#include "app/cli/command.h"
#include "app/cli/commands.h"
#include "app/cli/run_report.h"
#include "session/session.h"

#include <atomic>
#include <csignal>
#include <iostream>

namespace stillroom::cli {

namespace {

std::atomic<int> signals_seen{0};
void on_signal(int) { signals_seen.fetch_add(1); }

// Runs to the end: prints events, turns the first signal into "finish this step, save", the second into "save
// now".
int follow(session::RunRequest request, bool quiet) {
    std::signal(SIGINT, on_signal);
    std::signal(SIGTERM, on_signal);
    const std::filesystem::path run = request.run;
    session::Session session;
    RunReport report(std::cout, std::cerr, request.recipe, quiet);
    session.start(std::move(request));
    int obeyed = 0;
    while (!session.over()) {
        if (const auto event = session.next_event(std::chrono::milliseconds(100))) report.show(*event);
        if (const int seen = signals_seen; seen > obeyed) {
            if (obeyed == 0) {
                session.send(session::StopAfterStep{});
                std::cerr
                    << "\ninterrupted: finishing this step, then saving (once more: give the step up)\n";
            } else {
                session.send(session::StopNow{});
            }
            obeyed = seen;
        }
    }
    const auto outcome = session.wait();
    if (!outcome) {
        stillroom::cli::report(outcome.error());
        return Failed;
    }
    report.finish(run);
    return obeyed > 0 ? Interrupted : Done;
}

struct Options {
    std::string recipe, out, deadline;
    std::vector<std::string> settings;
    int64_t steps = 0;
    DeviceOptions device;
    bool quiet = false;
};

int train(const Options& options, bool seed_given) {
    auto file = formats::find_recipe(options.recipe);
    if (!file) throw ErrorException(file.error());
    auto read = formats::read_recipe(*file);
    if (!read) throw ErrorException(read.error());
    auto changed = formats::with_settings(*read, options.settings);
    if (!changed) throw ErrorException(changed.error());
    formats::Recipe recipe = std::move(*changed);
    if (options.steps > 0) recipe.run.steps = options.steps;
    if (!options.deadline.empty()) recipe.run.deadline = options.deadline;
    if (seed_given) recipe.run.seed = options.device.seed;

    session::RunRequest request;
    request.run = options.out.empty() ? session::new_run_folder("runs", recipe.run.name)
                                      : std::filesystem::path(options.out);
    request.recipe = std::move(recipe);
    request.device = options.device.device;
    request.dtype = options.device.dtype;
    request.threads = options.device.threads;
    return follow(std::move(request), options.quiet);
}

int resume(const Options& options) {
    const std::filesystem::path run = options.recipe;
    auto read = formats::read_recipe(run / "recipe.toml");
    if (!read) throw ErrorException(read.error());
    auto changed = formats::with_settings(*read, options.settings);
    if (!changed) throw ErrorException(changed.error());
    session::RunRequest request;
    request.recipe = std::move(*changed);
    if (options.steps > 0) request.recipe.run.steps = options.steps;
    if (!options.deadline.empty()) request.recipe.run.deadline = options.deadline;
    request.run = run;
    request.resume = true;
    request.device = options.device.device;
    request.dtype = options.device.dtype;
    request.threads = options.device.threads;
    return follow(std::move(request), options.quiet);
}

void add_common(CLI::App& command, Options& options) {
    command.add_option("--set", options.settings, "section.key=value, over the recipe; may be given again")
        ->allow_extra_args(false);
    command.add_option("--steps", options.steps, "optimizer steps, over the recipe")->check(positive());
    command.add_option("--deadline", options.deadline, "2h30m after the start, or \"2026-12-24 18:00\"");
    command.add_flag("--quiet", options.quiet, "print errors only");
    add_device_options(command, options.device);
}

} // namespace

void add_train(CLI::App& app) {
    auto options = std::make_shared<Options>();
    CLI::App* command = app.add_subcommand("train", "train by a recipe; writes a run folder");
    command->add_option("RECIPE", options->recipe, "a shipped recipe's name, or a file")->required();
    command->add_option("--out", options->out, "the run's folder (default: runs/<name>)");
    add_common(*command, *options);
    command->footer(
        "Example:\n  build/bin/stillroom-cli train sample-opd --steps 2 --set evaluation.limit=20 "
        "--out $(mktemp -du)");
    command->callback([options, command] { exit_with(train(*options, command->count("--seed") > 0)); });
}

void add_resume(CLI::App& app) {
    auto options = std::make_shared<Options>();
    CLI::App* command = app.add_subcommand("resume", "go on with a run from its newest complete checkpoint");
    command->add_option("RUN", options->recipe, "the run's folder")->required();
    add_common(*command, *options);
    command->footer(
        "Example:\n  run=$(mktemp -du)\n"
        "  build/bin/stillroom-cli train sample-opd --steps 2 --set evaluation.limit=20 --out $run\n"
        "  build/bin/stillroom-cli resume $run --steps 3");
    command->callback([options] { exit_with(resume(*options)); });
}

} // namespace stillroom::cli
