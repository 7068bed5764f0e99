// SPDX-License-Identifier: GPL-3.0-or-later
// runs and show: what the store of a run holds, as tables or JSON.
#include "app/cli/command.h"
#include "app/cli/commands.h"
#include "base/strings.h"
#include "record/queries.h"
#include "text/tokenizer.h"

#include <cmath>
#include <cstdio>
#include <iostream>
#include <sstream>

namespace stillroom::cli {

namespace {

using nlohmann::json;

json number(double value) {
    if (std::isfinite(value)) return value;
    return record::is_undefined(value) ? json()
                                       : json(std::isnan(value) ? "nan"
                                              : value > 0       ? "inf"
                                                                : "-inf");
}

template <typename T>
T take(Result<T> result) {
    if (!result) throw ErrorException(result.error());
    return std::move(result).value();
}

void print(const json& value) {
    std::cout << value.dump(2, ' ', false, json::error_handler_t::replace) << '\n';
}

json as_json(const record::RunSummary& run) {
    return {{"name", run.name},
            {"folder", run.folder.string()},
            {"state", record::to_string(run.state)},
            {"says", run.fault.empty() ? record::state_line(run) : run.fault},
            {"step", run.step},
            {"steps_planned", run.steps_planned},
            {"score", run.score ? json(*run.score) : json()},
            {"score_error", run.score_error ? json(*run.score_error) : json()},
            {"resumable_from", run.resumable_from ? json(*run.resumable_from) : json()}};
}

void list_runs(const std::string& folder, bool as_one_object) {
    const auto runs = record::runs_in(folder);
    if (as_one_object) {
        json all = json::array();
        for (const auto& run : runs) all.push_back(as_json(run));
        return print(all);
    }
    std::printf("%-32s %-18s %s\n", "run", "score", "state");
    for (const auto& run : runs) {
        char score[32] = "-";
        if (run.score)
            std::snprintf(score, sizeof score, "%.4f +- %.4f", *run.score, run.score_error.value_or(0));
        std::printf("%-32s %-18s %s\n", run.folder.filename().c_str(), score,
                    run.fault.empty() ? record::state_line(run).c_str() : run.fault.c_str());
    }
    std::printf("%zu runs in %s\n", runs.size(), folder.c_str());
}

struct ShowOptions {
    std::string run, metrics;
    int64_t rollouts = 0, rollout = 0;
    bool json = false;
};

// The tokenizer of the run's newest checkpoint, to show tokens as text.
std::optional<text::Tokenizer> tokenizer_of(const record::RunReader& reader,
                                            const std::filesystem::path& run) {
    const auto checkpoints = take(reader.checkpoints());
    for (auto it = checkpoints.rbegin(); it != checkpoints.rend(); ++it) {
        if (it->removed) continue;
        if (auto tokenizer = text::Tokenizer::load(run / it->folder)) return std::move(*tokenizer);
    }
    return std::nullopt;
}

void show_metrics(const record::RunReader& reader, const ShowOptions& options) {
    json all = json::object();
    std::stringstream names(options.metrics);
    for (std::string name; std::getline(names, name, ',');) {
        const auto series = take(reader.series(name));
        if (series.empty()) throw ErrorException({"no metric \"" + name + "\" is recorded", options.run});
        if (!options.json) std::printf("%-8s %s\n", "step", name.c_str());
        for (const auto& point : series) {
            if (options.json)
                all[name].push_back({point.step, number(point.value)});
            else
                std::printf("%-8lld %.6g\n", static_cast<long long>(point.step), point.value);
        }
    }
    if (options.json) print(all);
}

void show_rollouts(const record::RunReader& reader, const ShowOptions& options) {
    record::RolloutFilter filter;
    filter.limit = options.rollouts;
    filter.descending = true;
    const auto rollouts = take(reader.rollouts(filter));
    json all = json::array();
    if (!options.json)
        std::printf("%8s %6s %-12s %6s %-8s %-10s %-24s %s\n", "id", "step", "prompt", "tokens", "finish",
                    "verdict", "extracted", "top-16");
    for (const auto& rollout : rollouts) {
        if (options.json) {
            all.push_back({{"id", rollout.id},
                           {"step", rollout.step},
                           {"prompt", rollout.prompt_id},
                           {"length", rollout.length},
                           {"finish_reason", rollout.finish_reason},
                           {"verdict", rollout.verdict},
                           {"extracted", rollout.extracted},
                           {"gold", rollout.gold},
                           {"kept_because", rollout.kept_because}});
        } else {
            std::printf("%8lld %6lld %-12s %6lld %-8s %-10s %-24s %s\n", static_cast<long long>(rollout.id),
                        static_cast<long long>(rollout.step), rollout.prompt_id.c_str(),
                        static_cast<long long>(rollout.length), rollout.finish_reason.c_str(),
                        rollout.verdict.c_str(), rollout.extracted.substr(0, 24).c_str(),
                        rollout.kept_because.c_str());
        }
    }
    if (options.json) print(all);
}

void show_rollout(const record::RunReader& reader, const ShowOptions& options) {
    const auto rollout = take(reader.rollout(options.rollout));
    const auto& tokens = rollout.tokens;
    const auto at = [](const std::vector<float>& values, size_t t) {
        return t < values.size() ? double(values[t]) : std::nan("");
    };
    const auto tokenizer = tokenizer_of(reader, options.run);
    if (options.json) {
        json rows = json::array();
        for (size_t t = 0; t < tokens.ids.size(); ++t) {
            json row{{"id", tokens.ids[t]},
                     {"student_logprob", number(at(tokens.student_logprob, t))},
                     {"teacher_logprob", number(at(tokens.teacher_logprob, t))},
                     {"teacher_plain_logprob", number(at(tokens.teacher_plain_logprob, t))},
                     {"student_entropy", number(at(tokens.student_entropy, t))},
                     {"teacher_entropy", number(at(tokens.teacher_entropy, t))},
                     {"kl", number(at(tokens.kl, t))},
                     {"clipped", number(at(tokens.clipped, t))}};
            if (t < tokens.overlap.size())
                row["overlap"] = tokens.overlap[t] == 255 ? json() : json(tokens.overlap[t]);
            if (t < tokens.flags.size()) row["flags"] = tokens.flags[t];
            if (tokenizer) row["text"] = std::string(tokenizer->bytes_of(tokens.ids[t]));
            rows.push_back(std::move(row));
        }
        return print({{"step", rollout.step},
                      {"prompt", rollout.prompt_id},
                      {"problem", rollout.problem},
                      {"text", rollout.text},
                      {"gold", rollout.gold},
                      {"verdict", rollout.verdict},
                      {"why", rollout.why},
                      {"extracted", rollout.extracted},
                      {"kept_because", rollout.kept_because},
                      {"tokens", rows}});
    }
    std::printf("step %lld, prompt %s, sample %lld: %s, %s (%s)\n\n%s\n\n%s\n\n",
                static_cast<long long>(rollout.step), rollout.prompt_id.c_str(),
                static_cast<long long>(rollout.sample), rollout.finish_reason.c_str(),
                rollout.verdict.c_str(), rollout.why.c_str(), rollout.problem.c_str(), rollout.text.c_str());
    std::printf("%5s %7s %-14s %9s %9s %8s %8s %8s %7s\n", "token", "id", "text", "log pS", "log pT", "gain",
                "H(S)", "KL", "overlap");
    for (size_t t = 0; t < tokens.ids.size(); ++t) {
        const std::string text = tokenizer ? stillroom::quoted(tokenizer->bytes_of(tokens.ids[t]), 12) : "";
        std::printf("%5zu %7d %-14s %9.4f %9.4f %8.4f %8.4f %8.4f %7d\n", t, tokens.ids[t], text.c_str(),
                    at(tokens.student_logprob, t), at(tokens.teacher_logprob, t),
                    at(tokens.teacher_logprob, t) - at(tokens.teacher_plain_logprob, t),
                    at(tokens.student_entropy, t), at(tokens.kl, t),
                    t < tokens.overlap.size() ? int(tokens.overlap[t]) : -1);
    }
}

void show_summary(const record::RunReader& reader, const ShowOptions& options) {
    const auto summary = take(reader.summary());
    const auto metrics = take(reader.metrics());
    if (options.json) {
        json about = as_json(summary);
        for (const auto& metric : metrics)
            about["metrics"][metric.tag] = {{"count", metric.count}, {"last", number(metric.last)}};
        return print(about);
    }
    std::printf("%s: %s\n\n%-36s %8s %14s\n", summary.name.c_str(), record::state_line(summary).c_str(),
                "metric", "points", "last");
    for (const auto& metric : metrics)
        std::printf("%-36s %8lld %14.6g\n", metric.tag.c_str(), static_cast<long long>(metric.count),
                    metric.last);
}

} // namespace

void add_runs(CLI::App& app) {
    auto folder = std::make_shared<std::string>("runs");
    auto as_one_object = std::make_shared<bool>(false);
    CLI::App* command = app.add_subcommand("runs", "the runs in a folder: state, step");
    command->add_option("DIR", *folder)->capture_default_str();
    command->add_flag("--json", *as_one_object, "as JSON");
    command->footer("Example:\n  stillroom-cli runs runs");
    command->callback([folder, as_one_object] {
        list_runs(*folder, *as_one_object);
        exit_with(Done);
    });
}

void add_show(CLI::App& app) {
    auto options = std::make_shared<ShowOptions>();
    CLI::App* command = app.add_subcommand("show", "a run's metrics, rollouts and token records");
    command->add_option("RUN", options->run, "the run's folder")->required();
    command->add_option("--metrics", options->metrics, "names, separated by commas: their series");
    command->add_option("--rollouts", options->rollouts, "the newest so many rollouts")
        ->check(CLI::PositiveNumber);
    command->add_option("--rollout", options->rollout, "one rollout by its id, token by token")
        ->check(CLI::PositiveNumber);
    command->add_flag("--json", options->json, "as JSON");
    command->footer("Example:\n  stillroom-cli show runs/sample-opd --metrics loss,kl_reverse_exact");
    command->callback([options] {
        const auto reader = take(record::RunReader::open(options->run));
        if (options->rollout > 0)
            show_rollout(reader, *options);
        else if (options->rollouts > 0)
            show_rollouts(reader, *options);
        else if (!options->metrics.empty())
            show_metrics(reader, *options);
        else
            show_summary(reader, *options);
        exit_with(Done);
    });
}

} // namespace stillroom::cli
