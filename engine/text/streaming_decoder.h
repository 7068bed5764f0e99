// SPDX-License-Identifier: GPL-3.0-or-later
// Decoding while tokens arrive: a token may end in the middle of a character, which is held back until it is
// whole.
#pragma once

#include "text/tokenizer.h"

namespace stillroom::text {

class StreamingDecoder {
public:
    explicit StreamingDecoder(Tokenizer tokenizer, bool skip_special = false)
        : tokenizer_(std::move(tokenizer)), skip_special_(skip_special) {}

    /// The text that `id` completes; empty while a character lacks bytes. Bytes that can no longer become a
    /// character are given as they are.
    std::string push(TokenId id);

    /// What is held back, as it is. All that push() and flush() gave, joined, is Tokenizer::decode() of the
    /// ids.
    std::string flush();

private:
    Tokenizer tokenizer_;
    bool skip_special_;
    std::string held_;
};

} // namespace stillroom::text
