// SPDX-License-Identifier: GPL-3.0-or-later
// The messages that a student and a teacher get for an example, before any template or token.
#pragma once

#include "data/dataset.h"

namespace stillroom::data {

/// The student's user turn: data.user with {problem} and {instruction} filled in.
std::string student_user_text(const Example& example, const formats::DataSection& data);

/// Chat messages that end with `user_text`: a system message if the recipe has one (a chat row's own wins), a
/// chat row's earlier turns, the user turn.
nlohmann::json messages_with(const Example& example, const formats::DataSection& data,
                             const std::string& user_text);

/// messages_with the student's user turn.
nlohmann::json student_messages(const Example& example, const formats::DataSection& data);

/// The text that sft teaches after a prompt of `example`: the column data.target where one is named, else the
/// solution. A prompt that shows the context is always answered by the solution that it shows. An error where
/// there is none.
Result<std::string> sft_target(const Example& example, const formats::DataSection& data, bool with_context);

/// `text` with each {name} replaced, in one pass: what is filled in is never searched again. Other braces
/// stay.
std::string filled(std::string_view text, const std::vector<std::pair<std::string, std::string>>& parts);

} // namespace stillroom::data
