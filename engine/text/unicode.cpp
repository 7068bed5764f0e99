// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/unicode.h"

#include "base/ensure.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utf8proc.h>

namespace stillroom::text {

namespace {

utf8proc_category_t category(char32_t character) { return utf8proc_category(utf8proc_int32_t(character)); }

template <typename Change>
std::string changed(std::string_view text, Change change) {
    std::string result;
    result.reserve(text.size());
    for (size_t at = 0; at < text.size();) {
        const size_t start = at;
        const char32_t character = next_character(text, at);
        if (character == replacement_character) {
            result += text.substr(start, at - start);
        } else {
            append_utf8(result, char32_t(change(utf8proc_int32_t(character))));
        }
    }
    return result;
}

} // namespace

size_t character_length(std::string_view bytes) {
    if (bytes.empty()) return 0;
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
    const unsigned char first = byte(0);
    if (first < 0x80) return 1;
    if (first < 0xc2 || first > 0xf4) return 0;
    const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (bytes.size() < length) return 0;
    for (size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0) != 0x80) return 0;
    }
    const unsigned char second = byte(1);
    const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
    const bool outside = (first == 0xed && second > 0x9f) || (first == 0xf4 && second > 0x8f);
    return overlong || outside ? 0 : length;
}

char32_t next_character(std::string_view text, size_t& at) {
    const auto byte = [&](size_t i) { return char32_t(static_cast<unsigned char>(text[at + i])); };
    const size_t length = character_length(text.substr(at));
    char32_t character = replacement_character;
    switch (length) {
    case 1:
        character = byte(0);
        break;
    case 2:
        character = (byte(0) & 0x1f) << 6 | (byte(1) & 0x3f);
        break;
    case 3:
        character = (byte(0) & 0x0f) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f);
        break;
    case 4:
        character =
            (byte(0) & 0x07) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f);
        break;
    default:
        break;
    }
    at += std::max<size_t>(length, 1);
    return character;
}

size_t previous_start(std::string_view text, size_t at) {
    for (size_t length = 1; length <= std::min<size_t>(4, at); ++length) {
        if (character_length(text.substr(at - length, length)) == length) return at - length;
    }
    return at - 1;
}

void append_utf8(std::string& text, char32_t character) {
    if (character < 0x80) {
        text.push_back(char(character));
    } else if (character < 0x800) {
        text.push_back(char(0xc0 | character >> 6));
        text.push_back(char(0x80 | (character & 0x3f)));
    } else if (character < 0x10000) {
        text.push_back(char(0xe0 | character >> 12));
        text.push_back(char(0x80 | (character >> 6 & 0x3f)));
        text.push_back(char(0x80 | (character & 0x3f)));
    } else {
        text.push_back(char(0xf0 | character >> 18));
        text.push_back(char(0x80 | (character >> 12 & 0x3f)));
        text.push_back(char(0x80 | (character >> 6 & 0x3f)));
        text.push_back(char(0x80 | (character & 0x3f)));
    }
}

std::vector<char32_t> characters_of(std::string_view text) {
    std::vector<char32_t> characters;
    characters.reserve(text.size());
    for (size_t at = 0; at < text.size();) characters.push_back(next_character(text, at));
    return characters;
}

std::string to_utf8(const std::vector<char32_t>& characters) {
    std::string text;
    text.reserve(characters.size());
    for (const char32_t character : characters) append_utf8(text, character);
    return text;
}

size_t character_count(std::string_view text) {
    size_t count = 0;
    for (size_t at = 0; at < text.size(); ++count) next_character(text, at);
    return count;
}

bool is_numeric(char32_t character) {
    const auto found = category(character);
    return found == UTF8PROC_CATEGORY_ND || found == UTF8PROC_CATEGORY_NL || found == UTF8PROC_CATEGORY_NO;
}

bool is_white_space(char32_t c) {
    return (c >= 0x09 && c <= 0x0d) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
           c == 0x3000;
}

bool is_python_space(char32_t c) { return is_white_space(c) || (c >= 0x1c && c <= 0x1f); }

bool is_letter(char32_t character) {
    const auto found = category(character);
    return found >= UTF8PROC_CATEGORY_LU && found <= UTF8PROC_CATEGORY_LO;
}

bool is_word(char32_t character) {
    const auto found = category(character);
    return (found >= UTF8PROC_CATEGORY_LU && found <= UTF8PROC_CATEGORY_ND) || found == UTF8PROC_CATEGORY_PC;
}

bool is_upper(char32_t character) { return category(character) == UTF8PROC_CATEGORY_LU; }
bool is_lower(char32_t character) { return category(character) == UTF8PROC_CATEGORY_LL; }

std::string to_upper(std::string_view text) { return changed(text, utf8proc_toupper); }
std::string to_lower(std::string_view text) { return changed(text, utf8proc_tolower); }

std::string_view to_string(NormalForm form) {
    switch (form) {
    case NormalForm::C:
        return "NFC";
    case NormalForm::D:
        return "NFD";
    case NormalForm::KC:
        return "NFKC";
    case NormalForm::KD:
        return "NFKD";
    }
    return "";
}

std::string normalized(std::string_view text, NormalForm form) {
    const bool ascii =
        std::ranges::all_of(text, [](char byte) { return static_cast<unsigned char>(byte) < 0x80; });
    if (ascii) return std::string(text); // ASCII is its own normal form
    const bool composed = form == NormalForm::C || form == NormalForm::KC;
    const bool compatible = form == NormalForm::KC || form == NormalForm::KD;
    const int options = UTF8PROC_STABLE | (composed ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE) |
                        (compatible ? UTF8PROC_COMPAT : 0);
    utf8proc_uint8_t* written = nullptr;
    const auto length = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                     utf8proc_ssize_t(text.size()), &written, utf8proc_option_t(options));
    const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(written, &std::free);
    ensure(length >= 0, std::string("utf8proc: ") + utf8proc_errmsg(length));
    return std::string(reinterpret_cast<const char*>(written), size_t(length));
}

} // namespace stillroom::text
