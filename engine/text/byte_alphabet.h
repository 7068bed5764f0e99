// SPDX-License-Identifier: GPL-3.0-or-later
// The byte-level alphabet of GPT-2: each of the 256 bytes is written as one printable character, so that a
// vocabulary of byte strings can be kept as text. Printable Latin-1 stands for itself, the other 68 bytes
// follow from U+0100 on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stillroom::text {

/// The character that stands for `byte`, as UTF-8.
const std::string& byte_character(uint8_t byte);

/// Any bytes, written in the alphabet: " a" becomes "Ġa".
std::string written_in_alphabet(std::string_view bytes);

/// The bytes that `token` stands for; nothing where it holds a character outside the alphabet.
std::optional<std::string> bytes_in_alphabet(std::string_view token);

} // namespace stillroom::text
