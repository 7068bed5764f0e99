// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/chart_catalogue.h"

#include "ui/models/chart_numbers.h"

#include <cmath>
#include <numbers>

namespace stillroom::ui {

namespace {

constexpr double gib = 1024.0 * 1024 * 1024;

LineDefinition line(const char* tag, const char* name, const char* what, Tone tone, Dash dash = Dash::Solid,
                    Shape shape = Shape::None) {
    return {
        tag, {QString::fromUtf8(name), QString::fromUtf8(what), tone, dash, shape, Form::Line}, false, {}};
}

LineDefinition area(const char* tag, const char* name, Tone tone) {
    return {tag,
            {QString::fromUtf8(name), QString::fromUtf8(tag), tone, Dash::Solid, Shape::None, Form::Area},
            false,
            {}};
}

LineDefinition optional(LineDefinition line) {
    line.optional = true;
    return line;
}

LineDefinition used_if(const char* key, LineDefinition line) {
    line.used_if = key;
    return line;
}

ChartDefinition chart(const char* id, const char* title, const char* unit, const char* about,
                      std::vector<LineDefinition> lines) {
    ChartDefinition made;
    made.id = id;
    made.title = QString::fromUtf8(title);
    made.unit = QString::fromUtf8(unit);
    made.about = QString::fromUtf8(about);
    made.lines = std::move(lines);
    return made;
}

std::vector<ChartDefinition> make_catalogue() {
    using enum Tone;
    std::vector<ChartDefinition> charts;
    const auto last = [&]() -> ChartDefinition& { return charts.back(); };

    charts.push_back(chart(
        "kl", "Reverse KL", "nats/token",
        "Mean over valid tokens. At temperature 1 and top_p 1 the distance between exact and k1 is sampling "
        "noise.",
        {line("kl_reverse_exact", "exact", "Σ pS (log pS − log pT), nats per token", First),
         line("kl_reverse_k1", "k1", "mean(log pS(y) − log pT(y)) on the sampled token y, nats per token",
              Second, Dash::Dotted),
         optional(line("loss", "loss", "the optimised loss, all factors included", Fourth, Dash::DashDot))}));

    charts.push_back(
        chart("entropy", "Entropy", "nats",
              "−Σ p log p, mean over valid tokens. A fast fall is collapse, a rise is mass covering.",
              {line("entropy_student", "student", "−Σ pS log pS, nats", Student),
               line("entropy_teacher", "teacher", "−Σ pT log pT, nats", Teacher, Dash::Dashed)}));
    last().from_zero = true;

    charts.push_back(chart(
        "overlap", "Top-16 overlap", "share",
        "How much both models' 16 most likely tokens agree, and the mass each puts on its own 16. A falling "
        "mass is an early warning.",
        {line("overlap_top16", "overlap", "|S16 ∩ T16| / 16", Third),
         line("student_mass_top16", "S mass", "Σ pS over the student's own top 16", Student, Dash::Dotted),
         line("teacher_mass_top16", "T mass", "Σ pT over the teacher's own top 16", Teacher, Dash::Dashed)}));
    last().at_most = 1;

    charts.push_back(chart(
        "clip", "Clip rates", "%", "How often a limit was active, each of its own whole.",
        {used_if("objective.clamp.kind",
                 line("clip_fraction_entry", "entry", "clamped entries / entries evaluated, %", First)),
         used_if("objective.clamp.kind",
                 line("clip_fraction_token", "token", "tokens with a clamped entry / valid tokens, %", Second,
                      Dash::Dashed)),
         used_if("objective.ratio", line("pg_clip_fraction", "PPO", "ratio-clipped tokens / valid tokens, %",
                                         Fourth, Dash::Dotted)),
         line("truncated_fraction", "truncated", "rollouts cut at the length cap / rollouts, %", Sixth,
              Dash::DashDot)}));
    last().scale = 100;
    last().from_zero = true;

    charts.push_back(
        chart("proxy", "Proxy score", "share",
              "avg@n of the run's proxy questions ± 1 standard error clustered by question. Points of "
              "different protocols are not joined; never smoothed.",
              {}));
    last().evaluations = true;

    charts.push_back(
        chart("length", "Response length", "tokens", "Tokens of a response, its end token counted.",
              {line("response_length_mean", "mean", "mean over the step's rollouts, tokens", First),
               line("response_length_p50", "p50", "median, tokens", Third, Dash::Dotted),
               line("response_length_p95", "p95", "95th percentile, tokens", Second, Dash::Dashed),
               line("response_length_max", "max", "longest of the step, tokens", Fourth, Dash::DashDot)}));
    last().from_zero = true;

    charts.push_back(chart("grad", "Gradient norm", "", "L2 norm of all gradients before clipping.",
                           {line("grad_norm", "norm", "before clipping", First)}));
    last().log = true;

    charts.push_back(chart("lr", "Learning rate", "",
                           "Per step, as the optimizer applied it; dashed: as planned.",
                           {line("lr", "used", "applied in this step", First)}));
    last().from_zero = true;

    charts.push_back(chart(
        "speed", "Throughput", "tokens/s", "Tokens really processed in a phase by its seconds; no padding.",
        {line("tokens_per_second_rollout", "rollout", "sampled tokens / seconds of rollout", First),
         line("tokens_per_second_teacher", "teacher",
              "scored prompt and response tokens / seconds of scoring", Teacher, Dash::Dashed),
         line("tokens_per_second_learn", "learn", "prompt and response tokens / seconds of learning", Third,
              Dash::Dotted)}));
    last().from_zero = true;

    charts.push_back(chart(
        "memory", "Memory", "GiB",
        "Peak bytes by class, stacked; total is the allocator's peak (the process's on a CPU).",
        {area("mem_peak_weights", "weights", First), area("mem_peak_teacher", "teacher", Second),
         area("mem_peak_optimiser", "optimiser", Third), area("mem_peak_gradients", "gradients", Fourth),
         area("mem_peak_kv", "KV", Fifth), area("mem_peak_activations", "activations", Sixth),
         area("mem_peak_logits", "logits", Seventh), area("mem_peak_other", "other", Eighth),
         line("mem_peak_total", "total", "peak of the step, GiB", Eighth)}));
    last().scale = 1 / gib;
    last().stacked = true;
    last().from_zero = true;
    for (auto& line : last().lines) line.optional = true;

    charts.push_back(chart("time", "Step time", "s", "Wall seconds of a step by phase, stacked.",
                           {area("time_rollout", "rollout", First), area("time_teacher", "teacher", Second),
                            area("time_learn", "learn", Third), area("time_optimise", "optimise", Fourth),
                            area("time_save", "save", Fifth), area("time_evaluate", "evaluate", Sixth),
                            area("time_other", "other", Eighth)}));
    last().stacked = true;
    last().from_zero = true;
    for (auto& line : last().lines) line.optional = true;

    charts.push_back(
        chart("answers", "Answers", "share",
              "Verdicts on the rollouts. Not part of the loss unless the objective has a task reward.",
              {line("rollout_accuracy", "right", "right / decided verdicts", Third),
               line("undecided_fraction", "undecided", "verdicts the grader could not decide / rollouts",
                    Eighth, Dash::Dotted),
               line("format_rate", "format ok", "rollouts with a final answer that can be parsed / rollouts",
                    First, Dash::Dashed)}));
    last().from_zero = true;
    last().at_most = 1;
    return charts;
}

std::optional<double> number(const std::map<std::string, std::string>& settings, const char* key) {
    const auto found = settings.find(key);
    if (found == settings.end()) return std::nullopt;
    bool good = false;
    const double value = QString::fromStdString(found->second).toDouble(&good);
    return good ? std::optional(value) : std::nullopt;
}

} // namespace

const std::vector<ChartDefinition>& chart_catalogue() {
    static const std::vector<ChartDefinition> charts = make_catalogue();
    return charts;
}

std::optional<double> planned_rate(const std::map<std::string, std::string>& settings, int64_t step) {
    const auto lr = number(settings, "optimizer.lr");
    const auto schedule = settings.find("optimizer.schedule");
    if (!lr || schedule == settings.end()) return std::nullopt;
    const double warmup = number(settings, "optimizer.warmup").value_or(0);
    const double least = number(settings, "optimizer.min_lr").value_or(0);
    const double steps = number(settings, "run.steps").value_or(0);
    if (double(step) <= warmup) return *lr * double(step) / warmup;
    if (schedule->second == "constant") return lr;
    const double passed = std::min(1.0, (double(step) - 1 - warmup) / std::max(1.0, steps - warmup));
    const double left =
        schedule->second == "linear" ? 1 - passed : (1 + std::cos(std::numbers::pi * passed)) / 2;
    return least + (*lr - least) * left;
}

std::vector<Level> recipe_levels(const std::string& chart,
                                 const std::map<std::string, std::string>& settings) {
    if (chart == "length") {
        if (const auto cap = number(settings, "rollout.max_new"); cap && *cap > 0)
            return {{*cap, "cap " + short_number(*cap), Dash::Dashed}};
    }
    if (chart == "grad") {
        if (const auto threshold = number(settings, "optimizer.max_norm"); threshold && *threshold > 0)
            return {{*threshold, "clipped above " + short_number(*threshold), Dash::Dashed}};
    }
    return {};
}

} // namespace stillroom::ui
