// SPDX-License-Identifier: GPL-3.0-or-later
// runs: the runs of a folder, each with the state that the evidence allows.
#include "app/cli/command.h"
#include "app/cli/commands.h"
#include "app/cli/run_tables.h"

#include <iostream>

namespace stillroom::cli {

namespace {

int list_runs(const std::string& folder, bool as_one_object) {
    const auto runs = record::runs_in(folder);
    if (as_one_object) {
        nlohmann::json list = nlohmann::json::array();
        for (const auto& run : runs) list.push_back(as_json(run));
        print({{"runs", std::move(list)}});
        return Done;
    }
    Table table({"<run", "step", "score", "<state"});
    for (const auto& run : runs) {
        const std::string score =
            run.score ? fixed(*run.score, 4) + " +- " + fixed(run.score_error.value_or(record::Undefined), 4)
                      : "-";
        table.add({run.folder.filename().string(), run.fault.empty() ? std::to_string(run.step) : "-", score,
                   record::state_line(run)});
    }
    table.print();
    std::cout << runs.size() << (runs.size() == 1 ? " run in " : " runs in ") << folder << '\n';
    return Done;
}

} // namespace

void add_runs(CLI::App& app) {
    auto folder = std::make_shared<std::string>("runs");
    auto as_one_object = std::make_shared<bool>(false);
    CLI::App* command = app.add_subcommand("runs", "the runs in a folder: state, step, score");
    command->add_option("DIR", *folder)->capture_default_str();
    command->add_flag("--json", *as_one_object, "as one JSON object");
    command->footer("Example:\n  build/bin/stillroom-cli runs");
    command->callback([folder, as_one_object, command] {
        std::error_code fault;
        // Before the first run the default folder is not there yet.
        if (command->count("DIR") > 0 && !std::filesystem::is_directory(*folder, fault))
            throw ErrorException({"no such folder", *folder});
        exit_with(list_runs(*folder, *as_one_object));
    });
}

} // namespace stillroom::cli
