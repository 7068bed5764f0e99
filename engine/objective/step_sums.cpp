// SPDX-License-Identifier: GPL-3.0-or-later
#include "objective/step_sums.h"

#include "base/ensure.h"
#include "stats/percentile.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace stillroom::objective {

namespace {

// Columns whose mean over rows is the metric of the same name.
constexpr const char* means[] = {
    "kl_reverse_exact",
    "kl_forward_exact",
    "jsd_half",
    "kl_reverse_k1",
    "kl_reverse_k3",
    "gap_abs_mean",
    "entropy_student",
    "entropy_teacher",
    "overlap_top16",
    "student_mass_top16",
    "student_mass_on_teacher_top16",
    "teacher_mass_top16",
    "top1_agreement",
    "out_of_support_fraction",
    "kl_head",
    "kl_tail",
    "tau_floor_fraction",
    "clip_entries_per_token",
    "clip_teacher_mass",
    "negative_token_fraction",
    "pg_clip_fraction",
    "pg_dual_clip_fraction",
    "pg_reward_clip_fraction",
    "pg_ratio_mean",
    "advantage_mean",
    "advantage_square",
};
// Columns of which sums are kept for a ratio or a difference.
constexpr const char* others[] = {"clamped", "dot", "norm2", "clamped_norm2"};
constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

} // namespace

bool RowTable::has(const std::string& name) const {
    return std::binary_search(names.begin(), names.end(), name);
}

torch::Tensor RowTable::column(const std::string& name) const {
    const auto place = std::lower_bound(names.begin(), names.end(), name);
    ensure(place != names.end() && *place == name, "no column " + name);
    return values[place - names.begin()];
}

RowTable RowTable::of(const std::map<std::string, std::vector<torch::Tensor>>& columns) {
    RowTable table;
    std::vector<torch::Tensor> stacked;
    for (const auto& [name, parts] : columns) {
        table.names.push_back(name);
        stacked.push_back(torch::cat(parts).to(torch::kFloat64));
    }
    if (!stacked.empty()) table.values = torch::stack(stacked).to(torch::kCPU).contiguous();
    return table;
}

double StepSums::State::add(const RowTable& table, const Spec& spec, int64_t vocabulary) {
    real_vocab = vocabulary;
    clamp = spec.clamp;
    if (table.names.empty()) return 0;
    const auto counts = table.column("counted") != 0;
    rows += counts.sum().item<int64_t>();
    nonfinite += (counts & (table.column("defined") == 0)).sum().item<int64_t>();
    // Rows that do not count are left out by selection: they may hold anything.
    const auto chosen = [&](const std::string& name) { return table.column(name).masked_select(counts); };
    const auto weight = chosen("weight"), scale = chosen("scale");
    const double added_loss = (scale * weight * chosen("value")).sum().item<double>();
    loss += added_loss;
    sums["weight"] += weight.sum().item<double>();
    for (const char* name : means) {
        if (table.has(name)) sums[name] += chosen(name).sum().item<double>();
    }
    for (const char* name : others) {
        if (table.has(name)) sums[name] += chosen(name).sum().item<double>();
    }
    if (table.has("removed")) {
        sums["removed"] += (weight * chosen("removed")).sum().item<double>();
        sums["unclamped"] += (weight * chosen("unclamped")).sum().item<double>();
    }
    if (weight.numel() == 0) return added_loss;
    const auto keep_maximum = [&](const char* metric, const torch::Tensor& values) {
        const double most = values.max().item<double>();
        const auto [place, fresh] = maxima.try_emplace(metric, most);
        if (!fresh && !std::isnan(place->second) && !(place->second >= most)) place->second = most;
    };
    if (table.has("kl_reverse_exact")) keep_maximum("kl_reverse_max", chosen("kl_reverse_exact"));
    if (table.has("pg_ratio_max")) keep_maximum("pg_ratio_max", chosen("pg_ratio_max"));
    if (table.has("target_sum_error")) keep_maximum("target_sum_error", chosen("target_sum_error"));
    if (table.has("mismatch")) {
        const auto mismatch = chosen("mismatch");
        keep_maximum("mismatch_logp_max", mismatch.abs());
        sums["mismatch_logp_mean"] += mismatch.abs().sum().item<double>();
        sums["mismatch_kl"] += mismatch.sum().item<double>();
    }
    const auto append = [](std::vector<double>& to, const torch::Tensor& values) {
        const auto part = values.contiguous();
        to.insert(to.end(), part.data_ptr<double>(), part.data_ptr<double>() + part.numel());
    };
    if (table.has("kl_reverse_k1")) {
        append(gaps, chosen("kl_reverse_k1"));
        append(ranks, chosen("teacher_rank_of_sample"));
    }
    if (!table.has("decile")) return added_loss;
    const auto decile = chosen("decile").to(torch::kInt64);
    const auto by_decile = [&](const std::string& name, double* totals) {
        if (!table.has(name)) return;
        const auto added = torch::zeros({10}, torch::kFloat64).index_add(0, decile, chosen(name));
        for (int i = 0; i < 10; ++i) totals[i] += added[i].item<double>();
    };
    by_decile("kl_reverse_exact", decile_kl);
    by_decile("entropy_student", decile_entropy);
    const auto counted = torch::bincount(decile, {}, 10);
    for (int i = 0; i < 10; ++i) decile_rows[i] += double(counted[i].item<int64_t>());
    return added_loss;
}

