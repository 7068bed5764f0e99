// SPDX-License-Identifier: GPL-3.0-or-later
#include "train/step_metrics.h"

#include "kernels/device.h"
#include "train/trainer.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace stillroom::train {

namespace {

bool ends_with(const std::string& name, const char* suffix) { return name.ends_with(suffix); }

// How the metric `name` of several updates of one step becomes one figure.
enum class Merge { Mean, Sum, Max };
Merge merge_of(const std::string& name) {
    if (ends_with(name, "_max") || name == "target_sum_error" || name == "micro_batch_imbalance")
        return Merge::Max;
    if (name == "nonfinite_rows" || name == "valid_tokens") return Merge::Sum;
    return Merge::Mean;
}

bool is_row(const record::TokenRecord& tokens, size_t t) {
    return t >= tokens.flags.size() || !(tokens.flags[t] & NoRow);
}

double bytes_of(const torch::Tensor& tensor) {
    return tensor.defined() ? double(tensor.numel() * tensor.element_size()) : 0;
}

} // namespace

void StepTotals::add(const record::Metrics& update_metrics, const ResponseRows& rows,
                     const std::optional<UpdateReport>& update) {
    record::Metrics all = update_metrics;
    all["valid_tokens"] = double(rows.n_global);
    all["update_ratio"] = update ? update->update_ratio : 0;
    if (update) {
        all["grad_norm"] = update->grad_norm;
        all["grad_clip_scale"] = update->clip_scale;
    }
    for (const auto& [name, value] : all) {
        const auto [place, fresh] = metrics_.try_emplace(name, 0.0);
        switch (merge_of(name)) {
        case Merge::Max:
            place->second = fresh ? value : std::max(place->second, value);
            break;
        case Merge::Sum:
            place->second += value;
            break;
        case Merge::Mean:
            if (std::isnan(value)) {
                if (fresh) metrics_[name] = value; // undefined until an update defines it
                break;
            }
            if (weights_[name] == 0) place->second = 0;
            place->second += value * double(rows.n_global);
            weights_[name] += double(rows.n_global);
            break;
        }
    }
}

void StepTotals::finish() {
    for (const auto& [name, weight] : weights_) {
        metrics_[name] = weight > 0 ? metrics_[name] / weight : std::numeric_limits<double>::quiet_NaN();
    }
}

Result<void> check_target(const record::Metrics& metrics) {
    constexpr double allowed = 1e-6;
    const auto error = metrics.find("target_sum_error");
    // NaN comes from rows that are not finite: those skip their update.
    if (error == metrics.end() || !(error->second > allowed)) return {};
    char text[128];
    std::snprintf(text, sizeof text, "the target's probabilities sum to 1 within %.3g, expected within %.0e",
                  error->second, allowed);
    return Error{text, "target_sum_error"};
}

record::Metrics token_means(const record::TokenRecord& tokens) {
    record::Metrics means;
    const auto add = [&](const char* name, size_t length, const auto& value_at) {
        double sum = 0;
        int64_t count = 0;
        for (size_t t = 0; t < length; ++t) {
            const double value = value_at(t);
            if (!is_row(tokens, t) || std::isnan(value)) continue;
            sum += value;
            ++count;
        }
        if (count > 0) means[name] = sum / double(count);
    };
    const auto mean_of = [&](const char* name, const std::vector<float>& values) {
        add(name, values.size(), [&](size_t t) { return values[t]; });
    };
    mean_of("kl_reverse_exact", tokens.kl);
    mean_of("entropy_student", tokens.student_entropy);
    mean_of("entropy_teacher", tokens.teacher_entropy);
    mean_of("clip_removed_nats", tokens.clipped);
    add("kl_reverse_k1", tokens.teacher_logprob.size(),
        [&](size_t t) { return double(tokens.student_logprob[t]) - double(tokens.teacher_logprob[t]); });
    add("overlap_top16", tokens.overlap.size(), [&](size_t t) {
        return tokens.overlap[t] == 255 ? std::numeric_limits<double>::quiet_NaN() : tokens.overlap[t] / 16.0;
    });
    double most = -std::numeric_limits<double>::infinity();
    for (size_t t = 0; t < tokens.kl.size(); ++t) {
        if (is_row(tokens, t) && !std::isnan(tokens.kl[t])) most = std::max(most, double(tokens.kl[t]));
    }
    if (std::isfinite(most)) means["kl_reverse_max"] = most;
    return means;
}

