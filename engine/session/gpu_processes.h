// SPDX-License-Identifier: GPL-3.0-or-later
// Who else uses a GPU, as NVIDIA's driver tells it. Internal to session/.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <vector>

namespace stillroom::session {

struct GpuProcess {
    int64_t pid = 0, bytes = 0;
};

/// Compute processes on CUDA device `index` beside this one, which must have used the device. An error: the
/// driver's library is missing, or does not list them.
Result<std::vector<GpuProcess>> other_gpu_processes(int index);

} // namespace stillroom::session
