// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/token_values.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace stillroom::ui {

namespace {

constexpr float missing = std::numeric_limits<float>::quiet_NaN();
constexpr float top_ids = 16;

float clipped_share(const record::TokenRecord& tokens, size_t token) {
    const float removed = recorded(tokens.clipped, token), kl = recorded(tokens.kl, token);
    if (std::isnan(removed)) return missing;
    if (removed == 0) return 0;
    // A position whose KL is zero or below has no share; the clamp removed something all the same.
    return kl > 0 ? removed / kl : missing;
}

float uncommon(const record::TokenRecord& tokens, size_t token) {
    const uint8_t common = token < tokens.overlap.size() ? tokens.overlap[token] : no_overlap;
    return common == no_overlap ? missing : top_ids - float(common);
}

float value_of(const record::TokenRecord& tokens, size_t token, const ColourChoice& choice) {
    const float student = recorded(tokens.student_logprob, token),
                teacher = recorded(tokens.teacher_logprob, token),
                plain = recorded(tokens.teacher_plain_logprob, token);
    switch (choice.mode) {
    case ColourMode::None:
        return missing;
    case ColourMode::Kl:
        return recorded(tokens.kl, token);
    case ColourMode::Gap:
        return student - (choice.without_answer ? plain : teacher);
    case ColourMode::Gain:
        return teacher - plain;
    case ColourMode::Entropy: {
        const float of_student = recorded(tokens.student_entropy, token),
                    of_teacher = recorded(tokens.teacher_entropy, token);
        return choice.entropy == ColourChoice::Entropy::Student   ? of_student
               : choice.entropy == ColourChoice::Entropy::Teacher ? of_teacher
                                                                  : of_student - of_teacher;
    }
    case ColourMode::Clipped:
        return clipped_share(tokens, token);
    case ColourMode::Overlap:
        return uncommon(tokens, token);
    }
    return missing;
}

} // namespace

QString name_of(const ColourChoice& choice) {
    switch (choice.mode) {
    case ColourMode::None:
        return QStringLiteral("None");
    case ColourMode::Kl:
        return QStringLiteral("Reverse KL");
    case ColourMode::Gap:
        return choice.without_answer ? QStringLiteral("Gap to T°") : QStringLiteral("Gap");
    case ColourMode::Gain:
        return QStringLiteral("Gain");
    case ColourMode::Entropy:
        return choice.entropy == ColourChoice::Entropy::Student   ? QStringLiteral("Entropy of student")
               : choice.entropy == ColourChoice::Entropy::Teacher ? QStringLiteral("Entropy of teacher")
                                                                  : QStringLiteral("Entropy difference");
    case ColourMode::Clipped:
        return QStringLiteral("Clipped");
    case ColourMode::Overlap:
        return QStringLiteral("Overlap");
    }
    return {};
}

QString unit_of(const ColourChoice& choice) {
    switch (choice.mode) {
    case ColourMode::None:
        return {};
    case ColourMode::Clipped:
        return QStringLiteral("of the KL");
    case ColourMode::Overlap:
        return QStringLiteral("ids not common");
    default:
        return QStringLiteral("nats");
    }
}

QString formula_of(const ColourChoice& choice) {
    switch (choice.mode) {
    case ColourMode::None:
        return {};
    case ColourMode::Kl:
        return QStringLiteral("exact reverse KL here: Σ pS (log pS - log pT)");
    case ColourMode::Gap:
        return choice.without_answer ? QStringLiteral("log pS(y) - log pT°(y); above 0: the student is surer")
                                     : QStringLiteral("log pS(y) - log pT(y); above 0: the student is surer");
    case ColourMode::Gain:
        return QStringLiteral("log pT(y) - log pT°(y); above 0: the answer makes the token likelier");
    case ColourMode::Entropy:
        return choice.entropy == ColourChoice::Entropy::Student ? QStringLiteral("-Σ pS log pS")
               : choice.entropy == ColourChoice::Entropy::Teacher
                   ? QStringLiteral("-Σ pT log pT")
                   : QStringLiteral("student's minus teacher's");
    case ColourMode::Clipped:
        return QStringLiteral("share of the KL here that the clamp removed");
    case ColourMode::Overlap:
        return QStringLiteral("16 minus the ids that both top-16 have");
    }
    return {};
}

bool is_diverging(const ColourChoice& choice) {
    return choice.mode == ColourMode::Gap || choice.mode == ColourMode::Gain ||
           (choice.mode == ColourMode::Entropy && choice.entropy == ColourChoice::Entropy::Difference);
}

double fixed_scale(const ColourChoice& choice) {
    switch (choice.mode) {
    case ColourMode::Gap:
        return 4;
    case ColourMode::Entropy:
        return 3;
    case ColourMode::Clipped:
    case ColourMode::None:
        return 1;
    case ColourMode::Overlap:
        return top_ids;
    default:
        return 2;
    }
}

