// SPDX-License-Identifier: GPL-3.0-or-later
// NVML is opened at run time: a machine without NVIDIA's driver has none, and its header comes with the CUDA
// toolkit alone. The few declarations below are those of its documentation.
#include "kernels/nvml.h"

#include <cstdlib>
#include <dlfcn.h>
#include <string>
#include <unistd.h>

namespace stillroom::kernels {

namespace {

struct ProcessInfo { // nvmlProcessInfo_v2_t
    unsigned pid;
    unsigned long long bytes;
    unsigned gpu_instance, compute_instance;
};
constexpr int success = 0, buffer_too_small = 7;

class Nvml {
public:
    /// Opened once: opening takes tens of milliseconds.
    static const Nvml& instance() {
        static const Nvml nvml;
        return nvml;
    }
    Nvml(const Nvml&) = delete;
    Nvml& operator=(const Nvml&) = delete;
    ~Nvml() {
        if (usable_) call("nvmlShutdown");
        if (library_) dlclose(library_);
    }
    bool usable() const { return usable_; }
    /// What the function `name` returns for `arguments`; -1 where there is none.
    template <typename... Arguments>
    int call(const char* name, Arguments... arguments) const {
        const auto function =
            library_ ? reinterpret_cast<int (*)(Arguments...)>(dlsym(library_, name)) : nullptr;
        return function ? function(arguments...) : -1;
    }

private:
    Nvml() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
        usable_ = call("nvmlInit_v2") == success;
    }
    void* library_;
    bool usable_ = false;
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

Result<void*> device_handle(int index) {
    const Nvml& nvml = Nvml::instance();
    if (!nvml.usable()) return Error{"NVIDIA's management library cannot be used"};
    const auto number = driver_index(index);
    if (!number) return number.error();
    void* device = nullptr;
    if (nvml.call("nvmlDeviceGetHandleByIndex_v2", *number, &device) != success)
        return Error{"the driver does not show the device"};
    return device;
}

} // namespace

Result<std::vector<GpuProcess>> other_gpu_processes(int index) {
    const auto device = device_handle(index);
    if (!device) return device.error();
    std::vector<ProcessInfo> list(64);
    unsigned count = 0;
    const auto read = [&] {
        count = unsigned(list.size());
        return Nvml::instance().call("nvmlDeviceGetComputeRunningProcesses_v3", *device, &count, list.data());
    };
    int status = read();
    if (status == buffer_too_small) {
        list.resize(count + 64);
        status = read();
    }
    if (status != success) return Error{"the driver does not list its processes"};
    std::vector<GpuProcess> others;
    for (unsigned i = 0; i < count; ++i) {
        // Memory that the driver cannot tell is all ones.
        const bool known = list[i].bytes != ~0ull;
        if (list[i].pid != unsigned(getpid()))
            others.push_back({int64_t(list[i].pid), known ? int64_t(list[i].bytes) : 0});
    }
    // The caller has used the device, so it is listed. In a container the driver may list it under the host's
    // number: one of them is this process then.
    if (others.size() == count && !others.empty()) others.pop_back();
    return others;
}

Result<double> gpu_energy(int index) {
    const auto device = device_handle(index);
    if (!device) return device.error();
    unsigned long long millijoules = 0;
    if (Nvml::instance().call("nvmlDeviceGetTotalEnergyConsumption", *device, &millijoules) != success)
        return Error{"the driver does not count the device's energy"};
    return double(millijoules) / 1000;
}

Result<std::string> gpu_name(int index) {
    const auto device = device_handle(index);
    if (!device) return device.error();
    char name[96] = {};
    if (Nvml::instance().call("nvmlDeviceGetName", *device, &name[0], unsigned(sizeof name)) != success)
        return Error{"the driver does not name the device"};
    return std::string(name);
}

} // namespace stillroom::kernels
