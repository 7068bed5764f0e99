// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/rollouts_filter.h"

#include <QRegularExpression>
#include <array>

namespace stillroom::ui {

namespace {

using record::RolloutOrder;

struct Flag {
    const char *word, *meaning;
    void (*set)(record::RolloutFilter&);
};
constexpr std::array flags{
    Flag{"wrong", "verdict different", [](auto& filter) { filter.verdict = "different"; }},
    Flag{"correct", "verdict equal", [](auto& filter) { filter.verdict = "equal"; }},
    Flag{"undecided", "verdict unknown", [](auto& filter) { filter.verdict = "unknown"; }},
    Flag{"truncated", "cut at the length cap", [](auto& filter) { filter.finish_reason = "length"; }},
    Flag{"badformat", "not in the form asked for", [](auto& filter) { filter.format_ok = false; }},
    Flag{"pinned", "pinned", [](auto& filter) { filter.pinned_only = true; }},
    Flag{"alarm", "kept because of an alarm", [](auto& filter) { filter.alarmed_only = true; }},
    Flag{"top16", "with a top-16 record", [](auto& filter) { filter.top16_only = true; }},
};

struct Figure {
    const char *word, *meaning;
    RolloutOrder value;
};
constexpr std::array figures{
    Figure{"kl", "mean KL, nats", RolloutOrder::MeanKl},
    Figure{"maxkl", "largest KL of a token, nats", RolloutOrder::MaxKl},
    Figure{"len", "length, tokens", RolloutOrder::Length},
    Figure{"entropy", "mean entropy of the student, nats", RolloutOrder::Entropy},
    Figure{"overlap", "mean top-16 overlap, 0 to 1", RolloutOrder::Overlap},
    Figure{"gain", "mean gain, nats", RolloutOrder::Gain},
    Figure{"clipped", "share of the KL that the clamp removed, 0 to 1", RolloutOrder::Clipped},
};

bool take_flag(const QString& word, record::RolloutFilter& filter) {
    for (const Flag& flag : flags) {
        if (word != QLatin1String(flag.word)) continue;
        flag.set(filter);
        return true;
    }
    return false;
}

bool take_steps(const QString& value, record::RolloutFilter& filter) {
    static const QRegularExpression pattern("^(\\d+)(?:-(\\d+))?$");
    const auto match = pattern.match(value);
    if (!match.hasMatch()) return false;
    filter.first_step = match.captured(1).toLongLong();
    filter.last_step = match.captured(2).isEmpty() ? *filter.first_step : match.captured(2).toLongLong();
    return *filter.last_step >= *filter.first_step;
}

bool take_bound(const QString& word, record::RolloutFilter& filter) {
    static const QRegularExpression pattern("^([a-z]+)([<>])(.+)$");
    const auto match = pattern.match(word);
    if (!match.hasMatch()) return false;
    bool number = false;
    const double bound = match.captured(3).toDouble(&number);
    for (const Figure& figure : figures) {
        if (!number || match.captured(1) != QLatin1String(figure.word)) continue;
        filter.bounds.push_back({figure.value, match.captured(2) == ">", bound});
        return true;
    }
    return false;
}

bool take(const QString& word, record::RolloutFilter& filter) {
    if (word.startsWith("step:")) return take_steps(word.mid(5), filter);
    if (word.startsWith("prompt:") && word.size() > 7) {
        filter.prompt_id = word.mid(7).toStdString();
        return true;
    }
    return take_flag(word, filter) || take_bound(word, filter);
}

} // namespace

RolloutsFilter parse_rollouts_filter(const QString& text) {
    RolloutsFilter parsed;
    static const QRegularExpression blank("\\s+");
    for (const QString& word : text.split(blank, Qt::SkipEmptyParts)) {
        record::RolloutFilter with = parsed.conditions;
        if (take(word.startsWith("prompt:") ? word : word.toLower(), with)) {
            parsed.conditions = std::move(with);
            parsed.words.push_back(word);
        } else {
            parsed.unknown.push_back(word);
        }
    }
    return parsed;
}

std::vector<std::pair<QString, QString>> rollouts_filter_words() {
    std::vector<std::pair<QString, QString>> words;
    for (const Flag& flag : flags) words.emplace_back(flag.word, flag.meaning);
    words.emplace_back("step:430-437", "of these steps");
    words.emplace_back("prompt:1207", "of this prompt");
    for (const Figure& figure : figures) {
        const QString name = figure.word;
        words.emplace_back(name + (name == "len" ? "<300" : name == "gain" ? "<0" : ">0.5"), figure.meaning);
    }
    return words;
}

} // namespace stillroom::ui
