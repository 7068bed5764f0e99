// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/jinja_lexer.h"

#include "base/result.h"
#include "base/strings.h"
#include "text/unicode.h"

#include <algorithm>

namespace stillroom::text::jinja {

namespace {

using Kind = Token::Kind;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::string with_plain_line_ends(std::string_view source) {
    std::string text;
    text.reserve(source.size());
    for (size_t i = 0; i < source.size(); ++i) {
        if (source[i] == '\r') {
            text += '\n';
            if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
        } else {
            text += source[i];
        }
    }
    if (text.ends_with('\n')) text.pop_back(); // keep_trailing_newline is off
    return text;
}

class Lexer {
public:
    Lexer(std::string_view source, const std::string& where)
        : source_(with_plain_line_ends(source)), where_(where) {}

    std::vector<Token> run() {
        while (at_ < source_.size()) text_and_tag();
        add(Kind::End, "");
        return std::move(tokens_);
    }

private:
    [[noreturn]] void fail(const std::string& what) const {
        throw ErrorException({what, where_ + " line " + std::to_string(line_)});
    }
    void add(Kind kind, std::string text) { tokens_.push_back({kind, std::move(text), line_}); }
    bool next_is(std::string_view text) const {
        return std::string_view(source_).substr(at_).starts_with(text);
    }
    void advance(size_t count) {
        line_ += int(std::count(source_.begin() + std::ptrdiff_t(at_),
                                source_.begin() + std::ptrdiff_t(at_ + count), '\n'));
        at_ += count;
    }
    void skip_white_space() {
        while (at_ < source_.size()) {
            size_t next = at_;
            if (!is_python_space(next_character(source_, next))) break;
            advance(next - at_);
        }
    }

    // The text up to the next tag, without the white space that the tag takes away, and the tag.
    void text_and_tag() {
        size_t tag = at_;
        for (; tag < source_.size(); ++tag) {
            if (source_[tag] != '{' || tag + 1 == source_.size()) continue;
            const char second = source_[tag + 1];
            if (second == '%' || second == '{' || second == '#') break;
        }
        std::string text = source_.substr(at_, tag - at_);
        const bool has_tag = tag < source_.size();
        const char mark = has_tag && tag + 2 < source_.size() ? source_[tag + 2] : '\0';
        if (has_tag && mark == '-') {
            strip_end(text);
        } else if (has_tag && source_[tag + 1] != '{' && mark != '+') { // lstrip_blocks
            const size_t line_begin = text.rfind('\n') + 1;             // 0 where there is none
            const bool starts_line = line_begin > 0 || at_line_begin_;
            if (starts_line && std::all_of(text.begin() + std::ptrdiff_t(line_begin), text.end(), is_blank)) {
                text.resize(line_begin);
            }
        }
        if (!text.empty()) add(Kind::Text, std::move(text));
        advance(tag - at_);
        if (!has_tag) return;
        at_line_begin_ = false;
        const char second = source_[at_ + 1];
        advance(2 + (mark == '-' || mark == '+' ? 1 : 0));
        if (second == '#') {
            comment();
        } else if (second == '{') {
            add(Kind::OutputBegin, "{{");
            inside("}}", Kind::OutputEnd);
        } else if (!raw_block()) {
            add(Kind::BlockBegin, "{%");
            inside("%}", Kind::BlockEnd);
        }
    }

    static void strip_end(std::string& text) {
        while (!text.empty()) {
            size_t start = previous_start(text, text.size());
            const size_t kept = start;
            if (!is_python_space(next_character(text, start))) break;
            text.resize(kept);
        }
    }

    // Behind a tag's end, which had `mark` before it: trim_blocks takes one line break along.
    void behind_tag(char mark, bool trims) {
        if (mark == '-') {
            const size_t begin = at_;
            skip_white_space();
            at_line_begin_ = at_ > begin && source_[at_ - 1] == '\n';
        } else if (trims && mark != '+' && next_is("\n")) {
            advance(1);
            at_line_begin_ = true;
        }
    }

