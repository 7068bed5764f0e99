// SPDX-License-Identifier: GPL-3.0-or-later
#include "maths/tokens.h"

#include "maths/latex.h"
#include "maths/reader.h"

#include <array>
#include <map>
#include <set>
#include <utility>

namespace stillroom::maths {

namespace {

using namespace std::string_view_literals;

/// Signs of Unicode as the LaTeX or ASCII that means the same.
constexpr std::array<std::pair<std::string_view, std::string_view>, 69> unicode_signs{{
    {"−", "-"},         {"–", "-"},         {"—", "-"},         {"×", "\\times "},  {"·", "\\cdot "},
    {"⋅", "\\cdot "},   {"∙", "\\cdot "},   {"÷", "\\div "},    {"π", "\\pi "},     {"√", "\\sqrt "},
    {"∞", "\\infty "},  {"≤", "\\le "},     {"≥", "\\ge "},     {"⩽", "\\le "},     {"⩾", "\\ge "},
    {"≠", "\\ne "},     {"≈", "\\approx "}, {"∈", "\\in "},     {"∪", "\\cup "},    {"∩", "\\cap "},
    {"°", "\\degree "}, {"º", "\\degree "}, {"±", "\\pm "},     {"∓", "\\mp "},     {"∅", "\\emptyset "},
    {"⁰", "^{0}"},      {"¹", "^{1}"},      {"²", "^{2}"},      {"³", "^{3}"},      {"⁴", "^{4}"},
    {"⁵", "^{5}"},      {"⁶", "^{6}"},      {"⁷", "^{7}"},      {"⁸", "^{8}"},      {"⁹", "^{9}"},
    {"₀", "_{0}"},      {"₁", "_{1}"},      {"₂", "_{2}"},      {"₃", "_{3}"},      {"₄", "_{4}"},
    {"₅", "_{5}"},      {"₆", "_{6}"},      {"₇", "_{7}"},      {"₈", "_{8}"},      {"₉", "_{9}"},
    {"½", "\\frac12 "}, {"⅓", "\\frac13 "}, {"⅔", "\\frac23 "}, {"¼", "\\frac14 "}, {"¾", "\\frac34 "},
    {"€", "\\euro "},   {"£", "\\pounds "}, {"¥", "\\yen "},    {"ℝ", "\\reals "},  {"ℤ", "\\integers "},
    {"α", "\\alpha "},  {"β", "\\beta "},   {"γ", "\\gamma "},  {"θ", "\\theta "},  {"λ", "\\lambda "},
    {"μ", "\\mu "},     {"φ", "\\phi "},    {"ω", "\\omega "},  {"∠", "\\angle "},  {"△", "\\triangle "},
    {"′", "'"},         {"’", "'"},         {"\u00a0", " "},    {"\u2009", " "},
}};

const std::map<std::string_view, char> sign_commands{
    {"cdot", '*'},     {"times", '*'},  {"ast", '*'},    {"div", '/'},    {"le", 'l'},       {"leq", 'l'},
    {"leqslant", 'l'}, {"leqq", 'l'},   {"ge", 'g'},     {"geq", 'g'},    {"geqslant", 'g'}, {"geqq", 'g'},
    {"lt", '<'},       {"gt", '>'},     {"ne", 'n'},     {"neq", 'n'},    {"approx", '~'},   {"simeq", '~'},
    {"equiv", '='},    {"lbrace", 'S'}, {"rbrace", 'T'}, {"{", 'S'},      {"}", 'T'},        {"vert", '|'},
    {"lvert", '|'},    {"rvert", '|'},  {"mid", '|'},    {"%", '%'},      {"colon", ':'},    {"lbrack", '['},
    {"rbrack", ']'},   {"prime", '\''}, {"langle", '('}, {"rangle", ')'}, {"lparen", '('},   {"rparen", ')'},
    {"&", '&'},        {"_", '_'},      {"bullet", '*'},
};

/// Typesetting only.
const std::set<std::string_view> empty_commands{
    "left",
    "right",
    "big",
    "Big",
    "bigg",
    "Bigg",
    "bigl",
    "bigr",
    "Bigl",
    "Bigr",
    "biggl",
    "biggr",
    "Biggl",
    "Biggr",
    ",",
    ";",
    ":",
    "!",
    " ",
    ">",
    "quad",
    "qquad",
    "displaystyle",
    "textstyle",
    "scriptstyle",
    "limits",
    "nolimits",
    "hfill",
    "hline",
    "thinspace",
    "enspace",
    "(",
    ")",
    "[",
    "]",
    "/",
    "\n",
    "middle",
    "mathstrut",
    "strut",
    "nonumber",
    "noindent",
    "rm",
    "bf",
    "it",
    "cal",
    "boldmath",
    "mathrel",
    "mathop",
    "mathbin",
    "hspace",
    "vspace",
    "color",
    "bigm",
};

const std::set<std::string_view> text_commands{
    "text",       "textbf", "textit",       "textrm", "textnormal", "textsf",    "texttt",
    "mbox",       "hbox",   "mathrm",       "mathbf", "mathit",     "mathsf",    "mathtt",
    "boldsymbol", "bm",     "operatorname", "emph",   "textup",     "underline",
};

class Lexer {
public:
    Lexer(std::string_view text, Commas commas) : text_(text), commas_(commas) {}

