// SPDX-License-Identifier: GPL-3.0-or-later
#include "eval/evaluate.h"

#include "base/hash.h"
#include "eval/votes.h"
#include "maths/verdict.h"
#include "stats/majority.h"
#include "stats/pass_at_k.h"
#include "stats/rates.h"
#include "stats/summary.h"

#include <chrono>
#include <limits>
#include <map>

namespace stillroom::eval {

namespace {

// Evaluations draw under steps that training never reaches.
constexpr int64_t evaluation_step = int64_t{1} << 30;

void put(record::Metrics& metrics, const std::string& name, const std::optional<double>& value) {
    metrics[name] = value.value_or(std::numeric_limits<double>::quiet_NaN());
}

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

} // namespace

nlohmann::json to_json(const Protocol& protocol) {
    return {{"set", protocol.set},
            {"set_sha256", protocol.set_sha256},
            {"question_ids", protocol.question_ids},
            {"n", protocol.samples},
            {"max_new_tokens", protocol.max_new},
            {"temperature", protocol.temperature},
            {"top_p", protocol.top_p},
            {"top_k", protocol.top_k},
            {"min_p", 0},
            {"repetition_penalty", 1},
            {"seed", protocol.seed},
            {"seed_rule", "philox(seed, step, question, sample, position)"},
            {"template_sha256", protocol.template_sha256},
            {"system", protocol.system},
            {"user", protocol.user},
            {"instruction", protocol.instruction},
            {"think_mode", protocol.thinking},
            {"eos_ids", protocol.eos_ids},
            {"stop", nlohmann::json::array()},
            {"grader", maths::to_string(protocol.rule)},
            {"format_rule", maths::to_string(protocol.format_rule)},
            {"grader_version", 1},
            {"dtype", protocol.dtype}};
}

std::string protocol_hash(const Protocol& protocol) {
    auto fields = to_json(protocol);
    fields.erase("seed");
    return sha256(fields.dump());
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

Result<record::EvaluationRecord> evaluate(rollout::Generator& generator, const model::Model& model,
                                          const teacher::PromptBuilder& prompts,
                                          const std::vector<data::Example>& questions,
                                          const Protocol& protocol, const EvaluationProgress& progress) {
    const auto started = std::chrono::steady_clock::now();
    std::vector<rollout::Request> requests;
    std::vector<std::vector<int32_t>> ids;
    for (const auto& question : questions) {
        auto prompt = prompts.student_prompt(question);
        if (!prompt) return prompt.error();
        ids.push_back(std::move(*prompt));
    }
    for (int64_t sample = 0; sample < protocol.samples; ++sample) {
        for (size_t q = 0; q < questions.size(); ++q) {
            requests.push_back({ids[q], evaluation_step, questions[q].index, sample, 0});
        }
    }
    rollout::SamplingPolicy policy;
    policy.temperature = protocol.temperature;
    policy.top_k = protocol.top_k;
    policy.top_p = protocol.top_p;
    policy.max_new = protocol.max_new;
    policy.eos_ids = protocol.eos_ids;
    policy.seed = protocol.seed;
    const int64_t total = int64_t(requests.size());
    auto rollouts = generator.generate(requests, policy, nullptr, [&](int64_t finished, int64_t tokens) {
        return !progress || progress(finished, total, tokens);
    });
    if (!rollouts) return rollouts.error();

    record::EvaluationRecord evaluation;
    evaluation.protocol = to_json(protocol).dump();
    evaluation.protocol_hash = protocol_hash(protocol);
    int64_t tokens = 0;
    for (size_t i = 0; i < rollouts->size(); ++i) {
        const rollout::Rollout& rollout = (*rollouts)[i];
        if (rollout.finish == rollout::Finish::Cancelled) continue;
        const data::Example& question = questions[i % questions.size()];
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
        const maths::Judgement judgement = maths::check(answer.text, answer.gold, protocol.rule);
        answer.verdict = maths::to_string(judgement.verdict);
        answer.why = judgement.why;
        answer.extracted = judgement.extracted.value_or("");
        answer.format_ok = maths::extract(answer.text, protocol.format_rule).has_value();
        tokens += answer.length;
        evaluation.answers.push_back(std::move(answer));
    }
    evaluation.metrics = score(evaluation.answers);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    evaluation.metrics["eval_seconds"] = seconds;
    evaluation.metrics["eval_tokens_per_second"] = double(tokens) / seconds;
    return evaluation;
}

} // namespace stillroom::eval
