// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/byte_alphabet.h"

#include "text/unicode.h"

#include <array>

namespace stillroom::text {

namespace {

constexpr bool stands_for_itself(unsigned byte) {
    return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || (byte >= 0xae && byte <= 0xff);
}

constexpr std::array<char32_t, 256> alphabet = [] {
    std::array<char32_t, 256> characters{};
    char32_t next = 0x100;
    for (unsigned byte = 0; byte < 256; ++byte) characters[byte] = stands_for_itself(byte) ? byte : next++;
    return characters;
}();

// The byte of each character below U+0144, -1 for the characters that stand for none.
constexpr std::array<int16_t, 0x144> bytes = [] {
    std::array<int16_t, 0x144> table{};
    table.fill(-1);
    for (unsigned byte = 0; byte < 256; ++byte) table[alphabet[byte]] = int16_t(byte);
    return table;
}();

} // namespace

const std::string& byte_character(uint8_t byte) {
    static const auto characters = [] {
        std::array<std::string, 256> written;
        for (unsigned i = 0; i < 256; ++i) append_utf8(written[i], alphabet[i]);
        return written;
    }();
    return characters[byte];
}

std::string written_in_alphabet(std::string_view bytes) {
    std::string token;
    token.reserve(bytes.size() * 2);
    for (const char byte : bytes) token += byte_character(uint8_t(byte));
    return token;
}

std::optional<std::string> bytes_in_alphabet(std::string_view token) {
    std::string result;
    result.reserve(token.size());
    for (size_t at = 0; at < token.size();) {
        const char32_t character = next_character(token, at);
        if (character >= bytes.size() || bytes[character] < 0) return std::nullopt;
        result.push_back(char(bytes[character]));
    }
    return result;
}

} // namespace stillroom::text