    std::vector<Token> tokens() {
        while (at_ < text_.size()) next();
        push(TokenKind::End, "");
        return std::move(tokens_);
    }

private:
    char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
    void push(TokenKind kind, std::string text) {
        tokens_.push_back({kind, std::move(text), spaced_});
        spaced_ = false;
    }
    void push_sign(char sign) { push(TokenKind::Sign, std::string(1, sign)); }

    void next() {
        const char c = peek();
        if (is_space(c) || c == '~' || c == '\f' || c == '\v') {
            spaced_ = true;
            ++at_;
        } else if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
            number();
        } else if (is_letter(c)) {
            const size_t start = at_;
            while (is_letter(peek())) ++at_;
            const bool after_value = start > 0 && (is_digit(text_[start - 1]) || text_[start - 1] == ')');
            for (const std::string_view connector : {"or", "and"}) { // "x=1orx=2"
                if (!after_value || !text_.substr(start, at_ - start).starts_with(connector)) continue;
                if (at_ - start <= connector.size() + 2) at_ = start + connector.size();
            }
            push(TokenKind::Letters, std::string(text_.substr(start, at_ - start)));
        } else if (c == '\\') {
            backslash();
        } else if (c == '$') {
            spaced_ = true; // a delimiter; a dollar sign was told apart before
            ++at_;
        } else {
            sign();
        }
    }

    void sign() {
        constexpr std::array<std::pair<std::string_view, char>, 8> pairs{{{"<=", 'l'},
                                                                          {">=", 'g'},
                                                                          {"!=", 'n'},
                                                                          {"==", '='},
                                                                          {"**", '^'},
                                                                          {"=<", 'l'},
                                                                          {"=>", '\0'},
                                                                          {"->", '\0'}}};
        for (const auto& [written, meaning] : pairs) {
            if (text_.substr(at_, 2) != written) continue;
            if (meaning == '\0') throw Unreadable("an arrow");
            push_sign(meaning);
            at_ += 2;
            return;
        }
        if ("+-*/^_,;:.!'%|&=<>()[]{}"sv.find(peek()) == std::string_view::npos) {
            throw Unreadable("a character that is not read: " + std::string(1, peek()));
        }
        push_sign(peek());
        ++at_;
    }

    /// Length of a thousands mark at `at_` that stands whatever commas mean: "{,}", ",\!", "\,", "\ "; 0 for
    /// none.
    size_t thousands_mark() const {
        if (text_.substr(at_, 3) == "{,}") return 3;
        if (text_.substr(at_, 2) == "\\," || text_.substr(at_, 2) == "\\ ") return 2;
        if (text_.substr(at_, 3) != ",\\!") return 0;
        size_t length = 3;
        while (is_space(peek(length))) ++length;
        return length;
    }
    bool three_digits(size_t ahead) const {
        return is_digit(peek(ahead)) && is_digit(peek(ahead + 1)) && is_digit(peek(ahead + 2)) &&
               !is_digit(peek(ahead + 3));
    }

    void number() {
        std::string digits;
        const auto take = [&] {
            while (is_digit(peek())) digits += text_[at_++];
        };
        take();
        const bool may_group = !digits.empty() && digits.size() <= 3 && digits[0] != '0';
        while (may_group) {
            size_t mark = thousands_mark();
            if (mark == 0 && commas_ == Commas::Thousands && (peek() == ',' || peek() == ' ')) mark = 1;
            if (mark == 0 || !three_digits(mark)) break;
            at_ += mark;
            take();
        }
        if (commas_ == Commas::Decimal && peek() == ',' && is_digit(peek(1)) && !digits.empty()) {
            ++at_;
            digits += '.';
            take();
        } else if (peek() == '.' && (is_digit(peek(1)) || period_follows(1))) {
            ++at_;
            digits += '.';
            take();
            if (period(digits)) return;
        }
        push(TokenKind::Number, digits);
    }

    bool period_follows(size_t ahead) const {
        return text_.substr(at_ + ahead, 10) == "\\overline{" || text_.substr(at_ + ahead, 5) == "\\bar{" ||
               text_.substr(at_ + ahead, 5) == "\\dot{";
    }
    /// "0.1\overline{6}".
    bool period(const std::string& digits) {
        if (!period_follows(0)) return false;
        const size_t open = text_.find('{', at_), close = closing_brace(text_, open);
        if (close == std::string_view::npos) throw Unreadable("a brace is not closed");
        const std::string_view repeated = text_.substr(open + 1, close - open - 1);
        for (const char c : repeated) {
            if (!is_digit(c)) throw Unreadable("a period that is no number");
        }
        if (repeated.empty()) throw Unreadable("an empty period");
        push(TokenKind::Periodic, digits + "(" + std::string(repeated) + ")");
        at_ = close + 1;
        return true;
    }

