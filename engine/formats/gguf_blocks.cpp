// SPDX-License-Identifier: GPL-3.0-or-later
// The block layouts of GGUF and their values in fp32. A block is a scale (and a minimum) with the small
// integers that it multiplies; every product is taken in fp32 in the order that the format's reference takes
// it, so that values agree bit for bit.
#include "formats/gguf_types.h"

#include "base/half.h"
#include "base/strings.h"
#include "formats/tensors.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace stillroom::formats {

namespace {

constexpr std::array type_table{
    GgufTypeFacts{0, GgufType::F32, "F32", 1, 4},
    GgufTypeFacts{1, GgufType::F16, "F16", 1, 2},
    GgufTypeFacts{2, GgufType::Q4_0, "Q4_0", 32, 18},
    GgufTypeFacts{3, GgufType::Q4_1, "Q4_1", 32, 20},
    GgufTypeFacts{6, GgufType::Q5_0, "Q5_0", 32, 22},
    GgufTypeFacts{7, GgufType::Q5_1, "Q5_1", 32, 24},
    GgufTypeFacts{8, GgufType::Q8_0, "Q8_0", 32, 34},
    GgufTypeFacts{9, GgufType::Other, "Q8_1", 32, 36},
    GgufTypeFacts{10, GgufType::Other, "Q2_K", 256, 84},
    GgufTypeFacts{11, GgufType::Other, "Q3_K", 256, 110},
    GgufTypeFacts{12, GgufType::Other, "Q4_K", 256, 144},
    GgufTypeFacts{13, GgufType::Other, "Q5_K", 256, 176},
    GgufTypeFacts{14, GgufType::Q6_K, "Q6_K", 256, 210},
    GgufTypeFacts{15, GgufType::Other, "Q8_K", 256, 292},
    GgufTypeFacts{16, GgufType::Other, "IQ2_XXS", 256, 66},
    GgufTypeFacts{17, GgufType::Other, "IQ2_XS", 256, 74},
    GgufTypeFacts{18, GgufType::Other, "IQ3_XXS", 256, 98},
    GgufTypeFacts{19, GgufType::Other, "IQ1_S", 256, 50},
    GgufTypeFacts{20, GgufType::Other, "IQ4_NL", 32, 18},
    GgufTypeFacts{21, GgufType::Other, "IQ3_S", 256, 110},
    GgufTypeFacts{22, GgufType::Other, "IQ2_S", 256, 82},
    GgufTypeFacts{23, GgufType::Other, "IQ4_XS", 256, 136},
    GgufTypeFacts{24, GgufType::Other, "I8", 1, 1},
    GgufTypeFacts{25, GgufType::Other, "I16", 1, 2},
    GgufTypeFacts{26, GgufType::Other, "I32", 1, 4},
    GgufTypeFacts{27, GgufType::Other, "I64", 1, 8},
    GgufTypeFacts{28, GgufType::Other, "F64", 1, 8},
    GgufTypeFacts{29, GgufType::Other, "IQ1_M", 256, 56},
    GgufTypeFacts{30, GgufType::BF16, "BF16", 1, 2},
    GgufTypeFacts{34, GgufType::Other, "TQ1_0", 256, 54},
    GgufTypeFacts{35, GgufType::Other, "TQ2_0", 256, 66},
    GgufTypeFacts{39, GgufType::Other, "MXFP4", 32, 17},
};

using Block = const uint8_t*;

float half_at(Block bytes) {
    uint16_t bits;
    std::memcpy(&bits, bytes, sizeof bits);
    return fp16_to_float(bits);
}

// The two 4-bit numbers of byte i belong to elements i and i + 16.
int low_nibble(uint8_t byte) { return byte & 0xf; }
int high_nibble(uint8_t byte) { return byte >> 4; }

// Q8_0: scale f16, 32 int8.
void q8_0(Block block, float* values) {
    const float scale = half_at(block);
    for (int i = 0; i < 32; ++i) values[i] = float(int8_t(block[2 + i])) * scale;
}

// Q4_0: scale f16, 16 bytes of nibbles, offset by 8.
void q4_0(Block block, float* values) {
    const float scale = half_at(block);
    for (int i = 0; i < 16; ++i) {
        values[i] = float(low_nibble(block[2 + i]) - 8) * scale;
        values[i + 16] = float(high_nibble(block[2 + i]) - 8) * scale;
    }
}

// Q4_1: scale f16, minimum f16, 16 bytes of nibbles.
void q4_1(Block block, float* values) {
    const float scale = half_at(block), minimum = half_at(block + 2);
    for (int i = 0; i < 16; ++i) {
        values[i] = float(low_nibble(block[4 + i])) * scale + minimum;
        values[i + 16] = float(high_nibble(block[4 + i])) * scale + minimum;
    }
}

// The fifth bits of Q5_0 and Q5_1: bit i of 32 belongs to element i.
int fifth_bit(Block bits, int i) { return ((bits[i / 8] >> (i % 8)) & 1) << 4; }

// Q5_0: scale f16, 32 fifth bits, 16 bytes of nibbles, offset by 16.
void q5_0(Block block, float* values) {
    const float scale = half_at(block);
    for (int i = 0; i < 16; ++i) {
        values[i] = float((low_nibble(block[6 + i]) | fifth_bit(block + 2, i)) - 16) * scale;
        values[i + 16] = float((high_nibble(block[6 + i]) | fifth_bit(block + 2, i + 16)) - 16) * scale;
    }
}

// Q5_1: scale f16, minimum f16, 32 fifth bits, 16 bytes of nibbles.
void q5_1(Block block, float* values) {
    const float scale = half_at(block), minimum = half_at(block + 2);
    for (int i = 0; i < 16; ++i) {
        values[i] = float(low_nibble(block[8 + i]) | fifth_bit(block + 4, i)) * scale + minimum;
        values[i + 16] = float(high_nibble(block[8 + i]) | fifth_bit(block + 4, i + 16)) * scale + minimum;
    }
}

// Q6_K: 256 elements in two halves of 128; of each half, 64 bytes of low nibbles and 32 bytes of high bit
// pairs; then 16 int8 scales, one for 16 elements, and the f16 scale of these scales. Offset by 32.
void q6_k(Block block, float* values) {
    const float scale = half_at(block + 208);
    for (int i = 0; i < 256; ++i) {
        const int half = i / 128, quarter = i % 128 / 32, column = i % 32;
        const uint8_t nibbles = block[half * 64 + (quarter % 2) * 32 + column];
        const int low = quarter < 2 ? low_nibble(nibbles) : high_nibble(nibbles);
        const int high = (block[128 + half * 32 + column] >> (2 * quarter)) & 3;
        const float group_scale = scale * float(int8_t(block[192 + i / 16]));
        values[i] = group_scale * float((low | (high << 4)) - 32);
    }
}

void by_blocks(const GgufTensor& tensor, int64_t elements, int64_t bytes, void (*expand)(Block, float*),
               std::vector<float>& values) {
    const auto* block = reinterpret_cast<Block>(tensor.bytes.data());
    for (size_t i = 0; i + size_t(elements) <= values.size(); i += size_t(elements), block += bytes) {
        expand(block, values.data() + i);
    }
}

} // namespace

