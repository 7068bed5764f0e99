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

/// How many words a run has to have in common (Brown et al. 2020, arXiv:2005.14165, appendix C), and which
/// share of a problem's runs makes it suspect.
constexpr int64_t usual_run = 13;
constexpr double suspect_share = 0.5;

/// An example of the left set and the one of the right set that shares most of its runs of `n` words.
struct SharedRuns {
    int64_t left = 0, right = 0;
    double share = 0; // of the left problem's runs
    bool operator==(const SharedRuns&) const = default;
};

/// Examples of `left` of whose runs at least `least_share` occur in one example of `right`, by left. Words
/// are runs of letters and digits, lower case; problems of fewer than n words have no runs.
std::vector<SharedRuns> shared_runs(const Dataset& left, const Dataset& right, int64_t n = usual_run,
                                    double least_share = suspect_share);

} // namespace stillroom::data
