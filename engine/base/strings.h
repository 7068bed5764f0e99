// SPDX-License-Identifier: GPL-3.0-or-later
// The few string operations that messages and readers share.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stillroom {

/// The candidate with the fewest edits (insert, delete, replace, swap of neighbours) to `word`; empty if all
/// are far (more than a third of the word's length, at least 2).
std::string nearest(std::string_view word, std::span<const std::string> candidates);

std::string join(std::span<const std::string> parts, std::string_view separator);

/// `text` with control characters escaped and cut to `limit` bytes (at a character) with "...", for messages.
std::string quoted(std::string_view text, size_t limit = 60);

/// Whether `bytes` is well-formed UTF-8 (no surrogates, no overlong forms, at most U+10FFFF).
bool is_utf8(std::string_view bytes);

/// As one word of a shell's command, in quotes where it must be.
std::string shell_word(const std::string& text);

std::string_view trimmed(std::string_view text);

} // namespace stillroom
