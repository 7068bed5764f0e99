// SPDX-License-Identifier: GPL-3.0-or-later
// check-answers: extracts the answer of each prediction and judges it against its gold answer.
#include "app/cli/command.h"
#include "app/cli/commands.h"
#include "eval/protocol.h"
#include "maths/verdict.h"

#include <memory>
#include <string>
#include <vector>

namespace stillroom::cli {

namespace {

struct Options {
    formats::EvaluationSection grading;
    Streams streams;
};

Result<std::string> text_of(const nlohmann::json& item, const char* key) {
    const auto found = item.find(key);
    if (found == item.end()) return Error{"no \"" + std::string(key) + "\"; expected a string"};
    if (!found->is_string()) {
        return Error{"\"" + std::string(key) + "\" is " + found->type_name() + ", expected a string"};
    }
    return found->get<std::string>();
}

Result<nlohmann::json> judged(const nlohmann::json& item, maths::Rule rule, const maths::Policy& policy) {
    const auto gold = text_of(item, "gold");
    if (!gold) return gold.error();
    const auto prediction = text_of(item, "prediction");
    if (!prediction) return prediction.error();
    const maths::Judgement judgement = maths::check(*prediction, *gold, rule, policy);
    return nlohmann::json{
        {"extracted", judgement.extracted ? nlohmann::json(*judgement.extracted) : nlohmann::json()},
        {"verdict", maths::to_string(judgement.verdict)},
        {"why", judgement.why},
        {"answer_normal", judgement.answer_normal},
        {"gold_normal", judgement.gold_normal}};
}

} // namespace

void add_check_answers(CLI::App& app) {
    auto options = std::make_shared<Options>();
    CLI::App* command = app.add_subcommand(
        "check-answers", "judge predictions against gold answers: equal, different, unknown");
    const std::vector<std::string> rules{"boxed_last",  "gsm8k_hash",   "answer_line", "whole",
                                         "last_number", "last_formula", "final_answer"};
    command->add_option("--rule", options->grading.rule, "how the answer is found in a prediction")
        ->check(CLI::IsMember(rules))
        ->capture_default_str();
    command->add_option("--percent", options->grading.percent, "whether 10% is 10 (written) or 0.1 (value)")
        ->check(CLI::IsMember({"written", "value"}))
        ->capture_default_str();
    command
        ->add_option("--order", options->grading.order,
                     "of what the order counts: tuples, all (lists too), none")
        ->check(CLI::IsMember({"tuples", "all", "none"}))
        ->capture_default_str();
    command
        ->add_option("--units", options->grading.units,
                     "whether a unit that one side leaves out is a difference")
        ->check(CLI::IsMember({"optional", "required"}))
        ->capture_default_str();
    command
        ->add_option("--decimals", options->grading.decimals,
                     "accept a decimal rounded to so many places; without it decimals are exact")
        ->check(CLI::Range(0, 40));
    add_stream_options(*command, options->streams);
    command->footer("Example:\n  echo '{\"gold\": \"1/2\", \"prediction\": \"so \\\\boxed{0.5}\"}' | "
                    "build/bin/stillroom-cli check-answers");
    command->callback([options] {
        const maths::Rule rule = maths::parse_rule(options->grading.rule).value();
        exit_with(answer_lines(
            options->streams, [rule, policy = eval::policy_of(options->grading)](const nlohmann::json& item) {
                return judged(item, rule, policy);
            }));
    });
}

} // namespace stillroom::cli
