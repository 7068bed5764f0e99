// SPDX-License-Identifier: GPL-3.0-or-later
// Sums, products, powers, functions, fractions, series, matrices. What follows a value (units, percent) is in
// reader_measures.cpp.
#include "maths/reader_terms.h"

#include "maths/latex.h"
#include "maths/vocabulary.h"

#include <algorithm>
#include <utility>

namespace stillroom::maths {

namespace {

bool is_fraction(const Token& token) {
    return token.is_command("frac") || token.is_command("dfrac") || token.is_command("tfrac") ||
           token.is_command("cfrac");
}

bool is_whole(const Node& node) {
    return node.kind == Kind::Number && node.text.find('.') == std::string::npos;
}

/// Of two whole numbers without sign.
bool is_less(std::string a, std::string b) {
    a.erase(0, std::min(a.find_first_not_of('0'), a.size()));
    b.erase(0, std::min(b.find_first_not_of('0'), b.size()));
    return a.size() != b.size() ? a.size() < b.size() : a < b;
}

} // namespace

void Reader::expect(char sign) {
    if (!now().is(sign)) throw Unreadable("expected \"" + std::string(1, sign) + "\", found " + shown(now()));
    next();
}

int Reader::sum() {
    const Depth deeper(*this);
    std::vector<int> terms;
    bool first = true;
    while (true) {
        bool negative = false, signed_term = false;
        std::string both; // "+-" or "-+"
        while (true) {
            if (now().is('-')) {
                negative = !negative;
            } else if (now().is_command("pm") || now().is_command("mp")) {
                if (!both.empty()) throw Unreadable("two plus-minus signs");
                both = now().text == "pm" ? "+-" : "-+";
            } else if (now().is('+') && after().is('/')) { // "+/-"
                next();
                next();
                if (!now().is('-')) throw Unreadable("unexpected " + shown(now()));
                both = "+-";
            } else if (!now().is('+')) {
                break;
            }
            signed_term = true;
            next();
        }
        if (!first && !signed_term) break;
        first = false;
        const int term = product();
        if (!both.empty()) {
            if (negative) both = both == "+-" ? "-+" : "+-";
            const int left = terms.empty() ? -1 : terms.size() == 1 ? terms[0] : tree_.node(Kind::Add, terms);
            terms = {
                tree_.add(Kind::PlusMinus, both, left < 0 ? std::vector{term} : std::vector{left, term})};
        } else {
            terms.push_back(negative ? tree_.node(Kind::Negate, {term}) : term);
        }
    }
    const int value = terms.size() == 1 ? terms[0] : tree_.node(Kind::Add, terms);
    if (!now().is_command("over")) return value;
    next();
    return tree_.node(Kind::Divide, {value, sum()});
}

bool Reader::starts_factor() const {
    const Token& token = now();
    switch (token.kind) {
    case TokenKind::Letters:
        if (token.text == "in" && (after().is('(') || after().is('[') || after().is('S'))) return false;
        return !is_connector(token.text) && !(token.text == "U" && token.spaced && after().spaced);
    case TokenKind::Text:
        return !is_connector(token.text);
    case TokenKind::Command:
        if (after_box_ && token.text == "boxed") return false;
        for (const char* other : {"in", "cup", "cap", "setminus", "backslash", "pm", "mp", "over", "end",
                                  "rfloor", "rceil", "degree", "rVert"}) {
            if (token.text == other) return false;
        }
        return true;
    case TokenKind::Sign:
        return token.is('(') || token.is('[') || token.is('{') || (token.is('|') && in_abs_ == 0);
    default:
        return false;
    }
}

int Reader::product() {
    const Depth deeper(*this);
    std::vector<int> factors{power()};
    const auto multiplied = [&] {
        return factors.size() == 1 ? factors[0] : tree_.node(Kind::Multiply, factors);
    };
    const auto signed_power = [&] {
        bool negative = false;
        for (; now().is('-') || now().is('+'); next()) negative = negative != now().is('-');
        const int value = power();
        return negative ? tree_.node(Kind::Negate, {value}) : value;
    };
    if (is_whole(tree_[factors[0]])) factors[0] = mixed_number(factors[0]);
    while (true) {
        int left = factors.size() == 1 ? factors[0] : -1;
        if (now().is('*')) {
            next();
            factors.push_back(signed_power());
        } else if (now().is('/')) {
            next();
            left = multiplied();
            const int right = signed_power();
            const Kind kind = tree_[right].kind;
            if (kind != Kind::Number && !now().spaced && starts_factor() &&
                now().kind == TokenKind::Letters) {
                throw Unreadable("a/bc can be read in two ways");
            }
            const bool percent = kind == Kind::Percent && is_whole(tree_[left]) && factors.size() == 1;
            if (percent) { // "1/2%"
                const int quotient = tree_.node(Kind::Divide, {left, tree_[right].kids[0]});
                factors = {tree_.node(Kind::Percent, {quotient})};
            } else {
                factors = {tree_.node(Kind::Divide, {left, right})};
            }
        } else if (measure_follows()) {
            left = multiplied();
            factors = {measured(left)};
        } else if (starts_factor()) {
            factors.push_back(power());
        } else if (now().kind == TokenKind::Number) {
            const Kind kind = tree_[factors.back()].kind;
            const Token& before = tokens_[at_ - 1];
            if (kind != Kind::Power && !before.is(')') && !before.is('!'))
                throw Unreadable("a number beside a factor");
            factors.push_back(power());
        } else {
            return multiplied();
        }
    }
}

/// "2\frac{1}{2}" and "2 1/2", after the 2.
int Reader::mixed_number(int whole) {
    if (is_fraction(now()) || (now().is('{') && is_fraction(after()))) {
        const int fraction = primary();
        const Node& node = tree_[fraction];
        if (node.kind != Kind::Divide || !is_whole(tree_[node.kids[0]]) || !is_whole(tree_[node.kids[1]])) {
            return tree_.node(Kind::Multiply, {whole, postfixed(fraction)});
        }
        if (!is_less(tree_[node.kids[0]].text, tree_[node.kids[1]].text)) {
            throw Unreadable("a number before an improper fraction can be read in two ways");
        }
        return postfixed(tree_.node(Kind::Add, {whole, fraction}));
    }
    if (now().kind != TokenKind::Number) return whole;
    const Token numerator = now();
    if (!numerator.spaced || !after().is('/')) throw Unreadable("two numbers side by side");
    next();
    next();
    const Token denominator = now();
    if (denominator.kind != TokenKind::Number ||
        (numerator.text + denominator.text).find('.') != std::string::npos ||
        !is_less(numerator.text, denominator.text)) {
        throw Unreadable("two numbers side by side");
    }
    next();
    const int top = tree_.add(Kind::Number, numerator.text),
              bottom = tree_.add(Kind::Number, denominator.text);
    return postfixed(tree_.node(Kind::Add, {whole, tree_.node(Kind::Divide, {top, bottom})}));
}

/// What a function without brackets is taken of: "\sin 2x \cos y" takes 2x.
int Reader::implicit_product() {
    const Depth deeper(*this);
    bool negative = false;
    for (; now().is('-') || now().is('+'); next()) negative = negative != now().is('-');
    std::vector<int> factors{power()};
    while (starts_factor()) {
        const Token& token = now();
        if ((token.kind == TokenKind::Command || token.kind == TokenKind::Letters) && is_function(token.text))
            break;
        if (token.kind == TokenKind::Text || token.is('(')) break;
        factors.push_back(power());
    }
    const int value = factors.size() == 1 ? factors[0] : tree_.node(Kind::Multiply, factors);
    return negative ? tree_.node(Kind::Negate, {value}) : value;
}

int Reader::power() { return postfixed(primary()); }

/// With the powers, degrees, percent and factorial signs that follow.
int Reader::postfixed(int base) {
    while (true) {
        const Token& token = now();
        if (token.is('^')) {
            next();
            if (degrees_follow()) {
                base = with_degrees(base);
            } else if (!ordinal_follows()) {
                base = tree_.node(Kind::Power, {base, exponent()});
                if (now().is('^')) throw Unreadable("a power of a power without brackets");
            }
        } else if (token.is_command("degree")) {
            next();
            base = with_degrees(base);
        } else if (token.is('_') && tree_[base].kind == Kind::Number) {
            next();
            base = tree_.add(Kind::Based, tree_[base].text, {exponent()});
        } else if (token.is('!')) {
            next();
            if (now().is('!')) throw Unreadable("a double factorial");
            base = tree_.add(Kind::Apply, "factorial", {base});
        } else if (token.is('%')) {
            next();
            base = tree_.node(Kind::Percent, {base});
        } else {
            return base;
        }
    }
}

int Reader::exponent() {
    const Depth deeper(*this);
    const Token token = now();
    if (token.is('{')) return group();
    if (token.is('-') || token.is('+')) {
        next();
        const int value = exponent();
        return token.is('-') ? tree_.node(Kind::Negate, {value}) : value;
    }
    return primary();
}

/// Of \frac, \sqrt and the like: a group, one digit, one letter, one command.
int Reader::argument() {
    const Depth deeper(*this);
    Token& token = tokens_[at_];
    if (token.is('{')) return group();
    if (token.kind == TokenKind::Number && token.text.size() > 1 && is_digit(token.text[0])) {
        const int digit = tree_.add(Kind::Number, token.text.substr(0, 1));
        token.text.erase(0, 1);
        token.spaced = false;
        if (token.text[0] == '.') throw Unreadable("a decimal where one digit is taken");
        return digit;
    }
    if (token.kind == TokenKind::Letters && token.text.size() > 1 && !is_function(token.text) &&
        !constant(token.text)) {
        const std::string name = token.text.substr(0, 1);
        token.text.erase(0, 1);
        return constant(name) ? tree_.add(Kind::Constant, *constant(name)) : tree_.add(Kind::Symbol, name);
    }
    return primary();
}

int Reader::group() {
    expect('{');
    if (now().is('}')) throw Unreadable("an empty group");
    const int outer_abs = std::exchange(in_abs_, 0);
    const int inside = answer();
    in_abs_ = outer_abs;
    while (now().is('R') || now().is('.')) next();
    if (now().kind != TokenKind::End) expect('}'); // a gold answer may be cut off; it is read to its end
    return inside;
}

int Reader::primary() {
    const Depth deeper(*this);
    after_box_ = false;
    const Token token = now();
    switch (token.kind) {
    case TokenKind::Number:
        next();
        if (token.text.size() > 400) throw Unreadable("a number of more than 400 digits");
        return scientific(token.text);
    case TokenKind::Periodic:
        next();
        return periodic(token.text);
    case TokenKind::Letters:
        return letters();
    case TokenKind::Text:
        return text();
    case TokenKind::Currency:
        next();
        return tree_.add(Kind::Unit, token.text, {power()});
    case TokenKind::Command:
        return command();
    case TokenKind::Sign:
        if (token.is('{')) return group();
        if (token.is('(') || token.is('[')) {
            next();
            return bracketed(token.text[0]);
        }
        if (token.is('S')) {
            next();
            return set();
        }
        if (token.is('|')) return bars();
        break;
    case TokenKind::End:
        break;
    }
    throw Unreadable("unexpected " + shown(token));
}

/// "1.2e-3", "1E6"; a plain "2e" is a product.
int Reader::scientific(const std::string& digits) {
    const int value = tree_.add(Kind::Number, digits);
    const Token& letter = now();
    if (letter.kind != TokenKind::Letters || letter.spaced || lower_case(letter.text) != "e") return value;
    const bool is_signed = after().is('-') || after().is('+');
    const Token& power = tokens_[std::min(at_ + (is_signed ? 2 : 1), tokens_.size() - 1)];
    if (power.kind != TokenKind::Number || power.spaced || after().spaced) return value;
    if (!is_signed && letter.text == "e" && digits.find('.') == std::string::npos) {
        throw Unreadable("\"" + digits + "e" + power.text + "\" can be read in two ways");
    }
    const bool negative = after().is('-');
    const int size = tree_.add(Kind::Number, power.text);
    for (int i = is_signed ? 3 : 2; i > 0; --i) next();
    const int scale = tree_.node(
        Kind::Power, {tree_.add(Kind::Number, "10"), negative ? tree_.node(Kind::Negate, {size}) : size});
    return tree_.node(Kind::Multiply, {value, scale});
}

/// "0.1(6)" as (16 - 1) / 90.
int Reader::periodic(const std::string& text) {
    const size_t point = text.find('.'), open = text.find('(');
    const std::string whole = text.substr(0, point), fixed = text.substr(point + 1, open - point - 1),
                      period = text.substr(open + 1, text.size() - open - 2);
    if (text.size() > 200) throw Unreadable("a period of more than 200 digits");
    const int all = tree_.add(Kind::Number, "0" + whole + fixed + period);
    const int without = tree_.add(Kind::Number, "0" + whole + fixed);
    const int bottom =
        tree_.add(Kind::Number, std::string(period.size(), '9') + std::string(fixed.size(), '0'));
    return tree_.node(Kind::Divide,
                      {tree_.node(Kind::Add, {all, tree_.node(Kind::Negate, {without})}), bottom});
}

int Reader::letters() {
    Token token = now();
    if (const auto known = constant(token.text); known && token.text.size() > 1) {
        next();
        return tree_.add(Kind::Constant, *known);
    }
    if (is_function(token.text)) {
        next();
        return function(token.text);
    }
    if (is_greek(token.text)) {
        next();
        return symbol(token.text);
    }
    if (token.text.size() > 1) {
        size_t length = 1;
        for (const std::string_view name : {"sin", "cos", "tan", "ln", "log", "sqrt"}) {
            if (token.text.starts_with(name) && token.text.size() <= name.size() + 2) length = name.size();
        }
        if (length == 1 && !is_product_of_letters(token.text))
            throw Unreadable("words in a formula: " + token.text);
        Token rest = token;
        rest.text.erase(0, length);
        rest.spaced = false;
        tokens_[at_].text = token.text.substr(0, length);
        tokens_.insert(tokens_.begin() + std::ptrdiff_t(at_) + 1, rest);
        return letters();
    }
    next();
    return symbol(token.text);
}

/// A name with its subscript, primes and arguments.
int Reader::symbol(std::string name) {
    int value = -1;
    if (now().is('_')) {
        next();
        const bool braced = now().is('{');
        const bool named = after().kind == TokenKind::Text ||
                           (after().kind == TokenKind::Command && is_function(after().text));
        if (braced && named) {
            next();
            name += "_{" + single_spaced(now().text) + "}";
            next();
            expect('}');
        } else {
            const int below = exponent();
            if (tree_[below].kind == Kind::Number) {
                name += "_{" + tree_[below].text + "}";
            } else {
                value = tree_.add(Kind::Apply, name + "_", {below});
            }
        }
    }
    while (now().is('\'')) {
        next();
        name += '\'';
    }
    if (inverse_follows(name)) {
        for (int i = 0; i < 5; ++i) next();
        name += "^-1";
    }
    if (value >= 0) return value;
    if (is_applied(name)) {
        next();
        const int arguments = bracketed('(');
        const Node node = tree_[arguments];
        return tree_.add(Kind::Apply, name, node.kind == Kind::Tuple ? node.kids : std::vector{arguments});
    }
    if (const auto known = constant(name); known && !bound_.contains(name))
        return tree_.add(Kind::Constant, *known);
    return tree_.add(Kind::Symbol, name);
}

/// "f^{-1}(" for the usual letters of functions.
bool Reader::inverse_follows(const std::string& name) const {
    if (name.size() != 1 || std::string_view("fghFGH").find(name[0]) == std::string_view::npos) return false;
    if (at_ + 5 >= tokens_.size() || !tokens_[at_ + 3].text.starts_with("1")) return false;
    return tokens_[at_].is('^') && tokens_[at_ + 1].is('{') && tokens_[at_ + 2].is('-') &&
           tokens_[at_ + 4].is('}') && tokens_[at_ + 5].is('(');
}

/// "f(x)" is an application for the usual letters of functions; for others, where an equation defines it.
bool Reader::is_applied(const std::string& name) const {
    if (!now().is('(') || now().spaced) return false;
    if (std::string_view("fghFGH").find(name[0]) != std::string_view::npos) return true;
    int depth = 0;
    for (size_t at = at_; at < tokens_.size(); ++at) {
        if (tokens_[at].is('(')) ++depth;
        if (tokens_[at].is(')') && --depth == 0) {
            return tokens_[at + 1].is('=') && name != "x" && name != "e" && name != "i";
        }
    }
    return false;
}

int Reader::text() {
    const Token token = now();
    const std::string words = single_spaced(token.text);
    if (is_function(words)) {
        next();
        return function(words);
    }
    std::string letter = words;
    if (letter.size() > 1 && letter.front() == '(') letter.erase(0, 1);
    while (letter.size() > 1 && std::string_view(").:").find(letter.back()) != std::string_view::npos)
        letter.pop_back();
    if (letter.size() == 1 && is_letter(letter[0])) {
        next();
        if (letter != words && (starts_factor() || now().kind == TokenKind::Number)) {
            return tree_.add(Kind::Choice, letter, {product()});
        }
        return symbol(letter);
    }
    std::vector<Token> inside = tokens_of(token.text, Commas::Separators);
    if (inside.size() < 2) throw Unreadable("an empty text in a formula");
    inside.pop_back(); // the end
    tokens_.erase(tokens_.begin() + std::ptrdiff_t(at_));
    tokens_.insert(tokens_.begin() + std::ptrdiff_t(at_), inside.begin(), inside.end());
    if (inside[0].kind == TokenKind::Text) throw Unreadable("texts within texts");
    return primary();
}

} // namespace stillroom::maths
