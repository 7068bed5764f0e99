// SPDX-License-Identifier: GPL-3.0-or-later
#include "eval/evaluate.h"

#include "eval/votes.h"
#include "stats/majority.h"
#include "stats/pass_at_k.h"
#include "stats/rates.h"
#include "stats/summary.h"

#include <chrono>
#include <iterator>
#include <limits>
#include <map>

namespace stillroom::eval {

namespace {

// Evaluations draw under steps that training never reaches.
constexpr int64_t evaluation_step = int64_t{1} << 30;

void put(record::Metrics& metrics, const std::string& name, const std::optional<double>& value) {
    metrics[name] = value.value_or(std::numeric_limits<double>::quiet_NaN());
}

} // namespace

std::vector<stats::Question> questions_of(const std::vector<record::EvaluationAnswer>& answers) {
    std::vector<stats::Question> questions;
    std::map<std::string, size_t> places;
    for (const auto& answer : answers) {
        const auto [place, fresh] = places.try_emplace(answer.question, questions.size());
        if (fresh) questions.push_back({answer.question, answer.gold, {}});
        stats::Sample sample;
        sample.outcome = answer.verdict == "equal"     ? stats::Outcome::Right
                         : answer.verdict == "unknown" ? stats::Outcome::Undecided
                                                       : stats::Outcome::Wrong;
        sample.has_answer = answer.format_ok;
        sample.truncated = answer.finish_reason == "length";
        sample.tokens = answer.length;
        if (!answer.extracted.empty()) sample.answer = answer.extracted;
        questions[place->second].samples.push_back(std::move(sample));
    }
    return questions;
}

void grade(std::vector<record::EvaluationAnswer>& answers, const Protocol& protocol) {
    for (record::EvaluationAnswer& answer : answers) {
        const maths::Judgement judgement =
            maths::check(answer.text, answer.gold, protocol.rule, protocol.policy);
        answer.verdict = maths::to_string(judgement.verdict);
        answer.why = judgement.why;
        answer.extracted = judgement.extracted.value_or("");
        answer.format_ok = maths::extract(answer.text, protocol.format_rule).has_value();
    }
}

record::Metrics score(const std::vector<record::EvaluationAnswer>& answers) {
    record::Metrics metrics;
    const auto questions = questions_of(answers);
    const auto counts = stats::counts_of(questions);
    const auto summary = stats::summarise(counts);
    put(metrics, "eval_avg_at_n", summary.avg);
    put(metrics, "eval_pooled", summary.pooled);
    put(metrics, "se_clustered", summary.se_clustered);
    put(metrics, "se_pooled", summary.se_pooled);
    put(metrics, "se_sampling", summary.se_sampling);
    put(metrics, "se_naive", summary.se_naive);
    put(metrics, "design_effect", summary.design_effect);
    if (summary.interval_t95) {
        metrics["interval_low"] = summary.interval_t95->low;
        metrics["interval_high"] = summary.interval_t95->high;
    }
    metrics["questions"] = double(summary.questions);
    metrics["samples"] = double(summary.samples);
    const auto rates = stats::rates_of(questions);
    put(metrics, "eval_format_rate", rates.format_rate);
    put(metrics, "eval_truncated_fraction", rates.truncated_fraction);
    put(metrics, "eval_undecided_fraction", rates.undecided_fraction);
    put(metrics, "eval_accuracy_given_finished", rates.correct_given_finished);
    put(metrics, "eval_accuracy_given_format", rates.correct_given_answer);
    put(metrics, "eval_length_mean", rates.lengths.mean);
    put(metrics, "eval_length_p50", rates.lengths.p50);
    put(metrics, "eval_length_p95", rates.lengths.p95);
    put(metrics, "eval_length_max", rates.lengths.max);
    put(metrics, "eval_length_right", rates.lengths.mean_right);
    put(metrics, "eval_length_wrong", rates.lengths.mean_wrong);
    if (rates.undecided_fraction.value_or(0) > 0) {
        const auto upper = stats::counts_of(questions, stats::Undecided::AsRight);
        put(metrics, "eval_avg_at_n_upper", stats::summarise(upper).avg);
    }
    for (const int64_t k : stats::usual_k(counts)) {
        const auto pass = stats::pass_at_k(counts, k);
        put(metrics, "eval_pass_at_" + std::to_string(k), pass.value);
        put(metrics, "se_pass_at_" + std::to_string(k), pass.se_clustered);
    }
    std::vector<stats::Votes> votes;
    for (const auto& question : questions) votes.push_back(votes_of(question));
    for (const int64_t k : stats::usual_k(counts)) {
        if (k == 1) continue; // maj@1 is avg@n
        const auto majority = stats::majority_at_k(votes, k);
        put(metrics, "eval_maj_at_" + std::to_string(k), majority.value);
        put(metrics, "se_maj_at_" + std::to_string(k), majority.se_clustered);
    }
    return metrics;
}

namespace {

record::EvaluationAnswer answer_of(const rollout::Rollout& rollout, const data::Example& question,
                                   const model::Model& model) {
    record::EvaluationAnswer answer;
    answer.question = question.id;
    answer.sample = rollout.request.sample;
    answer.length = int64_t(rollout.ids.size());
    answer.finish_reason = rollout::to_string(rollout.finish);
    answer.text = model.tokenizer->decode(rollout.ids, /*skip_special=*/true);
    answer.gold = question.answer;
    answer.ids = rollout.ids;
    double logprob = 0;
    for (const float value : rollout.logprobs) logprob += value;
    answer.mean_logprob = rollout.ids.empty() ? 0 : logprob / double(rollout.ids.size());
    return answer;
}

} // namespace

Result<record::EvaluationRecord> evaluate(rollout::Generator& generator, const model::Model& model,
                                          const teacher::PromptBuilder& prompts,
                                          const std::vector<data::Example>& questions,
                                          const Protocol& protocol, const EvaluationProgress& progress,
                                          const AfterRound& after_round) {
    const auto started = std::chrono::steady_clock::now();
    std::vector<std::vector<int32_t>> ids;
    for (const auto& question : questions) {
        auto prompt = prompts.student_prompt(question);
        if (!prompt) return prompt.error();
        ids.push_back(std::move(*prompt));
    }
    rollout::SamplingPolicy policy;
    policy.temperature = protocol.temperature;
    policy.top_k = protocol.top_k;
    policy.top_p = protocol.top_p;
    policy.max_new = protocol.max_new;
    policy.eos_ids = protocol.eos_ids;
    policy.seed = protocol.seed;

    record::EvaluationRecord evaluation;
    evaluation.protocol = to_json(protocol).dump();
    evaluation.protocol_hash = protocol_hash(protocol);
    const int64_t total = int64_t(questions.size()) * protocol.samples;
    const int64_t at_once = after_round ? 1 : protocol.samples; // rounds
    int64_t tokens = 0;
    bool cancelled = false;
    for (int64_t round = 0; round < protocol.samples && !cancelled; round += at_once) {
        std::vector<rollout::Request> requests;
        for (int64_t sample = round; sample < round + at_once; ++sample) {
            for (size_t q = 0; q < questions.size(); ++q) {
                requests.push_back({ids[q], evaluation_step, questions[q].index, sample, 0});
            }
        }
        const int64_t before = int64_t(evaluation.answers.size()), tokens_before = tokens;
        auto rollouts = generator.generate(requests, policy, nullptr, [&](int64_t finished, int64_t sampled) {
            cancelled = progress && !progress(before + finished, total, tokens_before + sampled);
            return !cancelled;
        });
        if (!rollouts) return rollouts.error();
        std::vector<record::EvaluationAnswer> answers;
        for (size_t i = 0; i < rollouts->size(); ++i) {
            if ((*rollouts)[i].finish == rollout::Finish::Cancelled) continue;
            answers.push_back(answer_of((*rollouts)[i], questions[i % questions.size()], model));
            tokens += answers.back().length;
        }
        grade(answers, protocol);
        std::move(answers.begin(), answers.end(), std::back_inserter(evaluation.answers));
        if (after_round && !after_round(evaluation.answers)) break;
    }
    evaluation.metrics = score(evaluation.answers);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    evaluation.metrics["eval_seconds"] = seconds;
    evaluation.metrics["eval_tokens_per_second"] = double(tokens) / seconds;
    return evaluation;
}

} // namespace stillroom::eval