StepSums::StepSums() : state_(std::make_unique<State>()) {}
StepSums::~StepSums() = default;
StepSums::StepSums(StepSums&&) noexcept = default;
StepSums& StepSums::operator=(StepSums&&) noexcept = default;

int64_t StepSums::nonfinite_rows() const { return state_->nonfinite; }

std::map<std::string, double> StepSums::metrics(int64_t n_global) const {
    const State& state = *state_;
    std::map<std::string, double> metrics;
    const auto mean = [&](double sum) { return n_global > 0 ? sum / double(n_global) : undefined; };
    metrics["nonfinite_rows"] = double(state.nonfinite);
    if (state.rows == 0) return metrics;
    metrics["loss"] = state.loss;
    for (const auto& [name, sum] : state.sums) metrics[name] = mean(sum);
    for (const auto& [name, most] : state.maxima) metrics[name] = most;
    metrics["weight_mean"] = metrics.extract("weight").mapped();
    if (metrics.contains("kl_reverse_exact")) {
        metrics["k1_minus_exact"] = metrics["kl_reverse_k1"] - metrics["kl_reverse_exact"];
        metrics["entropy_gap"] = metrics["entropy_student"] - metrics["entropy_teacher"];
        metrics["gap_p01"] = stats::percentile(state.gaps, 0.01).value_or(undefined);
        metrics["gap_p50"] = stats::percentile(state.gaps, 0.50).value_or(undefined);
        metrics["gap_p99"] = stats::percentile(state.gaps, 0.99).value_or(undefined);
        metrics["teacher_rank_of_sample_p95"] = stats::percentile(state.ranks, 0.95).value_or(undefined);
    }
    for (int i = 0; i < 10; ++i) {
        const std::string suffix = "_by_decile_" + std::to_string(i);
        const auto ratio = [&](double sum) {
            return state.decile_rows[i] > 0 ? sum / state.decile_rows[i] : undefined;
        };
        if (metrics.contains("kl_reverse_exact")) metrics["kl_reverse" + suffix] = ratio(state.decile_kl[i]);
        if (metrics.contains("entropy_student"))
            metrics["entropy_student" + suffix] = ratio(state.decile_entropy[i]);
    }
    if (metrics.contains("advantage_mean")) {
        const double square = metrics.extract("advantage_square").mapped();
        metrics["advantage_std"] =
            std::sqrt(std::max(0.0, square - metrics["advantage_mean"] * metrics["advantage_mean"]));
    }
    if (state.clamp != Clamp::None) {
        const auto sum = [&](const char* name) {
            return state.sums.contains(name) ? state.sums.at(name) : 0.0;
        };
        metrics["clip_fraction_token"] = metrics.extract("clamped").mapped();
        metrics["clip_removed_nats"] = metrics.extract("removed").mapped();
        metrics["clip_removed_fraction"] =
            sum("unclamped") < 1e-12 ? undefined : sum("removed") / sum("unclamped");
        const double norm = std::sqrt(sum("norm2")), clamped_norm = std::sqrt(sum("clamped_norm2"));
        metrics["clip_grad_norm_ratio"] = norm != 0 ? clamped_norm / norm : undefined;
        // What is left below this share is the rounding of entries that cancel: it has no direction.
        constexpr double rounding = 1e-12;
        const bool vanished = norm == 0 || clamped_norm <= rounding * norm;
        metrics["clip_grad_cosine"] = vanished ? undefined : sum("dot") / (norm * clamped_norm);
        if (state.clamp == Clamp::PerEntry) {
            metrics["clip_fraction_entry"] = metrics["clip_entries_per_token"] / double(state.real_vocab);
        }
        for (const char* name : {"unclamped", "dot", "norm2", "clamped_norm2"}) metrics.erase(name);
    }
    return metrics;
}

} // namespace stillroom::objective
