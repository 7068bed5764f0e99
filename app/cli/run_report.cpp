// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/run_report.h"

#include <cmath>
#include <cstdio>
#include <ostream>
#include <unistd.h>

namespace stillroom::cli {

namespace {

std::string figure(const record::Metrics& metrics, const std::string& name, const char* format = "%.3f") {
    const auto found = metrics.find(name);
    if (found == metrics.end() || std::isnan(found->second)) return "-";
    char text[48];
    std::snprintf(text, sizeof text, format, found->second);
    return text;
}

} // namespace

RunReport::RunReport(std::ostream& out, std::ostream& err, const formats::Recipe& recipe, bool quiet)
    : out_(out), err_(err), recipe_(recipe), quiet_(quiet), terminal_(isatty(STDERR_FILENO)) {
    if (!quiet_ && !recipe.provenance.warning.empty())
        err_ << "warning: " << recipe.provenance.warning << '\n';
}

void RunReport::show(const session::Event& event) {
    if (bar_drawn_ && !std::holds_alternative<session::PhaseProgress>(event)) {
        err_ << "\r\033[K";
        bar_drawn_ = false;
    }
    if (const auto* notice = std::get_if<session::Notice>(&event)) {
        const bool failure = notice->kind == session::Notice::Kind::Failure;
        if (!failure && (!quiet_ || notice->kind == session::Notice::Kind::Warning)) {
            err_ << (notice->kind == session::Notice::Kind::Warning ? "warning: " : "") << notice->text
                 << '\n';
        }
    } else if (const auto* recording = std::get_if<session::RecordingChanged>(&event)) {
        err_ << "warning: " << recording->text << '\n';
    } else if (const auto* evaluated = std::get_if<session::EvaluationDone>(&event)) {
        show_evaluation(*evaluated->evaluation);
    } else if (const auto* done = std::get_if<session::StepDone>(&event)) {
        show_step(*done->step);
    } else if (const auto* progress = std::get_if<session::PhaseProgress>(&event);
               progress && terminal_ && !quiet_) {
        char bar[96];
        std::snprintf(bar, sizeof bar, "\rstep %lld/%lld %-9s %3.0f %% %s\033[K",
                      static_cast<long long>(progress->step), static_cast<long long>(recipe_.run.steps),
                      progress->phase.c_str(), 100 * progress->done, progress->text.c_str());
        err_ << bar << std::flush;
        bar_drawn_ = true;
    } else if (const auto* saved = std::get_if<session::CheckpointSaved>(&event);
               saved && !saved->checkpoint.removed && !quiet_) {
        err_ << "checkpoint " << saved->checkpoint.folder << " (" << saved->checkpoint.kept_because << ")\n";
    }
}

void RunReport::show_step(const record::StepRecord& step) {
    if (first_step_.empty()) first_step_ = step.metrics;
    last_step_ = step.metrics;
    if (quiet_) return;
    const auto& metrics = step.metrics;
    out_ << "step " << step.step << '/' << recipe_.run.steps << "  loss " << figure(metrics, "loss", "%.4f");
    const auto show = [&](const char* label, const std::string& name, const char* format) {
        if (metrics.contains(name)) out_ << "  " << label << ' ' << figure(metrics, name, format);
    };
    show("kl", "kl_reverse_exact", "%.4f");
    show("entropy", "entropy_student", "%.3f");
    show("overlap", "overlap_top16", "%.3f");
    show("length", "response_length_mean", "%.1f");
    show("right", "rollout_accuracy", "%.3f");
    show("clip", "clip_fraction_token", "%.3f");
    show("norm", "grad_norm", "%.3g");
    out_ << "  " << figure(metrics, "time_step", "%.2f") << " s" << std::endl;
}

void RunReport::show_evaluation(const record::EvaluationRecord& evaluation) {
    auto [place, fresh] = evaluations_.try_emplace(evaluation.tag, evaluation, evaluation);
    if (!fresh) place->second.second = evaluation;
    if (quiet_) return;
    out_ << "eval " << evaluation.tag << " after step " << evaluation.step << ": "
         << figure(evaluation.metrics, "eval_avg_at_n", "%.4f") << " +- "
         << figure(evaluation.metrics, "se_clustered", "%.4f") << " SE over "
         << figure(evaluation.metrics, "questions", "%.0f") << " questions, format "
         << figure(evaluation.metrics, "eval_format_rate") << ", truncated "
         << figure(evaluation.metrics, "eval_truncated_fraction") << std::endl;
}

void RunReport::finish(const std::filesystem::path& run) {
    if (quiet_) return;
    out_ << '\n';
    for (const auto& [tag, pair] : evaluations_) {
        const auto& [before, after] = pair;
        out_ << tag << ": " << figure(before.metrics, "eval_avg_at_n", "%.4f") << " before (step "
             << before.step << "), " << figure(after.metrics, "eval_avg_at_n", "%.4f") << " after (step "
             << after.step << ")\n";
    }
    for (const char* name : {"kl_reverse_exact", "overlap_top16", "entropy_student"}) {
        if (last_step_.contains(name))
            out_ << name << ": " << figure(first_step_, name) << " -> " << figure(last_step_, name) << '\n';
    }
    out_ << "run: " << run.string() << std::endl;
}

} // namespace stillroom::cli
