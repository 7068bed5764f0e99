// SPDX-License-Identifier: GPL-3.0-or-later
// NVML is opened at run time: a machine without NVIDIA's driver has none, and its header comes with the CUDA
// toolkit alone. The few declarations below are those of its documentation.
#include "session/gpu_processes.h"

#include <cstdlib>
#include <dlfcn.h>
#include <string>
#include <unistd.h>

namespace stillroom::session {

namespace {

struct ProcessInfo { // nvmlProcessInfo_v2_t
    unsigned pid;
    unsigned long long bytes;
    unsigned gpu_instance, compute_instance;
};
constexpr int success = 0, buffer_too_small = 7;

class Nvml {
public:
    Nvml() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {}
    Nvml(const Nvml&) = delete;
    Nvml& operator=(const Nvml&) = delete;
    ~Nvml() {
        if (library_) dlclose(library_);
    }
    /// What the function `name` returns for `arguments`; -1 where there is none.
    template <typename... Arguments>
    int call(const char* name, Arguments... arguments) const {
        const auto function =
            library_ ? reinterpret_cast<int (*)(Arguments...)>(dlsym(library_, name)) : nullptr;
        return function ? function(arguments...) : -1;
    }

private:
    void* library_;
};

// CUDA counts only what CUDA_VISIBLE_DEVICES lists; NVML counts all.
Result<unsigned> driver_index(int index) {
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    if (!visible || !*visible) return unsigned(index);
    std::string list = visible;
    for (int i = 0; i < index && list.find(',') != std::string::npos; ++i)
        list = list.substr(list.find(',') + 1);
    char* end = nullptr;
    const unsigned long number = std::strtoul(list.c_str(), &end, 10);
    if (end == list.c_str() || (*end != ',' && *end != '\0'))
        return Error{"CUDA_VISIBLE_DEVICES names devices otherwise than by number"};
    return unsigned(number);
}

} // namespace

Result<std::vector<GpuProcess>> other_gpu_processes(int index) {
    const Nvml nvml;
    if (nvml.call("nvmlInit_v2") != success) return Error{"NVIDIA's management library cannot be used"};
    const auto processes = [&]() -> Result<std::vector<GpuProcess>> {
        const auto number = driver_index(index);
        if (!number) return number.error();
        void* device = nullptr;
        if (nvml.call("nvmlDeviceGetHandleByIndex_v2", *number, &device) != success)
            return Error{"the driver does not show the device"};
        std::vector<ProcessInfo> list(64);
        unsigned count = unsigned(list.size());
        int status = nvml.call("nvmlDeviceGetComputeRunningProcesses_v3", device, &count, list.data());
        if (status == buffer_too_small) {
            list.resize(count + 64);
            count = unsigned(list.size());
            status = nvml.call("nvmlDeviceGetComputeRunningProcesses_v3", device, &count, list.data());
        }
        if (status != success) return Error{"the driver does not list its processes"};
        std::vector<GpuProcess> others;
        for (unsigned i = 0; i < count; ++i) {
            // Memory that the driver cannot tell is all ones.
            const bool known = list[i].bytes != ~0ull;
            if (list[i].pid != unsigned(getpid()))
                others.push_back({int64_t(list[i].pid), known ? int64_t(list[i].bytes) : 0});
        }
        // The caller has used the device, so it is listed. In a container the driver may list it under the
        // host's number: one of them is this process then.
        if (others.size() == count && !others.empty()) others.pop_back();
        return others;
    }();
    nvml.call("nvmlShutdown");
    return processes;
}

} // namespace stillroom::session
