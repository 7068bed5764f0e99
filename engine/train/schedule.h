// SPDX-License-Identifier: GPL-3.0-or-later
// The learning rate of each step: constant, linear or cosine to min_lr over the run, after a linear warm-up.
#pragma once

#include "formats/recipe.h"

namespace stillroom::train {

/// The rate applied in `step` (1 is the first) of a run of `steps`. Warm-up: lr step / warmup for the first
/// steps. linear and cosine reach min_lr just after the last step, as Hugging Face's schedules do: step
/// `steps` still moves.
double learning_rate(const formats::OptimizerSection& optimizer, int64_t step, int64_t steps);

} // namespace stillroom::train
