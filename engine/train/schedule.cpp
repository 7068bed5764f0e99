// SPDX-License-Identifier: GPL-3.0-or-later
#include "train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace stillroom::train {

double learning_rate(const formats::OptimizerSection& optimizer, int64_t step, int64_t steps) {
    if (step <= optimizer.warmup) return optimizer.lr * double(step) / double(optimizer.warmup);
    const double span = double(std::max<int64_t>(1, steps - optimizer.warmup));
    const double progress = std::min(1.0, double(step - 1 - optimizer.warmup) / span);
    if (optimizer.schedule == "constant") return optimizer.lr;
    const double share = // of the way from min_lr to lr
        optimizer.schedule == "linear" ? 1 - progress : 0.5 * (1 + std::cos(std::numbers::pi * progress));
    return optimizer.min_lr * (1 - share) + optimizer.lr * share;
}

} // namespace stillroom::train
