// SPDX-License-Identifier: GPL-3.0-or-later
// Whole numbers and fractions without rounding, for the combinatorial statistics. Include in .cpp files only:
// Boost's multiprecision headers are slow to compile.
#pragma once

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cstdint>
#include <string>

namespace stillroom::stats::exact {

using Integer = boost::multiprecision::cpp_int;
using Rational = boost::multiprecision::cpp_rational;

/// C(n, k), 0 for k outside 0..n. In double it overflows above n = 1029.
template <typename Number>
Number binomial(int64_t n, int64_t k) {
    if (k < 0 || k > n) return Number(0);
    Number value(1);
    for (int64_t i = 1; i <= std::min(k, n - k); ++i) value = value * Number(n - i + 1) / Number(i);
    return value;
}

inline std::string to_string(const Rational& value) {
    return numerator(value).str() + "/" + denominator(value).str();
}

} // namespace stillroom::stats::exact