    void comment() {
        const size_t end = source_.find("#}", at_);
        if (end == std::string::npos) fail("the comment is not closed, expected #}");
        const char mark = end > at_ ? source_[end - 1] : '\0';
        advance(end + 2 - at_);
        behind_tag(mark, true);
    }

    // {% raw %} ... {% endraw %}: text as it is. Called behind "{%"; false where the tag is another.
    bool raw_block() {
        size_t at = at_;
        const auto blanks = [&] {
            while (at < source_.size() && is_blank(source_[at])) ++at;
        };
        const auto tag_named = [&](std::string_view name, char& mark) {
            blanks();
            if (source_.compare(at, name.size(), name) != 0) return false;
            at += name.size();
            blanks();
            mark = at < source_.size() ? source_[at] : '\0';
            if (mark == '-' || mark == '+') ++at;
            if (source_.compare(at, 2, "%}") != 0) return false;
            at += 2;
            return true;
        };
        char mark = '\0';
        if (!tag_named("raw", mark)) return false;
        advance(at - at_);
        behind_tag(mark, true);
        for (size_t begin = source_.find("{%", at_); begin != std::string::npos;
             begin = source_.find("{%", begin + 2)) {
            at = begin + 2;
            const char before = at < source_.size() ? source_[at] : '\0';
            if (before == '-' || before == '+') ++at;
            if (!tag_named("endraw", mark)) continue;
            std::string text = source_.substr(at_, begin - at_);
            if (before == '-') strip_end(text);
            if (!text.empty()) add(Kind::Text, std::move(text));
            advance(at - at_);
            behind_tag(mark, true);
            return true;
        }
        fail("the raw block is not closed, expected {% endraw %}");
    }

    // The tokens of one tag, up to and with its end. Within brackets "}}" closes those.
    void inside(std::string_view end, Kind end_kind) {
        std::string open;
        for (;;) {
            skip_white_space();
            if (at_ >= source_.size()) fail("the tag is not closed, expected " + std::string(end));
            if (open.empty()) {
                const char mark = source_[at_];
                const bool marked = mark == '-' || (mark == '+' && end_kind == Kind::BlockEnd);
                if (next_is(end) || (marked && source_.compare(at_ + 1, 2, end) == 0)) {
                    add(end_kind, std::string(end));
                    advance(marked ? 3 : 2);
                    behind_tag(marked ? mark : '\0', end_kind == Kind::BlockEnd);
                    return;
                }
            }
            token(open);
        }
    }

    void token(std::string& open) {
        const char c = source_[at_];
        if (starts_name(c)) {
            size_t end = at_;
            while (end < source_.size() && (starts_name(source_[end]) || is_digit(source_[end]))) ++end;
            add(Kind::Name, source_.substr(at_, end - at_));
            advance(end - at_);
        } else if (is_digit(c)) {
            number();
        } else if (c == '"' || c == '\'') {
            string(c);
        } else {
            symbol(open);
        }
    }

    void number() {
        size_t end = at_;
        const auto digits = [&] {
            while (end < source_.size() && (is_digit(source_[end]) || source_[end] == '_')) ++end;
        };
        const auto digit_at = [&](size_t i) { return i < source_.size() && is_digit(source_[i]); };
        digits();
        Kind kind = Kind::Integer;
        if (end < source_.size() && source_[end] == '.' && digit_at(end + 1)) {
            kind = Kind::Float;
            ++end;
            digits();
        }
        if (end < source_.size() && (source_[end] == 'e' || source_[end] == 'E')) {
            const size_t exponent =
                end + 1 < source_.size() && (source_[end + 1] == '+' || source_[end + 1] == '-') ? end + 2
                                                                                                 : end + 1;
            if (digit_at(exponent)) {
                kind = Kind::Float;
                end = exponent;
                digits();
            }
        }
        std::string text = source_.substr(at_, end - at_);
        std::erase(text, '_');
        add(kind, std::move(text));
        advance(end - at_);
    }

