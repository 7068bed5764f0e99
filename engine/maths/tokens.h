// SPDX-License-Identifier: GPL-3.0-or-later
// An answer as tokens: LaTeX, plain text and Unicode signs in one alphabet, typesetting left out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stillroom::maths {

enum class TokenKind {
    Number,   // digits with at most one point; thousands marks are gone
    Periodic, // "0.1(6)": a decimal with its period in brackets
    Letters,  // a run of ASCII letters
    Command,  // a LaTeX command with a meaning, without its backslash
    Text,     // content of \text{...}, \mathrm{...} and the like
    Currency, // "dollar", "euro", "pound", "yen"
    Sign, // one character: + - * / ^ _ , ; : . ! ' % | & = < > ( ) [ ] { }; and, named here so that they are
          // one too: l <=, g >=, n !=, ~ about, S \{, T \}, R end of a matrix row
    End,
};

struct Token {
    TokenKind kind = TokenKind::End;
    std::string text;
    bool spaced = false; // white space stands before it
    bool is(char sign) const { return kind == TokenKind::Sign && text[0] == sign; }
    bool is_command(std::string_view name) const { return kind == TokenKind::Command && text == name; }
};

/// What a comma without a space means where digits stand on both sides.
enum class Commas {
    Thousands,  // "1,234" is 1234 where the groups are of three; also "1 000"
    Separators, // "1,234" is two numbers
    Decimal,    // "1,5" is 1.5
};

/// Throws Unreadable (reader.h) at a character that no answer has. Linear in the length of `text`.
std::vector<Token> tokens_of(std::string_view text, Commas commas);

} // namespace stillroom::maths
