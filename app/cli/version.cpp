// SPDX-License-Identifier: GPL-3.0-or-later
// version: what is linked, and on what it runs.
#include "app/cli/command.h"
#include "app/cli/commands.h"

#include <iostream>
#include <sqlite3.h>
#include <torch/torch.h>
#include <torch/version.h>

namespace stillroom::cli {

void add_version(CLI::App& app) {
    CLI::App* command = app.add_subcommand("version", "versions of everything linked, device and driver");
    command->footer("Example:\n  build/bin/stillroom-cli version");
    command->callback([] {
        std::cout << "stillroom " << STILLROOM_VERSION << "\nLibTorch  " << TORCH_VERSION << "\nSQLite    "
                  << sqlite3_libversion() << "\nthreads   " << torch::get_num_threads() << '\n';
        if (!torch::cuda::is_available()) std::cout << "device    cpu (no CUDA device)\n";
        for (int64_t i = 0; i < int64_t(torch::cuda::device_count()); ++i)
            std::cout << "device    cuda:" << i << '\n';
    });
}

} // namespace stillroom::cli
