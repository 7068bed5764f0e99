// SPDX-License-Identifier: GPL-3.0-or-later
// inspect: what a file or folder holds, every check of its reader made.
#include "app/cli/command.h"
#include "app/cli/commands.h"
#include "app/cli/inspect_report.h"

#include "base/strings.h"

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <memory>

namespace stillroom::cli {

namespace {

using nlohmann::ordered_json;

struct Options {
    std::string path;
    bool json = false;
};

std::string shown(const ordered_json& value) {
    if (value.is_string())
        return trimmed(value.get_ref<const std::string&>()).empty() ? "-" : value.get<std::string>();
    if (value.is_null()) return "-";
    if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
    if (!value.is_array()) return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
    std::vector<std::string> items;
    for (const auto& item : value) items.push_back(shown(item));
    return items.empty() ? "-" : join(items, ", ");
}

void print_tensors(const ordered_json& tensors) {
    size_t width = 0;
    for (const auto& tensor : tensors)
        width = std::max(width, tensor["name"].get_ref<const std::string&>().size());
    std::cout << "tensors\n";
    for (const auto& tensor : tensors) {
        std::cout << "  " << std::left << std::setw(int(width) + 2) << tensor["name"].get<std::string>()
                  << std::setw(8) << tensor["type"].get<std::string>() << "["
                  << (tensor["shape"].empty() ? "" : shown(tensor["shape"])) << "]\n";
    }
}

void print(const ordered_json& report, const std::string& indent) {
    size_t width = 0;
    for (const auto& [key, value] : report.items()) width = std::max(width, key.size());
    for (const auto& [key, value] : report.items()) {
        if (key == "tensors") continue;
        if (value.is_object()) {
            std::cout << indent << key << '\n';
            print(value, indent + "  ");
        } else if (value.is_array() && !value.empty() && value.front().is_object()) {
            std::cout << indent << key << '\n';
            for (const auto& item : value) std::cout << indent << "  " << shown(item) << '\n';
        } else {
            std::cout << indent << std::left << std::setw(int(width) + 2) << key << shown(value) << '\n';
        }
    }
}

int run(const Options& options) {
    const auto report = inspected(options.path).value();
    if (options.json) {
        std::cout << report.dump(2, ' ', false, ordered_json::error_handler_t::replace) << '\n';
        return Done;
    }
    print(report, "");
    if (report.contains("tensors")) print_tensors(report["tensors"]);
    return Done;
}

} // namespace

void add_inspect(CLI::App& app) {
    auto options = std::make_shared<Options>();
    CLI::App* command = app.add_subcommand("inspect", "what a model, file or run holds, fully checked");
    command
        ->add_option("PATH", options->path,
                     "a folder, .safetensors, .gguf, config.json, tokenizer.json or index")
        ->required();
    command->add_flag("--json", options->json, "one JSON object instead of text");
    command->footer("Example:\n  build/bin/stillroom-cli inspect tests/golden/models/qwen3-tied");
    command->callback([options] { exit_with(run(*options)); });
}

} // namespace stillroom::cli