record::Metrics gain_metrics(std::span<const record::RolloutRecord> rollouts) {
    double sum[3] = {}, count[3] = {}; // all, right, wrong
    for (const auto& rollout : rollouts) {
        const auto& tokens = rollout.tokens;
        for (size_t t = 0; t < tokens.teacher_plain_logprob.size(); ++t) {
            const double gain = double(tokens.teacher_logprob[t]) - double(tokens.teacher_plain_logprob[t]);
            if (!is_row(tokens, t) || std::isnan(gain)) continue;
            sum[0] += gain, count[0] += 1;
            if (rollout.verdict == "equal") sum[1] += gain, count[1] += 1;
            if (rollout.verdict == "different") sum[2] += gain, count[2] += 1;
        }
    }
    if (count[0] == 0) return {};
    const auto ratio = [&](int i) {
        return count[i] > 0 ? sum[i] / count[i] : std::numeric_limits<double>::quiet_NaN();
    };
    return {{"gain_mean", ratio(0)}, {"gain_right", ratio(1)}, {"gain_wrong", ratio(2)}};
}

record::Metrics generation_metrics(const rollout::GenerationReport& generation, const model::Model& student,
                                   double seconds) {
    record::Metrics metrics;
    metrics["preemptions"] = double(generation.preemptions);
    if (seconds > 0) metrics["tokens_per_second_rollout"] = double(generation.sampled_tokens) / seconds;
    if (generation.batch_rows > 0)
        metrics["batch_occupancy"] = generation.live_rows_mean / double(generation.batch_rows);
    if (generation.pages > 0)
        metrics["kv_occupancy"] = double(generation.pages_used_max) / double(generation.pages);
    return metrics;
}

record::Metrics speed_metrics(std::span<const record::RolloutRecord> rollouts, double valid_tokens,
                              const PhaseClock& clock) {
    double student = 0, teacher = 0;
    for (const auto& rollout : rollouts) {
        const double length = double(rollout.tokens.ids.size());
        student += double(rollout.prompt_ids.size()) + length;
        teacher += double(rollout.teacher_prompt_ids.size()) + length;
    }
    record::Metrics metrics;
    metrics["time_step"] = clock.total();
    if (clock.seconds(Phase::Learn) > 0)
        metrics["tokens_per_second_learn"] = student / clock.seconds(Phase::Learn);
    if (clock.seconds(Phase::Teacher) > 0)
        metrics["tokens_per_second_teacher"] = teacher / clock.seconds(Phase::Teacher);
    if (clock.total() > 0) metrics["tokens_per_second_step"] = valid_tokens / clock.total();
    return metrics;
}

record::Metrics memory_metrics(Trainer& trainer) {
    record::Metrics metrics;
    const model::Model& student = trainer.student();
    metrics["mem_peak_weights"] = bytes_of(student.weights.flat) + bytes_of(student.adapters.flat);
    const bool own_masters = trainer.optimizer().masters().data_ptr() != student.trainable().flat.data_ptr();
    metrics["mem_peak_optimiser"] = bytes_of(trainer.optimizer().first_moment()) * (own_masters ? 3 : 2);
    metrics["mem_peak_gradients"] =
        bytes_of(student.trainable().flat) / double(student.trainable().flat.element_size()) * 4;
    if (const auto* teacher = trainer.teacher(); teacher && teacher->kind() != teacher::Kind::SelfLive) {
        const bool shared = teacher->weights().weights.flat.data_ptr() == student.weights.flat.data_ptr();
        metrics["mem_peak_teacher"] =
            (shared ? 0 : bytes_of(teacher->weights().weights.flat)) + bytes_of(teacher->average());
    }
    const auto memory = kernels::device_memory(student.device());
    metrics["mem_peak_total"] = double(memory.allocated_peak);
    metrics["mem_reserved"] = double(memory.reserved_peak);
    metrics["mem_capacity"] = double(memory.capacity);
    kernels::reset_memory_peaks(student.device());
    return metrics;
}

} // namespace stillroom::train
