// SPDX-License-Identifier: GPL-3.0-or-later
// The little of LaTeX that the answer check reads: characters, matching braces, commands.
#pragma once

#include <string_view>

namespace stillroom::maths {

// ASCII only, whatever the locale says.
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? char(c + ('a' - 'A')) : c; }

/// Index of the brace that closes the one at `open`; npos if it is not closed. "\{" and "\}" are no braces.
inline size_t closing_brace(std::string_view text, size_t open) {
    int depth = 0;
    for (size_t at = open; at < text.size(); ++at) {
        if (text[at] == '\\') {
            ++at;
        } else if (text[at] == '{') {
            ++depth;
        } else if (text[at] == '}' && --depth == 0) {
            return at;
        }
    }
    return std::string_view::npos;
}

/// The command at `at`, which holds a backslash, without it: its letters, or the one character that follows.
inline std::string_view command_at(std::string_view text, size_t at) {
    size_t end = at + 1;
    while (end < text.size() && is_letter(text[end])) ++end;
    return text.substr(at + 1, end == at + 1 ? 1 : end - at - 1);
}

} // namespace stillroom::maths
