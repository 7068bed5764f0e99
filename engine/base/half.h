// SPDX-License-Identifier: GPL-3.0-or-later
// Conversions between float and the two 16-bit formats, exact in one direction and round-to-nearest-even in
// the other.
#pragma once

#include <bit>
#include <cstdint>

namespace stillroom {

constexpr float bf16_to_float(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

constexpr uint16_t float_to_bf16(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return uint16_t((bits >> 16) | 0x40u); // keep NaN a NaN
    return uint16_t((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

constexpr float fp16_to_float(uint16_t half) {
    const uint32_t sign = uint32_t(half & 0x8000u) << 16;
    const uint32_t exponent = (half >> 10) & 0x1fu, fraction = half & 0x3ffu;
    if (exponent == 0x1fu) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
    if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (fraction << 13));
    const float magnitude = float(fraction) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
}

constexpr uint16_t float_to_fp16(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    const uint16_t sign = uint16_t((bits >> 16) & 0x8000u);
    const uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return sign | 0x7e00u;
    if (magnitude >= 0x477ff000u) return sign | 0x7c00u; // rounds past 65504
    if (magnitude < 0x33000001u) return sign;            // at most half of the smallest subnormal
    if (magnitude < 0x38800000u) {
        const int shift = 126 - int(magnitude >> 23);
        const uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
        const uint32_t rounded = mantissa >> shift, rest = mantissa & ((1u << shift) - 1),
                       half = 1u << (shift - 1);
        return uint16_t(sign | (rounded + (rest > half || (rest == half && (rounded & 1u)))));
    }
    const uint32_t rebased = magnitude - (112u << 23);
    return uint16_t(sign | ((rebased + 0xfffu + ((rebased >> 13) & 1u)) >> 13));
}

} // namespace stillroom
