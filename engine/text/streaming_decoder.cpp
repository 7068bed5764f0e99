// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/streaming_decoder.h"

#include <algorithm>

namespace stillroom::text {

namespace {

// Bytes at the end of `text` that more bytes could complete to a character.
size_t unfinished(std::string_view text) {
    for (size_t length = 1; length <= std::min<size_t>(3, text.size()); ++length) {
        const auto at = [&](size_t i) { return static_cast<unsigned char>(text[text.size() - length + i]); };
        if ((at(0) & 0xc0) == 0x80) continue; // goes on a character that starts before
        const unsigned char first = at(0);
        const size_t needed = first >= 0xf0 && first <= 0xf4 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 1;
        if (first > 0xf4 || needed <= length) return 0;
        if (length >
            1) { // the second byte rules out overlong forms, surrogates and what lies beyond U+10FFFF
            const unsigned char second = at(1);
            if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
                (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) {
                return 0;
            }
        }
        return length;
    }
    return 0;
}

} // namespace

std::string StreamingDecoder::push(TokenId id) {
    if (!skip_special_ || !tokenizer_.is_special(id)) held_ += tokenizer_.bytes_of(id);
    const size_t kept = unfinished(held_);
    std::string text = held_.substr(0, held_.size() - kept);
    held_.erase(0, text.size());
    return text;
}

std::string StreamingDecoder::flush() { return std::exchange(held_, {}); }

} // namespace stillroom::text
