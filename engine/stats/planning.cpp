// SPDX-License-Identifier: GPL-3.0-or-later
#include "stats/planning.h"

#include "base/ensure.h"

#include <algorithm>
#include <cmath>

namespace stillroom::stats {

namespace {

/// V = (g between + f within / n) / q.
struct Factors {
    double between, within;
};

Factors factors_of(Design design) {
    switch (design) {
    case Design::Single:
        return {1, 1};
    case Design::Unpaired:
        return {2, 2};
    case Design::Paired:
        return {1, 2};
    }
    return {1, 1};
}

/// Rounds up; a value a rounding error above a whole number is that number.
int64_t round_up(double value, int64_t least) {
    constexpr double largest = 9e18;
    return std::max(least, int64_t(std::min(std::ceil(value - 1e-9), largest)));
}

} // namespace

const char* to_string(Design design) {
    switch (design) {
    case Design::Single:
        return "single";
    case Design::Unpaired:
        return "unpaired";
    case Design::Paired:
        return "paired";
    }
    return "";
}

double variance_of_estimate(Design design, Components components, double q, double n) {
    const Factors factor = factors_of(design);
    return (factor.between * components.between + factor.within * components.within / n) / q;
}

double smallest_effect(Design design, Components components, int64_t q, int64_t n) {
    ensure(q >= 1 && n >= 1, std::to_string(q) + " questions of " + std::to_string(n) + " samples");
    return resolving_z * std::sqrt(variance_of_estimate(design, components, double(q), double(n)));
}

int64_t questions_needed(Design design, Components components, int64_t n, double effect) {
    ensure(n >= 1 && effect > 0, std::to_string(n) + " samples for an effect of " + std::to_string(effect));
    const double one_question = variance_of_estimate(design, components, 1, double(n));
    return round_up(resolving_z * resolving_z * one_question / (effect * effect), 2);
}

std::optional<int64_t> samples_needed(Design design, Components components, int64_t q, double effect) {
    ensure(q >= 1 && effect > 0, std::to_string(q) + " questions for an effect of " + std::to_string(effect));
    const Factors factor = factors_of(design);
    const double left =
        double(q) * effect * effect / (resolving_z * resolving_z) - factor.between * components.between;
    if (left <= 0) return std::nullopt;
    return round_up(factor.within * components.within / left, 1);
}

} // namespace stillroom::stats
