// SPDX-License-Identifier: GPL-3.0-or-later
// What the readers and writers of weights share: element types, and a tensor as bytes in a mapped file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace stillroom::formats {

enum class DType { F64, F32, F16, BF16, I64, I32, I16, I8, U8, Bool, F8E4M3, F8E5M2, U16, U32, U64 };
/// As safetensors spells it: "F32", "BF16", ...
std::string to_string(DType dtype);
size_t bytes_of(DType dtype);

/// One tensor of a file; `bytes` stays valid as long as its reader lives. Row-major, little-endian.
struct TensorView {
    std::string name;
    DType dtype = DType::F32;
    std::vector<int64_t> shape;
    std::span<const std::byte> bytes;
};

} // namespace stillroom::formats
