// SPDX-License-Identifier: GPL-3.0-or-later
// Proof of equality by GiNaC: both sides as quotients of polynomials, cross-multiplied and expanded. One
// thread at a time, as for CLN.
#pragma once

#include "maths/expression.h"

namespace stillroom::maths {

enum class Proof { Equal, Different, None };

/// Expands a - b, where roots, functions of the same argument and other parts that are no polynomials count
/// as symbols of their own. Different only where there are no such parts; None where there are, or where the
/// expansion would grow too large.
Proof proof_by_expansion(const Tree& ta, int a, const Tree& tb, int b);

} // namespace stillroom::maths
