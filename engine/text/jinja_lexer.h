// SPDX-License-Identifier: GPL-3.0-or-later
// Cuts a template into text and the tokens of its tags, taking white space away as jinja2 does with
// trim_blocks and lstrip_blocks on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stillroom::text::jinja {

struct Token {
    enum class Kind {
        Text,
        BlockBegin,
        BlockEnd,
        OutputBegin,
        OutputEnd,
        Name,
        Integer,
        Float,
        String,
        Operator,
        End
    };
    Kind kind = Kind::End;
    std::string text; // strings without quotes and escapes
    int line = 1;
};

/// What a token is called in messages.
std::string described(const Token& token);

/// Throws ErrorException with `where` and the line. The last token is End.
std::vector<Token> tokens_of(std::string_view source, const std::string& where);

} // namespace stillroom::text::jinja
