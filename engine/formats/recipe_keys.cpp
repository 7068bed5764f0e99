// SPDX-License-Identifier: GPL-3.0-or-later
#include "formats/recipe_keys.h"

#include "base/strings.h"

#include <charconv>
#include <cmath>

namespace stillroom::formats {

namespace {

template <typename Section>
struct Field {
    std::string name;
    std::variant<std::string Section::*, bool Section::*, int64_t Section::*, uint64_t Section::*,
                 double Section::*, std::vector<std::string> Section::*>
        member;
    Limits limits{};
};

template <typename Section, typename Place>
void add(std::vector<Key>& keys, const std::string& section, Place place,
         std::initializer_list<Field<Section>> fields) {
    for (const Field<Section>& field : fields) {
        const auto at = [place, member = field.member](Recipe& recipe) {
            return std::visit([&](auto pointer) -> Value { return &(place(recipe).*pointer); }, member);
        };
        keys.push_back({section, field.name, at, field.limits});
    }
}

Limits at_least(double low) { return {.low = low}; }
Limits above(double low) { return {.low = low, .low_excluded = true}; }
Limits from_to(double low, double high) { return {.low = low, .high = high}; }
/// 0 < x <= high.
Limits up_to(double high) { return {.low = 0, .high = high, .low_excluded = true}; }
/// 0 <= x < 1.
Limits below_one() { return {.low = 0, .high = 1, .high_excluded = true}; }
Limits one_of(std::vector<std::string> allowed) { return {.allowed = std::move(allowed)}; }
Limits path() { return {.is_path = true}; }

const std::vector<std::string>& answer_rules() {
    static const std::vector<std::string> rules{"boxed_last", "gsm8k_hash", "answer_line", "whole",
                                                "last_number"};
    return rules;
}
// Of what counts as an answer in the asked form; empty: what `rule` finds.
std::vector<std::string> format_rules() {
    std::vector<std::string> rules = answer_rules();
    rules.insert(rules.begin(), "");
    return rules;
}

std::vector<Key> table() {
    std::vector<Key> keys;
    add<Recipe>(keys, "", [](Recipe& r) -> Recipe& { return r; }, {{"preset", &Recipe::preset}});
    add<RunSection>(keys, "run", [](Recipe& r) -> RunSection& { return r.run; },
                    {{"name", &RunSection::name},
                     {"seed", &RunSection::seed},
                     {"steps", &RunSection::steps, at_least(1)},
                     {"deadline", &RunSection::deadline, {.is_deadline = true}},
                     {"save_reserve", &RunSection::save_reserve, at_least(0)}});
    add<StudentSection>(keys, "student", [](Recipe& r) -> StudentSection& { return r.student; },
                        {{"model", &StudentSection::model, path()},
                         {"trainable", &StudentSection::trainable, one_of({"full", "lora"})},
                         {"init", &StudentSection::init, one_of({"pretrained", "random"})},
                         {"dtype", &StudentSection::dtype, one_of({"auto", "fp32", "bf16"})}});
    add<LoraSection>(
        keys, "student.lora", [](Recipe& r) -> LoraSection& { return r.student.lora; },
        {{"rank", &LoraSection::rank, at_least(1)},
         {"alpha", &LoraSection::alpha, above(0)},
         {"targets", &LoraSection::targets, one_of({"q", "k", "v", "o", "gate", "up", "down"})}});
    add<TeacherSection>(
        keys, "teacher", [](Recipe& r) -> TeacherSection& { return r.teacher; },
        {{"kind", &TeacherSection::kind,
          one_of({"none", "separate", "self_frozen", "self_ema", "self_live"})},
         {"model", &TeacherSection::model, path()},
         {"context", &TeacherSection::context,
          one_of({"none", "solution", "answer-twice", "answer-only", "hint", "wrong-answer", "custom"})},
         {"template", &TeacherSection::template_text},
         {"ema_decay", &TeacherSection::ema_decay, below_one()},
         {"thinking", &TeacherSection::thinking},
         {"score_without_answer", &TeacherSection::score_without_answer, from_to(0, 1)},
         {"max_prompt", &TeacherSection::max_prompt, at_least(0)},
         {"allow_prefix_difference", &TeacherSection::allow_prefix_difference}});
    add<DataSection>(keys, "data", [](Recipe& r) -> DataSection& { return r.data; },
                     {{"files", &DataSection::files, path()},
                      {"problem", &DataSection::problem},
                      {"solution", &DataSection::solution},
                      {"answer", &DataSection::answer},
                      {"messages", &DataSection::messages},
                      {"id", &DataSection::id},
                      {"target", &DataSection::target},
                      {"system", &DataSection::system},
                      {"instruction", &DataSection::instruction},
                      {"user", &DataSection::user},
                      {"order", &DataSection::order, one_of({"shuffled", "file"})},
                      {"limit", &DataSection::limit, at_least(0)},
                      {"max_prompt", &DataSection::max_prompt, at_least(0)},
                      {"strip_calculator", &DataSection::strip_calculator},
                      {"thinking", &DataSection::thinking},
                      {"context_share", &DataSection::context_share, from_to(0, 1)},
                      {"rule", &DataSection::rule, one_of(answer_rules())},
                      {"format_rule", &DataSection::format_rule, one_of(format_rules())}});
    add<RolloutSection>(keys, "rollout", [](Recipe& r) -> RolloutSection& { return r.rollout; },
                        {{"prompts_per_step", &RolloutSection::prompts_per_step, at_least(1)},
                         {"samples_per_prompt", &RolloutSection::samples_per_prompt, at_least(1)},
                         {"max_new", &RolloutSection::max_new, at_least(1)},
                         {"temperature", &RolloutSection::temperature, at_least(0)},
                         {"top_p", &RolloutSection::top_p, up_to(1)},
                         {"top_k", &RolloutSection::top_k, at_least(0)},
                         {"batch_rows", &RolloutSection::batch_rows, at_least(0)},
                         {"page_tokens", &RolloutSection::page_tokens, at_least(1)},
                         {"cache_tokens", &RolloutSection::cache_tokens, at_least(0)},
                         {"truncated_rows", &RolloutSection::truncated_rows, one_of({"keep", "drop"})}});
    add<ObjectiveSection>(
        keys, "objective", [](Recipe& r) -> ObjectiveSection& { return r.objective; },
        {{"name", &ObjectiveSection::name,
          one_of({"kl_reverse", "kl_forward", "jsd", "topk_uniform_tail", "topk_tail_bucket", "topk_renorm",
                  "topk_unnorm_forward", "topk_unnorm_reverse", "topk_const_tail", "k1_pg", "k2_loss",
                  "topk_token_pg", "gopd_pg", "sft"})},
         {"student_temperature", &ObjectiveSection::student_temperature, above(0)},
         {"teacher_temperature", &ObjectiveSection::teacher_temperature, above(0)},
         {"beta", &ObjectiveSection::beta, from_to(0, 1)},
         {"rescale", &ObjectiveSection::rescale},
         {"direction", &ObjectiveSection::direction, one_of({"reverse", "forward", "jsd", "mixed"})},
         {"top_k", &ObjectiveSection::top_k, at_least(1)},
         {"tau_min",
          &ObjectiveSection::tau_min,
          {.low = 0, .high = 1, .low_excluded = true, .high_excluded = true}},
         {"log_floor", &ObjectiveSection::log_floor, {.high = 0, .high_excluded = true}},
         {"t2_factor", &ObjectiveSection::t2_factor},
         {"ratio", &ObjectiveSection::ratio, one_of({"none", "is", "truncated", "ppo_clip"})},
         {"ratio_cap", &ObjectiveSection::ratio_cap, above(0)},
         {"clip_low", &ObjectiveSection::clip_low, from_to(0, 1)},
         {"clip_high", &ObjectiveSection::clip_high, at_least(0)},
         {"dual_clip", &ObjectiveSection::dual_clip, at_least(0)},
         {"coef", &ObjectiveSection::coef, above(0)},
         {"reward_clip", &ObjectiveSection::reward_clip, at_least(0)},
         {"lambda", &ObjectiveSection::lambda, at_least(0)},
         {"base_model", &ObjectiveSection::base_model, path()},
         {"token_weights", &ObjectiveSection::token_weights, one_of({"student_p", "teacher_p", "none"})},
         {"reduction", &ObjectiveSection::reduction,
          one_of(
              {"token_mean_global", "seq_mean_token_sum", "seq_mean_token_mean", "seq_mean_token_sum_norm"})},
         {"skip_first", &ObjectiveSection::skip_first, at_least(0)},
         {"allow_unnormalised", &ObjectiveSection::allow_unnormalised},
         {"allow_stale_updates", &ObjectiveSection::allow_stale_updates},
         {"allow_reason", &ObjectiveSection::allow_reason}});
    add<ClampSection>(
        keys, "objective.clamp", [](Recipe& r) -> ClampSection& { return r.objective.clamp; },
        {{"kind", &ClampSection::kind, one_of({"none", "per_entry", "per_token", "trust_region"})},
         {"c", &ClampSection::c, at_least(0)}});
    add<OptimizerSection>(
        keys, "optimizer", [](Recipe& r) -> OptimizerSection& { return r.optimizer; },
        {{"lr", &OptimizerSection::lr, above(0)},
         {"schedule", &OptimizerSection::schedule, one_of({"constant", "linear", "cosine"})},
         {"warmup", &OptimizerSection::warmup, at_least(0)},
         {"min_lr", &OptimizerSection::min_lr, at_least(0)},
         {"beta1", &OptimizerSection::beta1, below_one()},
         {"beta2", &OptimizerSection::beta2, below_one()},
         {"eps", &OptimizerSection::eps, above(0)},
         {"weight_decay", &OptimizerSection::weight_decay, at_least(0)},
         {"max_norm", &OptimizerSection::max_norm, at_least(0)},
         {"micro_tokens", &OptimizerSection::micro_tokens, at_least(1)},
         {"head_rows", &OptimizerSection::head_rows, at_least(1)},
         {"updates_per_batch", &OptimizerSection::updates_per_batch, at_least(1)},
         {"recompute", &OptimizerSection::recompute, one_of({"none", "layer"})}});
    add<EvaluationSection>(keys, "evaluation", [](Recipe& r) -> EvaluationSection& { return r.evaluation; },
                           {{"data", &EvaluationSection::data, path()},
                            {"every", &EvaluationSection::every, at_least(0)},
                            {"at_start", &EvaluationSection::at_start},
                            {"samples", &EvaluationSection::samples, at_least(1)},
                            {"max_new", &EvaluationSection::max_new, at_least(1)},
                            {"limit", &EvaluationSection::limit, at_least(0)},
                            {"temperature", &EvaluationSection::temperature, at_least(0)},
                            {"top_p", &EvaluationSection::top_p, up_to(1)},
                            {"top_k", &EvaluationSection::top_k, at_least(0)},
                            {"greedy_too", &EvaluationSection::greedy_too},
                            {"until_clear", &EvaluationSection::until_clear},
                            {"confirm", &EvaluationSection::confirm},
                            {"rule", &EvaluationSection::rule, one_of(answer_rules())},
                            {"format_rule", &EvaluationSection::format_rule, one_of(format_rules())},
                            {"percent", &EvaluationSection::percent, one_of({"written", "value"})},
                            {"order", &EvaluationSection::order, one_of({"tuples", "all", "none"})},
                            {"units", &EvaluationSection::units, one_of({"optional", "required"})},
                            {"decimals", &EvaluationSection::decimals, {.low = -1, .high = 40}}});
    add<CheckpointSection>(keys, "checkpoint", [](Recipe& r) -> CheckpointSection& { return r.checkpoint; },
                           {{"every", &CheckpointSection::every, at_least(0)},
                            {"keep_last", &CheckpointSection::keep_last, at_least(1)},
                            {"keep_best", &CheckpointSection::keep_best, at_least(0)},
                            {"metric", &CheckpointSection::metric},
                            {"export_at_end", &CheckpointSection::export_at_end}});
    add<RecordSection>(keys, "record", [](Recipe& r) -> RecordSection& { return r.record; },
                       {{"rollouts", &RecordSection::rollouts},
                        {"top16", &RecordSection::top16},
                        {"byte_budget", &RecordSection::byte_budget, at_least(0)}});
    add<ProvenanceSection>(keys, "provenance", [](Recipe& r) -> ProvenanceSection& { return r.provenance; },
                           {{"source", &ProvenanceSection::source},
                            {"reported", &ProvenanceSection::reported},
                            {"stated", &ProvenanceSection::stated},
                            {"assumed", &ProvenanceSection::assumed},
                            {"disagreements", &ProvenanceSection::disagreements},
                            {"warning", &ProvenanceSection::warning}});
    return keys;
}

/// What other programs call our keys; too far from ours for an edit distance.
const std::map<std::string, std::string>& names_elsewhere() {
    static const std::map<std::string, std::string> names{
        {"learning_rate", "optimizer.lr"},
        {"lr_scheduler_type", "optimizer.schedule"},
        {"warmup_steps", "optimizer.warmup"},
        {"max_grad_norm", "optimizer.max_norm"},
        {"grad_clip", "optimizer.max_norm"},
        {"adam_epsilon", "optimizer.eps"},
        {"max_steps", "run.steps"},
        {"batch_size", "rollout.prompts_per_step"},
        {"train_batch_size", "rollout.prompts_per_step"},
        {"num_generations", "rollout.samples_per_prompt"},
        {"rollout_n", "rollout.samples_per_prompt"},
        {"max_tokens", "rollout.max_new"},
        {"max_new_tokens", "rollout.max_new"},
        {"max_completion_length", "rollout.max_new"},
        {"max_response_length", "rollout.max_new"},
        {"enable_thinking", "data.thinking"},
        {"loss_mode", "objective.name"},
        {"loss", "objective.name"},
        {"loss_agg_mode", "objective.reduction"},
        {"jsd_token_clip", "objective.clamp.c"},
        {"lora_r", "student.lora.rank"},
        {"lora_alpha", "student.lora.alpha"},
    };
    return names;
}

bool within(const Limits& limits, double value) {
    return std::isfinite(value) && (limits.low_excluded ? value > limits.low : value >= limits.low) &&
           (limits.high_excluded ? value < limits.high : value <= limits.high);
}

std::string number(double value) {
    char text[32];
    return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

std::string range(const Limits& limits) {
    const bool low = std::isfinite(limits.low), high = std::isfinite(limits.high);
    std::string text;
    if (low) text += (limits.low_excluded ? " above " : " of at least ") + number(limits.low);
    if (low && high) text += " and";
    if (high) text += (limits.high_excluded ? " below " : " at most ") + number(limits.high);
    return text;
}

} // namespace

const std::vector<Key>& recipe_keys() {
    static const std::vector<Key> keys = table();
    return keys;
}

const Key* find_key(std::string_view path) {
    for (const Key& key : recipe_keys()) {
        if (key.path() == path) return &key;
    }
    return nullptr;
}

std::string expected(const Key& key) {
    Recipe any;
    const Value value = key.at(any);
    const std::string allowed = join(key.limits.allowed, ", ");
    if (std::holds_alternative<bool*>(value)) return "true or false";
    if (std::holds_alternative<std::vector<std::string>*>(value)) {
        return allowed.empty() ? "a list of texts" : "a list of any of " + allowed;
    }
    if (std::holds_alternative<std::string*>(value)) {
        if (key.limits.is_deadline) return "a time like \"11h35m\" or a date like \"2026-12-24 18:00\"";
        return allowed.empty() ? "a text in quotes" : "one of " + allowed;
    }
    if (std::holds_alternative<uint64_t*>(value)) return "a whole number from 0 to 2^63-1";
    return (std::holds_alternative<double*>(value) ? "a number" : "a whole number") + range(key.limits);
}

Result<void> check_value(const Key& key, const Recipe& recipe, const std::string& where) {
    Recipe copy = recipe;
    const Limits& limits = key.limits;
    const auto allowed = [&](const std::string& text) {
        return limits.allowed.empty() ||
               std::find(limits.allowed.begin(), limits.allowed.end(), text) != limits.allowed.end();
    };
    const auto fault = [&](const std::string& found, const std::string& remedy = {}) {
        return Result<void>(
            Error{key.path() + ": found " + found + ", expected " + expected(key), where, remedy});
    };
    const auto near = [&](const std::string& text) {
        const std::string close = nearest(text, limits.allowed);
        return close.empty() ? close : "nearest is '" + close + "'";
    };
    const Value value = key.at(copy);
    if (const auto* text = std::get_if<std::string*>(&value)) {
        if (!allowed(**text)) return fault(stillroom::quoted(**text), near(**text));
        if (limits.is_deadline && !deadline_at(**text, 0)) return fault(stillroom::quoted(**text));
    } else if (const auto* texts = std::get_if<std::vector<std::string>*>(&value)) {
        for (const std::string& text : **texts) {
            if (!allowed(text)) return fault(stillroom::quoted(text), near(text));
        }
    } else if (const auto* whole = std::get_if<int64_t*>(&value)) {
        if (!within(limits, double(**whole))) return fault(shown(key, recipe));
    } else if (const auto* unsigned_whole = std::get_if<uint64_t*>(&value)) {
        if (**unsigned_whole > uint64_t(std::numeric_limits<int64_t>::max()))
            return fault(shown(key, recipe));
    } else if (const auto* real = std::get_if<double*>(&value)) {
        if (!within(limits, **real)) return fault(shown(key, recipe));
    }
    return {};
}

std::string shown(const Key& key, const Recipe& recipe) {
    Recipe copy = recipe;
    const Value value = key.at(copy);
    if (const auto* text = std::get_if<std::string*>(&value)) return **text;
    if (const auto* flag = std::get_if<bool*>(&value)) return **flag ? "true" : "false";
    if (const auto* whole = std::get_if<int64_t*>(&value)) return std::to_string(**whole);
    if (const auto* whole = std::get_if<uint64_t*>(&value)) return std::to_string(**whole);
    if (const auto* real = std::get_if<double*>(&value)) return number(**real);
    return join(*std::get<std::vector<std::string>*>(value), ", ");
}

std::string unknown_key(const std::string& section, const std::string& name) {
    std::vector<std::string> here;
    std::string elsewhere;
    for (const Key& key : recipe_keys()) {
        if (key.section == section) {
            here.push_back(key.name);
        } else if (key.name == name && elsewhere.empty()) {
            elsewhere = key.path();
        }
    }
    const std::string path = section.empty() ? name : section + "." + name;
    std::string close = nearest(name, here);
    if (const auto known = names_elsewhere().find(name); known != names_elsewhere().end()) {
        const Key* key = find_key(known->second);
        close = key->section == section ? key->name : key->path();
    } else if (close.empty()) {
        close = elsewhere;
    }
    if (close.empty()) return "unknown key '" + path + "', known here are " + join(here, ", ");
    return "unknown key '" + path + "', nearest is '" + close + "'";
}

} // namespace stillroom::formats
