// SPDX-License-Identifier: GPL-3.0-or-later
// Chat templates: messages to the text that a model was trained to go on from, as Hugging Face's
// apply_chat_template gives it.
#pragma once

#include "text/jinja.h"
#include "text/tokenizer.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace stillroom::text {

struct Message {
    std::string role; // system, user, assistant
    std::string content;
};

nlohmann::ordered_json to_json(std::span<const Message> messages);

/// The special tokens that a template may write.
struct TemplateTokens {
    std::optional<std::string> bos, eos, pad, unk;
};

/// A parsed chat template. Cheap to copy; may be rendered from several threads.
class ChatTemplate {
public:
    /// `where` names the template in messages.
    static Result<ChatTemplate> parse(const std::string& source, TemplateTokens tokens = {},
                                      const std::string& where = "chat template");

    /// The tokenizer's own; an error where it has none.
    static Result<ChatTemplate> of(const Tokenizer& tokenizer);

    const std::string& source() const { return source_; }
    const JinjaTemplate& program() const { return program_; }
    const TemplateTokens& tokens() const { return tokens_; }

private:
    ChatTemplate(std::string source, JinjaTemplate program, TemplateTokens tokens)
        : source_(std::move(source)), program_(std::move(program)), tokens_(std::move(tokens)) {}
    std::string source_;
    JinjaTemplate program_;
    TemplateTokens tokens_;
};

/// What else a template may look at.
struct RenderOptions {
    bool add_generation_prompt = true;
    std::optional<bool> enable_thinking = std::nullopt; // undefined in the template where not given
    nlohmann::ordered_json tools = nullptr;             // a list; undefined keys stay in the order given
    nlohmann::ordered_json others = nullptr;            // an object of further variables
    JinjaLimits limits = {};
};

/// The text of `messages`: a list of objects with `role`, `content` and what the template knows besides
/// (`tool_calls`). Encode it with Tokenizer::encode(): a template writes the begin-of-text token itself.
Result<std::string> render(const ChatTemplate& chat_template, const nlohmann::ordered_json& messages,
                           const RenderOptions& options = {});

Result<std::string> render(const ChatTemplate& chat_template, const nlohmann::json& messages,
                           bool add_generation_prompt, std::optional<bool> enable_thinking = std::nullopt);

Result<std::string> render(const ChatTemplate& chat_template, std::span<const Message> messages,
                           bool add_generation_prompt, std::optional<bool> enable_thinking = std::nullopt);

} // namespace stillroom::text
