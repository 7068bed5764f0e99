// SPDX-License-Identifier: GPL-3.0-or-later
// tokenize: text to token ids, and with --decode back.
#include "app/cli/command.h"
#include "app/cli/commands.h"
#include "text/tokenizer.h"

#include <memory>
#include <string>

namespace stillroom::cli {

namespace {

struct Options {
    std::string model;
    bool decode = false;
    Streams streams;
};

Result<nlohmann::json> encoded(const nlohmann::json& item, const text::Tokenizer& tokenizer) {
    if (!item.contains("text") || !item["text"].is_string()) return Error{"no \"text\", expected a string"};
    bool special = true;
    if (item.contains("special")) {
        if (!item["special"].is_boolean()) return Error{"\"special\" is not true or false"};
        special = item["special"].get<bool>();
    }
    return nlohmann::json{{"ids", tokenizer.encode(item["text"].get_ref<const std::string&>(), special)}};
}

Result<nlohmann::json> decoded(const nlohmann::json& item, const text::Tokenizer& tokenizer) {
    if (!item.contains("ids") || !item["ids"].is_array())
        return Error{"no \"ids\", expected a list of token ids"};
    std::vector<text::TokenId> ids;
    for (const nlohmann::json& id : item["ids"]) {
        const bool in_range = id.is_number_integer() && id >= 0 && id < tokenizer.size();
        if (!in_range || !tokenizer.is_known(id.get<text::TokenId>())) {
            return Error{"\"ids\" holds " + id.dump() +
                         ", which is not the id of a token; the vocabulary has ids below " +
                         std::to_string(tokenizer.size())};
        }
        ids.push_back(id.get<text::TokenId>());
    }
    return nlohmann::json{{"text", tokenizer.decode(ids)}};
}

} // namespace

void add_tokenize(CLI::App& app) {
    auto options = std::make_shared<Options>();
    CLI::App* command = app.add_subcommand("tokenize", "text to token ids, or with --decode back");
    command->add_option("MODEL", options->model, "a model folder or a .gguf file")->required();
    command->add_flag("--decode", options->decode, "read ids, write text");
    add_stream_options(*command, options->streams);
    command->footer(
        "Reads {\"text\": s, \"special\": b} (true, the default: special tokens in the text count as such) "
        "or, with --decode, {\"ids\": [...]}.\n"
        "Example:\n  echo '{\"text\": \"2+2=4\"}' | build/bin/stillroom-cli tokenize resources/sample/base");
    command->callback([options] {
        const text::Tokenizer tokenizer = text::Tokenizer::of_model(options->model).value();
        exit_with(answer_lines(options->streams, [&](const nlohmann::json& item) {
            return options->decode ? decoded(item, tokenizer) : encoded(item, tokenizer);
        }));
    });
}

} // namespace stillroom::cli
