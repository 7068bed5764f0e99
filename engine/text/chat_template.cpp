// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/chat_template.h"

namespace stillroom::text {

namespace {

using nlohmann::ordered_json;

std::optional<Error> fault_of(const ordered_json& messages) {
    if (!messages.is_array()) return Error{"messages is not a list"};
    for (size_t i = 0; i < messages.size(); ++i) {
        const std::string where = "messages[" + std::to_string(i) + "]";
        if (!messages[i].is_object()) return Error{"is not an object with role and content", where};
        if (!messages[i].contains("role") || !messages[i]["role"].is_string()) {
            return Error{"has no role, expected system, user or assistant", where};
        }
    }
    return std::nullopt;
}

} // namespace

ordered_json to_json(std::span<const Message> messages) {
    ordered_json list = ordered_json::array();
    for (const Message& message : messages)
        list.push_back({{"role", message.role}, {"content", message.content}});
    return list;
}

Result<ChatTemplate> ChatTemplate::parse(const std::string& source, TemplateTokens tokens,
                                         const std::string& where) {
    auto program = JinjaTemplate::parse(source, where);
    if (!program) return program.error();
    return ChatTemplate(source, std::move(*program), std::move(tokens));
}

Result<ChatTemplate> ChatTemplate::of(const Tokenizer& tokenizer) {
    if (tokenizer.chat_template().empty()) {
        return Error{"the tokenizer has no chat template", "",
                     "give one in chat_template.jinja, or use plain prompts"};
    }
    return parse(tokenizer.chat_template(), {.bos = tokenizer.bos_token(),
                                             .eos = tokenizer.eos_token(),
                                             .pad = tokenizer.pad_token(),
                                             .unk = tokenizer.unk_token()});
}

Result<std::string> render(const ChatTemplate& chat_template, const ordered_json& messages,
                           const RenderOptions& options) {
    if (auto fault = fault_of(messages)) return *fault;
    ordered_json variables = options.others.is_object() ? options.others : ordered_json::object();
    variables["messages"] = messages;
    variables["add_generation_prompt"] = options.add_generation_prompt;
    variables["tools"] = options.tools; // none where there are none, as Hugging Face has it
    variables["documents"] = nullptr;
    if (options.enable_thinking) variables["enable_thinking"] = *options.enable_thinking;
    const auto give = [&](const char* name, const std::optional<std::string>& token) {
        if (token) variables[name] = *token;
    };
    give("bos_token", chat_template.tokens().bos);
    give("eos_token", chat_template.tokens().eos);
    give("pad_token", chat_template.tokens().pad);
    give("unk_token", chat_template.tokens().unk);
    return chat_template.program().render(variables, options.limits);
}

Result<std::string> render(const ChatTemplate& chat_template, const nlohmann::json& messages,
                           bool add_generation_prompt, std::optional<bool> enable_thinking) {
    return render(chat_template, ordered_json(messages),
                  {.add_generation_prompt = add_generation_prompt, .enable_thinking = enable_thinking});
}

Result<std::string> render(const ChatTemplate& chat_template, std::span<const Message> messages,
                           bool add_generation_prompt, std::optional<bool> enable_thinking) {
    return render(chat_template, to_json(messages),
                  {.add_generation_prompt = add_generation_prompt, .enable_thinking = enable_thinking});
}

} // namespace stillroom::text
