// SPDX-License-Identifier: GPL-3.0-or-later
// What a recipe's values mean together: objectives.md 13 as far as a recipe alone shows it. What needs the
// models or the data (vocabularies, generation prefixes, lengths) is the preflight's business.
#include "formats/recipe_keys.h"

#include "base/strings.h"

#include <algorithm>
#include <array>
#include <optional>

namespace stillroom::formats {

namespace {

/// The sections of objectives.md that treat an objective, and with it the rules that hold for it.
enum class Family { Exact, TopK, Unnormalised, Sampled, Sft };

Family family(const std::string& objective) {
    if (objective == "sft") return Family::Sft;
    if (objective == "kl_reverse" || objective == "kl_forward" || objective == "jsd") return Family::Exact;
    if (objective == "topk_unnorm_forward" || objective == "topk_unnorm_reverse" ||
        objective == "topk_const_tail") {
        return Family::Unnormalised;
    }
    return objective.ends_with("_pg") || objective == "k2_loss" ? Family::Sampled : Family::TopK;
}

/// The first refusal, and all warnings.
class Findings {
public:
    Findings(std::vector<std::string>& warnings, std::string where)
        : warnings_(warnings), where_(std::move(where)) {}

    void refuse_if(bool holds, const std::string& what, const std::string& remedy = {}) {
        if (holds && !refusal_) refusal_ = Error{what, where_, remedy};
    }
    void warn_if(bool holds, const std::string& what) {
        if (holds) warnings_.push_back(what);
    }
    Result<void> result() const {
        if (refusal_) return *refusal_;
        return {};
    }

private:
    std::vector<std::string>& warnings_;
    std::string where_;
    std::optional<Error> refusal_;
};

std::string text_of(double value) {
    Recipe any;
    any.optimizer.lr = value;
    return shown(*find_key("optimizer.lr"), any);
}

bool needs_solution(const std::string& context) {
    return context == "solution" || context == "answer-twice" || context == "hint";
}

void check_student(const Recipe& r, Findings& findings) {
    findings.refuse_if(r.student.model.empty(),
                       "student.model is empty, expected a model folder or a .gguf file");
    findings.refuse_if(
        r.student.trainable == "lora" && r.student.init == "random",
        "student.trainable = \"lora\" with student.init = \"random\": an adapter on random, frozen weights "
        "has nothing to adapt");
    findings.refuse_if(r.student.trainable == "lora" && r.student.lora.targets.empty(),
                       "student.lora.targets is empty, expected at least one projection");
}

void check_data(const Recipe& r, Findings& findings) {
    const bool chat = !r.data.messages.empty();
    findings.refuse_if(r.data.files.empty(), "data.files is empty, expected at least one JSON lines file");
    findings.refuse_if(r.data.problem.empty() && !chat,
                       "data.problem and data.messages are both empty: there is no prompt");
    const std::string unknown = [&] {
        std::string rest = r.data.user;
        for (const std::string_view known : {"{problem}", "{instruction}"}) {
            for (size_t at; (at = rest.find(known)) != std::string::npos;) rest.erase(at, known.size());
        }
        return rest;
    }();
    findings.refuse_if(r.data.user.find("{problem}") == std::string::npos,
                       "data.user = " + stillroom::quoted(r.data.user) +
                           " has no {problem}: every prompt would be the same");
    findings.warn_if(unknown.find("{solution}") != std::string::npos ||
                         unknown.find("{answer}") != std::string::npos,
                     "data.user names {solution} or {answer}: these are not replaced there, only in the "
                     "teacher's context");
}

void check_teacher(const Recipe& r, Findings& findings) {
    const TeacherSection& teacher = r.teacher;
    const bool sft = family(r.objective.name) == Family::Sft;
    findings.refuse_if(
        sft && teacher.kind != "none",
        "objective sft with teacher.kind = \"" + teacher.kind +
            "\": sft learns given solutions and asks no teacher; on the student's own rollouts its expected "
            "gradient is 0",
        "set teacher.kind = \"none\"");
    findings.refuse_if(!sft && teacher.kind == "none",
                       "objective " + r.objective.name +
                           " with teacher.kind = \"none\": it needs a teacher to score the rollouts",
                       "set teacher.kind to separate, self_frozen, self_ema or self_live");
    findings.refuse_if(
        teacher.kind == "separate" && teacher.model.empty(),
        "teacher.kind = \"separate\" without teacher.model: the student never stands in for a teacher");
    findings.warn_if(teacher.kind != "separate" && !teacher.model.empty(),
                     "teacher.model is not used with teacher.kind = \"" + teacher.kind + "\"");
    findings.warn_if(teacher.kind == "self_live",
                     "self_live teachers follow the student at every step and are known to drift");
    findings.warn_if(
        teacher.kind.starts_with("self_") && teacher.context == "none",
        "a self teacher without a context sees what the student sees: no signal at step 0, and none ever for "
        "self_live");

    const bool shows = teacher.context != "none";
    const std::string context = "teacher.context = \"" + teacher.context + "\"";
    findings.refuse_if(needs_solution(teacher.context) && r.data.solution.empty(),
                       context + " needs solutions, but data.solution names no column");
    findings.refuse_if(shows && teacher.context != "custom" && !needs_solution(teacher.context) &&
                           r.data.answer.empty() && r.data.solution.empty(),
                       context + " needs answers, but neither data.answer nor data.solution names a column");
    findings.refuse_if(teacher.context == "custom" &&
                           teacher.template_text.find("{problem}") == std::string::npos,
                       context + " needs teacher.template with at least {problem} in it");
    findings.warn_if(teacher.context != "custom" && !teacher.template_text.empty(),
                     "teacher.template is only used with teacher.context = \"custom\"");
    findings.warn_if(teacher.context == "wrong-answer",
                     "wrong-answer is a control: the teacher is told a false answer");

    findings.refuse_if(!sft && r.data.context_share > 0,
                       "data.context_share = " + text_of(r.data.context_share) +
                           " is for objective sft alone");
    findings.refuse_if(sft && r.data.context_share > 0 && !shows,
                       "data.context_share = " + text_of(r.data.context_share) +
                           " with teacher.context = \"none\": there is "
                           "no context to show");
    findings.warn_if(sft && shows && r.data.context_share == 0,
                     context + " is shown to no prompt: data.context_share is 0");
    findings.warn_if(
        !sft && teacher.thinking != r.data.thinking,
        teacher.allow_prefix_difference
            ? "data.thinking and teacher.thinking differ, and teacher.allow_prefix_difference accepts that "
              "the "
              "two prompts may end differently"
            : "data.thinking and teacher.thinking differ: if the template then ends the two prompts "
              "differently, the preflight refuses the run unless teacher.allow_prefix_difference = true");
}

void check_clamp(const ObjectiveSection& o, const std::string& teacher, Findings& findings) {
    const Family kind = family(o.name);
    const ClampSection& clamp = o.clamp;
    const bool on = clamp.kind != "none";
    findings.refuse_if(on && clamp.c <= 0, "objective.clamp.kind = \"" + clamp.kind +
                                               "\" with c = " + text_of(clamp.c) + ", expected c above 0");
    findings.refuse_if(!on && clamp.c > 0,
                       "objective.clamp.c = " + text_of(clamp.c) + " without objective.clamp.kind");
    findings.refuse_if(
        clamp.kind == "per_entry" && kind != Family::Exact,
        "objective.clamp.kind = \"per_entry\" is for kl_reverse, kl_forward and jsd, not for " + o.name);
    findings.refuse_if(on && (kind == Family::Sampled || kind == Family::Sft),
                       "objective.clamp.kind = \"" + clamp.kind + "\" is for divergences, not for " + o.name);
    findings.warn_if(
        clamp.kind == "per_entry" && teacher == "separate",
        "per_entry with a separate teacher: clipped are the strongest corrections, so it suits only teachers "
        "that are close to the student; watch clip_grad_cosine and clip_teacher_mass");
    findings.warn_if(
        clamp.kind == "per_entry" && o.name == "kl_reverse",
        "per_entry on kl_reverse removes the entries that would correct the student; watch clip_grad_cosine");
}

void check_unnormalised(const ObjectiveSection& o, Findings& findings) {
    if (family(o.name) != Family::Unnormalised) return;
    const std::string rest =
        o.name == "topk_unnorm_forward" ? "at the renormalised top-k, with an empty tail"
        : o.name == "topk_unnorm_reverse"
            ? "at 1/e of the teacher's top-k mass"
            : "at a target that gives most of its mass to the flat tail where the vocabulary is large";
    findings.refuse_if(
        !o.allow_unnormalised,
        "objective " + o.name + " is not normalised: it comes to rest " + rest + ", not at the teacher",
        "use topk_uniform_tail, or set objective.allow_unnormalised = true and objective.allow_reason");
    findings.refuse_if(trimmed(o.allow_reason).empty(),
                       "objective.allow_unnormalised = true needs objective.allow_reason: why " + o.name +
                           " is wanted although the teacher is not where it comes to rest");
    findings.warn_if(o.allow_unnormalised,
                     "objective " + o.name + " is allowed by hand: it comes to rest " + rest);
}

void check_ratio(const Recipe& r, Findings& findings) {
    const ObjectiveSection& o = r.objective;
    const bool sampled = family(o.name) == Family::Sampled, takes_ratio = sampled && o.name != "k2_loss";
    findings.refuse_if(o.ratio != "none" && !takes_ratio,
                       "objective.ratio = \"" + o.ratio +
                           "\" is for k1_pg, topk_token_pg and gopd_pg, not for " + o.name);
    findings.refuse_if(o.dual_clip > 0 && o.ratio != "ppo_clip",
                       "objective.dual_clip = " + text_of(o.dual_clip) +
                           " needs objective.ratio = \"ppo_clip\"");
    findings.refuse_if(o.dual_clip > 0 && o.dual_clip <= 1,
                       "objective.dual_clip = " + text_of(o.dual_clip) + ", expected above 1, or 0 for off");
    findings.refuse_if(o.reward_clip > 0 && !takes_ratio,
                       "objective.reward_clip is for k1_pg, topk_token_pg and gopd_pg, not for " + o.name);

    const int64_t updates = r.optimizer.updates_per_batch;
    findings.refuse_if(
        r.rollout.prompts_per_step % updates != 0,
        "optimizer.updates_per_batch = " + std::to_string(updates) +
            " does not divide rollout.prompts_per_step = " + std::to_string(r.rollout.prompts_per_step));
    const bool stale = updates > 1 && sampled && o.ratio == "none";
    const std::string problem =
        "optimizer.updates_per_batch = " + std::to_string(updates) + " with " +
        (o.name == "k2_loss" ? "k2_loss" : o.name + " and objective.ratio = \"none\"") +
        ": from the second update on nothing corrects for the student having moved";
    findings.refuse_if(stale && (!o.allow_stale_updates || trimmed(o.allow_reason).empty()), problem,
                       "set a ratio, or objective.allow_stale_updates = true and objective.allow_reason");
    findings.warn_if(stale, problem);
}

void check_sampling(const Recipe& r, Findings& findings) {
    const ObjectiveSection& o = r.objective;
    const RolloutSection& rollout = r.rollout;
    const Family kind = family(o.name);
    if (kind == Family::Sampled) {
        findings.warn_if(rollout.top_p < 1, o.name + " expects unfiltered samples: rollout.top_p = " +
                                                text_of(rollout.top_p) + " makes its gradient biased");
        findings.warn_if(rollout.top_k > 0, o.name + " expects unfiltered samples: rollout.top_k = " +
                                                std::to_string(rollout.top_k) + " makes its gradient biased");
        findings.warn_if(rollout.temperature != o.student_temperature,
                         o.name + " expects samples at its own temperature: rollout.temperature = " +
                             text_of(rollout.temperature) +
                             ", objective.student_temperature = " + text_of(o.student_temperature));
    }
    findings.warn_if(rollout.temperature == 0 && rollout.samples_per_prompt > 1 && kind != Family::Sft,
                     "rollout.temperature = 0: all samples of a prompt are the same");
    findings.warn_if(rollout.truncated_rows == "drop",
                     "rollout.truncated_rows = \"drop\": long answers are left out of the loss");
    findings.warn_if(o.skip_first > 0, "objective.skip_first = " + std::to_string(o.skip_first) +
                                           ": the first tokens of every answer teach nothing");
    findings.refuse_if(
        rollout.cache_tokens % rollout.page_tokens != 0,
        "rollout.cache_tokens = " + std::to_string(rollout.cache_tokens) +
            " is not a multiple of rollout.page_tokens = " + std::to_string(rollout.page_tokens));
    findings.refuse_if(
        kind == Family::Sft && rollout.samples_per_prompt != 1,
        "objective sft with rollout.samples_per_prompt = " + std::to_string(rollout.samples_per_prompt) +
            ": sft samples nothing, each row is one given solution");
}

void check_objective(const Recipe& r, Findings& findings) {
    const ObjectiveSection& o = r.objective;
    const Family kind = family(o.name);
    const bool by_direction = o.name == "topk_tail_bucket" || o.name == "topk_renorm";
    const bool is_jsd = o.name == "jsd" || (by_direction && o.direction == "jsd");
    findings.refuse_if(o.direction != "reverse" && !by_direction,
                       "objective.direction = \"" + o.direction +
                           "\" is for topk_tail_bucket and topk_renorm, not for " + o.name);
    findings.refuse_if(
        by_direction && o.direction == "mixed",
        "objective.direction = \"mixed\" (a weighted sum of forward and reverse KL) is not offered yet",
        "choose reverse, forward or jsd; jsd is another divergence, not the same sum");
    findings.refuse_if(o.rescale && !is_jsd, "objective.rescale is for jsd, not for " + o.name);
    findings.warn_if(is_jsd && !o.rescale && o.beta > 0 && o.beta < 1 && (o.beta < 0.1 || o.beta > 0.9),
                     "jsd with beta = " + text_of(o.beta) +
                         " and no rescale: values and gradients are about " + text_of(o.beta * (1 - o.beta)) +
                         " of the KL's scale");
    findings.refuse_if(o.name == "topk_renorm" && o.top_k == 1,
                       "topk_renorm with objective.top_k = 1 is 0 whatever the student does");
    findings.warn_if(o.name == "topk_renorm",
                     "topk_renorm cannot see how much mass the student keeps on the teacher's top-k; "
                     "watch student_mass_on_teacher_top16");

    const bool same_temperature = o.student_temperature == o.teacher_temperature;
    findings.refuse_if(kind == Family::Sft && o.student_temperature != 1,
                       "objective sft with objective.student_temperature = " +
                           text_of(o.student_temperature) + ", expected 1");
    findings.warn_if(kind != Family::Sft && !same_temperature,
                     "objective.student_temperature = " + text_of(o.student_temperature) +
                         " and teacher_temperature = " + text_of(o.teacher_temperature) +
                         ": the student is asked for another sharpness than the teacher's");
    findings.refuse_if(
        o.t2_factor && (kind == Family::Sampled || kind == Family::Sft),
        "objective.t2_factor is for the divergences of full and top-k distributions, not for " + o.name);
    findings.refuse_if(o.t2_factor && !same_temperature,
                       "objective.t2_factor needs equal student and teacher temperatures");
    findings.warn_if(o.t2_factor, "objective.t2_factor multiplies the loss by the square of the temperature");
    findings.warn_if(o.reduction != "token_mean_global",
                     "objective.reduction = \"" + o.reduction +
                         "\": tokens of long and short answers weigh differently");

    findings.refuse_if(o.name == "gopd_pg" && o.lambda != 1 && o.base_model.empty(),
                       "gopd_pg with objective.lambda = " + text_of(o.lambda) +
                           " needs objective.base_model");
    findings.warn_if(!o.base_model.empty() && (o.name != "gopd_pg" || o.lambda == 1),
                     "objective.base_model is not used");
    check_unnormalised(o, findings);
    check_clamp(o, r.teacher.kind, findings);
}

void check_optimizer(const Recipe& r, Findings& findings) {
    const OptimizerSection& o = r.optimizer;
    findings.refuse_if(o.warmup > r.run.steps,
                       "optimizer.warmup = " + std::to_string(o.warmup) +
                           " is longer than run.steps = " + std::to_string(r.run.steps));
    findings.refuse_if(o.min_lr > o.lr, "optimizer.min_lr = " + text_of(o.min_lr) +
                                            " is above optimizer.lr = " + text_of(o.lr));
    findings.warn_if(o.schedule == "constant" && o.min_lr > 0,
                     "optimizer.min_lr is not used with a constant schedule");
    findings.refuse_if(r.evaluation.every > 0 && r.evaluation.data.empty(),
                       "evaluation.every = " + std::to_string(r.evaluation.every) +
                           " without evaluation.data");
}

void compare_with_preset(const Recipe& r, Findings& findings) {
    if (r.preset.empty()) return;
    const auto file = resources_folder() / "recipes" / (r.preset + ".toml");
    if (std::error_code ignored; file == r.file || !std::filesystem::exists(file, ignored)) return;
    const auto preset = read_recipe(file);
    if (!preset) return; // its own fault is reported where it is opened
    for (const std::string_view path : std::array{"optimizer.lr", "optimizer.schedule", "optimizer.max_norm",
                                                  "objective.clamp.kind", "objective.clamp.c"}) {
        const Key& key = *find_key(path);
        const std::string here = shown(key, r), there = shown(key, *preset);
        findings.warn_if(here != there, key.path() + " = " + here + ", where " + r.preset + " has " + there);
    }
}

} // namespace

Result<void> check_recipe(const Recipe& recipe, std::vector<std::string>& warnings) {
    const std::string where = recipe.file.empty() ? "recipe " + recipe.run.name : recipe.file.string();
    for (const Key& key : recipe_keys()) {
        if (auto within = check_value(key, recipe, where); !within) return within;
    }
    Findings findings(warnings, where);
    check_student(recipe, findings);
    check_data(recipe, findings);
    check_teacher(recipe, findings);
    check_objective(recipe, findings);
    check_ratio(recipe, findings);
    check_sampling(recipe, findings);
    check_optimizer(recipe, findings);
    compare_with_preset(recipe, findings);
    return findings.result();
}

} // namespace stillroom::formats
