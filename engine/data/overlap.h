// SPDX-License-Identifier: GPL-3.0-or-later
// Problems that occur twice: within one set, or in a training and an evaluation set.
#pragma once

#include "data/dataset.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stillroom::data {

/// `problem` as it is compared: lower case, compatibility characters unified, without white space (which
/// means nothing in LaTeX) and punctuation, but with the signs of arithmetic, which tell problems apart.
std::string normalised_problem(std::string_view problem);

/// Two examples with one problem, by index. `exact`: byte for byte; else after normalising only.
struct Coincidence {
    int64_t left = 0, right = 0;
    bool exact = false;
    bool operator==(const Coincidence&) const = default;
};

/// All pairs of an example of `left` and one of `right`, by left then right.
std::vector<Coincidence> overlap(const Dataset& left, const Dataset& right);

/// All pairs left < right within one set where `right` repeats an earlier problem; `left` is the first of its
/// kind.
std::vector<Coincidence> duplicates(const Dataset& set);

} // namespace stillroom::data
