// SPDX-License-Identifier: GPL-3.0-or-later
// Compares two answers as read: their shapes, then their values.
#pragma once

#include "maths/numeric.h"
#include "maths/verdict.h"

namespace stillroom::maths {

struct Outcome {
    Verdict verdict = Verdict::Unknown;
    std::string why;
};

/// The trees grow by parts that are made on the way. Throws Unreadable (reader.h) where one grows too large.
Outcome compare_trees(Tree& answer, Tree& gold, const Policy& policy, Work& work);

} // namespace stillroom::maths
