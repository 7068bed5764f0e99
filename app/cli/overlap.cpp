// SPDX-License-Identifier: GPL-3.0-or-later
// overlap: the problems that two data sets share, byte for byte or after normalising.
#include "app/cli/command.h"
#include "app/cli/commands.h"

#include "base/strings.h"
#include "data/overlap.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <set>

namespace stillroom::cli {

namespace {

struct Options {
    std::string left, right;
    formats::DataSection columns;
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
                const std::vector<data::Coincidence>& pairs) {
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
    std::cout << report.dump(2) << '\n';
}

void write_text(const data::Dataset& left, const data::Dataset& right,
                const std::vector<data::Coincidence>& pairs) {
    for (const data::Coincidence& pair : pairs) {
        const data::Example& one = left.examples[size_t(pair.left)];
        std::cout << one.where << "  " << right.examples[size_t(pair.right)].where << "  "
                  << (pair.exact ? "exact     " : "normalised") << "  " << stillroom::quoted(one.problem)
                  << '\n';
    }
    const auto exact = std::count_if(pairs.begin(), pairs.end(), [](const auto& pair) { return pair.exact; });
    std::cout << shared_problems(pairs) << " of " << left.examples.size() << " problems of "
              << left.files.front().string() << " are among the " << right.examples.size() << " of "
              << right.files.front().string() << " (" << pairs.size() << " pairs, " << exact
              << " of them exact)\n";
}

int run(const Options& options) {
    const auto left = data::load_dataset({options.left}, options.columns).value();
    const auto right = data::load_dataset({options.right}, options.columns).value();
    const auto pairs = data::overlap(left, right);
    options.json ? write_json(left, right, pairs) : write_text(left, right, pairs);
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
    command->add_flag("--json", options->json, "one JSON object instead of text");
    command->footer("Example:\n  build/bin/stillroom-cli overlap resources/gsm8k/gsm8k_train_2000.jsonl "
                    "resources/gsm8k/gsm8k_test.jsonl");
    command->callback([options] { exit_with(run(*options)); });
}

} // namespace stillroom::cli
