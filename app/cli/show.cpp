// SPDX-License-Identifier: GPL-3.0-or-later
// show: what a run recorded. An overview, or the series, rollouts and the one rollout that are asked for.
#include "app/cli/command.h"
#include "app/cli/commands.h"
#include "app/cli/run_tables.h"
#include "base/strings.h"
#include "formats/recipe.h"

#include <cmath>
#include <iostream>
#include <sstream>

namespace stillroom::cli {

using nlohmann::json;

namespace {

struct Options {
    std::string run, metrics;
    int64_t rollouts = 0, rollout = 0;
    bool json = false;
};

constexpr int64_t events_shown = 12;

std::vector<std::string> names_in(const std::string& list) {
    std::vector<std::string> names;
    std::stringstream stream(list);
    for (std::string name; std::getline(stream, name, ',');) {
        if (!trimmed(name).empty()) names.emplace_back(trimmed(name));
    }
    return names;
}

using Series = std::vector<std::pair<std::string, std::vector<record::SeriesPoint>>>;

Series series_of(const record::RunReader& reader, const Options& options) {
    Series all;
    for (const std::string& name : names_in(options.metrics)) {
        all.emplace_back(name, reader.series(name).value());
        if (!all.back().second.empty()) continue;
        std::vector<std::string> known;
        const auto metrics = reader.metrics().value();
        for (const auto& metric : metrics) known.push_back(metric.tag);
        const std::string near = nearest(name, known);
        throw ErrorException({"no metric " + stillroom::quoted(name) + " is recorded", options.run,
                              near.empty() ? "`show` without options lists them"
                                           : "did you mean " + stillroom::quoted(near) + "?"});
    }
    return all;
}

void print_series(const Series& all) {
    std::vector<std::string> headings{"step", "wall s", "tokens"};
    std::map<int64_t, std::pair<const record::SeriesPoint*, std::vector<std::string>>> rows;
    for (size_t i = 0; i < all.size(); ++i) {
        headings.push_back(all[i].first);
        for (const record::SeriesPoint& point : all[i].second) {
            auto& [clock, cells] = rows[point.step];
            clock = &point;
            cells.resize(all.size());
            cells[i] = shortest(point.value);
        }
    }
    Table table(std::move(headings));
    for (auto& [step, row] : rows) {
        std::vector<std::string> cells{std::to_string(step), fixed(row.first->wall_seconds, 1),
                                       std::to_string(row.first->tokens_trained)};
        cells.insert(cells.end(), row.second.begin(), row.second.end());
        table.add(std::move(cells));
    }
    table.print();
}

json series_json(const Series& all) {
    json object = json::object();
    for (const auto& [name, points] : all) {
        json& list = object[name] = json::array();
        for (const record::SeriesPoint& point : points) {
            list.push_back({{"step", point.step},
                            {"value", number(point.value)},
                            {"wall_seconds", point.wall_seconds},
                            {"active_seconds", point.active_seconds},
                            {"tokens_trained", point.tokens_trained}});
        }
    }
    return object;
}

void print_rollouts(const std::vector<record::RolloutSummary>& rollouts) {
    Table table({"id", "step", "<prompt", "sample", "length", "<finish", "<verdict", "<answer", "<gold", "KL",
                 "max KL", "entropy", "overlap", "gain", "<top-16"});
    const auto figure = [](double value) { return std::isnan(value) ? "-" : fixed(value, 3); };
    for (const record::RolloutSummary& rollout : rollouts) {
        const record::RolloutFigures& figures = rollout.figures;
        const auto brief = [](const std::string& text) {
            return text.empty() ? "-" : stillroom::quoted(text, 20);
        };
        table.add({std::to_string(rollout.id), std::to_string(rollout.step), rollout.prompt_id,
                   std::to_string(rollout.sample), std::to_string(rollout.length), rollout.finish_reason,
                   rollout.verdict, brief(rollout.extracted), brief(rollout.gold), figure(figures.kl_mean),
                   figure(figures.kl_max), figure(figures.entropy), figure(figures.overlap),
                   figure(figures.gain), rollout.kept_because});
    }
    table.print();
}

json list_json(const std::vector<record::RolloutSummary>& rollouts) {
    json list = json::array();
    const auto figure = [](double value) { return std::isnan(value) ? json() : number(value); };
    for (const record::RolloutSummary& rollout : rollouts) {
        list.push_back({{"id", rollout.id},
                        {"step", rollout.step},
                        {"prompt", rollout.prompt_id},
                        {"prompt_index", rollout.prompt},
                        {"sample", rollout.sample},
                        {"length", rollout.length},
                        {"finish_reason", rollout.finish_reason},
                        {"verdict", rollout.verdict},
                        {"extracted", rollout.extracted},
                        {"gold", rollout.gold},
                        {"format_ok", rollout.format_ok},
                        {"pinned", rollout.pinned},
                        {"kept_because", rollout.kept_because},
                        {"kl_mean", figure(rollout.figures.kl_mean)},
                        {"kl_max", figure(rollout.figures.kl_max)},
                        {"entropy", figure(rollout.figures.entropy)},
                        {"overlap", figure(rollout.figures.overlap)},
                        {"gain", figure(rollout.figures.gain)},
                        {"clipped", figure(rollout.figures.clipped)}});
    }
    return list;
}

double metric_of(const record::Metrics& metrics, const char* name) {
    const auto found = metrics.find(name);
    return found == metrics.end() ? record::Undefined : found->second;
}

void print_overview(const record::RunReader& reader, const record::RunSummary& summary) {
    if (const auto evaluations = reader.evaluations().value(); !evaluations.empty()) {
        std::cout << "\nevaluations\n";
        Table table({"step", "<tag", "avg@n", "SE", "format", "truncated", "answers"});
        for (const auto& one : evaluations) {
            table.add({std::to_string(one.step), one.tag, fixed(metric_of(one.metrics, "eval_avg_at_n"), 4),
                       fixed(metric_of(one.metrics, "se_clustered"), 4),
                       fixed(metric_of(one.metrics, "eval_format_rate"), 3),
                       fixed(metric_of(one.metrics, "eval_truncated_fraction"), 3),
                       std::to_string(one.answers)});
        }
        table.print();
    }
    if (const auto checkpoints = reader.checkpoints().value(); !checkpoints.empty()) {
        std::cout << "\ncheckpoints\n";
        Table table({"step", "<folder", "MB", "seconds", "score", "<kept because"});
        for (const auto& one : checkpoints) {
            table.add({std::to_string(one.step), one.folder, fixed(double(one.bytes) / 1e6, 1),
                       fixed(one.seconds, 1), fixed(one.score.value_or(record::Undefined), 4),
                       one.removed ? "(removed)" : one.kept_because});
        }
        table.print();
    }
    if (const auto alarms = reader.alarms().value(); !alarms.empty()) {
        std::cout << "\nalarms\n";
        Table table({"<level", "<alarm", "first", "last", "count", "<evidence"});
        for (const auto& one : alarms) {
            table.add({one.level, one.name, std::to_string(one.first_step), std::to_string(one.last_step),
                       std::to_string(one.count), one.evidence + (one.active ? "" : " (past)")});
        }
        table.print();
    }
    if (const auto metrics = reader.metrics().value(); !metrics.empty()) {
        std::cout << "\nmetrics\n";
        Table table({"<metric", "points", "last", "undefined", "not finite"});
        const auto count = [](int64_t number) { return number == 0 ? "" : std::to_string(number); };
        for (const auto& one : metrics) {
            table.add({one.tag, std::to_string(one.count), shortest(one.last), count(one.undefined),
                       count(one.not_finite)});
        }
        table.print();
    }
    if (const auto events = reader.events(events_shown).value(); !events.empty()) {
        std::cout << "\nlast events\n";
        Table table({"<time", "step", "<kind", "<text"});
        for (const auto& [id, session, event] : events) {
            table.add({record::clock_text(event.time), std::to_string(event.step), event.kind, event.text});
        }
        table.print();
    }
    std::cout << '\n'
              << summary.rollouts << " rollouts (" << fixed(double(summary.rollout_bytes) / 1e6, 1)
              << " MB), top-16 kept for " << summary.top16 << " ("
              << fixed(double(summary.top16_bytes) / 1e6, 1) << " MB)\n";
}

json overview(const record::RunReader& reader) {
    json object{{"settings", reader.settings().value()}};
    const auto metrics = reader.metrics().value();
    for (const auto& one : metrics) {
        object["metrics"][one.tag] = {{"count", one.count},           {"first_step", one.first_step},
                                      {"last_step", one.last_step},   {"undefined", one.undefined},
                                      {"not_finite", one.not_finite}, {"last", number(one.last)}};
    }
    const auto evaluations = reader.evaluations().value();
    for (const auto& one : evaluations) {
        object["evaluations"].push_back({{"step", one.step},
                                         {"tag", one.tag},
                                         {"answers", one.answers},
                                         {"protocol_hash", one.protocol_hash},
                                         {"metrics", numbers(one.metrics)}});
    }
    const auto checkpoints = reader.checkpoints().value();
    for (const auto& one : checkpoints) {
        object["checkpoints"].push_back({{"step", one.step},
                                         {"folder", one.folder},
                                         {"bytes", one.bytes},
                                         {"score", one.score ? number(*one.score) : json()},
                                         {"sha256", one.sha256},
                                         {"kept_because", one.kept_because},
                                         {"removed", one.removed}});
    }
    const auto alarms = reader.alarms().value();
    for (const auto& one : alarms) {
        object["alarms"].push_back({{"name", one.name},
                                    {"level", one.level},
                                    {"first_step", one.first_step},
                                    {"last_step", one.last_step},
                                    {"count", one.count},
                                    {"evidence", one.evidence},
                                    {"active", one.active}});
    }
    const auto events = reader.events().value();
    for (const auto& [id, session, event] : events) {
        object["events"].push_back({{"time", event.time},
                                    {"session", session},
                                    {"step", event.step},
                                    {"kind", event.kind},
                                    {"text", event.text}});
    }
    return object;
}

/// The tokenizer of the run's newest checkpoint, else of the model it began with; none where neither is
/// there.
std::optional<text::Tokenizer> tokenizer_of(const record::RunReader& reader,
                                            const std::filesystem::path& run) {
    const auto checkpoints = reader.checkpoints().value();
    for (auto one = checkpoints.rbegin(); one != checkpoints.rend(); ++one) {
        if (one->removed) continue;
        if (auto tokenizer = text::Tokenizer::of_model(run / one->folder)) return *tokenizer;
    }
    const auto recipe = formats::read_recipe(run / "recipe.toml");
    if (!recipe) return std::nullopt;
    if (auto tokenizer = text::Tokenizer::of_model(recipe->student.model)) return *tokenizer;
    return std::nullopt;
}

int show(const Options& options) {
    const auto reader = record::RunReader::open(options.run).value();
    const record::RunSummary summary = reader.summary().value();
    const bool chosen = !options.metrics.empty() || options.rollouts > 0 || options.rollout > 0;
    json object = as_json(summary);
    if (!options.json) std::cout << summary.name << ": " << record::state_line(summary) << '\n';
    if (!chosen) {
        if (options.json) {
            object.update(overview(reader));
        } else {
            print_overview(reader, summary);
        }
    }
    if (!options.metrics.empty()) {
        const Series all = series_of(reader, options);
        if (options.json) {
            object["series"] = series_json(all);
        } else {
            std::cout << '\n';
            print_series(all);
        }
    }
    if (options.rollouts > 0) {
        const auto newest = reader.rollouts({.descending = true, .limit = options.rollouts}).value();
        if (options.json) {
            object["rollout_list"] = list_json(newest);
        } else {
            std::cout << '\n';
            print_rollouts(newest);
        }
    }
    if (options.rollout > 0) {
        const auto rollout = reader.rollout(options.rollout).value();
        const auto tokenizer = tokenizer_of(reader, summary.folder);
        if (options.json) {
            object["rollout"] = as_json(options.rollout, rollout, tokenizer);
        } else {
            std::cout << '\n';
            print_rollout(options.rollout, rollout, tokenizer);
        }
    }
    if (options.json) print(object);
    return Done;
}

} // namespace

void add_show(CLI::App& app) {
    auto options = std::make_shared<Options>();
    CLI::App* command = app.add_subcommand("show", "a run's state, metrics, rollouts and token records");
    command->add_option("RUN", options->run, "the run's folder")->required();
    command->add_option("--metrics", options->metrics, "names, separated by commas: their series");
    command->add_option("--rollouts", options->rollouts, "the newest so many rollouts")->check(positive());
    command->add_option("--rollout", options->rollout, "one rollout by its id, token by token")
        ->check(positive());
    command->add_flag("--json", options->json, "as one JSON object");
    command->footer(
        "Example:\n  run=$(mktemp -du)\n"
        "  build/bin/stillroom-cli train sample-opd --steps 2 --set evaluation.limit=20 --out $run\n"
        "  build/bin/stillroom-cli show $run --metrics loss,kl_reverse_exact --rollouts 5");
    command->callback([options] { exit_with(show(*options)); });
}

} // namespace stillroom::cli
