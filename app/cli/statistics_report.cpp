// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/statistics_report.h"

#include "eval/votes.h"
#include "stats/bootstrap.h"
#include "stats/majority.h"
#include "stats/paired.h"
#include "stats/pass_at_k.h"
#include "stats/planning.h"
#include "stats/rates.h"
#include "stats/summary.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>

namespace stillroom::cli {

namespace {

using nlohmann::json;

json value(const std::optional<double>& number) { return number ? json(*number) : json(nullptr); }
json value(const std::optional<int64_t>& number) { return number ? json(*number) : json(nullptr); }
json value(const std::optional<stats::Interval>& interval) {
    return interval ? json{interval->low, interval->high} : json(nullptr);
}

json to_json(const std::optional<stats::Bootstrap>& bootstrap) {
    if (!bootstrap) return nullptr;
    return {{"mean", bootstrap->mean},
            {"se", value(bootstrap->se)},
            {"interval_95", value(std::optional(bootstrap->interval_95))},
            {"resamples", bootstrap->resamples},
            {"seed", bootstrap->seed}};
}

json to_json(const stats::VarianceComponents& parts) {
    return {{"ms_between", value(parts.ms_between)},
            {"ms_within", value(parts.ms_within)},
            {"n0", value(parts.n0)},
            {"between_raw", value(parts.between_raw)},
            {"between", value(parts.between)},
            {"within", value(parts.within)},
            {"icc", value(parts.icc)}};
}

json to_json(const stats::AtK& at_k) {
    return {{"k", at_k.k}, {"value", value(at_k.value)}, {"se_clustered", value(at_k.se_clustered)}};
}

json scores(const stats::Summary& summary) {
    json report{
        {"eval_avg_at_n", value(summary.avg)},           {"eval_pooled", value(summary.pooled)},
        {"se_clustered", value(summary.se_clustered)},   {"se_pooled", value(summary.se_pooled)},
        {"se_sampling", value(summary.se_sampling)},     {"se_naive", value(summary.se_naive)},
        {"design_effect", value(summary.design_effect)}, {"interval_t95", value(summary.interval_t95)}};
    if (summary.zero_error_bound) report["zero_error_bound"] = *summary.zero_error_bound;
    return report;
}

bool same_samples(const std::vector<stats::QuestionCounts>& counts) {
    return !counts.empty() && std::all_of(counts.begin(), counts.end(), [&](const auto& question) {
        return question.samples == counts.front().samples;
    });
}

/// What q questions of n samples resolve under each design, and what `effect` would take.
json plan(stats::Design design, stats::Components components, int64_t q, int64_t n,
          const std::optional<double>& effect) {
    json report{{"smallest_effect", stats::smallest_effect(design, components, q, n)}};
    if (effect) {
        report["effect"] = *effect;
        report["questions_needed"] = stats::questions_needed(design, components, n, *effect);
        report["samples_needed"] = value(stats::samples_needed(design, components, q, *effect));
    }
    return report;
}

void add_rates(json& report, const ScoredSamples& samples) {
    const stats::Rates rates = stats::rates_of(samples.questions);
    if (samples.has_format || samples.has_answers) {
        report["eval_format_rate"] = value(rates.format_rate);
        report["eval_accuracy_given_format"] = value(rates.correct_given_answer);
    }
    if (samples.has_truncated) {
        report["eval_truncated_fraction"] = value(rates.truncated_fraction);
        report["eval_accuracy_given_finished"] = value(rates.correct_given_finished);
        report["questions_with_truncation"] = rates.questions_with_truncation;
    }
    report["eval_undecided_fraction"] = value(rates.undecided_fraction);
    if (samples.has_tokens) {
        report["eval_length_mean"] = value(rates.lengths.mean);
        report["eval_length_p50"] = value(rates.lengths.p50);
        report["eval_length_p95"] = value(rates.lengths.p95);
        report["eval_length_max"] = value(rates.lengths.max);
        report["eval_length_right"] = value(rates.lengths.mean_right);
        report["eval_length_wrong"] = value(rates.lengths.mean_wrong);
    }
}

json paired_json(const stats::Paired& paired, const StatisticsOptions& options) {
    json report{{"questions", paired.questions},
                {"paired_difference", value(paired.difference)},
                {"se_paired", value(paired.se_paired)},
                {"se_unpaired", value(paired.se_unpaired)},
                {"interval_t95", value(paired.interval_t95)},
                {"t", value(paired.t)},
                {"p_two_sided", value(paired.p_two_sided)},
                {"correlation", value(paired.correlation)},
                {"questions_factor", value(paired.questions_factor)},
                {"questions_gained", paired.questions_better},
                {"questions_lost", paired.questions_worse},
                {"questions_same", paired.questions_same},
                {"smallest_resolvable", value(paired.smallest_resolvable)},
                {"resolved", paired.resolved ? json(*paired.resolved) : json(nullptr)}};
    report["bootstrap"] =
        to_json(stats::bootstrap_by_question(paired.question_differences, options.seed, options.resamples));
    if (paired.mcnemar) {
        report["mcnemar"] = {{"gained", paired.mcnemar->gained},
                             {"lost", paired.mcnemar->lost},
                             {"both_right", paired.mcnemar->both_right},
                             {"both_wrong", paired.mcnemar->both_wrong},
                             {"p_exact", paired.mcnemar->p_exact}};
    }
    if (paired.difference_variance) {
        report["difference_variance"] = {
            {"raw", paired.difference_variance->raw},
            {"between", paired.difference_variance->between},
            {"within_baseline", paired.difference_variance->within_baseline},
            {"within_checkpoint", paired.difference_variance->within_checkpoint}};
    }
    return report;
}

} // namespace

json statistics_of(const ScoredSamples& samples, const StatisticsOptions& options) {
    const auto counts = stats::counts_of(samples.questions);
    const stats::Summary summary = stats::summarise(counts);
    json report = scores(summary);
    report["questions"] = summary.questions;
    report["samples"] = summary.samples;
    report["bootstrap"] =
        to_json(stats::bootstrap_by_question(summary.question_means, options.seed, options.resamples));
    report["variance"] = to_json(summary.variance);
    const auto ks = options.ks.empty() ? stats::usual_k(counts) : options.ks;
    report["pass_at_k"] = json::array();
    for (const int64_t k : ks) report["pass_at_k"].push_back(to_json(stats::pass_at_k(counts, k)));
    if (samples.has_answers) {
        std::vector<stats::Votes> votes;
        for (const stats::Question& question : samples.questions) votes.push_back(eval::votes_of(question));
        report["maj_at_k"] = json::array();
        for (const int64_t k : ks) {
            const stats::AtK majority = stats::majority_at_k(votes, k, options.seed);
            json entry = to_json(majority);
            entry["exact"] = majority.exact;
            report["maj_at_k"].push_back(entry);
        }
    }
    add_rates(report, samples);
    const auto upper = stats::counts_of(samples.questions, stats::Undecided::AsRight);
    if (report["eval_undecided_fraction"].is_number() && report["eval_undecided_fraction"] > 0) {
        report["undecided_as_right"] = scores(stats::summarise(upper));
        for (const int64_t k : ks)
            report["undecided_as_right"]["pass_at_k"].push_back(to_json(stats::pass_at_k(upper, k)));
    }
    if (same_samples(counts) && summary.variance.between && summary.variance.within) {
        const stats::Components components{*summary.variance.between, *summary.variance.within};
        for (const auto design : {stats::Design::Single, stats::Design::Unpaired}) {
            report["planning"][stats::to_string(design)] =
                plan(design, components, summary.questions, counts.front().samples, options.effect);
        }
    }
    return report;
}

json comparison_of(const ScoredSamples& samples, const ScoredSamples& baseline,
                   const StatisticsOptions& options) {
    const stats::Matched matched = stats::match_questions(baseline.questions, samples.questions);
    if (matched.ids.empty()) {
        const auto before = stats::summarise(stats::counts_of(baseline.questions));
        const auto after = stats::summarise(stats::counts_of(samples.questions));
        json report{{"questions", 0}, {"difference", nullptr}, {"se_unpaired", nullptr}};
        if (before.avg && after.avg) report["difference"] = *after.avg - *before.avg;
        if (before.se_clustered && after.se_clustered) {
            report["se_unpaired"] = std::hypot(*before.se_clustered, *after.se_clustered);
        }
        return report;
    }
    const stats::Paired paired = stats::compare(matched.baseline, matched.checkpoint);
    json report = paired_json(paired, options);
    const bool equal_n = same_samples(matched.baseline) && same_samples(matched.checkpoint) &&
                         matched.baseline.front().samples == matched.checkpoint.front().samples;
    if (paired.difference_variance && equal_n) {
        const stats::Components components{paired.difference_variance->between,
                                           paired.difference_variance->within()};
        report["planning"][stats::to_string(stats::Design::Paired)] =
            plan(stats::Design::Paired, components, paired.questions, matched.baseline.front().samples,
                 options.effect);
    }
    return report;
}

namespace {

std::string figure(const json& number, const char* format = "%.4f") {
    if (number.is_null()) return "undefined";
    if (number.is_number_integer()) return std::to_string(number.get<int64_t>());
    char text[64];
    std::snprintf(text, sizeof text, format, number.get<double>());
    return text;
}

std::string interval(const json& ends) {
    if (ends.is_null()) return "undefined";
    return "[" + figure(ends[0]) + ", " + figure(ends[1]) + "]";
}

void row(std::ostream& out, const std::string& label, const std::string& text) {
    out << label << std::string(label.size() < 30 ? 30 - label.size() : 1, ' ') << text << '\n';
}

void optional_row(std::ostream& out, const std::string& label, const json& report, const char* key,
                  const char* format = "%.4f") {
    if (report.contains(key)) row(out, label, figure(report.at(key), format));
}

void print_scores(std::ostream& out, const json& report) {
    std::string score = figure(report.at("eval_avg_at_n"));
    if (report.contains("zero_error_bound")) {
        score += "  (all alike: the true value may be " + figure(report.at("zero_error_bound")) + " away)";
    } else {
        score += " +- " + figure(report.at("se_clustered")) + " SE";
    }
    row(out, "avg@n", score);
    row(out, "  95 % interval, t", interval(report.at("interval_t95")));
    if (report.contains("bootstrap") && !report.at("bootstrap").is_null()) {
        row(out, "  95 % interval, bootstrap", interval(report.at("bootstrap").at("interval_95")));
    }
    row(out, "pooled", figure(report.at("eval_pooled")) + " +- " + figure(report.at("se_pooled")) + " SE");
    row(out, "SE, these questions only", figure(report.at("se_sampling")));
    row(out, "SE if samples were apart",
        figure(report.at("se_naive")) + "  (design effect " + figure(report.at("design_effect"), "%.2f") +
            ")");
}

void print_at_k(std::ostream& out, const json& report, const char* key, const std::string& name) {
    if (!report.contains(key)) return;
    for (const json& at_k : report.at(key)) {
        std::string text = figure(at_k.at("value"));
        if (!at_k.at("value").is_null()) text += " +- " + figure(at_k.at("se_clustered")) + " SE";
        if (at_k.contains("exact") && !at_k.at("exact").get<bool>()) text += "  (10,000 sampled subsets)";
        row(out, name + std::to_string(at_k.at("k").get<int64_t>()), text);
    }
}

void print_plans(std::ostream& out, const json& report) {
    if (!report.contains("planning")) return;
    for (const auto& [design, plan] : report.at("planning").items()) {
        row(out, "resolves, " + design, figure(plan.at("smallest_effect")) + "  (two-sided 5 %, power 80 %)");
        if (!plan.contains("effect")) continue;
        const json& samples = plan.at("samples_needed");
        row(out, "  for " + figure(plan.at("effect")),
            figure(plan.at("questions_needed")) + " questions, or " +
                (samples.is_null() ? std::string("no number of") : figure(samples)) + " samples of these");
    }
}

void print_comparison(std::ostream& out, const json& against) {
    out << '\n';
    if (against.contains("difference")) {
        row(out, "difference",
            figure(against.at("difference"), "%+.4f") + " +- " + figure(against.at("se_unpaired")) +
                " SE  (no question in common: unpaired)");
        return;
    }
    row(out, "questions in common", figure(against.at("questions")));
    row(out, "difference, paired",
        figure(against.at("paired_difference"), "%+.4f") + " +- " + figure(against.at("se_paired")) + " SE");
    row(out, "  95 % interval, t", interval(against.at("interval_t95")));
    if (!against.at("bootstrap").is_null()) {
        row(out, "  95 % interval, bootstrap", interval(against.at("bootstrap").at("interval_95")));
    }
    row(out, "t, two-sided p",
        figure(against.at("t"), "%.3f") + ", " + figure(against.at("p_two_sided"), "%.4g"));
    row(out, "questions gained, lost, same",
        figure(against.at("questions_gained")) + ", " + figure(against.at("questions_lost")) + ", " +
            figure(against.at("questions_same")));
    row(out, "correlation of questions", figure(against.at("correlation")));
    row(out, "SE if unpaired",
        figure(against.at("se_unpaired")) + "  (overstates it: the questions are the same)");
    if (against.contains("mcnemar")) {
        row(out, "McNemar, exact p", figure(against.at("mcnemar").at("p_exact"), "%.4g"));
    }
    if (against.at("resolved").is_null()) {
        row(out, "verdict", "undefined: one question has no error");
    } else if (against.at("resolved").get<bool>()) {
        row(out, "verdict", "resolved: the 95 % interval excludes 0");
    } else {
        row(out, "verdict",
            "not resolved; the smallest resolvable difference is " +
                figure(against.at("smallest_resolvable")));
    }
    if (!against.at("questions_factor").is_null()) {
        row(out, "questions it would need", figure(against.at("questions_factor"), "%.2f") + " times these");
    }
    print_plans(out, against);
}

} // namespace

void print_statistics(std::ostream& out, const json& report) {
    row(out, "questions, samples", figure(report.at("questions")) + ", " + figure(report.at("samples")));
    print_scores(out, report);
    if (report.contains("undecided_as_right")) {
        row(out, "avg@n, undecided as right", figure(report.at("undecided_as_right").at("eval_avg_at_n")));
    }
    print_at_k(out, report, "pass_at_k", "pass@");
    print_at_k(out, report, "maj_at_k", "maj@");
    optional_row(out, "in the asked form", report, "eval_format_rate");
    optional_row(out, "truncated", report, "eval_truncated_fraction");
    optional_row(out, "undecided", report, "eval_undecided_fraction");
    optional_row(out, "right of those in form", report, "eval_accuracy_given_format");
    optional_row(out, "right of those finished", report, "eval_accuracy_given_finished");
    optional_row(out, "questions with truncation", report, "questions_with_truncation");
    optional_row(out, "length, mean", report, "eval_length_mean", "%.1f");
    optional_row(out, "length, median", report, "eval_length_p50", "%.1f");
    optional_row(out, "length, 95 %", report, "eval_length_p95", "%.1f");
    optional_row(out, "length, longest", report, "eval_length_max", "%.0f");
    optional_row(out, "length, right", report, "eval_length_right", "%.1f");
    optional_row(out, "length, wrong", report, "eval_length_wrong", "%.1f");
    const json& variance = report.at("variance");
    row(out, "variance between, within",
        figure(variance.at("between"), "%.5f") + ", " + figure(variance.at("within"), "%.5f") +
            "  (intraclass correlation " + figure(variance.at("icc"), "%.3f") + ")");
    print_plans(out, report);
    if (report.contains("against")) print_comparison(out, report.at("against"));
}

} // namespace stillroom::cli