    void backslash() {
        const std::string_view name = command_at(text_, at_);
        if (name == "\\") { // a row of a matrix ends; "\\frac" is a command whose backslash was escaped
            const std::string_view escaped = command_at(text_, at_ + 1);
            if (escaped.size() >= 2 && is_letter(escaped[0])) {
                ++at_;
                return;
            }
            push_sign('R');
            at_ += 2;
            return;
        }
        at_ += 1 + name.size();
        if (name.empty()) return; // the last character of the answer
        if (name == "$") return push(TokenKind::Currency, "dollar");
        if (const auto sign = sign_commands.find(name); sign != sign_commands.end())
            return push_sign(sign->second);
        if (empty_commands.contains(name)) return empty(name);
        if (text_commands.contains(name)) return text();
        if (name == "euro" || name == "pounds" || name == "yen") {
            return push(TokenKind::Currency, name == "pounds" ? "pound" : std::string(name));
        }
        if (name.substr(0, 4) == "quad") { // "\quadx": what follows was meant to stand apart
            spaced_ = true;
            return push(TokenKind::Letters, std::string(name.substr(4)));
        }
        push(TokenKind::Command, std::string(name));
    }

    void empty(std::string_view name) {
        if (name == "left" || name == "right" || name == "middle") {
            while (is_space(peek())) ++at_;
            if (peek() == '.') ++at_;
        } else if (name == "hspace" || name == "vspace" || name == "color") {
            (void)braced();
        }
        if (name != "!" && name != "left" && name != "right") spaced_ = true;
    }

    std::string_view braced() {
        while (is_space(peek())) ++at_;
        if (peek() != '{') throw Unreadable("no brace where one is needed");
        const size_t close = closing_brace(text_, at_);
        if (close == std::string_view::npos) throw Unreadable("a brace is not closed");
        const std::string_view inside = text_.substr(at_ + 1, close - at_ - 1);
        at_ = close + 1;
        return inside;
    }

    void text() {
        while (is_space(peek())) ++at_;
        if (is_letter(peek())) { // \mathbf x
            push(TokenKind::Text, std::string(1, peek()));
            ++at_;
            return;
        }
        push(TokenKind::Text, std::string(braced()));
    }

    std::string_view text_;
    Commas commas_;
    size_t at_ = 0;
    bool spaced_ = false;
    std::vector<Token> tokens_;
};

std::string with_ascii_signs(std::string_view text) {
    std::string plain;
    plain.reserve(text.size());
    for (size_t at = 0; at < text.size();) {
        if (static_cast<unsigned char>(text[at]) < 0x80) {
            plain += text[at++];
            continue;
        }
        bool known = false;
        if (text.size() - at >= 3 && text[at] == '\xef' &&
            (text[at + 1] == '\xbc' || text[at + 1] == '\xbd')) {
            // the wide forms U+FF01 to U+FF5E of "!" to "~"
            const int low = static_cast<unsigned char>(text[at + 2]) & 0x3f,
                      wide = (text[at + 1] == '\xbc' ? 0 : 64) + low;
            if (wide >= 1 && wide <= 94) {
                plain += char(wide + 0x20);
                at += 3;
                continue;
            }
        }
        for (const auto& [sign, meaning] : unicode_signs) {
            if (text.substr(at, sign.size()) != sign) continue;
            plain += meaning;
            at += sign.size();
            known = true;
            break;
        }
        if (!known) throw Unreadable("a character that is not read");
    }
    return plain;
}

/// One dollar sign that is no delimiter, as LaTeX writes it: "$5", "5$". Delimiters come in pairs.
std::string with_dollar(std::string text) {
    size_t count = 0, last = 0;
    for (size_t at = 0; at < text.size(); ++at) {
        if (text[at] == '\\') {
            ++at;
        } else if (text[at] == '$') {
            ++count;
            last = at;
        }
    }
    const bool before_number = last + 1 < text.size() && (is_digit(text[last + 1]) || text[last + 1] == '.');
    if (count == 1 && (before_number || (last > 0 && is_digit(text[last - 1]) && text.find('\\') > last))) {
        text.replace(last, 1, "\\$");
    }
    return text;
}

} // namespace

std::vector<Token> tokens_of(std::string_view text, Commas commas) {
    const std::string plain = with_dollar(with_ascii_signs(text));
    return Lexer(plain, commas).tokens();
}

} // namespace stillroom::maths
