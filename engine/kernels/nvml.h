// SPDX-License-Identifier: GPL-3.0-or-later
// What NVIDIA's driver tells of a GPU beside CUDA. Indices are CUDA's. Every call is an error where the
// driver's library is missing or does not answer.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace stillroom::kernels {

struct GpuProcess {
    int64_t pid = 0, bytes = 0;
};

/// Compute processes beside this one, which must have used the device.
Result<std::vector<GpuProcess>> other_gpu_processes(int index);
/// Joules that the device has used since its driver was loaded.
Result<double> gpu_energy(int index);
/// "NVIDIA H200".
Result<std::string> gpu_name(int index);

} // namespace stillroom::kernels
