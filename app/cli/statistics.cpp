// SPDX-License-Identifier: GPL-3.0-or-later
// statistics: scores, errors and comparisons from graded samples.
#include "app/cli/command.h"
#include "app/cli/commands.h"
#include "app/cli/statistics_report.h"
#include "base/files.h"
#include "formats/json_lines.h"

#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <unordered_map>

namespace stillroom::cli {

namespace {

struct Options {
    std::string against;
    StatisticsOptions statistics;
    double effect = 0;
    Streams streams;
};

[[noreturn]] void fail(const std::string& where, const std::string& what) {
    throw ErrorException({what, where});
}

/// A 0/1 of an item; nullopt where the key is missing or null.
std::optional<bool> flag(const nlohmann::json& item, const char* key, const std::string& where) {
    const auto found = item.find(key);
    if (found == item.end() || found->is_null()) return std::nullopt;
    if (found->is_boolean()) return found->get<bool>();
    if (found->is_number_integer() && (*found == 0 || *found == 1)) return *found == 1;
    fail(where, "\"" + std::string(key) + "\" is " + found->dump() + ", expected 0 or 1");
}

std::string question_id(const nlohmann::json& item, const std::string& where) {
    const auto found = item.find("question");
    if (found == item.end()) fail(where, "no \"question\"; expected its id, a string or a whole number");
    if (found->is_string()) return found->get<std::string>();
    if (found->is_number_integer()) return found->dump();
    fail(where, "\"question\" is " + found->dump() + ", expected a string or a whole number");
}

std::optional<int64_t> tokens_of(const nlohmann::json& item, const std::string& where) {
    const auto found = item.find("length");
    if (found == item.end() || found->is_null()) return std::nullopt;
    if (!found->is_number_integer() || found->get<int64_t>() < 0) {
        fail(where, "\"length\" is " + found->dump() + ", expected a number of tokens");
    }
    return found->get<int64_t>();
}

stats::Sample sample_of(const nlohmann::json& item, const std::string& where) {
    const auto correct = flag(item, "correct", where);
    if (!correct) fail(where, "no \"correct\"; expected 0 or 1");
    stats::Sample sample;
    sample.outcome = *correct ? stats::Outcome::Right : stats::Outcome::Wrong;
    if (!*correct && item.value("verdict", nlohmann::json()) == "unknown")
        sample.outcome = stats::Outcome::Undecided;
    if (const auto answer = item.find("answer"); answer != item.end() && !answer->is_null()) {
        if (!answer->is_string())
            fail(where, "\"answer\" is " + answer->dump() + ", expected a string or null");
        sample.answer = answer->get<std::string>();
    }
    // Without "format", to have an answer is to have it in the asked form.
    sample.has_answer =
        flag(item, "format", where).value_or(item.contains("answer") ? sample.answer.has_value() : true);
    sample.truncated = flag(item, "truncated", where).value_or(false);
    sample.tokens = tokens_of(item, where);
    return sample;
}

/// All samples of a file ("" is standard input). A bad line is an error: figures over the rest would look
/// whole.
ScoredSamples read_samples(const std::string& path) {
    std::ifstream file;
    if (!path.empty()) {
        file.open(path);
        if (!file) fail(path, "cannot be opened for reading");
    }
    const std::string source = path.empty() ? "standard input" : path;
    ScoredSamples samples;
    std::unordered_map<std::string, size_t> places;
    int64_t number = 0, read = 0, answers = 0, formats = 0, truncations = 0, lengths = 0;
    for (std::string line; std::getline(path.empty() ? std::cin : file, line);) {
        const std::string where = source + ":" + std::to_string(++number);
        if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
        const nlohmann::json item = formats::parse_json_line(line, where).value();
        const auto [place, fresh] = places.try_emplace(question_id(item, where), samples.questions.size());
        if (fresh) samples.questions.push_back({place->first, std::nullopt, {}});
        const stats::Sample sample = sample_of(item, where);
        ++read;
        answers += item.contains("answer");
        formats += item.contains("format");
        truncations += item.contains("truncated");
        lengths += sample.tokens.has_value();
        samples.questions[place->second].samples.push_back(sample);
    }
    if (read == 0) fail(source, "holds no samples");
    samples.has_answers = answers == read;
    samples.has_format = formats == read;
    samples.has_truncated = truncations == read;
    samples.has_tokens = lengths == read;
    for (const auto& [count, key] : {std::pair{answers, "answer"},
                                     {formats, "format"},
                                     {truncations, "truncated"},
                                     {lengths, "length"}}) {
        if (count == 0 || count == read) continue;
        std::cerr << "warning: " << source << ": \"" << key << "\" is in " << count << " of " << read
                  << " lines; figures that need it are left out\n";
    }
    return samples;
}

int run(Options& options) {
    if (options.effect > 0) options.statistics.effect = options.effect;
    const ScoredSamples samples = read_samples(options.streams.in);
    nlohmann::json report = statistics_of(samples, options.statistics);
    if (!options.against.empty()) {
        report["against"] = comparison_of(samples, read_samples(options.against), options.statistics);
    }
    std::ofstream file;
    if (!options.streams.out.empty()) {
        file.open(options.streams.out);
        if (!file) fail(options.streams.out, "cannot be opened for writing");
    }
    std::ostream& out = options.streams.out.empty() ? std::cout : file;
    if (options.streams.json) {
        out << report.dump(2) << '\n';
    } else {
        print_statistics(out, report);
    }
    if (!out.flush())
        fail(options.streams.out.empty() ? "standard output" : options.streams.out,
             "cannot be written to its end");
    return Done;
}

} // namespace

void add_statistics(CLI::App& app) {
    auto options = std::make_shared<Options>();
    CLI::App* command =
        app.add_subcommand("statistics", "scores, standard errors and comparisons from graded samples");
    command->add_option("--against", options->against,
                        "samples of a baseline: adds the paired difference, these minus those");
    command
        ->add_option("--k", options->statistics.ks,
                     "k of pass@k and maj@k (powers of two up to the fewest samples)")
        ->check(positive());
    command
        ->add_option("--effect", options->effect,
                     "also say what it takes to resolve this difference (a share)")
        ->check(positive());
    command->add_option("--resamples", options->statistics.resamples, "of the bootstrap by question")
        ->check(CLI::Range(int64_t{2}, int64_t{1000000}))
        ->capture_default_str();
    command->add_option("--seed", options->statistics.seed, "of the bootstrap and of sampled subsets")
        ->capture_default_str();
    add_stream_options(*command, options->streams);
    command->add_flag("--json", options->streams.json, "the report as one JSON object");
    command->footer("One line a sample: question, correct (0/1), and optionally answer, format, truncated "
                    "(0/1), length.\n"
                    "Example:\n  printf '%s\\n' '{\"question\": 1, \"correct\": 1}' '{\"question\": 2, "
                    "\"correct\": 0}' | "
                    "build/bin/stillroom-cli statistics");
    command->callback([options] { exit_with(run(*options)); });
}

} // namespace stillroom::cli
