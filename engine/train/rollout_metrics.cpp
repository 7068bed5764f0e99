// SPDX-License-Identifier: GPL-3.0-or-later
#include "train/rollout_metrics.h"

#include "stats/percentile.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <set>
#include <string>

namespace stillroom::train {

namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();
double ratio(double numerator, double denominator) {
    return denominator > 0 ? numerator / denominator : undefined;
}

std::string lower(const std::string& text) {
    std::string result = text;
    std::transform(result.begin(), result.end(), result.begin(),
                   [](unsigned char c) { return char(std::tolower(c)); });
    return result;
}

int64_t occurrences(const std::string& text, const std::string& phrase) {
    int64_t count = 0;
    for (size_t at = text.find(phrase); at != std::string::npos; at = text.find(phrase, at + phrase.size()))
        ++count;
    return count;
}

} // namespace

double repetition(std::span<const int32_t> ids, size_t n) {
    if (ids.size() < n) return 0;
    std::map<std::vector<int32_t>, std::vector<size_t>> starts;
    for (size_t i = 0; i + n <= ids.size(); ++i) starts[{ids.begin() + i, ids.begin() + i + n}].push_back(i);
    size_t best = 0;
    for (const auto& [gram, places] : starts) {
        if (places.size() < 2) continue;
        size_t covered = 0, end = 0; // overlapping occurrences cover a token once
        for (const size_t place : places) {
            covered += place + n - std::max(end, place);
            end = place + n;
        }
        best = std::max(best, covered);
    }
    return double(best) / double(ids.size());
}

double distinct_ngrams(std::span<const int32_t> ids, size_t n) {
    if (ids.size() < n) return undefined;
    std::set<std::vector<int32_t>> seen;
    for (size_t i = 0; i + n <= ids.size(); ++i) seen.insert({ids.begin() + i, ids.begin() + i + n});
    return double(seen.size()) / double(ids.size() - n + 1);
}

bool is_think_balanced(const std::string& prompt_end, const std::string& response) {
    const std::string text = prompt_end + response, open = "<think>", close = "</think>";
    return occurrences(text, open) == 1 && occurrences(text, close) == 1 &&
           text.find(open) < text.find(close);
}

record::Metrics rollout_metrics(std::span<const record::RolloutRecord> rollouts, bool sampled) {
    record::Metrics metrics;
    if (rollouts.empty()) return metrics;
    const std::set<std::string> hedges{"wait", "hmm", "let me check"},
        leaks{"reference solution", "given answer"};
    const double B = double(rollouts.size());
    std::vector<double> lengths;
    double right_length = 0, wrong_length = 0, right = 0, wrong = 0, undecided = 0, eos = 0, truncated = 0,
           format = 0;
    double repeated = 0, loops = 0, distinct = 0, distinct_count = 0, leaked = 0, hedged = 0, prompts = 0,
           teacher_prompts = 0;
    double tokens = 0, duplicates = 0;
    struct Group {
        int64_t size = 0, right = 0, wrong = 0;
        std::map<std::vector<int32_t>, int64_t> answers;
    };
    std::map<int64_t, Group> groups;
    for (const auto& rollout : rollouts) {
        const auto& ids = rollout.tokens.ids;
        const double length = double(ids.size());
        lengths.push_back(length);
        tokens += length;
        Group& group = groups[rollout.prompt];
        ++group.size;
        ++group.answers[ids];
        if (rollout.verdict == "equal") right += 1, right_length += length, ++group.right;
        if (rollout.verdict == "different") wrong += 1, wrong_length += length, ++group.wrong;
        if (rollout.verdict == "unknown") undecided += 1;
        eos += rollout.finish_reason == "eos";
        truncated += rollout.finish_reason == "length";
        format += rollout.format_ok;
        const double share = repetition(ids);
        repeated += share;
        loops += share > 0.3;
        if (const double value = distinct_ngrams(ids); value == value) distinct += value, distinct_count += 1;
        const std::string text = lower(rollout.text);
        leaked += std::any_of(leaks.begin(), leaks.end(),
                              [&](const auto& phrase) { return occurrences(text, phrase) > 0; });
        for (const auto& phrase : hedges) hedged += double(occurrences(text, phrase));
        prompts += double(rollout.prompt_ids.size());
        teacher_prompts += double(rollout.teacher_prompt_ids.size());
    }
    double all_right = 0, all_wrong = 0;
    for (const auto& [prompt, group] : groups) {
        all_right += group.right == group.size;
        all_wrong += group.wrong == group.size;
        for (const auto& [answer, count] : group.answers) duplicates += count > 1 ? double(count) : 0;
    }
    metrics["response_length_mean"] = tokens / B;
    metrics["response_length_p50"] = *stats::percentile(lengths, 0.5);
    metrics["response_length_p95"] = *stats::percentile(lengths, 0.95);
    metrics["response_length_max"] = *std::max_element(lengths.begin(), lengths.end());
    metrics["unique_prompts"] = double(groups.size()) / B;
    metrics["prompt_length_mean"] = prompts / B;
    metrics["teacher_prompt_length_mean"] = teacher_prompts / B;
    if (!sampled) return metrics;
    metrics["truncated_fraction"] = truncated / B;
    metrics["eos_rate"] = eos / B;
    metrics["finish_other_fraction"] = (B - eos - truncated) / B;
    metrics["format_rate"] = format / B;
    metrics["repetition"] = repeated / B;
    metrics["repetition_rate"] = loops / B;
    metrics["distinct_4gram"] = ratio(distinct, distinct_count);
    metrics["duplicate_rollouts"] = duplicates / B;
    metrics["leak_rate"] = leaked / B;
    metrics["hedge_per_1k"] = ratio(1000 * hedged, tokens);
    if (right + wrong + undecided == 0) return metrics;
    metrics["response_length_right"] = ratio(right_length, right);
    metrics["response_length_wrong"] = ratio(wrong_length, wrong);
    metrics["rollout_accuracy"] = ratio(right, right + wrong);
    metrics["undecided_fraction"] = undecided / B;
    metrics["group_all_right"] = all_right / double(groups.size());
    metrics["group_all_wrong"] = all_wrong / double(groups.size());
    return metrics;
}

} // namespace stillroom::train
