// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/commands.h"

namespace stillroom::cli {

void add_commands(CLI::App& app) {
    add_overlap(app);
    add_version(app);
}

} // namespace stillroom::cli
