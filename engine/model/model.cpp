// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/model.h"

#include "kernels/device.h"

#include <algorithm>
#include <charconv>

namespace stillroom::model {

int64_t Model::real_vocab() const {
    return tokenizer ? std::min(tokenizer->size(), config.vocab) : config.vocab;
}

Model Model::clone() const {
    Model copy = *this;
    copy.weights.flat = weights.flat.clone();
    if (lora) copy.adapters.flat = adapters.flat.clone();
    return copy;
}

namespace {

Result<torch::Device> device_of(const std::string& name) {
    const auto count = int64_t(torch::cuda::device_count());
    if (name == "cpu" || (name == "auto" && count == 0)) return torch::Device(torch::kCPU);
    if (name == "auto") return torch::Device(torch::kCUDA, 0);
    if (name != "cuda" && !name.starts_with("cuda:")) {
        return Error{"there is no device \"" + name + "\"", "--device", "auto, cpu, cuda or cuda:n"};
    }
    int index = 0;
    if (name != "cuda") {
        const char *first = name.data() + 5, *last = name.data() + name.size();
        const auto [end, fault] = std::from_chars(first, last, index);
        if (fault != std::errc() || end != last || index < 0) {
            return Error{"\"" + name + "\" names no device", "--device", "auto, cpu, cuda or cuda:n"};
        }
    }
    if (count == 0) return Error{"this machine has no CUDA device", "--device " + name, "use --device cpu"};
    if (index >= count) {
        return Error{"this machine has CUDA devices 0 to " + std::to_string(count - 1), "--device " + name};
    }
    return torch::Device(torch::kCUDA, torch::DeviceIndex(index));
}

} // namespace

Result<LoadOptions> load_options(const std::string& device, const std::string& dtype) {
    const auto found = device_of(device);
    if (!found) return found.error();
    kernels::prepare(*found);
    LoadOptions options{*found, found->is_cuda() ? torch::kBFloat16 : torch::kFloat32};
    if (dtype == "fp32") {
        options.dtype = torch::kFloat32;
    } else if (dtype == "bf16") {
        options.dtype = torch::kBFloat16;
    } else if (dtype != "auto") {
        return Error{"there is no element type \"" + dtype + "\"", "--dtype", "auto, fp32 or bf16"};
    }
    return options;
}

} // namespace stillroom::model
