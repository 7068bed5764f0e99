// SPDX-License-Identifier: GPL-3.0-or-later
// What a device's memory looks like, without CUDA headers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <torch/torch.h>

namespace stillroom::kernels {

struct DeviceMemory {
    int64_t free = 0, capacity = 0; // of the device, bytes
    int64_t allocated_peak = 0;     // of this process's tensors since the last reset
    int64_t reserved_peak = 0;
};

/// Makes a device ready for use: matrix products of bf16 are summed in fp32 throughout, also where cuBLAS
/// divides a sum. Cheap when repeated.
void prepare(torch::Device device);

/// "NVIDIA H200" as the driver says, else "CUDA device 0"; "CPU".
std::string device_name(torch::Device device);

/// What a device can do at best, by its maker's data sheet.
struct DevicePeaks {
    double flops = 0;     // a second, dense, in the asked type
    double bandwidth = 0; // bytes a second, of its memory
};
/// Of bf16 and fp32 (without TF32) on a device by name; none where it isn't listed.
std::optional<DevicePeaks> device_peaks(const std::string& name, torch::ScalarType type);

/// On a CPU: the machine's memory and this process's peak resident size.
DeviceMemory device_memory(torch::Device device);
void reset_memory_peaks(torch::Device device);
/// Returns cached blocks to the device.
void empty_cache(torch::Device device);

} // namespace stillroom::kernels
