// SPDX-License-Identifier: GPL-3.0-or-later
// Every subcommand, in the order of --help.
#pragma once

#include <CLI/CLI.hpp>

namespace stillroom::cli {

void add_overlap(CLI::App& app);
void add_version(CLI::App& app);

/// All of them.
void add_commands(CLI::App& app);

} // namespace stillroom::cli
