// SPDX-License-Identifier: GPL-3.0-or-later
#include "data/prompts.h"

#include <algorithm>

namespace stillroom::data {

std::string filled(std::string_view text, const std::vector<std::pair<std::string, std::string>>& parts) {
    std::string result;
    for (size_t at = 0; at < text.size();) {
        const auto here = [&](const auto& part) {
            return text[at] == '{' && text.substr(at + 1).starts_with(part.first + "}");
        };
        const auto part = std::find_if(parts.begin(), parts.end(), here);
        if (part == parts.end()) {
            result += text[at++];
        } else {
            result += part->second;
            at += part->first.size() + 2;
        }
    }
    return result;
}

std::string student_user_text(const Example& example, const formats::DataSection& data) {
    return filled(data.user, {{"problem", example.problem}, {"instruction", data.instruction}});
}

nlohmann::json messages_with(const Example& example, const formats::DataSection& data,
                             const std::string& user_text) {
    nlohmann::json messages = example.messages.is_array() ? example.messages : nlohmann::json::array();
    if (!messages.empty()) messages.erase(messages.size() - 1); // the user turn that `user_text` stands for
    const bool has_system = !messages.empty() && messages.front()["role"] == "system";
    if (!data.system.empty() && !has_system) {
        messages.insert(messages.begin(), nlohmann::json{{"role", "system"}, {"content", data.system}});
    }
    messages.push_back({{"role", "user"}, {"content", user_text}});
    return messages;
}

nlohmann::json student_messages(const Example& example, const formats::DataSection& data) {
    return messages_with(example, data, student_user_text(example, data));
}

Result<std::string> sft_target(const Example& example, const formats::DataSection& data, bool with_context) {
    const bool own_column = !data.target.empty() && !with_context;
    const std::string& text = own_column ? example.target : example.solution;
    if (text.empty())
        return Error{"no '" + (own_column ? data.target : data.solution) + "' to learn", example.where};
    return text;
}

} // namespace stillroom::data
