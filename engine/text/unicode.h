// SPDX-License-Identifier: GPL-3.0-or-later
// Characters of UTF-8 strings, their classes, and normal forms (by utf8proc).
#pragma once

#include "base/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace stillroom::text {

inline constexpr char32_t replacement_character = 0xfffd;

/// Bytes of the well-formed character at the start of `bytes`; 0 where there is none.
size_t character_length(std::string_view bytes);

/// The character at `at`, which moves behind it. A byte that starts none gives U+FFFD and counts alone.
char32_t next_character(std::string_view text, size_t& at);

/// Where the character before `at` starts (`at` > 0).
size_t previous_start(std::string_view text, size_t at);

void append_utf8(std::string& text, char32_t character);

std::vector<char32_t> characters_of(std::string_view text);
std::string to_utf8(const std::vector<char32_t>& characters);
size_t character_count(std::string_view text);

/// Categories Nd, Nl and No.
bool is_numeric(char32_t character);
/// The White_Space property: what \s means in split patterns.
bool is_white_space(char32_t character);
/// What Python's str.strip() removes: White_Space and U+001C to U+001F.
bool is_python_space(char32_t character);
/// What \w means in split patterns: letters, marks, decimal digits, connectors.
bool is_word(char32_t character);
bool is_letter(char32_t character);
bool is_upper(char32_t character);
bool is_lower(char32_t character);

std::string to_upper(std::string_view text);
std::string to_lower(std::string_view text);

enum class NormalForm { C, D, KC, KD };
std::string_view to_string(NormalForm form);

/// `text` (well-formed UTF-8) in a normal form.
std::string normalized(std::string_view text, NormalForm form);

} // namespace stillroom::text
