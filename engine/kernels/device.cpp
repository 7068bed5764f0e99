// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/device.h"

#include "kernels/nvml.h"

#include <ATen/Context.h>
#include <ATen/DeviceAccelerator.h>
#include <sys/resource.h>
#include <unistd.h>

namespace stillroom::kernels {

namespace {
c10::DeviceIndex index_of(torch::Device device) {
    return device.has_index() ? device.index() : c10::DeviceIndex(0);
}

struct Sheet {
    const char* name;
    double bf16, fp32, bandwidth; // Tflop/s dense, Tflop/s, GB/s
};
constexpr Sheet sheets[] = {
    {"NVIDIA H200", 989.4, 66.9, 4800},
    {"NVIDIA H100 80GB HBM3", 989.4, 66.9, 3350},
    {"NVIDIA H100 PCIe", 756, 51.2, 2000},
    {"NVIDIA A100-SXM4-80GB", 312, 19.5, 2039},
    {"NVIDIA A100-SXM4-40GB", 312, 19.5, 1555},
    {"NVIDIA A100 80GB PCIe", 312, 19.5, 1935},
    {"NVIDIA A100-PCIE-40GB", 312, 19.5, 1555},
    {"NVIDIA L40S", 362, 91.6, 864},
    {"NVIDIA GeForce RTX 4090", 165.2, 82.6, 1008},
    {"NVIDIA GeForce RTX 3090", 71, 35.6, 936},
};
} // namespace

void prepare(torch::Device device) {
    if (!device.is_cuda()) return;
    // Before the first tensor is on it the allocator knows no device.
    at::globalContext().lazyInitDevice(device.type());
    at::globalContext().setAllowBF16ReductionCuBLAS(/*allow_reduced_precision=*/false);
}

std::string device_name(torch::Device device) {
    if (!device.is_cuda()) return "CPU";
    const int index = index_of(device);
    const auto name = gpu_name(index);
    return name ? *name : "CUDA device " + std::to_string(index);
}

std::optional<DevicePeaks> device_peaks(const std::string& name, torch::ScalarType type) {
    if (type != torch::kBFloat16 && type != torch::kFloat32) return std::nullopt;
    for (const Sheet& sheet : sheets) {
        if (name == sheet.name)
            return DevicePeaks{(type == torch::kBFloat16 ? sheet.bf16 : sheet.fp32) * 1e12,
                               sheet.bandwidth * 1e9};
    }
    return std::nullopt;
}

DeviceMemory device_memory(torch::Device device) {
    DeviceMemory memory;
    if (device.is_cuda()) {
        prepare(device);
        const auto [free, total] = at::accelerator::getMemoryInfo(index_of(device));
        const auto stats = at::accelerator::getDeviceStats(index_of(device));
        memory.free = int64_t(free);
        memory.capacity = int64_t(total);
        memory.allocated_peak = stats.allocated_bytes[0].peak;
        memory.reserved_peak = stats.reserved_bytes[0].peak;
        return memory;
    }
    const int64_t page = sysconf(_SC_PAGE_SIZE);
    memory.free = int64_t(sysconf(_SC_AVPHYS_PAGES)) * page;
    memory.capacity = int64_t(sysconf(_SC_PHYS_PAGES)) * page;
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    memory.allocated_peak = memory.reserved_peak = int64_t(usage.ru_maxrss) * 1024;
    return memory;
}

void reset_memory_peaks(torch::Device device) {
    if (device.is_cuda()) at::accelerator::resetPeakStats(index_of(device));
}

void empty_cache(torch::Device device) {
    if (device.is_cuda()) at::accelerator::emptyCache();
}

} // namespace stillroom::kernels
