// SPDX-License-Identifier: GPL-3.0-or-later
#include "record/rollout_figures.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace stillroom::record {

namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
constexpr uint8_t not_a_row = 1u << 2;

/// Sum, count and maximum of the values of `of(i)` that are not NaN, over rows.
struct OverRows {
    double sum = 0, max = unknown;
    size_t count = 0;
    double mean() const { return count == 0 ? unknown : sum / double(count); }
};
OverRows over_rows(const TokenRecord& tokens, size_t length, const std::function<double(size_t)>& of) {
    OverRows result;
    for (size_t i = 0; i < length; ++i) {
        if (i < tokens.flags.size() && (tokens.flags[i] & not_a_row)) continue;
        const double value = of(i);
        if (std::isnan(value)) continue;
        result.sum += value;
        result.max = result.count == 0 ? value : std::max(result.max, value);
        ++result.count;
    }
    return result;
}

double stated_or(const Metrics& means, const char* name, double otherwise) {
    const auto it = means.find(name);
    return it == means.end() || std::isnan(it->second) ? otherwise : it->second;
}

} // namespace

RolloutFigures figures_of(const RolloutRecord& rollout) {
    const TokenRecord& tokens = rollout.tokens;
    const auto kl = over_rows(tokens, tokens.kl.size(), [&](size_t i) { return tokens.kl[i]; });
    const auto clipped =
        over_rows(tokens, tokens.clipped.size(), [&](size_t i) { return tokens.clipped[i]; });
    const auto entropy =
        over_rows(tokens, tokens.student_entropy.size(), [&](size_t i) { return tokens.student_entropy[i]; });
    const auto overlap = over_rows(tokens, tokens.overlap.size(), [&](size_t i) {
        return tokens.overlap[i] == 255 ? unknown : tokens.overlap[i] / 16.0;
    });
    const size_t both = std::min(tokens.teacher_logprob.size(), tokens.teacher_plain_logprob.size());
    const auto gain = over_rows(tokens, both, [&](size_t i) {
        return double(tokens.teacher_logprob[i]) - double(tokens.teacher_plain_logprob[i]);
    });
    return {.kl_mean = stated_or(rollout.means, "kl_reverse_exact", kl.mean()),
            .kl_max = kl.count > 0 ? kl.max : stated_or(rollout.means, "kl_reverse_max", unknown),
            .entropy = stated_or(rollout.means, "entropy_student", entropy.mean()),
            .overlap = stated_or(rollout.means, "overlap_top16", overlap.mean()),
            .gain = stated_or(rollout.means, "gain_mean", gain.mean()),
            .clipped = clipped.count > 0 && kl.sum > 0 ? clipped.sum / kl.sum : unknown};
}

size_t estimated_bytes(const TokenRecord& tokens) {
    return tokens.ids.size() * sizeof(int32_t) + tokens.overlap.size() + tokens.flags.size() +
           sizeof(float) * (tokens.student_logprob.size() + tokens.teacher_logprob.size() +
                            tokens.teacher_plain_logprob.size() + tokens.sampler_logprob.size() +
                            tokens.student_entropy.size() + tokens.teacher_entropy.size() + tokens.kl.size() +
                            tokens.clipped.size());
}

size_t estimated_bytes(const Top16Record& top16) {
    return sizeof(int32_t) * (top16.student_ids.size() + top16.teacher_ids.size()) +
           sizeof(float) * (top16.student_ids_student.size() + top16.student_ids_teacher.size() +
                            top16.teacher_ids_student.size() + top16.teacher_ids_teacher.size() +
                            top16.student_tail.size() + top16.teacher_tail.size());
}

namespace {

constexpr size_t bytes_per_metric = 80; // a map's node with a name

struct Estimate {
    size_t operator()(const StepRecord& step) const {
        return bytes_per_metric * (step.metrics.size() + step.phase_seconds.size());
    }
    size_t operator()(const RolloutRecord& rollout) const {
        return rollout.problem.size() + rollout.gold.size() + rollout.text.size() + rollout.why.size() +
               rollout.extracted.size() +
               sizeof(int32_t) * (rollout.prompt_ids.size() + rollout.teacher_prompt_ids.size()) +
               bytes_per_metric * rollout.means.size() + estimated_bytes(rollout.tokens) +
               (rollout.top16 ? estimated_bytes(*rollout.top16) : 0);
    }
    size_t operator()(const EvaluationRecord& evaluation) const {
        size_t bytes = evaluation.protocol.size() + bytes_per_metric * evaluation.metrics.size();
        for (const EvaluationAnswer& answer : evaluation.answers) {
            bytes += sizeof answer + answer.text.size() + answer.why.size() + answer.gold.size() +
                     sizeof(int32_t) * answer.ids.size();
        }
        return bytes;
    }
    size_t operator()(const CheckpointRecord& checkpoint) const { return checkpoint.folder.size(); }
    size_t operator()(const EventRecord& event) const { return event.text.size(); }
    size_t operator()(const StateRecord& state) const { return state.text.size(); }
    size_t operator()(const AlarmRecord& alarm) const { return alarm.evidence.size(); }
};

} // namespace

size_t estimated_bytes(const Record& record) { return sizeof(Record) + std::visit(Estimate{}, record); }

} // namespace stillroom::record