    void string(char quote) {
        std::string text;
        size_t at = at_ + 1;
        while (at < source_.size() && source_[at] != quote) {
            if (source_[at] == '\\' && at + 1 < source_.size()) {
                at = escape(at + 1, text);
            } else {
                text += source_[at++];
            }
        }
        if (at >= source_.size()) fail(std::string("the string is not closed, expected ") + quote);
        add(Kind::String, std::move(text));
        advance(at + 1 - at_);
    }

    // Python's escapes; an unknown one stays as it is written. Returns the place behind.
    size_t escape(size_t at, std::string& text) const {
        const char c = source_[at];
        const auto coded = [&](size_t digits) {
            const std::string code = source_.substr(at + 1, digits);
            const bool whole = code.size() == digits && std::ranges::all_of(code, [](unsigned char d) {
                                   return std::isxdigit(d) != 0;
                               });
            const unsigned long value = whole ? std::stoul(code, nullptr, 16) : 0x110000;
            if (value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
                fail(std::string("the escape \\") + c + " has no character");
            append_utf8(text, char32_t(value));
            return at + 1 + digits;
        };
        switch (c) {
        case '\n':
            return at + 1;
        case 'n':
            text += '\n';
            return at + 1;
        case 't':
            text += '\t';
            return at + 1;
        case 'r':
            text += '\r';
            return at + 1;
        case 'a':
            text += '\a';
            return at + 1;
        case 'b':
            text += '\b';
            return at + 1;
        case 'f':
            text += '\f';
            return at + 1;
        case 'v':
            text += '\v';
            return at + 1;
        case '\\':
        case '\'':
        case '"':
            text += c;
            return at + 1;
        case 'x':
            return coded(2);
        case 'u':
            return coded(4);
        case 'U':
            return coded(8);
        default:
            break;
        }
        if (c >= '0' && c <= '7') {
            unsigned value = 0;
            size_t end = at;
            for (; end < at + 3 && end < source_.size() && source_[end] >= '0' && source_[end] <= '7';
                 ++end) {
                value = value * 8 + unsigned(source_[end] - '0');
            }
            append_utf8(text, value);
            return end;
        }
        text += {'\\', c};
        return at + 1;
    }

    void symbol(std::string& open) {
        static constexpr std::string_view doubles[] = {"==", "!=", "<=", ">=", "//", "**"};
        static constexpr std::string_view singles = "+-*/%~<>=.:,|()[]{}";
        for (const auto pair : doubles) {
            if (next_is(pair)) {
                add(Kind::Operator, std::string(pair));
                return advance(2);
            }
        }
        const char c = source_[at_];
        if (singles.find(c) == std::string_view::npos) {
            fail("found " +
                 stillroom::quoted(source_.substr(
                     at_, std::max<size_t>(1, character_length(std::string_view(source_).substr(at_))))) +
                 ", expected an expression");
        }
        if (c == '(' || c == '[' || c == '{') open += c;
        if (c == ')' || c == ']' || c == '}') {
            const char needed = c == ')' ? '(' : c == ']' ? '[' : '{';
            if (open.empty() || open.back() != needed)
                fail(std::string("found ") + c + ", which closes nothing");
            open.pop_back();
        }
        add(Kind::Operator, std::string(1, c));
        advance(1);
    }

    std::string source_;
    const std::string& where_;
    std::vector<Token> tokens_;
    size_t at_ = 0;
    int line_ = 1;
    bool at_line_begin_ = true; // nothing but a tag with its line break stands before
};

} // namespace

std::string described(const Token& token) {
    switch (token.kind) {
    case Kind::Text:
        return "text";
    case Kind::String:
        return "the string " + stillroom::quoted(token.text);
    case Kind::End:
        return "the end of the template";
    default:
        return stillroom::quoted(token.text);
    }
}

std::vector<Token> tokens_of(std::string_view source, const std::string& where) {
    return Lexer(source, where).run();
}

} // namespace stillroom::text::jinja
