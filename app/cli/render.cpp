// SPDX-License-Identifier: GPL-3.0-or-later
// render: chat messages to the text and ids that a model is prompted with.
#include "app/cli/command.h"
#include "app/cli/commands.h"
#include "text/chat_template.h"

#include <memory>
#include <optional>
#include <string>

namespace stillroom::cli {

namespace {

struct Options {
    std::string model;
    Streams streams;
};

Result<std::optional<bool>> flag_of(const nlohmann::json& item, const char* key) {
    if (!item.contains(key) || item[key].is_null()) return std::optional<bool>{};
    if (!item[key].is_boolean()) return Error{"\"" + std::string(key) + "\" is not true or false"};
    return std::optional<bool>{item[key].get<bool>()};
}

Result<nlohmann::json> rendered(const nlohmann::json& item, const text::ChatTemplate& chat_template,
                                const text::Tokenizer& tokenizer) {
    if (!item.contains("messages")) return Error{"no \"messages\", expected a list of {role, content}"};
    const auto prompt = flag_of(item, "add_generation_prompt");
    if (!prompt) return prompt.error();
    const auto thinking = flag_of(item, "enable_thinking");
    if (!thinking) return thinking.error();
    auto text = text::render(chat_template, item["messages"], prompt->value_or(true), *thinking);
    if (!text) return text.error();
    return nlohmann::json{{"ids", tokenizer.encode(*text)}, {"text", std::move(*text)}};
}

} // namespace

void add_render(CLI::App& app) {
    auto options = std::make_shared<Options>();
    CLI::App* command =
        app.add_subcommand("render", "chat messages to the text and ids of the model's chat template");
    command->add_option("MODEL", options->model, "a model folder or a .gguf file")->required();
    add_stream_options(*command, options->streams);
    command->footer(
        "Reads {\"messages\": [...], \"add_generation_prompt\": b (true), \"enable_thinking\": b (the "
        "template's own)}.\n"
        "Example:\n  echo '{\"messages\": [{\"role\": \"user\", \"content\": \"2+2?\"}]}' | "
        "build/bin/stillroom-cli render resources/sample/base");
    command->callback([options] {
        const text::Tokenizer tokenizer = text::Tokenizer::of_model(options->model).value();
        const text::ChatTemplate chat_template = text::ChatTemplate::of(tokenizer).value();
        exit_with(answer_lines(options->streams, [&](const nlohmann::json& item) {
            return rendered(item, chat_template, tokenizer);
        }));
    });
}

} // namespace stillroom::cli
