// SPDX-License-Identifier: GPL-3.0-or-later
// Sets of real numbers with constant ends: intervals, points, their unions, solutions of simple inequalities.
#pragma once

#include "maths/numeric.h"

#include <vector>

namespace stillroom::maths {

struct RealPiece {
    std::optional<Value> low, high; // none: no end on that side
    bool low_in = false, high_in = false;
};
/// Sorted, disjoint, as few pieces as possible.
using RealSet = std::vector<RealPiece>;

/// The set that `node` names: an interval, a pair in brackets read as one, points, the real line, unions,
/// intersections and differences of such, "x in ..." and chains of inequalities in one unknown that are
/// linear in it, or in its absolute value or square. nullopt for anything else.
std::optional<RealSet> real_set(Tree& tree, int node, Work& work);

Match compare_sets(const RealSet& a, const RealSet& b);

} // namespace stillroom::maths
