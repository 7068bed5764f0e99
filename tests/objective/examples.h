// SPDX-License-Identifier: GPL-3.0-or-later
// Rows of logits and every offered objective, for tests of what must hold for all of them.
#pragma once

#include "objective/rows.h"
#include "tests/support/golden.h"

#include <string>
#include <torch/torch.h>
#include <vector>

namespace stillroom::test {

/// By value: what a range-based for walks over must outlive the call.
inline nlohmann::json golden_cases(const std::string& file) {
    return read_json(golden("objectives/" + file + ".json")).at("cases");
}

inline formats::ObjectiveSection named(const std::string& name) {
    formats::ObjectiveSection options;
    options.name = name;
    options.allow_unnormalised = true;
    return options;
}

struct Objective {
    std::string label;
    formats::ObjectiveSection options;
    objective::Spec spec() const { return objective::Spec::of(options).value(); }
};

enum class Which { Exact, TopK, Sampled, All };

/// Every objective id with its variants, unclamped.
inline std::vector<Objective> objectives(Which which = Which::All) {
    std::vector<Objective> all;
    const auto add = [&](const std::string& label, const std::string& name, auto&& change) {
        Objective objective{label, named(name)};
        objective.options.top_k = 3;
        change(objective.options);
        all.push_back(std::move(objective));
    };
    using Options = formats::ObjectiveSection;
    const auto as_it_is = [](Options&) {};
    if (which == Which::Exact || which == Which::All) {
        add("kl_reverse", "kl_reverse", as_it_is);
        add("kl_forward", "kl_forward", as_it_is);
        add("jsd 0.5", "jsd", as_it_is);
        add("jsd 0.1 rescaled", "jsd", [](Options& o) { o.beta = 0.1, o.rescale = true; });
        add("jsd 0.8", "jsd", [](Options& o) { o.beta = 0.8; });
    }
    if (which == Which::TopK || which == Which::All) {
        add("E", "topk_uniform_tail", as_it_is);
        for (const char* direction : {"reverse", "forward", "jsd"}) {
            add(std::string("D ") + direction, "topk_tail_bucket",
                [&](Options& o) { o.direction = direction; });
        }
        add("C reverse", "topk_renorm", as_it_is);
        add("C forward", "topk_renorm", [](Options& o) { o.direction = "forward"; });
        add("A", "topk_unnorm_forward", as_it_is);
        add("B", "topk_unnorm_reverse", as_it_is);
        add("F", "topk_const_tail", as_it_is);
    }
    if (which == Which::Sampled || which == Which::All) {
        for (const char* ratio : {"none", "is", "truncated", "ppo_clip"}) {
            add(std::string("k1_pg ") + ratio, "k1_pg",
                [&](Options& o) { o.ratio = ratio, o.dual_clip = 3; });
        }
        add("k2_loss", "k2_loss", as_it_is);
        add("gopd_pg", "gopd_pg", [](Options& o) { o.lambda = 1.25, o.ratio = "is"; });
        for (const char* weights : {"student_p", "teacher_p", "none"}) {
            add(std::string("topk_token_pg ") + weights, "topk_token_pg",
                [&](Options& o) { o.token_weights = weights, o.ratio = "ppo_clip"; });
        }
        add("sft", "sft", as_it_is);
    }
    return all;
}

inline torch::Tensor logits(int64_t N, int64_t V, uint64_t seed, double spread = 2,
                            torch::Dtype dtype = torch::kFloat64) {
    auto generator = at::detail::createCPUGenerator(seed);
    return (at::randn({N, V}, generator, torch::kFloat64) * spread).to(dtype);
}

/// Everything that any objective reads, from the logits of student, teacher, base and an older student.
/// Weights 1, scales 1.
inline objective::RowInputs rows_of(const torch::Tensor& student, const torch::Tensor& teacher,
                                    const formats::ObjectiveSection& options, uint64_t seed = 7) {
    const int64_t N = student.size(0), V = student.size(1);
    const auto chosen = [](const torch::Tensor& from, double temperature, const torch::Tensor& ids) {
        return (from / temperature).log_softmax(-1).gather(-1, ids);
    };
    const auto old = student + logits(N, V, seed, 0.3, student.scalar_type()),
               base = logits(N, V, seed + 1, 2, student.scalar_type());
    objective::RowInputs rows;
    rows.real_vocab = V;
    rows.student_logits = student;
    rows.teacher_logits = teacher;
    rows.sampled = std::get<1>(logits(N, V, seed + 2).max(-1));
    const auto y = rows.sampled.unsqueeze(-1);
    rows.old_logprob = chosen(old, options.student_temperature, y).squeeze(-1);
    rows.teacher_logprob = chosen(teacher, options.teacher_temperature, y).squeeze(-1);
    rows.base_logprob = chosen(base, options.teacher_temperature, y).squeeze(-1);
    rows.student_topk_ids = objective::best(old, std::min(options.top_k, V)).second;
    rows.old_topk_logprob = chosen(old, options.student_temperature, rows.student_topk_ids);
    rows.teacher_topk_logprob = chosen(teacher, options.teacher_temperature, rows.student_topk_ids);
    rows.weight = torch::ones({N}, student.options());
    rows.scale = torch::ones({N}, student.options());
    return rows;
}

/// An objective without options but K and direction.
inline Objective of(const std::string& name, int64_t top_k, const std::string& direction = "reverse") {
    Objective objective{name, named(name)};
    objective.options.top_k = top_k;
    objective.options.direction = direction;
    return objective;
}

/// Each objective without a clamp and with those that it may have.
inline std::vector<Objective> with_clamps(const std::vector<Objective>& plain, double c) {
    std::vector<Objective> all;
    for (const Objective& objective : plain) {
        all.push_back(objective);
        for (const char* kind : {"per_entry", "per_token", "trust_region"}) {
            Objective clamped = objective;
            clamped.label += std::string(" ") + kind;
            clamped.options.clamp = {kind, c};
            if (objective::Spec::of(clamped.options)) all.push_back(clamped);
        }
    }
    return all;
}

/// max(1, |D|): what tolerances are multiplied with.
inline torch::Tensor row_scale(const torch::Tensor& values) { return values.abs().clamp_min(1); }

inline double largest(const torch::Tensor& values) {
    return values.numel() ? values.abs().max().item<double>() : 0;
}

} // namespace stillroom::test
