// SPDX-License-Identifier: GPL-3.0-or-later
// What a list of token ids says, bytes first: which bytes each token holds, and how a view shows them. Parts
// of characters stay parts, with the whole character after the last of them; what is invisible gets a name.
#pragma once

#include "text/tokenizer.h"

#include <QString>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace stillroom::ui {

/// A part of a token that is shown in one way.
struct TokenSegment {
    enum class Kind : uint8_t {
        Text,
        Space,     // one or more spaces
        Newline,   // ends a line
        Tab,       // one
        Named,     // an invisible character by its name: "NBSP", "U+200B"
        Bytes,     // "E2 96": part of a character, or bytes that are none
        Completed, // the character that the Bytes of this token and those before complete
        Special,   // a special token by its name
        Unknown    // an id without a token: "id 151700"
    };
    Kind kind = Kind::Text;
    QString text;
};

/// Tokens [first, last].
using TokenRange = std::pair<size_t, size_t>;

/// The colour that a special token keeps wherever it stands.
enum class SpecialRole : uint8_t { None, End, Begin, Think, Turn, Other };

struct TokenTexts {
    std::vector<int32_t> ids;
    std::string bytes;                             // of all tokens, joined
    std::vector<size_t> offset;                    // where a token's bytes begin; one more than ids
    std::vector<TokenSegment> segments;            // of all tokens
    std::vector<size_t> first_segment;             // of a token; one more than ids
    std::vector<SpecialRole> special;              // one per id
    std::vector<std::pair<size_t, size_t>> shared; // first and last token of each character that several hold

    size_t size() const { return ids.size(); }
    std::string_view bytes_of(size_t token) const {
        return std::string_view(bytes).substr(offset[token], offset[token + 1] - offset[token]);
    }
    std::span<const TokenSegment> segments_of(size_t token) const {
        return std::span(segments).subspan(first_segment[token],
                                           first_segment[token + 1] - first_segment[token]);
    }
    /// The token that holds this byte; the last one past the end. Needs a token.
    size_t token_at(size_t byte) const;
};

/// Without a tokenizer every id is Unknown.
TokenTexts token_texts(std::vector<int32_t> ids, const text::Tokenizer* tokenizer);

/// One token in one line, invisible characters as marks, for tables: "·so", "⏎", "<E2 96>".
QString token_label(int32_t id, const text::Tokenizer* tokenizer);

} // namespace stillroom::ui
