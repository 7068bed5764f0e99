// SPDX-License-Identifier: GPL-3.0-or-later
#include "eval/stored.h"

#include "base/files.h"
#include "base/strings.h"
#include "eval/evaluate.h"
#include "formats/json_lines.h"

#include <cmath>
#include <limits>

namespace stillroom::eval {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr const char* summary_file = "evaluation.json";
constexpr const char* answers_file = "answers.jsonl";
constexpr int layout = 1; // of the folder

std::string dumped(const json& value, int indent = -1) {
    return value.dump(indent, ' ', false, json::error_handler_t::replace);
}

/// Reads typed keys of one object; remembers the first that is missing or of another type.
class Fields {
public:
    explicit Fields(const json& object) : object_(object) {}
    template <typename T>
    void read(const char* name, T& value) {
        try {
            value = object_.at(name).get<T>();
        } catch (const json::exception&) {
            if (fault_.empty()) fault_ = std::string("\"") + name + "\" is missing or of another type";
        }
    }
    const std::string& fault() const { return fault_; }

private:
    const json& object_;
    std::string fault_;
};

} // namespace

json to_json(const record::EvaluationAnswer& answer) {
    return {{"question", answer.question},
            {"sample", answer.sample},
            {"text", answer.text},
            {"extracted", answer.extracted},
            {"gold", answer.gold},
            {"verdict", answer.verdict},
            {"why", answer.why},
            {"correct", answer.verdict == "equal" ? 1 : 0},
            {"answer", answer.format_ok ? json(answer.extracted) : json()},
            {"format", answer.format_ok ? 1 : 0},
            {"truncated", answer.finish_reason == "length" ? 1 : 0},
            {"finish_reason", answer.finish_reason},
            {"length", answer.length},
            {"ids", answer.ids},
            {"mean_logprob", answer.mean_logprob}};
}

Result<record::EvaluationAnswer> answer_of(const json& line) {
    record::EvaluationAnswer answer;
    Fields fields(line);
    fields.read("question", answer.question);
    fields.read("sample", answer.sample);
    fields.read("text", answer.text);
    fields.read("extracted", answer.extracted);
    fields.read("gold", answer.gold);
    fields.read("verdict", answer.verdict);
    fields.read("why", answer.why);
    fields.read("finish_reason", answer.finish_reason);
    fields.read("length", answer.length);
    fields.read("ids", answer.ids);
    fields.read("mean_logprob", answer.mean_logprob);
    int format = 0;
    fields.read("format", format);
    answer.format_ok = format != 0;
    if (!fields.fault().empty()) return Error{fields.fault()};
    return answer;
}

Result<void> write_evaluation(const Stored& evaluation, const fs::path& folder) {
    std::error_code fault;
    if (fs::exists(folder, fault) && !fs::is_empty(folder, fault) && !fs::exists(folder / summary_file)) {
        return Error{"holds something else than an evaluation; name another folder", folder.string()};
    }
    fs::create_directories(folder, fault);
    if (fault) return Error{"cannot be made: " + fault.message(), folder.string()};
    json metrics = json::object();
    for (const auto& [name, value] : evaluation.metrics) {
        metrics[name] = std::isnan(value) ? json() : json(value);
    }
    const Circumstances& at = evaluation.circumstances;
    const json summary{{"layout", layout},
                       {"protocol", evaluation.protocol},
                       {"protocol_hash", evaluation.protocol_hash},
                       {"model", at.model},
                       {"checkpoint_sha256", at.checkpoint_sha256},
                       {"device", at.device},
                       {"program", at.program},
                       {"seed", at.seed},
                       {"started", at.started},
                       {"asked", evaluation.asked},
                       {"answered", evaluation.answers.size()},
                       {"metrics", metrics}};
    std::string lines;
    for (const auto& answer : evaluation.answers) lines += dumped(to_json(answer)) + "\n";
    if (auto written = write_file(folder / answers_file, lines); !written) return written;
    return write_file(folder / summary_file, dumped(summary, 2) + "\n");
}

Result<Stored> read_evaluation(const fs::path& folder) {
    const std::string place = (folder / summary_file).string();
    auto read = formats::read_json(folder / summary_file);
    if (!read) return read.error();
    const json& summary = *read;
    if (!summary.is_object()) return Error{"is no JSON object", place};
    Stored evaluation;
    int version = 0;
    json metrics;
    Fields fields(summary);
    fields.read("layout", version);
    fields.read("protocol", evaluation.protocol);
    fields.read("protocol_hash", evaluation.protocol_hash);
    fields.read("model", evaluation.circumstances.model);
    fields.read("checkpoint_sha256", evaluation.circumstances.checkpoint_sha256);
    fields.read("device", evaluation.circumstances.device);
    fields.read("program", evaluation.circumstances.program);
    fields.read("seed", evaluation.circumstances.seed);
    fields.read("started", evaluation.circumstances.started);
    fields.read("asked", evaluation.asked);
    fields.read("metrics", metrics);
    if (!fields.fault().empty()) return Error{fields.fault(), place};
    if (version != layout) return Error{"has layout " + std::to_string(version) + ", expected 1", place};
    for (const auto& [name, value] : metrics.items()) {
        evaluation.metrics[name] =
            value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
    }
    auto lines = formats::read_json_lines(folder / answers_file);
    if (!lines) return lines.error();
    for (const json& line : *lines) {
        auto answer = answer_of(line);
        if (!answer) {
            return Error{answer.error().what, (folder / answers_file).string() + ", answer " +
                                                  std::to_string(evaluation.answers.size() + 1)};
        }
        evaluation.answers.push_back(std::move(*answer));
    }
    return evaluation;
}

Result<void> comparable(const json& protocol, const json& other) {
    const auto fields = differing_fields(protocol, other);
    if (fields.empty()) return {};
    return Error{"the protocols differ, so the scores cannot be compared: " + join(fields, "; ")};
}

std::optional<stats::Paired> paired_difference(const std::vector<record::EvaluationAnswer>& baseline,
                                               const std::vector<record::EvaluationAnswer>& answers) {
    const auto matched = stats::match_questions(questions_of(baseline), questions_of(answers));
    if (matched.ids.size() < 2) return std::nullopt;
    return stats::compare(matched.baseline, matched.checkpoint);
}

void regrade(Stored& evaluation, const Protocol& grading) {
    grade(evaluation.answers, grading);
    record::Metrics metrics = score(evaluation.answers);
    for (const char* name : {"eval_seconds", "eval_tokens_per_second"}) {
        if (const auto found = evaluation.metrics.find(name); found != evaluation.metrics.end())
            metrics.insert(*found);
    }
    evaluation.metrics = std::move(metrics);
    set_grading(evaluation.protocol, grading);
    evaluation.protocol_hash = protocol_hash(evaluation.protocol);
}

} // namespace stillroom::eval
