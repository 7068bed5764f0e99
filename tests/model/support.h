// SPDX-License-Identifier: GPL-3.0-or-later
// What the tests of the model share: golden tensors as LibTorch tensors, devices, and the largest difference.
#pragma once

#include "formats/safetensors.h"
#include "model/decoder.h"
#include "tests/support/golden.h"

#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <torch/torch.h>
#include <vector>

namespace stillroom::test {

using Tensors = std::map<std::string, torch::Tensor>;

inline torch::Tensor to_torch(const formats::TensorView& view) {
    const auto type = [&] {
        switch (view.dtype) {
        case formats::DType::F64:
            return torch::kFloat64;
        case formats::DType::F32:
            return torch::kFloat32;
        case formats::DType::BF16:
            return torch::kBFloat16;
        case formats::DType::F16:
            return torch::kFloat16;
        case formats::DType::I64:
            return torch::kInt64;
        case formats::DType::I32:
            return torch::kInt32;
        default:
            throw std::runtime_error("no test reads " + formats::to_string(view.dtype));
        }
    }();
    auto tensor = torch::empty(view.shape, torch::dtype(type));
    std::memcpy(tensor.data_ptr(), view.bytes.data(), view.bytes.size());
    return tensor;
}

inline Tensors read_tensors(const std::filesystem::path& file) {
    Tensors tensors;
    const auto opened = formats::Safetensors::open(file);
    for (const auto& view : opened.value().tensors()) tensors[view.name] = to_torch(view);
    return tensors;
}

/// Every weight of a model folder by Hugging Face's name, as stored.
inline Tensors read_weights(const std::filesystem::path& folder) {
    Tensors tensors;
    const auto opened = formats::WeightFiles::open(folder);
    for (const auto& view : opened.value().tensors()) tensors[view.name] = to_torch(view);
    return tensors;
}

/// The parts of an arena by Hugging Face's name, on the CPU.
inline Tensors parts_of(const model::Arena& arena) {
    Tensors parts;
    for (const auto& slice : arena.layout->slices) {
        for (const auto& part : slice.parts) {
            parts[part.hf_name] = arena.view(slice).narrow(0, part.row, part.rows).cpu();
        }
    }
    return parts;
}

inline double largest(const torch::Tensor& a) { return a.abs().max().item<double>(); }

inline double difference(const torch::Tensor& a, const torch::Tensor& b) {
    if (a.sizes() != b.sizes()) throw std::runtime_error("shapes differ");
    return largest(a.cpu().to(torch::kFloat64) - b.cpu().to(torch::kFloat64));
}

/// Largest difference of any entry, over the largest entry of all of `expected`. Both hold the same names.
inline double relative_difference(const Tensors& found, const Tensors& expected) {
    double worst = 0, scale = 0;
    if (found.size() != expected.size()) throw std::runtime_error("the numbers of tensors differ");
    for (const auto& [name, tensor] : expected) {
        worst = std::max(worst, difference(found.at(name), tensor));
        scale = std::max(scale, largest(tensor));
    }
    return worst / scale;
}

inline double norm_of(const Tensors& tensors) {
    double sum = 0;
    for (const auto& [name, tensor] : tensors)
        sum += tensor.to(torch::kFloat64).square().sum().item<double>();
    return std::sqrt(sum);
}

inline model::Model load(const std::filesystem::path& path, const std::string& device = "cpu",
                         torch::Dtype dtype = torch::kFloat32) {
    return model::load_model(path, {torch::Device(device), dtype}).value();
}

/// The devices that tests run on; one that this machine lacks is skipped, saying so.
inline const auto devices = testing::Values(std::string("cpu"), std::string("cuda"));

template <typename Parameters>
class OnDevice : public testing::TestWithParam<Parameters> {
protected:
    void SetUp() override {
        if (device() == "cuda" && !torch::cuda::is_available())
            GTEST_SKIP() << "this machine has no CUDA device";
    }
    virtual std::string device() const = 0;
};

inline std::vector<std::vector<int32_t>> sequences(const nlohmann::json& json) {
    return json.get<std::vector<std::vector<int32_t>>>();
}

/// Hidden states of sequences in one pack.
inline torch::Tensor hidden_of(const model::Model& model, const std::vector<std::vector<int32_t>>& of) {
    const auto pack = model::Pack::of(of, model.device());
    return model::forward(model, pack.ids, pack.positions, model::causal_attention(pack, model.config));
}

} // namespace stillroom::test
