// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/device.h"

#include <ATen/Context.h>
#include <ATen/DeviceAccelerator.h>
#include <sys/resource.h>
#include <unistd.h>

namespace stillroom::kernels {

namespace {
c10::DeviceIndex index_of(torch::Device device) {
    return device.has_index() ? device.index() : c10::DeviceIndex(0);
}
} // namespace

void prepare(torch::Device device) {
    if (!device.is_cuda()) return;
    // Before the first tensor is on it the allocator knows no device.
    at::globalContext().lazyInitDevice(device.type());
    at::globalContext().setAllowBF16ReductionCuBLAS(/*allow_reduced_precision=*/false);
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