const GgufTypeFacts* gguf_type_facts(uint32_t id) {
    const auto found = std::ranges::find(type_table, id, &GgufTypeFacts::id);
    return found == type_table.end() ? nullptr : &*found;
}

Result<std::vector<float>> Gguf::values(const GgufTensor& tensor) {
    const auto blocks = [&](int64_t elements, int64_t bytes, void (*expand)(Block, float*)) {
        std::vector<float> values(tensor.bytes.size() / size_t(bytes) * size_t(elements));
        by_blocks(tensor, elements, bytes, expand, values);
        return values;
    };
    switch (tensor.type) {
    case GgufType::F32:
        return to_floats({tensor.name, DType::F32, tensor.shape, tensor.bytes});
    case GgufType::F16:
        return to_floats({tensor.name, DType::F16, tensor.shape, tensor.bytes});
    case GgufType::BF16:
        return to_floats({tensor.name, DType::BF16, tensor.shape, tensor.bytes});
    case GgufType::Q8_0:
        return blocks(32, 34, q8_0);
    case GgufType::Q4_0:
        return blocks(32, 18, q4_0);
    case GgufType::Q4_1:
        return blocks(32, 20, q4_1);
    case GgufType::Q5_0:
        return blocks(32, 22, q5_0);
    case GgufType::Q5_1:
        return blocks(32, 24, q5_1);
    case GgufType::Q6_K:
        return blocks(256, 210, q6_k);
    case GgufType::Other:
        break;
    }
    return Error{"is of type " + tensor.type_name + ", whose values are not read",
                 "tensor " + stillroom::quoted(tensor.name, 100),
                 "F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1 and Q6_K are"};
}

} // namespace stillroom::formats
