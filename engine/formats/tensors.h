// SPDX-License-Identifier: GPL-3.0-or-later
// What the readers and writers of weights share: element types, and a tensor as bytes in a mapped file.
#pragma once

#include "base/result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stillroom::formats {

enum class DType { F64, F32, F16, BF16, I64, I32, I16, I8, U8, Bool, F8E4M3, F8E5M2, U16, U32, U64 };
/// As safetensors spells it: "F32", "BF16", ...
std::string to_string(DType dtype);
size_t bytes_of(DType dtype);
/// The type that safetensors spells so; nothing where there is none (or one that is not read, as F4).
std::optional<DType> dtype_of(std::string_view name);

/// "[2, 3]", for messages.
std::string to_string(std::span<const int64_t> shape);
/// The number of elements; nothing where a size is negative or the product passes 2^63 - 1.
std::optional<int64_t> elements_of(std::span<const int64_t> shape);

/// One tensor of a file; `bytes` stays valid as long as its reader lives. Row-major, little-endian.
struct TensorView {
    std::string name;
    DType dtype = DType::F32;
    std::vector<int64_t> shape;
    std::span<const std::byte> bytes;
};

/// The values in fp32: F32, F16 and BF16 exactly, F64 rounded. Other types are an error that names the
/// tensor.
Result<std::vector<float>> to_floats(const TensorView& tensor);

} // namespace stillroom::formats
