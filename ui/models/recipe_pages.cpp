// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/recipe_pages.h"

namespace stillroom::ui {

const std::vector<RecipePage>& recipe_pages() {
    static const std::vector<RecipePage> pages{
        {"recipe",
         "Recipe",
         {{"run.name", "Name", "Name of the run and of its folder."},
          {"run.seed", "Seed", "Seed of every random stream, 0 to 2^63-1."},
          {"provenance.source", "Source", "Where the recipe comes from."},
          {"provenance.reported", "Reported", "The result that the source reports.", true},
          {"provenance.stated", "Stated", "What the source states; one item a line.", true},
          {"provenance.assumed", "Assumed", "What was filled in where the source is silent; one item a line.",
           true},
          {"provenance.disagreements", "Disagreements",
           "Where a paper, its code and its defaults differ; one item a line.", true},
          {"provenance.warning", "Warning", "Shown wherever the recipe is offered.", true}}},
        {"models",
         "Models",
         {{"student.model", "Student", "Hugging Face folder, checkpoint folder or .gguf file."},
          {"student.trainable", "Trained weights", "full: all weights; lora: low-rank adapters only."},
          {"student.init", "Start from", "pretrained weights, or random ones for the model's config.json."},
          {"student.dtype", "Number type", "auto takes what the device computes best."},
          {"student.lora.rank", "LoRA rank", "Rank of the adapters."},
          {"student.lora.alpha", "LoRA alpha", "Adapters are scaled by alpha / rank."},
          {"student.lora.targets", "LoRA targets", "Projections that get an adapter."},
          {"teacher.kind", "Teacher kind",
           "separate: its own weights; self_frozen: the student at the start; self_ema: a running average; "
           "self_live: the student itself; none: learn given solutions (sft)."},
          {"teacher.model", "Teacher", "Hugging Face folder or .gguf file of a separate teacher."},
          {"teacher.ema_decay", "EMA decay", "Share of the old average that each step keeps."},
          {"objective.base_model", "Base model", "Reference weights of gopd_pg where lambda is not 1."}}},
        {"data",
         "Data",
         {{"data.files", "Training files", "JSON lines; one file a line.", true},
          {"data.problem", "Problem column", "Column of the question."},
          {"data.solution", "Solution column", "Column of the worked solution."},
          {"data.answer", "Answer column", "Column of the final answer."},
          {"data.messages", "Messages column", "Column of a chat, used where a row has it."},
          {"data.id", "Id column", "Column of a question's name; empty: its line number."},
          {"data.target", "Target column", "sft: column of the text to learn; empty: the solution."},
          {"data.system", "System message", "Empty: what the chat template does by itself.", true},
          {"data.instruction", "Instruction", "How to write the answer; appended to the user turn.", true},
          {"data.user", "User turn", "With {problem} and {instruction}.", true},
          {"data.order", "Order", "shuffled: by the seed, anew each epoch; file: as they stand."},
          {"data.limit", "Rows used", "The first so many rows; 0: all."},
          {"data.max_prompt", "Longest prompt",
           "Tokens; longer prompts are dropped and counted. 0: the context less the response cap."},
          {"data.strip_calculator", "Remove <<...>>", "Removes GSM8K's calculator marks from solutions."},
          {"data.thinking", "Thinking", "enable_thinking of the student's prompt."},
          {"data.rule", "Answer rule", "How the answer is taken out of a training rollout."},
          {"data.format_rule", "Format rule",
           "What counts as an answer in the asked form; empty: what the answer rule finds."}}},
        {"teacher",
         "Teacher context",
         {{"teacher.context", "Teacher sees",
           "none: the problem alone; wrong-answer is a control; custom: the template below."},
          {"teacher.template", "Template", "For custom: {problem} {solution} {answer} {instruction}.", true},
          {"teacher.thinking", "Thinking", "enable_thinking of the teacher's prompt."},
          {"teacher.score_without_answer", "Also without answer",
           "Share of rollouts that the teacher also scores without the answer (the gain); costs its time."},
          {"teacher.max_prompt", "Longest prompt",
           "Tokens; solutions are shortened to fit. 0: the teacher's context less the response cap."},
          {"teacher.allow_prefix_difference", "Allow other ending",
           "The two prompts may end in different generation prefixes."},
          {"data.context_share", "Context share", "sft: share of prompts that show the context."}}},
        {"rollouts",
         "Rollouts",
         {{"rollout.prompts_per_step", "Prompts a step", "Questions sampled in each step."},
          {"rollout.samples_per_prompt", "Samples a prompt", "Answers sampled to each."},
          {"rollout.max_new", "Length cap", "Most tokens of an answer."},
          {"rollout.temperature", "Temperature", "Of sampling; 0 is greedy."},
          {"rollout.top_p", "top_p", "Keeps the likeliest tokens up to this mass; 1: off."},
          {"rollout.top_k", "top_k", "Keeps so many of the likeliest tokens; 0: off."},
          {"rollout.truncated_rows", "Truncated answers", "keep: they are learnt from; drop: they are not."},
          {"rollout.batch_rows", "Rows at once", "Answers decoded at once; 0: chosen by memory."},
          {"rollout.page_tokens", "Page size", "Tokens a page of the cache."},
          {"rollout.cache_tokens", "Cache size", "Tokens of the whole cache; 0: chosen by memory."}}},
        {"objective",
         "Objective",
         {{"objective.name", "Objective", "What is minimised; its formula stands above."},
          {"objective.direction", "Direction", "Of the top-k divergences."},
          {"objective.top_k", "Top k", "How many of a model's tokens the top-k family looks at."},
          {"objective.student_temperature", "Student temperature", "Divides the student's logits."},
          {"objective.teacher_temperature", "Teacher temperature", "Divides the teacher's logits."},
          {"objective.clamp.kind", "Clamp", "What is limited to the size below."},
          {"objective.clamp.c", "Clamp size", "Nats; 0: off."},
          {"objective.reduction", "Weighting", "How rows are averaged over tokens and sequences."},
          {"objective.skip_first", "Skip first", "Response tokens at the start that are not learnt from."},
          {"objective.beta", "Beta", "Of jsd: the mixture's share."},
          {"objective.rescale", "Rescale", "Of jsd: divided by beta (1 - beta)."},
          {"objective.tau_min", "Smallest tail", "Of topk_uniform_tail: the least mass of the tail."},
          {"objective.log_floor", "Floor", "Of topk_const_tail: log-prob of every other token."},
          {"objective.t2_factor", "Times T squared", "Multiplies the loss by the squared temperature."},
          {"objective.ratio", "Importance ratio", "Of the policy gradients: is, truncated or ppo_clip."},
          {"objective.ratio_cap", "Ratio cap", "Of ratio truncated."},
          {"objective.clip_low", "Clip below", "Of ppo_clip: 1 minus this."},
          {"objective.clip_high", "Clip above", "Of ppo_clip: 1 plus this."},
          {"objective.dual_clip", "Dual clip", "Of ppo_clip, for negative advantages; 0: off."},
          {"objective.coef", "Coefficient", "Of k1_pg."},
          {"objective.reward_clip", "Reward clip", "Nats, both sides; 0: off."},
          {"objective.lambda", "Lambda", "Of gopd_pg: above 1 goes beyond the teacher."},
          {"objective.token_weights", "Token weights", "Of topk_token_pg."},
          {"objective.allow_unnormalised", "Allow unnormalised",
           "Allows an objective that doesn't come to rest at the teacher; needs the reason below."},
          {"objective.allow_stale_updates", "Allow stale updates",
           "Allows later updates on a batch that nothing corrects for; needs the reason below."},
          {"objective.allow_reason", "Reason", "Why either is wanted; kept with the run.", true}}},
        {"optimiser",
         "Optimiser",
         {{"optimizer.lr", "Learning rate", "Of AdamW."},
          {"optimizer.schedule", "Schedule", "constant; linear or cosine down to the lowest rate."},
          {"optimizer.warmup", "Warm-up", "Steps from 0 to the full rate."},
          {"optimizer.min_lr", "Lowest rate", "Where linear and cosine end."},
          {"optimizer.beta1", "Beta 1", "Decay of the first moment."},
          {"optimizer.beta2", "Beta 2", "Decay of the second moment."},
          {"optimizer.eps", "Epsilon", "Of AdamW's denominator."},
          {"optimizer.weight_decay", "Weight decay", "0: none."},
          {"optimizer.max_norm", "Gradient clip", "Largest norm of the gradient; 0: none."},
          {"optimizer.updates_per_batch", "Updates a step", "Optimiser updates on one batch of rollouts."},
          {"optimizer.micro_tokens", "Micro-batch", "Tokens of prompt and response at once."},
          {"optimizer.head_rows", "Head chunk", "Rows of logits at once."},
          {"optimizer.recompute", "Recompute", "layer: activations are made again in the backward pass."}}},
        {"evaluation",
         "Evaluation",
         {{"evaluation.data", "Questions", "JSON lines; empty: no evaluation."},
          {"evaluation.every", "Every", "Steps; 0: at the start and the end only."},
          {"evaluation.at_start", "At start", "The student is evaluated before it learns."},
          {"evaluation.samples", "Samples", "Answers to each question."},
          {"evaluation.limit", "Questions used", "The first so many; 0: all."},
          {"evaluation.max_new", "Length cap", "Most tokens of an answer."},
          {"evaluation.temperature", "Temperature", "Of sampling; 0 is greedy."},
          {"evaluation.top_p", "top_p", "1: off."},
          {"evaluation.top_k", "top_k", "0: off."},
          {"evaluation.greedy_too", "Greedy too", "A second evaluation at temperature 0."},
          {"evaluation.until_clear", "Until clear",
           "An evaluation ends after the round in which it clearly differs from the first (p < 0.001)."},
          {"evaluation.confirm", "Confirm the best",
           "Time left before the deadline goes to the best checkpoint, with another seed."},
          {"evaluation.rule", "Answer rule", "How the answer is taken out of the text."},
          {"evaluation.format_rule", "Format rule",
           "What counts as an answer in the asked form; empty: what the answer rule finds."},
          {"evaluation.percent", "Percent", "written: 10% is 10; value: 10% is 0.1."},
          {"evaluation.order", "Order", "Whose order counts: tuples, all (lists too), none."},
          {"evaluation.units", "Units", "required: a unit that one side leaves out is a difference."},
          {"evaluation.decimals", "Decimals", "Accept a decimal rounded to so many places; -1: exact."}}},
        {"keep",
         "Keep and save",
         {{"checkpoint.every", "Checkpoint every", "Steps; 0: at the end only."},
          {"checkpoint.keep_last", "Keep last", "So many of the newest."},
          {"checkpoint.keep_best", "Keep best", "So many of the best by the metric below."},
          {"checkpoint.metric", "Best by", "An evaluation's metric."},
          {"checkpoint.export_at_end", "Export at the end", "A Hugging Face folder in the run's folder."},
          {"record.rollouts", "Record tokens", "Ids and values of every rollout's tokens."},
          {"record.top16", "Record top-16", "The 16 likeliest tokens of both models, of some rollouts."},
          {"record.byte_budget", "Budget", "Bytes kept for rollouts; 0: no limit."}}},
        {"limits",
         "Limits",
         {{"run.steps", "Steps", "Optimiser steps of the run."},
          {"run.deadline", "Deadline", "11h35m after the start, or 2026-12-24 18:00; empty: none."},
          {"run.save_reserve", "Reserve to save",
           "Seconds before the deadline kept for the last save; 0: measured at the first."}}}};
    return pages;
}

int page_of(const std::string& key) {
    for (size_t page = 0; page < recipe_pages().size(); ++page)
        for (const PageField& field : recipe_pages()[page].fields)
            if (field.key == key) return int(page);
    return 0;
}

QString unused_because(const std::string& key, const formats::Recipe& recipe) {
    const auto& objective = recipe.objective;
    const std::string& name = objective.name;
    const bool sft = name == "sft", policy = name.ends_with("_pg"), top = name.starts_with("topk_");
    struct Rule {
        const char* key; // or a prefix that ends with a dot
        bool used;
        const char* why;
    };
    const Rule rules[] = {
        {"student.lora.", recipe.student.trainable == "lora", "all weights are trained"},
        {"teacher.model", recipe.teacher.kind == "separate", "the teacher has no weights of its own"},
        {"teacher.ema_decay", recipe.teacher.kind == "self_ema", "the teacher is no running average"},
        {"teacher.template", recipe.teacher.context == "custom", "the teacher's context is not custom"},
        {"teacher.score_without_answer", recipe.teacher.context != "none", "the teacher sees no answer"},
        {"data.context_share", sft, "the objective is not sft"},
        {"data.target", sft, "the objective is not sft"},
        {"objective.base_model", name == "gopd_pg", "the objective is not gopd_pg"},
        {"objective.lambda", name == "gopd_pg", "the objective is not gopd_pg"},
        {"objective.direction", name == "topk_tail_bucket" || name == "topk_renorm",
         "this objective has one direction"},
        {"objective.top_k", top, "the objective has no top k"},
        {"objective.beta", name == "jsd" || objective.direction == "jsd", "the objective is not jsd"},
        {"objective.rescale", name == "jsd" || objective.direction == "jsd", "the objective is not jsd"},
        {"objective.tau_min", name == "topk_uniform_tail", "the objective has no uniform tail"},
        {"objective.log_floor", name == "topk_const_tail", "the objective has no constant tail"},
        {"objective.clamp.", !policy && !sft && name != "k2_loss", "the clamp is for divergences"},
        {"objective.clamp.c", objective.clamp.kind != "none", "there is no clamp"},
        {"objective.ratio", policy, "the objective is no policy gradient"},
        {"objective.ratio_cap", policy && objective.ratio == "truncated", "the ratio is not truncated"},
        {"objective.clip_low", policy && objective.ratio == "ppo_clip", "the ratio is not ppo_clip"},
        {"objective.clip_high", policy && objective.ratio == "ppo_clip", "the ratio is not ppo_clip"},
        {"objective.dual_clip", policy && objective.ratio == "ppo_clip", "the ratio is not ppo_clip"},
        {"objective.coef", name == "k1_pg", "the objective is not k1_pg"},
        {"objective.reward_clip", policy, "the objective is no policy gradient"},
        {"objective.token_weights", name == "topk_token_pg", "the objective is not topk_token_pg"},
        {"optimizer.min_lr", recipe.optimizer.schedule != "constant", "the schedule is constant"},
        {"evaluation.", !recipe.evaluation.data.empty(), "no questions are given"},
        {"checkpoint.metric", !recipe.evaluation.data.empty(), "nothing is evaluated"},
        {"checkpoint.keep_best", !recipe.evaluation.data.empty(), "nothing is evaluated"},
        {"record.top16", recipe.record.rollouts, "no rollout is recorded"},
        {"run.save_reserve", !recipe.run.deadline.empty(), "there is no deadline"}};
    if (key == "evaluation.data") return {};
    for (const Rule& rule : rules) {
        const std::string_view pattern = rule.key;
        const bool fits = pattern.ends_with('.') ? key.starts_with(pattern) : key == pattern;
        if (fits && !rule.used) return QString::fromUtf8(rule.why);
    }
    return {};
}

QString formula_of(const formats::Recipe& recipe) {
    const auto& objective = recipe.objective;
    const QString k = QString::number(objective.top_k);
    const QString direction = objective.direction == "forward" ? "forward KL"
                              : objective.direction == "jsd"   ? "Jensen-Shannon divergence"
                                                               : "reverse KL";
    const std::map<std::string, QString> formulas{
        {"kl_reverse", "reverse KL, exact: Σ pS (log pS - log pT) over the whole vocabulary"},
        {"kl_forward", "forward KL, exact: Σ pT (log pT - log pS) over the whole vocabulary"},
        {"jsd", QString("Jensen-Shannon divergence, exact, with β = %1").arg(objective.beta)},
        {"topk_uniform_tail",
         "Σ pS (log pS - log qT): qT is the teacher's top " + k + " and the rest of its mass spread evenly"},
        {"topk_tail_bucket", direction + " over the teacher's top " + k + " and one bucket for all others"},
        {"topk_renorm", direction + " over the teacher's top " + k + ", both renormalised there"},
        {"topk_unnorm_forward", "Σ pT (log pT - log pS) over the teacher's top " + k + ", not normalised"},
        {"topk_unnorm_reverse", "Σ pS (log pS - log pT) over the teacher's top " + k + ", not normalised"},
        {"topk_const_tail", "Σ pS (log pS - log qT): qT is the teacher's top " + k +
                                QString(", and log-prob %1 elsewhere").arg(objective.log_floor)},
        {"k1_pg", "policy gradient with the reward log pT(y) - log pS(y) of each sampled token"},
        {"k2_loss", "½ (log pS(y) - log pT(y))² of each sampled token"},
        {"topk_token_pg",
         "policy gradient with the reward log pT - log pS on the student's top " + k + " tokens"},
        {"gopd_pg", QString("policy gradient towards the teacher's change of its base, times λ = %1")
                        .arg(objective.lambda)},
        {"sft", "-log pS(y) of the given solutions"}};
    const auto found = formulas.find(objective.name);
    return found == formulas.end() ? QString::fromStdString(objective.name) : found->second;
}

} // namespace stillroom::ui
