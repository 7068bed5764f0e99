// SPDX-License-Identifier: GPL-3.0-or-later
// How the samples of a question vote: by the answer check, not by equal text (metrics.md 6.3).
#pragma once

#include "stats/majority.h"
#include "stats/scores.h"

namespace stillroom::eval {

/// Right samples vote together whatever they wrote; the other answers are grouped by maths::compare_answers.
/// Samples without an answer are silent. From the 65th group on only equal texts vote together, which bounds
/// the comparisons.
stats::Votes votes_of(const stats::Question& question);

} // namespace stillroom::eval
