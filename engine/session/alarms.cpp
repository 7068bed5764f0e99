// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/alarms.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace stillroom::session {

namespace {

constexpr int64_t steps_until_past = 10, steps_of_start = 5;
constexpr size_t window = 50;

std::string formatted(const char* format, auto... values) {
    char text[200];
    std::snprintf(text, sizeof text, format, values...);
    return text;
}

double median(const std::deque<double>& values) {
    std::vector<double> sorted(values.begin(), values.end());
    std::nth_element(sorted.begin(), sorted.begin() + ptrdiff_t(sorted.size() / 2), sorted.end());
    return sorted[sorted.size() / 2];
}

void keep(std::deque<double>& values, double value) {
    values.push_back(value);
    if (values.size() > window) values.pop_front();
}

} // namespace

Alarms::Alarms(int64_t real_vocab) : vocabulary_log_(std::log(double(real_vocab))) {}

bool Alarms::lasting(const std::string& name, bool holds, int64_t steps) {
    int64_t& held = held_[name];
    held = holds ? held + 1 : 0;
    return held >= steps;
}

std::vector<Alarms::Finding> Alarms::findings(const record::StepRecord& step) {
    std::vector<Finding> found;
    const auto value = [&](const char* name) {
        const auto it = step.metrics.find(name);
        return it == step.metrics.end() ? std::nan("") : it->second;
    };
    // Means over the first steps, which later ones are compared with.
    if (step.step <= steps_of_start) {
        for (const char* name : {"entropy_student", "student_mass_top16"}) {
            if (const double now = value(name); std::isfinite(now)) {
                double& mean = at_start_[name];
                mean += (now - mean) / double(++counted_[name]);
            }
        }
    }

    const double truncated = value("truncated_fraction");
    if (lasting("truncation", truncated > 0.25, 5)) {
        found.push_back(
            {"Truncation", truncated > 0.6 ? "severe" : "warning",
             formatted("%.0f %% of the step's rollouts reach the cap (limit 25 %%)", 100 * truncated)});
    }
    const double repetition = value("repetition_rate");
    if (repetition > 0.1) {
        found.push_back({"Repetition", "warning",
                         formatted("%.0f %% of rollouts repeat one 8-gram over 30 %% of their tokens",
                                   100 * repetition)});
    }
    const double entropy = value("entropy_student");
    if (step.step > steps_of_start && counted_["entropy_student"] > 0) {
        const double start = at_start_["entropy_student"];
        if (entropy < 0.5 * start)
            found.push_back(
                {"Entropy falls", "warning",
                 formatted("student %.3f nats, %.3f over steps 1-5 (limit half of it)", entropy, start)});
        if (entropy > 1.6 * start)
            found.push_back(
                {"Entropy rises", "warning",
                 formatted("student %.3f nats, %.3f over steps 1-5 (limit 1.6 times that)", entropy, start)});
    }
    const double mass = value("student_mass_top16");
    if (step.step > steps_of_start && counted_["student_mass_top16"] > 0 &&
        mass < at_start_["student_mass_top16"] - 0.02)
        found.push_back(
            {"Mass leak", "warning",
             formatted("student mass on its top-16 is %.3f, %.3f over steps 1-5 (limit 0.02 less)", mass,
                       at_start_["student_mass_top16"])});
    const double removed = value("clip_removed_fraction"), clipped = value("clip_fraction_token");
    if (removed > 0.5 || clipped > 0.5)
        found.push_back(
            {"Clamp dominates", "warning",
             formatted("the clamp removes %.0f %% of the divergence, %.0f %% of tokens are clamped",
                       100 * removed, 100 * clipped)});
    const double teacher_entropy = value("entropy_teacher"),
                 moved = std::abs(value("golden_nll_teacher") - golden_teacher_);
    golden_teacher_ = value("golden_nll_teacher");
    if (teacher_entropy > 0.8 * vocabulary_log_) {
        found.push_back(
            {"Uniform teacher", "severe",
             formatted("teacher entropy %.2f nats of at most %.2f", teacher_entropy, vocabulary_log_)});
    } else if (moved > 0.05) {
        found.push_back(
            {"Uniform teacher", "severe",
             formatted("the teacher's NLL of fixed texts moved by %.3f nats in a step (limit 0.05)", moved)});
    }
    if (lasting("signal", step.step > 3 && value("gap_abs_mean") < 1e-3, 3))
        found.push_back(
            {"No learning signal", "info",
             formatted("mean |log pS(y) - log pT(y)| is %.1e nats (limit 1e-3)", value("gap_abs_mean"))});
    const double mismatch = value("mismatch_logp_mean"), worst = value("mismatch_logp_max");
    if (mismatch > 0.02 || worst > 1)
        found.push_back(
            {"Sampler-trainer mismatch", "warning",
             formatted("|log p at sampling - log p at training|: mean %.4f, max %.3f nats (limits 0.02, 1)",
                       mismatch, worst)});
    if (const double leaks = value("leak_rate"); leaks > 0.01)
        found.push_back(
            {"Leak phrases", "warning",
             formatted("%.1f %% of rollouts speak of a given solution or answer (limit 1 %%)", 100 * leaks)});

    const double norm = value("grad_norm");
    if (!std::isfinite(norm) && step.metrics.count("grad_norm")) {
        found.push_back({"Gradient", "severe", "the gradient is not finite; the update was skipped"});
    } else if (grad_norms_.size() >= 5 && norm > 10 * median(grad_norms_)) {
        found.push_back(
            {"Gradient", "warning",
             formatted("norm %.3g, ten times the running median of %.3g", norm, median(grad_norms_))});
    }
    if (std::isfinite(norm)) keep(grad_norms_, norm);
    const double seconds = value("time_step");
    if (step_times_.size() >= 5 && seconds > 2 * median(step_times_))
        found.push_back(
            {"Slow step", "info",
             formatted("%.1f s, more than twice the median of %.1f s", seconds, median(step_times_))});
    if (std::isfinite(seconds)) keep(step_times_, seconds);
    if (value("recorder_dropped") > 0)
        found.push_back({"Recording", "severe",
                         formatted("parts of %.0f rollouts were not recorded: the buffer was full",
                                   value("recorder_dropped"))});
    const double space = value("disk_free"), checkpoint = value("checkpoint_bytes");
    if (space < 2.2 * checkpoint)
        found.push_back(
            {"Disk", "warning",
             formatted("%.1f GB are free; a checkpoint takes %.1f GB", space / 1e9, checkpoint / 1e9)});
    return found;
}

std::vector<record::AlarmRecord> Alarms::after_step(const record::StepRecord& step) {
    std::vector<record::AlarmRecord> changed;
    const auto found = findings(step);
    for (const auto& finding : found) {
        auto [it, fresh] = watched_.try_emplace(finding.name);
        Watched& watched = it->second;
        if (fresh) {
            watched.alarm.name = finding.name;
            watched.alarm.first_step = step.step;
        }
        watched.alarm.level = finding.level;
        watched.alarm.evidence = finding.evidence;
        watched.alarm.last_step = step.step;
        ++watched.alarm.count;
        watched.quiet_steps = 0;
        changed.push_back(watched.alarm);
    }
    for (auto it = watched_.begin(); it != watched_.end();) {
        Watched& watched = it->second;
        const bool now = watched.alarm.last_step == step.step;
        if (!now && ++watched.quiet_steps >= steps_until_past) {
            watched.alarm.active = false;
            changed.push_back(watched.alarm);
            it = watched_.erase(it);
        } else {
            ++it;
        }
    }
    return changed;
}

} // namespace stillroom::session
