// SPDX-License-Identifier: GPL-3.0-or-later
#include "objective/spec.h"

#include "base/strings.h"

#include <algorithm>
#include <array>

namespace stillroom::objective {

namespace {

struct Named {
    Kind kind;
    const char* name;
};
constexpr std::array names{
    Named{Kind::KlReverse, "kl_reverse"},
    Named{Kind::KlForward, "kl_forward"},
    Named{Kind::Jsd, "jsd"},
    Named{Kind::TopkUniformTail, "topk_uniform_tail"},
    Named{Kind::TopkTailBucket, "topk_tail_bucket"},
    Named{Kind::TopkRenorm, "topk_renorm"},
    Named{Kind::TopkUnnormForward, "topk_unnorm_forward"},
    Named{Kind::TopkUnnormReverse, "topk_unnorm_reverse"},
    Named{Kind::TopkConstTail, "topk_const_tail"},
    Named{Kind::K1Pg, "k1_pg"},
    Named{Kind::K2Loss, "k2_loss"},
    Named{Kind::TopkTokenPg, "topk_token_pg"},
    Named{Kind::GopdPg, "gopd_pg"},
    Named{Kind::Sft, "sft"},
};

bool is_one_of(Kind kind, std::initializer_list<Kind> kinds) {
    return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

template <typename T>
Result<T> choice(const std::string& value, const char* key,
                 std::initializer_list<std::pair<const char*, T>> known) {
    std::vector<std::string> all;
    for (const auto& [name, meaning] : known) {
        if (value == name) return meaning;
        all.emplace_back(name);
    }
    return Error{"\"" + value + "\" is not one of " + join(all, ", "), key};
}

} // namespace

std::string to_string(Kind kind) {
    for (const Named& named : names) {
        if (named.kind == kind) return named.name;
    }
    return {};
}

bool uses_old_policy(Kind kind) { return is_one_of(kind, {Kind::K1Pg, Kind::GopdPg, Kind::TopkTokenPg}); }

bool Spec::needs_record() const {
    return is_one_of(kind, {Kind::TopkUniformTail, Kind::TopkTailBucket, Kind::TopkRenorm,
                            Kind::TopkUnnormForward, Kind::TopkUnnormReverse, Kind::TopkConstTail});
}

Result<Spec> Spec::of(const formats::ObjectiveSection& options) {
    Spec spec;
    spec.options = options;
    std::vector<std::string> all;
    bool found = false;
    for (const Named& named : names) {
        all.emplace_back(named.name);
        if (options.name == named.name) spec.kind = named.kind, found = true;
    }
    if (!found) {
        const std::string near = nearest(options.name, all);
        return Error{"unknown objective \"" + options.name + "\"" +
                         (near.empty() ? "" : ", nearest is \"" + near + "\""),
                     "objective.name"};
    }
    const auto clamp = choice<Clamp>(options.clamp.kind, "objective.clamp.kind",
                                     {{"none", Clamp::None},
                                      {"per_entry", Clamp::PerEntry},
                                      {"per_token", Clamp::PerToken},
                                      {"trust_region", Clamp::TrustRegion}});
    if (!clamp) return clamp.error();
    spec.clamp = *clamp;
    const auto ratio = choice<Ratio>(options.ratio, "objective.ratio",
                                     {{"none", Ratio::None},
                                      {"is", Ratio::ImportanceSampling},
                                      {"truncated", Ratio::Truncated},
                                      {"ppo_clip", Ratio::PpoClip}});
    if (!ratio) return ratio.error();
    spec.ratio = *ratio;

    const bool exact = is_one_of(spec.kind, {Kind::KlReverse, Kind::KlForward, Kind::Jsd});
    const bool sampled =
        is_one_of(spec.kind, {Kind::K1Pg, Kind::K2Loss, Kind::TopkTokenPg, Kind::GopdPg, Kind::Sft});
    const bool unnormalised =
        is_one_of(spec.kind, {Kind::TopkUnnormForward, Kind::TopkUnnormReverse, Kind::TopkConstTail});
    if (unnormalised && !options.allow_unnormalised) {
        return Error{options.name + " does not come to rest at the teacher (objectives 4.4)",
                     "objective.name",
                     "use topk_uniform_tail, or set objective.allow_unnormalised = true and say why"};
    }
    if (spec.clamp != Clamp::None && !(options.clamp.c > 0))
        return Error{"a clamp needs c > 0", "objective.clamp.c"};
    if (spec.clamp == Clamp::PerEntry && !exact) {
        return Error{"per_entry acts on the entries of an exact divergence, " + options.name + " has none",
                     "objective.clamp.kind"};
    }
    if (spec.clamp != Clamp::None && sampled)
        return Error{"a clamp acts on a divergence, " + options.name + " is none", "objective.clamp.kind"};
    if (options.t2_factor && sampled)
        return Error{"t2_factor belongs to divergences, " + options.name + " is none", "objective.t2_factor"};
    if (options.t2_factor && options.student_temperature != options.teacher_temperature) {
        return Error{"t2_factor needs equal loss temperatures", "objective.t2_factor"};
    }
    if (!(options.student_temperature > 0) || !(options.teacher_temperature > 0)) {
        return Error{"loss temperatures must be above 0", "objective"};
    }
    if (spec.kind == Kind::Sft && options.student_temperature != 1) {
        return Error{"sft has temperature 1", "objective.student_temperature"};
    }
    if (!(options.beta >= 0 && options.beta <= 1)) return Error{"beta must be within 0..1", "objective.beta"};
    if (options.rescale && spec.kind != Kind::Jsd)
        return Error{"rescale is for jsd, not for " + options.name, "objective.rescale"};
    const auto direction =
        choice<int>(options.direction, "objective.direction", {{"reverse", 0}, {"forward", 1}, {"jsd", 2}});
    if (!direction) return direction.error();
    if ((spec.needs_record() || spec.kind == Kind::TopkTokenPg) && options.top_k < 1) {
        return Error{"needs at least one token", "objective.top_k"};
    }
    if (spec.kind == Kind::TopkUniformTail && !(options.tau_min > 0 && options.tau_min < 1)) {
        return Error{"the floor of the tail must be above 0 and below 1", "objective.tau_min"};
    }
    if (spec.ratio != Ratio::None && !uses_old_policy(spec.kind)) {
        return Error{"a ratio belongs to k1_pg, gopd_pg and topk_token_pg, not to " + options.name,
                     "objective.ratio"};
    }
    if (spec.ratio == Ratio::Truncated && !(options.ratio_cap > 0))
        return Error{"must be above 0", "objective.ratio_cap"};
    if (spec.ratio == Ratio::PpoClip &&
        !(options.clip_low >= 0 && options.clip_low <= 1 && options.clip_high >= 0)) {
        return Error{"clip_low must be within 0..1 and clip_high at least 0", "objective"};
    }
    if (options.dual_clip != 0 && !(options.dual_clip > 1))
        return Error{"must be above 1, or 0 for off", "objective.dual_clip"};
    if (!(options.reward_clip >= 0)) return Error{"must not be negative", "objective.reward_clip"};
    const auto weights = choice<int>(options.token_weights, "objective.token_weights",
                                     {{"student_p", 0}, {"teacher_p", 1}, {"none", 2}});
    if (!weights) return weights.error();
    return spec;
}

} // namespace stillroom::objective