std::vector<float> token_values(const record::TokenRecord& tokens, const ColourChoice& choice) {
    std::vector<float> values(tokens.ids.size());
    for (size_t token = 0; token < values.size(); ++token) values[token] = value_of(tokens, token, choice);
    return values;
}

QString why_missing(const std::vector<float>& values, const ColourChoice& choice) {
    if (choice.mode == ColourMode::None ||
        std::any_of(values.begin(), values.end(), [](float value) { return !std::isnan(value); }))
        return {};
    if (values.empty()) return QStringLiteral("no tokens are recorded");
    if (choice.mode == ColourMode::Gain || (choice.mode == ColourMode::Gap && choice.without_answer))
        return QStringLiteral("the teacher without the answer was not scored for this rollout "
                              "(recipe: teacher.score_without_answer)");
    if (choice.mode == ColourMode::Clipped)
        return QStringLiteral("this run's objective clamps nothing (recipe: objective.clamp.kind)");
    return QStringLiteral("not recorded for this rollout");
}

Histogram histogram_of(const std::vector<float>& values, const ColourChoice& choice, double scale) {
    Histogram histogram;
    const bool diverging = is_diverging(choice);
    for (const float value : values) {
        const float place = place_of(value, choice, scale);
        if (std::isnan(place)) {
            ++histogram.missing;
            continue;
        }
        if (std::abs(place) >= 1) ++histogram.saturated;
        const double from_left = diverging ? (place + 1) / 2 : place;
        const size_t bin = size_t(from_left * double(Histogram::bins));
        ++histogram.count[std::min(bin, Histogram::bins - 1)];
    }
    return histogram;
}

double percentile_scale(const std::vector<float>& values, const ColourChoice& choice) {
    std::vector<float> sizes;
    for (const float value : values) {
        if (std::isfinite(value)) sizes.push_back(std::abs(value));
    }
    if (sizes.empty()) return fixed_scale(choice);
    const size_t rank = (sizes.size() * 99 + 99) / 100 - 1; // nearest rank: ceil(0.99 n), from 0
    std::nth_element(sizes.begin(), sizes.begin() + std::ptrdiff_t(rank), sizes.end());
    return sizes[rank] > 0 ? double(sizes[rank]) : fixed_scale(choice);
}

float place_of(float value, const ColourChoice& choice, double scale) {
    if (std::isnan(value)) return value;
    return std::clamp(float(double(value) / scale), is_diverging(choice) ? -1.f : 0.f, 1.f);
}

QString name_of(Ranking ranking) {
    static const std::array<QString, rankings> names{QStringLiteral("KL"),         QStringLiteral("Gap"),
                                                     QStringLiteral("Gain"),       QStringLiteral("Clipped"),
                                                     QStringLiteral("No overlap"), QStringLiteral("Entropy")};
    return names[size_t(ranking)];
}

QString unit_of(Ranking ranking) {
    return ranking == Ranking::Clipped     ? QStringLiteral("of the KL")
           : ranking == Ranking::NoOverlap ? QStringLiteral("ids not common")
                                           : QStringLiteral("nats");
}

std::vector<WorstToken> worst_tokens(const record::TokenRecord& tokens, Ranking ranking) {
    static constexpr std::array<ColourMode, rankings> modes{ColourMode::Kl,      ColourMode::Gap,
                                                            ColourMode::Gain,    ColourMode::Clipped,
                                                            ColourMode::Overlap, ColourMode::Entropy};
    const ColourChoice choice{modes[size_t(ranking)]};
    const auto badness = [&](float value) {
        return ranking == Ranking::Gap ? std::abs(value) : ranking == Ranking::Gain ? -value : value;
    };
    const bool needs_fault = ranking != Ranking::Gain && ranking != Ranking::Entropy;
    std::vector<WorstToken> worst;
    for (size_t token = 0; token < tokens.ids.size(); ++token) {
        if (token < tokens.flags.size() && (tokens.flags[token] & masked_flag)) continue;
        const float value = value_of(tokens, token, choice);
        if (std::isnan(value) || (needs_fault && badness(value) <= 0)) continue;
        worst.push_back({token, value});
    }
    const auto worse = [&](const WorstToken& a, const WorstToken& b) {
        const float first = badness(a.value), second = badness(b.value);
        return first != second ? first > second : a.token < b.token;
    };
    const size_t kept = std::min(worst_kept, worst.size());
    std::partial_sort(worst.begin(), worst.begin() + std::ptrdiff_t(kept), worst.end(), worse);
    worst.resize(kept);
    return worst;
}

} // namespace stillroom::ui
