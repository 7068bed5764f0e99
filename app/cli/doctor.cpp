// SPDX-License-Identifier: GPL-3.0-or-later
// doctor: what can be known to be wrong with a recipe before it runs, each finding with evidence and a
// remedy.
#include "app/cli/command.h"
#include "app/cli/commands.h"
#include "session/preflight.h"
#include "session/session.h"

#include <atomic>
#include <csignal>
#include <iostream>
#include <map>
#include <unistd.h>

namespace stillroom::cli {

namespace {

std::atomic<bool> interrupted{false};

struct Options {
    std::string recipe, out;
    std::vector<std::string> settings;
    DeviceOptions device;
    bool quiet = false, json = false;
};

void print(const session::Finding& finding) {
    const char* colour = finding.verdict == session::Verdict::Pass   ? "\033[32m"
                         : finding.verdict == session::Verdict::Warn ? "\033[33m"
                         : finding.verdict == session::Verdict::Fail ? "\033[31m"
                                                                     : "\033[2m";
    const bool terminal = isatty(STDOUT_FILENO);
    std::cout << (terminal ? colour : "") << to_string(finding.verdict) << (terminal ? "\033[0m" : "") << "  "
              << finding.id << "  " << finding.title << ": " << finding.evidence << '\n';
    const bool problem =
        finding.verdict == session::Verdict::Warn || finding.verdict == session::Verdict::Fail;
    if (problem && !finding.why.empty()) std::cout << "        why: " << finding.why << '\n';
    for (const auto& remedy : finding.remedies) {
        std::cout << "        remedy: " << remedy.text;
        if (!remedy.key.empty() && !remedy.value.empty())
            std::cout << "  (--set " << remedy.key << '=' << remedy.value << ')';
        std::cout << '\n';
    }
    std::cout << std::flush;
}

int doctor(const Options& options) {
    auto file = formats::find_recipe(options.recipe);
    if (!file) throw ErrorException(file.error());
    auto read = formats::read_recipe(*file);
    if (!read) throw ErrorException(read.error());
    auto recipe = formats::with_settings(*read, options.settings);
    if (!recipe) throw ErrorException(recipe.error());

    session::PreflightRequest request;
    request.run = options.out.empty() ? session::new_run_folder("runs", recipe->run.name)
                                      : std::filesystem::path(options.out);
    request.recipe = std::move(*recipe);
    request.device = options.device.device;
    request.dtype = options.device.dtype;
    request.threads = options.device.threads;
    request.cancel = &interrupted;
    std::signal(SIGINT, [](int) { interrupted = true; });

    const auto total = int64_t(session::preflight_checks().size());
    Progress progress("checking", total,
                      options.quiet || !options.json); // the findings themselves are the progress of a text
    int64_t done = 0;
    std::map<session::Verdict, int64_t> count;
    const auto findings = session::preflight(request, [&](const session::Finding& finding) {
        ++count[finding.verdict];
        if (!options.json) print(finding);
        progress.advance(++done, finding.title);
        return true;
    });
    if (!findings) throw ErrorException(findings.error());
    using enum session::Verdict;
    if (options.json) {
        auto list = nlohmann::json::array();
        for (const auto& finding : *findings) list.push_back(session::to_json(finding));
        std::cout << nlohmann::json{{"findings", std::move(list)},
                                    {"pass", count[Pass]},
                                    {"warn", count[Warn]},
                                    {"fail", count[Fail]},
                                    {"skip", count[Skip]}}
                         .dump(2)
                  << '\n';
    } else {
        std::cout << count[Pass] << " pass, " << count[Warn] << " warn, " << count[Fail] << " fail, "
                  << count[Skip] << " not run\n";
    }
    if (interrupted) return Interrupted;
    return count[Fail] > 0 ? Failed : Done;
}

} // namespace

void add_doctor(CLI::App& app) {
    auto options = std::make_shared<Options>();
    CLI::App* command = app.add_subcommand("doctor", "what is wrong with a recipe, before it runs");
    command->add_option("RECIPE", options->recipe, "a shipped recipe's name, or a file")->required();
    command->add_option("--set", options->settings, "section.key=value, over the recipe; may be given again")
        ->allow_extra_args(false);
    command->add_option("--out", options->out, "the folder that the run would make (default: runs/NAME)");
    command->add_flag("--json", options->json, "one JSON object");
    command->add_flag("--quiet", options->quiet, "no progress");
    add_device_options(*command, options->device);
    command->footer("Example:\n  build/bin/stillroom-cli doctor sample-opd");
    command->callback([options] { exit_with(doctor(*options)); });
}

} // namespace stillroom::cli
