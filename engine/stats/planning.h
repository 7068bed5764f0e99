// SPDX-License-Identifier: GPL-3.0-or-later
// How many questions and samples resolve an effect, or which effect they resolve: normal approximation,
// two-sided 5 %, power 80 %.
#pragma once

#include <cstdint>
#include <optional>

namespace stillroom::stats {

constexpr double z_alpha = 1.959963984540054;  // normal quantile 0.975
constexpr double z_power = 0.8416212335729143; // normal quantile 0.8
constexpr double resolving_z = z_alpha + z_power;

enum class Design {
    Single,   // one checkpoint against a fixed number: (between + within / n) / q
    Unpaired, // two checkpoints on different questions: 2 (between + within / n) / q
    Paired,   // two on the same questions: (between + 2 within / n) / q, between of the question differences
};
const char* to_string(Design design);

/// Variances of the true question values (or differences) and of one sample.
struct Components {
    double between = 0, within = 0;
};

/// Variance of the estimate with q questions of n samples each.
double variance_of_estimate(Design design, Components components, double q, double n);

/// The effect that q questions of n samples resolve.
double smallest_effect(Design design, Components components, int64_t q, int64_t n);

/// Questions that resolve `effect` > 0 with n samples each; at least 2.
int64_t questions_needed(Design design, Components components, int64_t n, double effect);

/// Samples a question that resolve `effect` > 0 with q questions; nullopt where no number does.
std::optional<int64_t> samples_needed(Design design, Components components, int64_t q, double effect);

} // namespace stillroom::stats
