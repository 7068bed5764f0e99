// SPDX-License-Identifier: GPL-3.0-or-later
// Every subcommand, in the order of --help.
#pragma once

#include <CLI/CLI.hpp>

namespace stillroom::cli {

void add_train(CLI::App& app);
void add_resume(CLI::App& app);
void add_evaluate(CLI::App& app);
void add_export(CLI::App& app);
void add_overlap(CLI::App& app);
void add_objective(CLI::App& app);
void add_inspect(CLI::App& app);
void add_doctor(CLI::App& app);
void add_generate(CLI::App& app);
void add_logprobs(CLI::App& app);
void add_import(CLI::App& app);
void add_tokenize(CLI::App& app);
void add_render(CLI::App& app);
void add_check_answers(CLI::App& app);
void add_statistics(CLI::App& app);
void add_runs(CLI::App& app);
void add_show(CLI::App& app);
void add_version(CLI::App& app);

/// All of them.
void add_commands(CLI::App& app);

} // namespace stillroom::cli
