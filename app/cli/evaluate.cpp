// SPDX-License-Identifier: GPL-3.0-or-later
// evaluate: sample answers to a set of questions, grade them, report with errors clustered by question.
#include "eval/evaluate.h"
#include "app/cli/command.h"
#include "app/cli/commands.h"
#include "base/hash.h"

#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>

namespace stillroom::cli {

namespace {

struct Options {
    std::string model, data, answers, rule = "boxed_last", format_rule, system, instruction;
    int64_t samples = 1, max_new = 1024, limit = 0, top_k = 0;
    double temperature = 1, top_p = 1;
    bool thinking = false;
    Streams streams;
    DeviceOptions device;
};

void print_table(const record::EvaluationRecord& evaluation) {
    const auto& metrics = evaluation.metrics;
    const auto row = [&](const char* label, const std::string& name, const std::string& error) {
        const auto value = metrics.find(name);
        if (value == metrics.end()) return;
        std::printf("%-24s", label);
        if (std::isnan(value->second)) {
            std::printf("undefined\n");
            return;
        }
        std::printf("%.4f", value->second);
        if (const auto se = metrics.find(error); se != metrics.end() && !std::isnan(se->second))
            std::printf(" +- %.4f SE", se->second);
        std::printf("\n");
    };
    std::printf("%-24s%.0f x %.0f\n", "questions x samples", metrics.at("questions"),
                metrics.at("samples") / metrics.at("questions"));
    row("avg@n", "eval_avg_at_n", "se_clustered");
    if (metrics.contains("eval_avg_at_n_upper")) row("  undecided as right", "eval_avg_at_n_upper", "");
    for (const auto& [name, value] : metrics) {
        for (const std::string kind : {"pass", "maj"}) {
            const std::string prefix = "eval_" + kind + "_at_";
            if (name.starts_with(prefix)) {
                const std::string k = name.substr(prefix.size());
                row((kind + "@" + k).c_str(), name, "se_" + kind + "_at_" + k);
            }
        }
    }
    row("format", "eval_format_rate", "");
    row("truncated", "eval_truncated_fraction", "");
    row("undecided", "eval_undecided_fraction", "");
    row("right given finished", "eval_accuracy_given_finished", "");
    row("length, mean", "eval_length_mean", "");
    row("seconds", "eval_seconds", "");
    std::printf("%-24s%s\n", "protocol", evaluation.protocol_hash.substr(0, 16).c_str());
}

nlohmann::json as_json(const record::EvaluationAnswer& answer) {
    return {{"question", answer.question},
            {"sample", answer.sample},
            {"text", answer.text},
            {"extracted", answer.extracted},
            {"gold", answer.gold},
            {"verdict", answer.verdict},
            {"why", answer.why},
            {"correct", answer.verdict == "equal" ? 1 : 0},
            {"answer", answer.format_ok ? nlohmann::json(answer.extracted) : nlohmann::json()},
            {"format", answer.format_ok ? 1 : 0},
            {"truncated", answer.finish_reason == "length" ? 1 : 0},
            {"length", answer.length},
            {"ids", answer.ids},
            {"mean_logprob", answer.mean_logprob}};
}

int evaluate(const Options& options) {
    if (options.device.threads > 0) torch::set_num_threads(options.device.threads);
    auto load = model::load_options(options.device.device, options.device.dtype);
    if (!load) throw ErrorException(load.error());
    auto model = model::load_model(options.model, *load);
    if (!model) throw ErrorException(model.error());
    if (!model->tokenizer) throw ErrorException({"has no tokenizer", options.model});

    formats::Recipe recipe;
    recipe.teacher.kind = "none";
    recipe.data.system = options.system;
    recipe.data.instruction = options.instruction;
    recipe.data.thinking = options.thinking;
    recipe.data.limit = options.limit;
    recipe.rollout.max_new = options.max_new;
    auto questions = data::load_dataset({options.data}, recipe.data);
    if (!questions) throw ErrorException(questions.error());
    for (const auto& question : questions->examples) {
        if (question.answer.empty()) throw ErrorException({"has no answer to grade against", question.where});
    }
    if (questions->examples.empty()) throw ErrorException({"holds no question", options.data});
    auto prompts = teacher::PromptBuilder::make(recipe, *model->tokenizer, model->config.context,
                                                *model->tokenizer, model->config.context,
                                                model->eos_ids().empty() ? 0 : model->eos_ids().front());
    if (!prompts) throw ErrorException(prompts.error());

    eval::Protocol protocol;
    protocol.set = std::filesystem::path(options.data).filename().string();
    auto hash = sha256_of_file(options.data);
    if (!hash) throw ErrorException(hash.error());
    protocol.set_sha256 = *hash;
    protocol.samples = options.samples;
    protocol.max_new = options.max_new;
    protocol.temperature = options.temperature;
    protocol.top_p = options.top_p;
    protocol.top_k = options.top_k;
    protocol.seed = options.device.seed;
    protocol.rule = maths::parse_rule(options.rule).value();
    protocol.format_rule = maths::parse_rule(options.format_rule).value_or(protocol.rule);
    protocol.system = options.system;
    protocol.instruction = options.instruction;
    protocol.user = recipe.data.user;
    protocol.thinking = options.thinking;
    protocol.eos_ids = model->eos_ids();
    protocol.template_sha256 = sha256(model->tokenizer->chat_template());
    protocol.dtype = load->dtype == torch::kBFloat16 ? "bf16" : "fp32";
    for (const auto& question : questions->examples) protocol.question_ids.push_back(question.id);

    rollout::Generator generator(*model, {});
    Progress progress("samples", int64_t(questions->examples.size()) * options.samples,
                      options.streams.quiet);
    auto evaluation = eval::evaluate(generator, *model, *prompts, questions->examples, protocol,
                                     [&](int64_t finished, int64_t total, int64_t tokens) {
                                         progress.advance(finished, std::to_string(tokens) + " tokens");
                                         return true;
                                     });
    if (!evaluation) throw ErrorException(evaluation.error());
    if (!options.answers.empty()) {
        std::ofstream file(options.answers);
        for (const auto& answer : evaluation->answers) {
            file << as_json(answer).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
        }
        if (!file.flush()) throw ErrorException({"cannot be written", options.answers});
    }
    if (options.streams.json) {
        nlohmann::json report{{"protocol", nlohmann::json::parse(evaluation->protocol)},
                              {"protocol_hash", evaluation->protocol_hash}};
        for (const auto& [name, value] : evaluation->metrics) {
            report["metrics"][name] = std::isnan(value) ? nlohmann::json() : nlohmann::json(value);
        }
        std::cout << report.dump(2) << std::endl;
    } else {
        print_table(*evaluation);
    }
    return Done;
}

} // namespace

void add_evaluate(CLI::App& app) {
    auto options = std::make_shared<Options>();
    CLI::App* command =
        app.add_subcommand("evaluate", "sample answers to questions, grade them, report with errors");
    command->add_option("MODEL", options->model, "a Hugging Face folder, a checkpoint, or a .gguf file")
        ->required();
    command
        ->add_option("--data", options->data, "questions: JSON lines with problem and answer (or solution)")
        ->required();
    command->add_option("--samples", options->samples, "answers a question")
        ->check(positive())
        ->capture_default_str();
    command->add_option("--max-new", options->max_new, "tokens an answer")
        ->check(positive())
        ->capture_default_str();
    command->add_option("--temperature", options->temperature, "0: greedy")
        ->check(not_negative())
        ->capture_default_str();
    command->add_option("--top-p", options->top_p)->check(CLI::Range(0.0, 1.0))->capture_default_str();
    command->add_option("--top-k", options->top_k, "0: off")->check(not_negative());
    command->add_option("--limit", options->limit, "first so many questions (0: all)")->check(not_negative());
    command->add_option("--answers", options->answers, "write every answer with its verdict to this file");
    const std::vector<std::string> rules{"boxed_last", "gsm8k_hash", "answer_line", "whole", "last_number"};
    command->add_option("--rule", options->rule, "how the answer is found")
        ->check(CLI::IsMember(rules))
        ->capture_default_str();
    command
        ->add_option("--format-rule", options->format_rule,
                     "what counts as the asked form (default: the rule)")
        ->check(CLI::IsMember(rules));
    command->add_option("--system", options->system, "system message");
    command->add_option("--instruction", options->instruction, "appended to every problem");
    command->add_flag("--thinking", options->thinking, "enable_thinking of the chat template");
    command->add_flag("--json", options->streams.json, "the report as one JSON object");
    command->add_flag("--quiet", options->streams.quiet, "no progress");
    add_device_options(*command, options->device);
    command->footer("Example:\n  build/bin/stillroom-cli evaluate resources/sample/student --data "
                    "resources/sample/heldout.jsonl --limit 50 --max-new 64");
    command->callback([options] { exit_with(evaluate(*options)); });
}

} // namespace stillroom::cli
