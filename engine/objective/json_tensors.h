// SPDX-License-Identifier: GPL-3.0-or-later
// Tensors as nested JSON lists, as the golden vectors hold them. Internal to objective/ and its tests.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <torch/torch.h>

namespace stillroom::objective {

/// Numbers of nested lists of one shape, "inf", "-inf" and "nan" included. Throws ErrorException that names
/// `name`.
torch::Tensor tensor_of(const nlohmann::json& values, torch::Dtype dtype, const std::string& name);
nlohmann::json json_of(const torch::Tensor& values);

} // namespace stillroom::objective
