// SPDX-License-Identifier: GPL-3.0-or-later
#include "eval/plan.h"

#include "stats/summary.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace stillroom::eval {

bool is_clear(const stats::Paired& difference, int64_t rounds) {
    constexpr int64_t least_rounds = 2;
    return rounds >= least_rounds && difference.p_two_sided && *difference.p_two_sided < early_stop_p;
}

Plan plan(std::span<const stats::QuestionCounts> questions, const std::optional<stats::Paired>& against,
          int64_t rounds, int64_t most_rounds, double seconds_spent, double seconds_left) {
    Plan plan;
    plan.rounds = rounds;
    if (rounds == 0) return plan;
    plan.seconds_a_round = seconds_spent / double(rounds);
    const double fits =
        plan.seconds_a_round > 0 ? std::floor(std::max(0.0, seconds_left) / plan.seconds_a_round) : 0;
    plan.more_rounds = std::min(int64_t(std::min(fits, 1e9)), most_rounds - rounds);

    stats::Components parts;
    auto design = stats::Design::Single;
    int64_t count = int64_t(questions.size());
    if (against) {
        if (!against->difference_variance) return plan;
        design = stats::Design::Paired;
        parts = {against->difference_variance->between, against->difference_variance->within()};
        count = against->questions;
    } else {
        const stats::VarianceComponents components = stats::variance_components(questions);
        if (!components.between || !components.within) return plan;
        parts = {*components.between, *components.within};
    }
    if (count < 2) return plan;
    plan.resolves_now = stats::smallest_effect(design, parts, count, rounds);
    plan.resolves_then = stats::smallest_effect(design, parts, count, rounds + plan.more_rounds);
    plan.resolves_never = stats::resolving_z * std::sqrt(parts.between / double(count));
    return plan;
}

std::string to_text(const Plan& plan, int64_t most_rounds, double seconds_spent, double seconds_left) {
    const auto number = [](const char* format, double value) {
        char text[64];
        std::snprintf(text, sizeof text, format, value);
        return std::string(text);
    };
    const auto time = [&](double seconds) {
        return seconds < 100 ? number("%.1f s", seconds) : number("%.1f min", seconds / 60);
    };
    std::string text = std::to_string(plan.rounds) + " of " + std::to_string(most_rounds) + " rounds in " +
                       time(seconds_spent);
    if (!plan.resolves_now) return text + "; too few answers to say what they resolve";
    text += "; resolves " + number("%.3f", *plan.resolves_now) + " now";
    if (plan.more_rounds > 0) {
        text += ", " + number("%.3f", *plan.resolves_then) + " after " + std::to_string(plan.more_rounds) +
                " more in the " + time(seconds_left) + " left";
    }
    if (*plan.resolves_never <= 0) return text;
    return text + "; more answers to these questions never resolve less than " +
           number("%.3f", *plan.resolves_never);
}

} // namespace stillroom::eval
