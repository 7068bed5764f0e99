// SPDX-License-Identifier: GPL-3.0-or-later
#include "eval/protocol.h"

#include "base/hash.h"

#include <set>

namespace stillroom::eval {

namespace {

/// Raised whenever verdicts may change: 1 compared texts and plain numbers, 2 reads expressions.
constexpr int grader_version = 2;

const char* order_name(maths::Policy::Order order) {
    switch (order) {
    case maths::Policy::Order::All:
        return "all";
    case maths::Policy::Order::None:
        return "none";
    case maths::Policy::Order::Tuples:
        break;
    }
    return "tuples";
}

} // namespace

maths::Policy policy_of(const formats::EvaluationSection& evaluation) {
    maths::Policy policy;
    if (evaluation.percent == "value") policy.percent = maths::Policy::Percent::Value;
    if (evaluation.order == "all") policy.order = maths::Policy::Order::All;
    if (evaluation.order == "none") policy.order = maths::Policy::Order::None;
    if (evaluation.units == "required") policy.units = maths::Policy::Units::Required;
    if (evaluation.decimals >= 0) policy.decimals = int(evaluation.decimals);
    return policy;
}

Result<Protocol> protocol_of(const formats::Recipe& recipe, const std::filesystem::path& set,
                             const data::Dataset& questions) {
    const formats::EvaluationSection& evaluation = recipe.evaluation;
    Protocol protocol;
    protocol.set = set.filename().string();
    auto hash = sha256_of_file(set);
    if (!hash) return hash.error();
    protocol.set_sha256 = *hash;
    protocol.samples = evaluation.samples;
    protocol.max_new = evaluation.max_new;
    protocol.temperature = evaluation.temperature;
    protocol.top_p = evaluation.top_p;
    protocol.top_k = evaluation.top_k;
    protocol.seed = recipe.run.seed;
    protocol.rule = maths::parse_rule(evaluation.rule).value();
    protocol.format_rule = maths::parse_rule(evaluation.format_rule).value_or(protocol.rule);
    protocol.policy = policy_of(evaluation);
    protocol.system = recipe.data.system;
    protocol.instruction = recipe.data.instruction;
    protocol.user = recipe.data.user;
    protocol.thinking = recipe.data.thinking;
    for (const auto& question : questions.examples) protocol.question_ids.push_back(question.id);
    return protocol;
}

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
            {"grader_version", grader_version},
            {"grader_limits",
             {{"answer_bytes", maths::longest_answer}, {"steps", maths::most_steps}, {"undecided", "0"}}},
            {"percent", protocol.policy.percent == maths::Policy::Percent::Value ? "value" : "written"},
            {"order", order_name(protocol.policy.order)},
            {"units", protocol.policy.units == maths::Policy::Units::Required ? "required" : "optional"},
            {"decimals", protocol.policy.decimals.value_or(-1)},
            {"dtype", protocol.dtype}};
}

std::string protocol_hash(const Protocol& protocol) { return protocol_hash(to_json(protocol)); }

std::string protocol_hash(nlohmann::json protocol) {
    protocol.erase("seed");
    return sha256(protocol.dump());
}

void set_grading(nlohmann::json& protocol, const Protocol& grading) {
    const nlohmann::json fresh = to_json(grading);
    for (const char* name : {"grader", "format_rule", "grader_version", "grader_limits", "percent", "order",
                             "units", "decimals"}) {
        protocol[name] = fresh.at(name);
    }
}

Result<Protocol> grading_of(const nlohmann::json& protocol) {
    formats::EvaluationSection evaluation;
    const auto text = [&](const char* name, std::string& value) {
        if (const auto found = protocol.find(name); found != protocol.end() && found->is_string())
            value = *found;
    };
    text("grader", evaluation.rule);
    text("format_rule", evaluation.format_rule);
    text("percent", evaluation.percent);
    text("order", evaluation.order);
    text("units", evaluation.units);
    if (const auto found = protocol.find("decimals"); found != protocol.end() && found->is_number_integer()) {
        evaluation.decimals = *found;
    }
    Protocol grading;
    const auto rule = maths::parse_rule(evaluation.rule),
               format_rule = maths::parse_rule(evaluation.format_rule);
    if (!rule) return Error{"unknown grader \"" + evaluation.rule + "\""};
    if (!format_rule) return Error{"unknown format_rule \"" + evaluation.format_rule + "\""};
    grading.rule = *rule;
    grading.format_rule = *format_rule;
    grading.policy = policy_of(evaluation);
    return grading;
}

std::vector<std::string> differing_fields(const nlohmann::json& a, const nlohmann::json& b) {
    constexpr size_t longest = 40;
    std::set<std::string> names;
    for (const auto* side : {&a, &b}) {
        for (const auto& [name, value] : side->items()) names.insert(name);
    }
    names.erase("seed");
    std::vector<std::string> fields;
    for (const std::string& name : names) {
        const nlohmann::json x = a.value(name, nlohmann::json()), y = b.value(name, nlohmann::json());
        if (x == y) continue;
        const std::string left = x.dump(), right = y.dump();
        fields.push_back(left.size() + right.size() <= longest ? name + ": " + left + " and " + right
                                                               : name + " differ");
    }
    return fields;
}

Result<std::filesystem::path> find_protocol(const std::string& name_or_file) {
    const std::filesystem::path file = name_or_file;
    if (std::filesystem::is_regular_file(file)) return file;
    const auto folder = formats::resources_folder() / "protocols";
    const auto shipped = folder / (name_or_file + ".toml");
    if (std::filesystem::is_regular_file(shipped)) return shipped;
    std::string names;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
        if (entry.path().extension() == ".toml")
            names += (names.empty() ? "" : ", ") + entry.path().stem().string();
    }
    return Error{"is neither a file nor a shipped protocol (" + names + ")", name_or_file};
}

} // namespace stillroom::eval
