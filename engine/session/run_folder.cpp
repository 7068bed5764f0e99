// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/session.h"

namespace stillroom::session {

std::filesystem::path new_run_folder(const std::filesystem::path& runs, const std::string& name) {
    std::filesystem::path folder = runs / name;
    for (int i = 2; std::filesystem::exists(folder); ++i) folder = runs / (name + "-" + std::to_string(i));
    return folder;
}

} // namespace stillroom::session
