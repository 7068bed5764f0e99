// SPDX-License-Identifier: GPL-3.0-or-later
#include "formats/tensors.h"

#include "base/half.h"
#include "base/strings.h"

#include <array>
#include <cstring>
#include <limits>

namespace stillroom::formats {

namespace {

struct DTypeFacts {
    DType dtype;
    std::string_view name;
    size_t bytes;
};
constexpr std::array facts{
    DTypeFacts{DType::F64, "F64", 8},        DTypeFacts{DType::F32, "F32", 4},
    DTypeFacts{DType::F16, "F16", 2},        DTypeFacts{DType::BF16, "BF16", 2},
    DTypeFacts{DType::I64, "I64", 8},        DTypeFacts{DType::I32, "I32", 4},
    DTypeFacts{DType::I16, "I16", 2},        DTypeFacts{DType::I8, "I8", 1},
    DTypeFacts{DType::U8, "U8", 1},          DTypeFacts{DType::Bool, "BOOL", 1},
    DTypeFacts{DType::F8E4M3, "F8_E4M3", 1}, DTypeFacts{DType::F8E5M2, "F8_E5M2", 1},
    DTypeFacts{DType::U16, "U16", 2},        DTypeFacts{DType::U32, "U32", 4},
    DTypeFacts{DType::U64, "U64", 8},
};

// The table stands in the order of the enumeration.
constexpr bool in_order() {
    for (size_t i = 0; i < facts.size(); ++i) {
        if (size_t(facts[i].dtype) != i) return false;
    }
    return true;
}
static_assert(in_order());

template <typename Stored, typename Convert>
void convert_all(std::span<const std::byte> bytes, std::vector<float>& values, Convert convert) {
    for (size_t i = 0; i < values.size(); ++i) {
        Stored stored; // by memcpy: tensors in a file need not be aligned
        std::memcpy(&stored, bytes.data() + i * sizeof stored, sizeof stored);
        values[i] = convert(stored);
    }
}

} // namespace

std::string to_string(DType dtype) { return std::string(facts[size_t(dtype)].name); }
size_t bytes_of(DType dtype) { return facts[size_t(dtype)].bytes; }

std::optional<DType> dtype_of(std::string_view name) {
    for (const DTypeFacts& entry : facts) {
        if (entry.name == name) return entry.dtype;
    }
    return std::nullopt;
}

std::string to_string(std::span<const int64_t> shape) {
    std::vector<std::string> sizes;
    for (const int64_t size : shape) sizes.push_back(std::to_string(size));
    return "[" + join(sizes, ", ") + "]";
}

std::optional<int64_t> elements_of(std::span<const int64_t> shape) {
    int64_t product = 1;
    for (const int64_t size : shape) {
        if (size < 0 || (size > 0 && product > std::numeric_limits<int64_t>::max() / size))
            return std::nullopt;
        product *= size;
    }
    return product;
}

Result<std::vector<float>> to_floats(const TensorView& tensor) {
    std::vector<float> values(tensor.bytes.size() / bytes_of(tensor.dtype));
    switch (tensor.dtype) {
    case DType::F32:
        if (!values.empty()) std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
        return values;
    case DType::F64:
        convert_all<double>(tensor.bytes, values, [](double v) { return float(v); });
        return values;
    case DType::F16:
        convert_all<uint16_t>(tensor.bytes, values, fp16_to_float);
        return values;
    case DType::BF16:
        convert_all<uint16_t>(tensor.bytes, values, bf16_to_float);
        return values;
    default:
        return Error{"has type " + to_string(tensor.dtype) + "; F64, F32, F16 or BF16 is expected",
                     tensor.name};
    }
}

} // namespace stillroom::formats
