// SPDX-License-Identifier: GPL-3.0-or-later
// evaluate: sample answers to a set of questions, grade them, report with errors clustered by question.
#include "eval/evaluate.h"
#include "app/cli/command.h"
#include "app/cli/commands.h"
#include "app/cli/statistics_report.h"
#include "base/hash.h"
#include "base/strings.h"
#include "eval/plan.h"
#include "eval/stored.h"
#include "formats/recipe_keys.h"
#include "record/liveness.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>

namespace stillroom::cli {

namespace {

struct Options {
    std::string model, protocol, answers, out, regrade, against, time;
    formats::Recipe recipe;       // what the options say; a protocol's file says the rest
    std::vector<std::string> set; // the keys that options name: "evaluation.samples"
    bool until_clear = false, grid = false;
    int64_t unknown = 10;
    Streams streams;
    DeviceOptions device;
};

CLI::Validator deadline() {
    return {[](const std::string& text) -> std::string {
                return formats::deadline_at(text, 0) ? ""
                                                     : "expected a time like 30m or 2h15m, found " + text;
            },
            "TIME"};
}

/// Whether an option named the recipe's key.
bool is_set(const Options& options, const std::string& key) {
    return std::find(options.set.begin(), options.set.end(), key) != options.set.end();
}

void print_table(const eval::Stored& evaluation) {
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
    std::printf("%-24s%.0f x %.4g\n", "questions x samples", metrics.at("questions"),
                metrics.at("samples") / metrics.at("questions"));
    if (int64_t(evaluation.answers.size()) < evaluation.asked) {
        std::printf("%-24s%zu of %lld\n", "stopped after", evaluation.answers.size(),
                    (long long)evaluation.asked);
    }
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

/// A row a question: right of so many, and each sample's verdict ("+" right, "." wrong, "?" unknown).
void print_grid(const std::vector<record::EvaluationAnswer>& answers) {
    std::map<std::string, std::string> verdicts;
    std::vector<std::string> order;
    for (const auto& answer : answers) {
        const auto [place, fresh] = verdicts.try_emplace(answer.question);
        if (fresh) order.push_back(answer.question);
        place->second += answer.verdict == "equal" ? '+' : answer.verdict == "unknown" ? '?' : '.';
    }
    for (const std::string& question : order) {
        const std::string& row = verdicts.at(question);
        std::printf("%-24s%3td of %-3zu %s\n", question.c_str(), std::count(row.begin(), row.end(), '+'),
                    row.size(), row.c_str());
    }
}

void print_unknown(const std::vector<record::EvaluationAnswer>& answers, int64_t most) {
    const auto is_unknown = [](const auto& answer) { return answer.verdict == "unknown"; };
    const int64_t count = std::count_if(answers.begin(), answers.end(), is_unknown);
    if (count == 0 || most == 0) return;
    std::printf("unknown verdicts, %lld of %lld:\n", (long long)std::min(count, most), (long long)count);
    int64_t shown = 0;
    for (const auto& answer : answers) {
        if (!is_unknown(answer) || shown++ >= most) continue;
        std::printf("  %s, sample %lld: %s against %s: %s\n", answer.question.c_str(),
                    (long long)answer.sample, stillroom::quoted(answer.extracted).c_str(),
                    stillroom::quoted(answer.gold).c_str(), answer.why.c_str());
    }
}

/// The recipe of a protocol's file with the options that were named over it.
formats::Recipe recipe_of(const Options& options) {
    formats::Recipe recipe;
    if (!options.protocol.empty()) {
        const auto file = eval::find_protocol(options.protocol).value();
        recipe = formats::read_recipe(file).value();
    }
    for (const std::string& path : options.set) {
        const formats::Key& key = *formats::find_key(path);
        formats::Recipe given = options.recipe;
        std::visit([&](auto* to) { *to = *std::get<decltype(to)>(key.at(given)); }, key.at(recipe));
    }
    recipe.teacher.kind = "none";
    recipe.data.limit = recipe.evaluation.limit;
    recipe.rollout.max_new = recipe.evaluation.max_new;
    return recipe;
}

ScoredSamples scored(const std::vector<record::EvaluationAnswer>& answers) {
    return {eval::questions_of(answers), true, true, true, true};
}

/// Samples and grades; stops early by --time, or by --until-clear against `baseline`.
eval::Stored sampled(const Options& options, const std::optional<eval::Stored>& baseline) {
    if (options.device.threads > 0) torch::set_num_threads(options.device.threads);
    const formats::Recipe recipe = recipe_of(options);
    const std::filesystem::path set = formats::resolve_path(recipe, recipe.evaluation.data);
    if (recipe.evaluation.data.empty()) throw ErrorException({"names no evaluation.data", options.protocol});
    auto questions = data::load_dataset({set}, recipe.data);
    if (!questions) throw ErrorException(questions.error());
    for (const auto& question : questions->examples) {
        if (question.answer.empty()) throw ErrorException({"has no answer to grade against", question.where});
    }
    if (questions->examples.empty()) throw ErrorException({"holds no question", set.string()});

    auto load = model::load_options(options.device.device, options.device.dtype);
    if (!load) throw ErrorException(load.error());
    auto model = model::load_model(options.model, *load);
    if (!model) throw ErrorException(model.error());
    if (!model->tokenizer) throw ErrorException({"has no tokenizer", options.model});
    auto prompts = teacher::PromptBuilder::make(recipe, *model->tokenizer, model->config.context,
                                                *model->tokenizer, model->config.context,
                                                model->eos_ids().empty() ? 0 : model->eos_ids().front());
    if (!prompts) throw ErrorException(prompts.error());
    eval::Protocol protocol = eval::protocol_of(recipe, set, *questions).value();
    protocol.seed = options.device.seed;
    protocol.eos_ids = model->eos_ids();
    protocol.template_sha256 = sha256(model->tokenizer->chat_template());
    protocol.dtype = load->dtype == torch::kBFloat16 ? "bf16" : "fp32";

    eval::Stored stored;
    stored.protocol = eval::to_json(protocol);
    stored.protocol_hash = eval::protocol_hash(protocol);
    if (baseline) eval::comparable(baseline->protocol, stored.protocol).value(); // before hours of sampling
    stored.circumstances = {options.model,      model->weights_sha256,
                            load->device.str(), "stillroom " STILLROOM_VERSION,
                            protocol.seed,      record::unix_time()};
    stored.asked = int64_t(questions->examples.size()) * protocol.samples;

    const double started = record::unix_time();
    const auto deadline = formats::deadline_at(options.time, int64_t(started)).value();
    const auto after_round = [&](const std::vector<record::EvaluationAnswer>& answers) {
        const double spent = record::unix_time() - started,
                     left = deadline ? double(*deadline) - record::unix_time() : 0;
        const auto own = eval::questions_of(answers);
        const int64_t rounds = int64_t(answers.size() / questions->examples.size());
        const auto difference = baseline ? eval::paired_difference(baseline->answers, answers) : std::nullopt;
        const auto plan =
            eval::plan(stats::counts_of(own), difference, rounds, protocol.samples, spent, left);
        if (!options.streams.quiet) {
            std::fprintf(stderr, "\n%s\n", eval::to_text(plan, protocol.samples, spent, left).c_str());
        }
        if (options.until_clear && difference && eval::is_clear(*difference, rounds)) {
            if (!options.streams.quiet)
                std::fprintf(stderr, "the difference is clear (p < %g); stopped\n", eval::early_stop_p);
            return false;
        }
        return !deadline || plan.more_rounds > 0;
    };
    rollout::Generator generator(*model, {});
    Progress progress("samples", stored.asked, options.streams.quiet);
    const auto advance = [&](int64_t finished, int64_t, int64_t tokens) {
        progress.advance(finished, std::to_string(tokens) + " tokens");
        return !deadline || record::unix_time() < double(*deadline);
    };
    const bool in_rounds = deadline || options.until_clear;
    auto evaluation = eval::evaluate(generator, *model, *prompts, questions->examples, protocol, advance,
                                     in_rounds ? eval::AfterRound(after_round) : eval::AfterRound());
    if (!evaluation) throw ErrorException(evaluation.error());
    stored.metrics = std::move(evaluation->metrics);
    stored.answers = std::move(evaluation->answers);
    return stored;
}

eval::Stored regraded(const Options& options) {
    eval::Stored stored = eval::read_evaluation(options.regrade).value();
    eval::Protocol grading = eval::grading_of(stored.protocol).value();
    if (!options.set.empty() || !options.protocol.empty()) { // other rules than the stored ones
        eval::Protocol asked;
        const formats::Recipe recipe = recipe_of(options);
        asked.rule = maths::parse_rule(recipe.evaluation.rule).value();
        asked.format_rule = maths::parse_rule(recipe.evaluation.format_rule).value_or(asked.rule);
        asked.policy = eval::policy_of(recipe.evaluation);
        const auto named = [&](const char* key) { return !options.protocol.empty() || is_set(options, key); };
        if (named("evaluation.rule")) grading.rule = asked.rule;
        if (named("evaluation.format_rule") || named("evaluation.rule"))
            grading.format_rule = asked.format_rule;
        if (named("evaluation.percent")) grading.policy.percent = asked.policy.percent;
        if (named("evaluation.order")) grading.policy.order = asked.policy.order;
        if (named("evaluation.units")) grading.policy.units = asked.policy.units;
        if (named("evaluation.decimals")) grading.policy.decimals = asked.policy.decimals;
    }
    eval::regrade(stored, grading);
    return stored;
}

int evaluate(const Options& options) {
    if (options.model.empty() == options.regrade.empty()) {
        throw CLI::ValidationError("evaluate", "needs a MODEL, or --regrade, and not both");
    }
    if (options.regrade.empty() && options.protocol.empty() && !is_set(options, "evaluation.data")) {
        throw CLI::RequiredError("--data or --protocol");
    }
    if (options.until_clear && options.against.empty())
        throw CLI::RequiresError("--until-clear", "--against");
    std::optional<eval::Stored> baseline;
    if (!options.against.empty()) baseline = eval::read_evaluation(options.against).value();
    const eval::Stored stored = options.regrade.empty() ? sampled(options, baseline) : regraded(options);
    if (!options.out.empty()) eval::write_evaluation(stored, options.out).value();
    if (!options.answers.empty()) {
        std::ofstream file(options.answers);
        for (const auto& answer : stored.answers) {
            file << eval::to_json(answer).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
                 << '\n';
        }
        if (!file.flush()) throw ErrorException({"cannot be written", options.answers});
    }
    nlohmann::json comparison;
    if (baseline) {
        eval::comparable(baseline->protocol, stored.protocol).value();
        comparison = comparison_of(scored(stored.answers), scored(baseline->answers), {});
    }
    if (options.streams.json) {
        nlohmann::json report{{"protocol", stored.protocol},
                              {"protocol_hash", stored.protocol_hash},
                              {"asked", stored.asked},
                              {"answered", stored.answers.size()}};
        for (const auto& [name, value] : stored.metrics) {
            report["metrics"][name] = std::isnan(value) ? nlohmann::json() : nlohmann::json(value);
        }
        if (baseline) report["against"] = comparison;
        std::cout << report.dump(2) << std::endl;
        return Done;
    }
    print_table(stored);
    if (options.grid) print_grid(stored.answers);
    print_unknown(stored.answers, options.unknown);
    std::fflush(stdout);
    if (baseline) {
        nlohmann::json report = statistics_of(scored(stored.answers), {});
        report["against"] = comparison;
        print_statistics(std::cout, report);
    }
    return Done;
}

} // namespace

void add_evaluate(CLI::App& app) {
    auto options = std::make_shared<Options>();
    CLI::App* command =
        app.add_subcommand("evaluate", "sample answers to questions, grade them, report with errors");
    command->add_option("MODEL", options->model, "a Hugging Face folder, a checkpoint, or a .gguf file");
    command->add_option("--protocol", options->protocol,
                        "a shipped protocol (math500, gsm8k, aime) or a file; options go over it");
    command->add_option("--out", options->out, "keep protocol, figures and every answer in this folder");
    command->add_option("--answers", options->answers, "write every answer with its verdict to this file");
    command->add_option("--regrade", options->regrade,
                        "grade the answers of such a folder again, by the rules given");
    command->add_option(
        "--against", options->against,
        "such a folder of a baseline: adds the paired difference; refused where the protocols differ");
    command->add_option("--time", options->time, "\"30m\": rounds over all questions while the time lasts")
        ->check(deadline());
    command->add_flag("--until-clear", options->until_clear,
                      "with --against: stop after a round where the difference is clear (p < 0.001)");
    formats::Recipe& recipe = options->recipe;
    formats::EvaluationSection& evaluation = recipe.evaluation;
    const auto keyed = [&](const char* name, auto& field, const char* key, const char* about) {
        return command->add_option(name, field, about)->each([options, key](const std::string&) {
            options->set.push_back(key);
        });
    };
    keyed("--data", evaluation.data, "evaluation.data",
          "questions: JSON lines with problem and answer (or solution)");
    keyed("--samples", evaluation.samples, "evaluation.samples", "answers a question")
        ->check(positive())
        ->capture_default_str();
    keyed("--max-new", evaluation.max_new, "evaluation.max_new", "tokens an answer")
        ->check(positive())
        ->capture_default_str();
    keyed("--temperature", evaluation.temperature, "evaluation.temperature", "0: greedy")
        ->check(not_negative())
        ->capture_default_str();
    keyed("--top-p", evaluation.top_p, "evaluation.top_p", "")
        ->check(CLI::Range(0.0, 1.0))
        ->capture_default_str();
    keyed("--top-k", evaluation.top_k, "evaluation.top_k", "0: off")->check(not_negative());
    keyed("--limit", evaluation.limit, "evaluation.limit", "first so many questions (0: all)")
        ->check(not_negative());
    const std::vector<std::string> rules{"boxed_last", "gsm8k_hash", "answer_line", "whole", "last_number"};
    keyed("--rule", evaluation.rule, "evaluation.rule", "how the answer is found")
        ->check(CLI::IsMember(rules))
        ->capture_default_str();
    keyed("--format-rule", evaluation.format_rule, "evaluation.format_rule",
          "what counts as the asked form (default: the rule)")
        ->check(CLI::IsMember(rules));
    keyed("--percent", evaluation.percent, "evaluation.percent", "whether 10% is 10 (written) or 0.1 (value)")
        ->check(CLI::IsMember({"written", "value"}))
        ->capture_default_str();
    keyed("--order", evaluation.order, "evaluation.order",
          "of what the order counts: tuples, all (lists too), none")
        ->check(CLI::IsMember({"tuples", "all", "none"}))
        ->capture_default_str();
    keyed("--units", evaluation.units, "evaluation.units",
          "whether a unit that one side leaves out is a difference")
        ->check(CLI::IsMember({"optional", "required"}))
        ->capture_default_str();
    keyed("--decimals", evaluation.decimals, "evaluation.decimals",
          "accept a decimal rounded to so many places")
        ->check(CLI::Range(0, 40));
    keyed("--system", recipe.data.system, "data.system", "system message");
    keyed("--instruction", recipe.data.instruction, "data.instruction", "appended to every problem");
    command->add_flag_callback(
        "--thinking",
        [options] {
            options->recipe.data.thinking = true;
            options->set.push_back("data.thinking");
        },
        "enable_thinking of the chat template");
    command->add_flag("--grid", options->grid, "a row for each question with its verdicts");
    command->add_option("--unknown", options->unknown, "how many unknown verdicts to list")
        ->check(not_negative())
        ->capture_default_str();
    command->add_flag("--json", options->streams.json, "the report as one JSON object");
    command->add_flag("--quiet", options->streams.quiet, "no progress");
    add_device_options(*command, options->device);
    command->footer("Example:\n  build/bin/stillroom-cli evaluate resources/sample/student --data "
                    "resources/sample/heldout.jsonl --limit 50 --max-new 64 --out build/first-evaluation\n"
                    "  build/bin/stillroom-cli evaluate --regrade build/first-evaluation --rule last_number");
    command->callback([options] { exit_with(evaluate(*options)); });
}

} // namespace stillroom::cli
