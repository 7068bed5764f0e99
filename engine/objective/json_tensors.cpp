// SPDX-License-Identifier: GPL-3.0-or-later
#include "objective/json_tensors.h"

#include "base/result.h"

#include <cmath>
#include <limits>
#include <vector>

namespace stillroom::objective {

using nlohmann::json;

namespace {

double number(const json& value, bool whole, const std::string& name) {
    if (whole && !value.is_number_integer())
        throw ErrorException({"expected a whole number, found " + value.dump(), name});
    if (value.is_number()) return value.get<double>();
    if (value.is_boolean()) return value.get<bool>();
    if (value == "inf") return INFINITY;
    if (value == "-inf") return -INFINITY;
    if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
    throw ErrorException({"expected a number, found " + value.dump(), name});
}

struct Flat {
    std::vector<int64_t> shape;
    std::vector<double> numbers;
};

void flatten(const json& values, size_t depth, bool whole, Flat& flat, const std::string& name) {
    if (!values.is_array()) {
        if (depth != flat.shape.size()) throw ErrorException({"lists of different depth", name});
        flat.numbers.push_back(number(values, whole, name));
        return;
    }
    const auto size = int64_t(values.size());
    if (depth == flat.shape.size()) {
        if (!flat.numbers.empty()) throw ErrorException({"lists of different depth", name});
        flat.shape.push_back(size);
    }
    if (flat.shape[depth] != size) {
        throw ErrorException({"a list of " + std::to_string(size) + " entries beside one of " +
                                  std::to_string(flat.shape[depth]),
                              name});
    }
    for (const json& value : values) flatten(value, depth + 1, whole, flat, name);
}

} // namespace

torch::Tensor tensor_of(const json& values, torch::Dtype dtype, const std::string& name) {
    Flat flat;
    flatten(values, 0, dtype == torch::kInt64, flat, name);
    return torch::tensor(flat.numbers, torch::kFloat64).view(flat.shape).to(dtype);
}

json json_of(const torch::Tensor& values) {
    if (values.dim() > 0) {
        json list = json::array();
        for (int64_t i = 0; i < values.size(0); ++i) list.push_back(json_of(values[i]));
        return list;
    }
    if (values.scalar_type() == torch::kBool) return values.item<bool>();
    const double value = values.item<double>();
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    return value;
}

} // namespace stillroom::objective
