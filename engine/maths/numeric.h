// SPDX-License-Identifier: GPL-3.0-or-later
// Values of expressions, by CLN: exact where they are rational, else to a stated number of digits. CLN counts
// references without atomics: one thread at a time may be in here (verdict.cpp sees to that).
#pragma once

#include "maths/expression.h"
#include "maths/verdict.h"

#include <cln/complex.h>
#include <cln/number.h>
#include <map>
#include <optional>
#include <string>

namespace stillroom::maths {

using Value = cln::cl_N;

/// Counts work, so that no answer takes long. One step is about one operation on 60 digits.
struct Work {
    int64_t steps = 0;
    bool spend(int64_t count) { return (steps += count) <= most_steps; }
};

struct Evaluation {
    std::map<std::string, Value> values; // of symbols
    int digits = 60;
    Work* work = nullptr;
    double magnitude = 0; // out: largest |log10| of a literal, an exact value or a large value on the way
};

/// nullopt where the value is undefined (1/0, log 0, a symbol without a value), beyond the limits (exponents,
/// factorials, work), or not a number (sets, words). Functions without a meaning (f, a_n) get a generic
/// smooth one, chosen by their name: equal arguments give equal values, and nothing else does but by chance.
/// Conventions: a root of odd degree of a negative number is real; log is natural unless its base is written.
std::optional<Value> evaluate(const Tree& tree, int node, Evaluation& evaluation);

bool is_exact(const Value& value);
bool is_real(const Value& value);

enum class Match { Same, Differs, Undecided };

/// Compares two expressions at given values of their symbols: exactly where both are rational; else by floats
/// whose digits follow the magnitudes that occur, so that neither cancellation nor tiny terms mislead.
struct Comparison {
    Match match = Match::Undecided;
    bool exact = false;
    std::optional<Value> a, b; // their values, where defined
};
Comparison compare_at(const Tree& ta, int a, const Tree& tb, int b,
                      const std::map<std::string, Value>& values, Work& work);

/// Of two computed values whose error is at most 10^-`digits` times the larger of 1 and their size.
Match compare_values(const Value& a, const Value& b, int digits, double magnitude);

double log10_magnitude(const Value& value);

} // namespace stillroom::maths
