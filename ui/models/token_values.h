// SPDX-License-Identifier: GPL-3.0-or-later
// The numbers of a rollout's tokens that a view colours by and a reader jumps by (ui.md 4.4, 4.6): values,
// scales, histograms, and which tokens are worst.
#pragma once

#include "ui/models/token_rollout.h"

#include <array>

namespace stillroom::ui {

enum class ColourMode { None, Kl, Gap, Gain, Entropy, Clipped, Overlap };
inline constexpr int colour_modes = 7;

/// What a mode shows in more than one form.
struct ColourChoice {
    ColourMode mode = ColourMode::Kl;
    enum class Entropy { Student, Teacher, Difference } entropy = Entropy::Student;
    bool without_answer = false; // Gap: against pT° instead of pT
    bool operator==(const ColourChoice&) const = default;
};

QString name_of(const ColourChoice& choice);    // "Reverse KL"
QString unit_of(const ColourChoice& choice);    // "nats"
QString formula_of(const ColourChoice& choice); // "Σ pS (log pS - log pT)"
/// Whether the scale has two sides of zero.
bool is_diverging(const ColourChoice& choice);
/// The end of the fixed scale: 0 to this, or plus and minus this.
double fixed_scale(const ColourChoice& choice);

/// One value a token, NaN: not recorded here.
std::vector<float> token_values(const record::TokenRecord& tokens, const ColourChoice& choice);

/// Why no token has a value; empty if one has.
QString why_missing(const std::vector<float>& values, const ColourChoice& choice);

struct Histogram {
    static constexpr size_t bins = 32;
    std::array<int, bins> count{};
    int saturated = 0; // at the end of the scale or past it, either side
    int missing = 0;
};
/// Over 0..scale, or -scale..scale.
Histogram histogram_of(const std::vector<float>& values, const ColourChoice& choice, double scale);

/// The 99th percentile of the values' sizes, by nearest rank; of none or of zeros the fixed scale.
double percentile_scale(const std::vector<float>& values, const ColourChoice& choice);

/// Place on the scale: 0..1, or -1..1. NaN stays.
float place_of(float value, const ColourChoice& choice, double scale);

enum class Ranking { Kl, Gap, Gain, Clipped, NoOverlap, Entropy };
inline constexpr int rankings = 6;
inline constexpr size_t worst_kept = 50;
QString name_of(Ranking ranking);
QString unit_of(Ranking ranking);

struct WorstToken {
    size_t token = 0;
    float value = 0; // as shown; what it is ranked by may be its size or its negative
};
/// The worst rows of the loss, worst first, at most `worst_kept`: the largest KL, |gap|, clipped share or
/// student entropy, the smallest gain, the fewest common ids. Tokens that nothing is wrong with (KL, gap,
/// clipped of 0) are left out; ties go to the earlier.
std::vector<WorstToken> worst_tokens(const record::TokenRecord& tokens, Ranking ranking);

} // namespace stillroom::ui
