// SPDX-License-Identifier: GPL-3.0-or-later
// What the two parsers share: a place in the tokens, and expressions.
#pragma once

#include "text/jinja_lexer.h"
#include "text/jinja_syntax.h"

namespace stillroom::text::jinja {

/// The tokens of a template and how far they were read.
class TokenReader {
public:
    TokenReader(std::vector<Token> tokens, std::string where)
        : tokens_(std::move(tokens)), where_(std::move(where)) {}

    const Token& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
    Token take() {
        Token token = peek();
        if (at_ + 1 < tokens_.size()) ++at_;
        return token;
    }
    bool next_is(Token::Kind kind) const { return peek().kind == kind; }
    bool next_is_operator(std::string_view text) const {
        return next_is(Token::Kind::Operator) && peek().text == text;
    }
    bool next_is_name(std::string_view text) const {
        return next_is(Token::Kind::Name) && peek().text == text;
    }
    bool accept_operator(std::string_view text) { return next_is_operator(text) ? (take(), true) : false; }
    bool accept_name(std::string_view text) { return next_is_name(text) ? (take(), true) : false; }
    void expect_operator(std::string_view text) {
        if (!accept_operator(text)) unexpected("\"" + std::string(text) + "\"");
    }
    std::string expect_name(const std::string& what) {
        if (!next_is(Token::Kind::Name)) unexpected(what);
        return take().text;
    }
    [[noreturn]] void unexpected(const std::string& expected) const {
        fail("found " + described(peek()) + ", expected " + expected);
    }
    [[noreturn]] void fail(const std::string& what) const {
        throw ErrorException({what, where_ + " line " + std::to_string(peek().line)});
    }

private:
    std::vector<Token> tokens_;
    std::string where_;
    size_t at_ = 0;
};

/// One expression: with `conditional`, possibly `a if b else c`; with `tuple`, possibly `a, b` without
/// brackets.
ExpressionPtr parsed_expression(TokenReader& reader, bool conditional = true, bool tuple = false);

/// `| a | b(...)`, applied to an unnamed Name; for {% filter %} and {% set x | a %}. The reader stands at a
/// filter's name.
ExpressionPtr parsed_filters(TokenReader& reader);

} // namespace stillroom::text::jinja
