// SPDX-License-Identifier: GPL-3.0-or-later
// The step: prompts, rollouts, the teacher's view, the gradient, the update.
#include "maths/verdict.h"
#include "model/golden_texts.h"
#include "train/rollout_metrics.h"
#include "train/schedule.h"
#include "train/step_metrics.h"
#include "train/trainer.h"
#include "train/work_metrics.h"

#include <cmath>

namespace stillroom::train {

namespace {

record::RolloutRecord record_of(const Sequence& sequence, int64_t step, const text::Tokenizer& tokenizer,
                                const formats::DataSection& data, bool sampled) {
    record::RolloutRecord rollout;
    rollout.step = step;
    rollout.prompt = sequence.prompt->index;
    rollout.prompt_id = sequence.prompt->id;
    rollout.sample = sequence.rollout.request.sample;
    rollout.problem = sequence.prompt->problem;
    rollout.gold = sequence.prompt->gold;
    rollout.prompt_ids = sequence.prompt->student_ids;
    rollout.teacher_prompt_ids = sequence.prompt->teacher_ids;
    rollout.text = tokenizer.decode(sequence.rollout.ids, /*skip_special=*/true);
    rollout.finish_reason = sampled ? rollout::to_string(sequence.rollout.finish) : "given";
    if (!sampled) return rollout;
    const maths::Rule rule = maths::parse_rule(data.rule).value();
    rollout.extracted = maths::extract(rollout.text, rule).value_or("");
    rollout.format_ok =
        maths::extract(rollout.text, maths::parse_rule(data.format_rule).value_or(rule)).has_value();
    if (rollout.gold.empty()) return rollout;
    const maths::Judgement judgement = maths::check(rollout.text, rollout.gold, rule);
    rollout.verdict = maths::to_string(judgement.verdict);
    rollout.why = judgement.why;
    return rollout;
}

// The sequences of update `u` of `updates`: whole prompts, in order, as even as they go.
std::vector<Sequence> mini_batch(const std::vector<Sequence>& sequences, int64_t samples, int64_t u,
                                 int64_t updates) {
    const int64_t prompts = int64_t(sequences.size()) / samples;
    const int64_t begin = prompts * u / updates * samples, end = prompts * (u + 1) / updates * samples;
    return {sequences.begin() + begin, sequences.begin() + end};
}

// think_balance_rate: a template may open the part at the end of the prompt, or close it there at once.
double think_balance_rate(const std::vector<record::RolloutRecord>& rollouts,
                          const text::Tokenizer& tokenizer) {
    double balanced = 0;
    for (const auto& rollout : rollouts) {
        const auto& prompt = rollout.prompt_ids;
        const size_t tail = std::min<size_t>(prompt.size(), 8);
        balanced += is_think_balanced(
            tokenizer.decode({prompt.end() - ptrdiff_t(tail), prompt.end()}, /*skip_special=*/false),
            rollout.text);
    }
    return balanced / double(rollouts.size());
}

} // namespace

record::Metrics Trainer::efficiency(const std::vector<Sequence>& sequences,
                                    std::span<const record::RolloutRecord> rollouts,
                                    const rollout::GenerationReport& generation, double passes,
                                    const PhaseClock& clock) const {
    record::Metrics metrics;
    if (!peaks_) return metrics;
    Work student, teacher;
    for (size_t b = 0; b < sequences.size(); ++b) {
        const auto& prompt = *sequences[b].prompt;
        const int64_t L = sequences[b].length();
        student.add(int64_t(prompt.student_ids.size()), L);
        if (!spec_.needs_teacher()) continue;
        teacher.add(int64_t(prompt.teacher_ids.size()), L);
        if (!rollouts[b].tokens.teacher_plain_logprob.empty())
            teacher.add(int64_t(prompt.teacher_plain_ids.size()), L);
    }
    const auto& config = student_.config;
    add_mfu(metrics, "mfu_learn", 3 * passes * forward_flops(config, student), clock.seconds(Phase::Learn),
            *peaks_);
    if (teacher_) {
        double flops = forward_flops(teacher_->weights().config, teacher);
        if (base_) flops += forward_flops(base_->config, student);
        add_mfu(metrics, "mfu_teacher", passes * flops, clock.seconds(Phase::Teacher), *peaks_);
    }
    if (generation.decode_steps > 0) {
        const int64_t looked_up = config.tied ? 0 : config.vocab * config.hidden; // one row a token
        add_mbu(metrics, generation,
                double((student_.weights.flat.numel() - looked_up) * student_.weights.flat.element_size()),
                clock.seconds(Phase::Rollout), *peaks_);
    }
    return metrics;
}

Result<StepReport> Trainer::step(int64_t step, const StepProgress& progress) {
    PhaseClock clock(student_.device());
    StepReport report;
    report.step = step;
    const bool sampled = spec_.kind != objective::Kind::Sft;

    std::map<std::string, int64_t> dropped;
    auto prompts = next_prompts(recipe_.rollout.prompts_per_step, step, dropped);
    if (!prompts) return prompts.error();

    clock.enter(Phase::Rollout);
    rollout::GenerationReport generation;
    auto drawn = sampled ? sample(*prompts, step, generation, progress) : given_answers(*prompts, step);
    if (!drawn) return drawn.error();
    const std::vector<Sequence>& sequences = *drawn;
    clock.enter(Phase::Other);
    for (const Sequence& sequence : sequences) {
        if (sequence.rollout.finish != rollout::Finish::Cancelled) continue;
        report.cancelled = true;
        return report;
    }

    const int64_t updates = recipe_.optimizer.updates_per_batch;
    const double lr = learning_rate(recipe_.optimizer, step, recipe_.run.steps);
    std::optional<OldPolicy> old;
    if (updates > 1 && objective::uses_old_policy(spec_.kind)) {
        auto kept = old_policy(sequences, ResponseRows::of(sequences, recipe_.rollout, recipe_.objective),
                               step, clock, StepProgress());
        if (!kept) return kept.error();
        old = std::move(*kept);
    }
    StepTotals totals(report.metrics);
    for (int64_t u = 0; u < updates; ++u) {
        const auto batch = mini_batch(sequences, recipe_.rollout.samples_per_prompt, u, updates);
        const ResponseRows rows = ResponseRows::of(batch, recipe_.rollout, recipe_.objective);
        Variant variant;
        std::optional<OldPolicy> old_part;
        if (old)
            variant.old =
                &old_part.emplace(old->part(int64_t(report.rollouts.size()), int64_t(batch.size())));
        // Earlier updates of a batch have moved the weights: only before the first can a step be given up.
        auto evaluated = loss_and_gradients(batch, rows, gradients_, step, clock,
                                            u == 0 ? progress : StepProgress(), variant);
        if (!evaluated) return evaluated.error();
        if (evaluated->cancelled) {
            report.cancelled = true;
            return report;
        }

        clock.enter(Phase::Optimise);
        std::optional<UpdateReport> update;
        if (rows.n_global > 0 && evaluated->nonfinite_rows == 0)
            update = optimizer_->apply(gradients_.flat, lr);
        const bool applied = update && update->applied;
        if (applied && teacher_) teacher_->after_update(optimizer_->masters());
        clock.enter(Phase::Other);
        if (applied) {
            report.applied = true;
            counters_.tokens_trained += rows.n_global;
            counters_.sequences_trained += rows.live_sequences;
        } else {
            ++counters_.skipped_steps;
            report.warnings.push_back(rows.n_global == 0
                                          ? "no row to learn from: the update was skipped"
                                          : "a loss or gradient was not finite: the update was skipped");
        }
        totals.add(evaluated->metrics, rows, update);
        for (size_t b = 0; b < batch.size(); ++b) {
            auto rollout = record_of(batch[b], step, *student_.tokenizer, recipe_.data, sampled);
            rollout.tokens = std::move(evaluated->tokens[b]);
            rollout.top16 = std::move(evaluated->top16[b]);
            rollout.means = token_means(rollout.tokens);
            report.rollouts.push_back(std::move(rollout));
        }
    }
    totals.finish();
    auto& metrics = report.metrics;
    metrics["lr"] = lr;
    metrics["skipped_steps"] = double(counters_.skipped_steps);
    metrics["tokens_trained"] = double(counters_.tokens_trained);
    metrics["sequences_trained"] = double(counters_.sequences_trained);
    metrics["policy_lag"] = double(updates - 1);
    if (teacher_ && teacher_->kind() == teacher::Kind::SelfEma) {
        metrics["ema_distance"] = teacher_->ema_distance(optimizer_->masters());
    }
    double all_dropped = 0;
    for (const auto& [reason, count] : dropped) {
        all_dropped += double(count);
        report.warnings.push_back(std::to_string(count) + " prompts dropped: " + reason);
    }
    metrics["dropped_samples"] = all_dropped;
    metrics["golden_nll_student"] = model::golden_nll(student_, real_vocab_);
    if (teacher_) metrics["golden_nll_teacher"] = model::golden_nll(teacher_->weights(), real_vocab_);
    if (sampled && builder_ && builder_->thinks())
        metrics["think_balance_rate"] = think_balance_rate(report.rollouts, *student_.tokenizer);
    metrics.merge(rollout_metrics(report.rollouts, sampled));
    metrics.merge(gain_metrics(report.rollouts));
    if (sampled) metrics.merge(generation_metrics(generation, student_, clock.seconds(Phase::Rollout)));
    clock.enter(Phase::Other);
    metrics.merge(speed_metrics(report.rollouts, metrics["valid_tokens"], clock));
    metrics.merge(efficiency(sequences, report.rollouts, generation, old ? 2 : 1, clock));
    metrics.merge(memory_metrics(*this));
    report.phase_seconds = clock.all();
    return report;
}

} // namespace stillroom::train
