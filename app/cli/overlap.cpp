// SPDX-License-Identifier: GPL-3.0-or-later
// overlap: the problems that two data sets share, byte for byte or after normalising.
#include "app/cli/command.h"
#include "app/cli/commands.h"

#include "base/strings.h"
#include "data/overlap.h"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>
#include <set>

namespace stillroom::cli {

namespace {

struct Options {
    std::string left, right;
    formats::DataSection columns;
    int64_t run = data::usual_run;
    double share = data::suspect_share;
    bool json = false;
};

nlohmann::json place(const data::Example& example) { return {{"line", example.line}, {"id", example.id}}; }

/// How many different examples of the left set have a partner.
size_t shared_problems(const std::vector<data::Coincidence>& pairs) {
    std::set<int64_t> found;
    for (const data::Coincidence& pair : pairs) found.insert(pair.left);
    return found.size();
}

void write_json(const data::Dataset& left, const data::Dataset& right,
                const std::vector<data::Coincidence>& pairs, const std::vector<data::SharedRuns>& runs) {
    nlohmann::json report{
        {"left", left.files.front().string()},        {"right", right.files.front().string()},
        {"left_rows", left.examples.size()},          {"right_rows", right.examples.size()},
        {"left_rows_shared", shared_problems(pairs)}, {"pairs", nlohmann::json::array()}};
    for (const data::Coincidence& pair : pairs) {
        const data::Example& one = left.examples[size_t(pair.left)];
        report["pairs"].push_back({{"left", place(one)},
                                   {"right", place(right.examples[size_t(pair.right)])},
                                   {"exact", pair.exact},
                                   {"problem", one.problem}});
    }
    report["shared_runs"] = nlohmann::json::array();
    for (const data::SharedRuns& shared : runs) {
        const data::Example& one = left.examples[size_t(shared.left)];
        report["shared_runs"].push_back({{"left", place(one)},
                                         {"right", place(right.examples[size_t(shared.right)])},
                                         {"share", shared.share},
                                         {"problem", one.problem}});
    }
    std::cout << report.dump(2) << '\n';
}

void write_text(const data::Dataset& left, const data::Dataset& right,
                const std::vector<data::Coincidence>& pairs, const std::vector<data::SharedRuns>& runs,
                int64_t run) {
    for (const data::Coincidence& pair : pairs) {
        const data::Example& one = left.examples[size_t(pair.left)];
        std::cout << one.where << "  " << right.examples[size_t(pair.right)].where << "  "
                  << (pair.exact ? "exact     " : "normalised") << "  " << stillroom::quoted(one.problem)
                  << '\n';
    }
    for (const data::SharedRuns& shared : runs) {
        const data::Example& one = left.examples[size_t(shared.left)];
        char share[16];
        std::snprintf(share, sizeof share, "runs %3.0f %%", 100 * shared.share);
        std::cout << one.where << "  " << right.examples[size_t(shared.right)].where << "  " << share << "  "
                  << stillroom::quoted(one.problem) << '\n';
    }
    const auto exact = std::count_if(pairs.begin(), pairs.end(), [](const auto& pair) { return pair.exact; });
    std::cout << shared_problems(pairs) << " of " << left.examples.size() << " problems of "
              << left.files.front().string() << " are among the " << right.examples.size() << " of "
              << right.files.front().string() << " (" << pairs.size() << " pairs, " << exact
              << " of them exact); " << runs.size() << " share runs of " << run
              << " words with one of them\n";
}

int run(const Options& options) {
    const auto left = data::load_dataset({options.left}, options.columns).value();
    const auto right = data::load_dataset({options.right}, options.columns).value();
    const auto pairs = data::overlap(left, right);
    auto runs = data::shared_runs(left, right, options.run, options.share);
    std::set<int64_t> same;
    for (const data::Coincidence& pair : pairs) same.insert(pair.left);
    std::erase_if(runs, [&](const auto& shared) { return same.contains(shared.left); });
    options.json ? write_json(left, right, pairs, runs) : write_text(left, right, pairs, runs, options.run);
    return Done;
}

} // namespace

void add_overlap(CLI::App& app) {
    auto options = std::make_shared<Options>();
    CLI::App* command = app.add_subcommand("overlap", "the problems that two data sets share");
    command->add_option("A", options->left, "a data set, JSON lines")->required();
    command->add_option("B", options->right, "another")->required();
    command->add_option("--problem", options->columns.problem, "column of the problem")
        ->capture_default_str();
    command
        ->add_option("--messages", options->columns.messages,
                     "column of chat messages, where a row has no problem")
        ->capture_default_str();
    command->add_option("--run", options->run, "words in a run, for problems that share text")
        ->check(positive())
        ->capture_default_str();
    command
        ->add_option("--share", options->share,
                     "share of a problem's runs that one other problem has to hold")
        ->check(CLI::Range(0.0, 1.0))
        ->capture_default_str();
    command->add_flag("--json", options->json, "one JSON object instead of text");
    command->footer("Example:\n  build/bin/stillroom-cli overlap resources/gsm8k/gsm8k_train_2000.jsonl "
                    "resources/gsm8k/gsm8k_test.jsonl");
    command->callback([options] { exit_with(run(*options)); });
}

} // namespace stillroom::cli
