// SPDX-License-Identifier: GPL-3.0-or-later
// What LaTeX commands stand for: fractions, roots, functions, series, matrices; and what follows a value:
// units, percent, degrees.
#include "maths/latex.h"
#include "maths/reader_terms.h"
#include "maths/units.h"
#include "maths/vocabulary.h"

#include <algorithm>
#include <array>
#include <utility>

namespace stillroom::maths {

int Reader::command() {
    const Token token = now();
    const std::string& name = token.text;
    next();
    if (name == "frac" || name == "dfrac" || name == "tfrac" || name == "cfrac") {
        const int top = argument();
        return tree_.node(Kind::Divide, {top, argument()});
    }
    if (name == "binom" || name == "dbinom" || name == "tbinom") {
        const int top = argument();
        return tree_.add(Kind::Apply, "binomial", {top, argument()});
    }
    if (name == "sqrt") return root();
    if (name == "boxed" || name == "fbox") {
        const int inside = argument();
        after_box_ = true;
        return inside;
    }
    if (name == "sum" || name == "prod") return series(name == "sum" ? "sum" : "product");
    if (name == "lfloor") return between("rfloor", "floor");
    if (name == "lceil") return between("rceil", "ceil");
    if (name == "begin") return environment();
    if (name == "emptyset" || name == "varnothing") return tree_.node(Kind::Set, std::vector<int>{});
    if (name == "mathbb" || name == "Bbb") {
        const std::string letter = word_in_group();
        constexpr std::array<std::pair<std::string_view, const char*>, 5> sets{
            {{"R", "reals"}, {"Z", "integers"}, {"N", "naturals"}, {"Q", "rationals"}, {"C", "complexes"}}};
        for (const auto& [known, meaning] : sets) {
            if (letter == known) return tree_.add(Kind::Constant, meaning);
        }
        return symbol(letter);
    }
    if (name == "mathcal" || name == "mathscr" || name == "mathfrak")
        return symbol(name + " " + word_in_group());
    for (const char* accent :
         {"overline", "bar", "vec", "hat", "widehat", "tilde", "dot", "overrightarrow"}) {
        if (name == accent) return tree_.add(Kind::Apply, name, {argument()});
    }
    if (name == "angle" || name == "triangle") return primary();
    if (name == "phantom" || name == "cancel" || is_beyond_reading(name)) throw Unreadable("\\" + name);
    if (is_function(name)) return function(name);
    if (const auto known = constant(name)) return tree_.add(Kind::Constant, *known);
    if (!is_greek(name)) throw Unreadable("an unknown command, \\" + name);
    return symbol(name);
}

std::string Reader::word_in_group() {
    const bool braced = now().is('{');
    if (braced) next();
    if (now().kind != TokenKind::Letters) throw Unreadable("expected a letter, found " + shown(now()));
    const std::string word = now().text;
    next();
    if (braced) expect('}');
    return word;
}

int Reader::root() {
    int degree = -1;
    if (now().is('[')) {
        next();
        if (!now().is(']')) degree = sum();
        expect(']');
    }
    const int inside = argument();
    return degree < 0 ? tree_.add(Kind::Apply, "sqrt", {inside})
                      : tree_.add(Kind::Apply, "root", {degree, inside});
}

int Reader::function(std::string name) {
    const Depth deeper(*this);
    if (name == "sqrt") return root();
    if (name.starts_with("arc")) name = "a" + name.substr(3);
    int raised = -1, base = -1;
    while (now().is('^') || now().is('_')) {
        const bool above = now().is('^');
        next();
        Token& token = tokens_[at_];
        if (!above && token.kind == TokenKind::Number && token.text.size() > 1 && token.text != "10") {
            base = argument(); // "\log_28" is the logarithm of 8
        } else {
            (above ? raised : base) = exponent();
        }
    }
    std::vector<int> arguments;
    if (now().is('(') || now().is('[') || now().is('{')) {
        const bool braced = now().is('{');
        const char open = now().text[0];
        if (!braced) next();
        const int inside = braced ? group() : bracketed(open);
        const Node node = tree_[inside];
        arguments = node.kind == Kind::Tuple || node.kind == Kind::List ? node.kids : std::vector{inside};
    } else if (now().is('S')) { // \max\{1, 2\}
        arguments = tree_[primary()].kids;
    } else {
        arguments = {implicit_product()};
    }
    if (name == "lg") {
        name = "log";
        base = tree_.add(Kind::Number, "10");
    }
    if (base >= 0 && name != "log") throw Unreadable("a subscript of " + name);
    if (base >= 0) arguments.insert(arguments.begin(), base);
    if (raised >= 0 && tree_[raised].kind == Kind::Negate && name.size() == 3) { // sin^{-1}
        if (to_text(tree_, raised) != "-1") throw Unreadable("a negative power of " + name);
        name = name[0] == 'a' ? name.substr(1) : "a" + name;
        raised = -1;
    }
    const int value = tree_.add(Kind::Apply, name, arguments);
    return raised < 0 ? value : tree_.node(Kind::Power, {value, raised});
}

/// After \sum or \prod: "_{k=0}^{n}" and the term.
int Reader::series(const std::string& name) {
    const Depth deeper(*this);
    expect('_');
    expect('{');
    if (now().kind != TokenKind::Letters || now().text.size() != 1)
        throw Unreadable("a series without an index");
    const std::string index = now().text;
    next();
    expect('=');
    const int from = sum();
    expect('}');
    expect('^');
    const int to = exponent();
    const bool fresh = bound_.insert(index).second;
    const int body = product();
    if (fresh) bound_.erase(index);
    return tree_.add(Kind::Series, name, {tree_.add(Kind::Symbol, index), from, to, body});
}

int Reader::between(std::string_view close, const std::string& name) {
    const int inside = sum();
    if (!now().is_command(close))
        throw Unreadable("expected \\" + std::string(close) + ", found " + shown(now()));
    next();
    return tree_.add(Kind::Apply, name, {inside});
}

int Reader::bars() {
    next();
    ++in_abs_;
    const int inside = sum();
    --in_abs_;
    expect('|');
    return tree_.add(Kind::Apply, "abs", {inside});
}

/// After \begin: a matrix, or what aligns one line.
int Reader::environment() {
    const Depth deeper(*this);
    const std::string name = word_in_group();
    if (name != "array" && !name.ends_with("matrix")) throw Unreadable("\\begin{" + name + "}");
    if (name == "array" && now().is('{')) {
        while (!now().is('}') && now().kind != TokenKind::End) next();
        expect('}');
    }
    std::vector<int> cells;
    size_t columns = 0, filled = 0;
    int rows = 0;
    while (!now().is_command("end")) {
        cells.push_back(sum());
        ++filled;
        if (now().is('&')) {
            next();
            continue;
        }
        if (now().is('R')) {
            next();
        } else if (!now().is_command("end")) {
            throw Unreadable("unexpected " + shown(now()) + " in a matrix");
        }
        if (rows > 0 && filled != columns) throw Unreadable("rows of different lengths");
        columns = std::exchange(filled, 0);
        ++rows;
    }
    next();
    (void)word_in_group();
    if (rows == 0 || filled > 0) throw Unreadable("an incomplete matrix");
    const int matrix = tree_.add(Kind::Matrix, "", cells, rows);
    return name == "vmatrix" ? tree_.add(Kind::Apply, "det", {matrix}) : matrix;
}

/// After "^": \circ, perhaps in braces.
bool Reader::degrees_follow() {
    const auto is_ring = [](const Token& token) {
        return token.is_command("circ") || token.is_command("degree");
    };
    if (is_ring(now())) {
        next();
        return true;
    }
    if (now().is('{') && is_ring(after()) && tokens_[std::min(at_ + 2, tokens_.size() - 1)].is('}')) {
        for (int i = 0; i < 3; ++i) next();
        return true;
    }
    return false;
}

int Reader::with_degrees(int base) {
    const Token& token = now();
    const std::string scale =
        token.kind == TokenKind::Letters || token.kind == TokenKind::Text ? single_spaced(token.text) : "";
    if (scale != "C" && scale != "F") return tree_.node(Kind::Degrees, {base});
    next();
    return tree_.add(Kind::Unit, "degree " + lower_case(scale), {base});
}

/// After "^": "th" and the like, which say nothing more than the number.
bool Reader::ordinal_follows() {
    const bool braced = now().is('{');
    const size_t at = at_ + (braced ? 1 : 0);
    const Token& token = tokens_[std::min(at, tokens_.size() - 1)];
    if (token.kind != TokenKind::Text && token.kind != TokenKind::Letters) return false;
    const std::string word = single_spaced(token.text);
    if (word != "th" && word != "st" && word != "nd" && word != "rd") return false;
    at_ = at;
    next();
    if (braced) expect('}');
    return true;
}

bool Reader::measure_follows() const {
    const Token& token = now();
    if (token.kind == TokenKind::Currency) return true;
    const bool is_relation = token.text == "in" && (after().is('(') || after().is('[') || after().is('S'));
    if (token.kind == TokenKind::Letters) {
        return !is_relation && token.text.size() > 1 && !is_connector(token.text) &&
               !is_function(token.text) &&
               (is_percent(token.text) || is_unit(token.text) || scale(token.text) ||
                !is_product_of_letters(token.text)) &&
               !is_greek(token.text) && !constant(token.text);
    }
    if (token.kind != TokenKind::Text || is_connector(token.text)) return false;
    const std::string word = single_spaced(token.text);
    if (is_unit(word)) return true;
    return !(word.size() == 1 && is_letter(word[0])) && !is_function(word);
}

/// A value with what follows it: percent, a factor ("million"), a unit with its power.
int Reader::measured(int value) {
    const Token token = now();
    const std::string word = single_spaced(token.text);
    next();
    if (is_percent(word)) return tree_.node(Kind::Percent, {value});
    if (const auto factor = scale(word)) {
        return tree_.node(Kind::Multiply, {value, tree_.add(Kind::Number, *factor)});
    }
    if (changes_number(word)) throw Unreadable("words that change a number: " + word);
    if (!variables(tree_, value).empty()) {
        if (token.kind != TokenKind::Text) throw Unreadable("words in a formula: " + word);
    }
    std::string unit = lower_case(word);
    if (now().is('^')) {
        next();
        const int power = exponent();
        unit += "^" + to_text(tree_, power);
    }
    if (now().is('/')) {
        const Token& below = after();
        if (below.kind == TokenKind::Text || (below.kind == TokenKind::Letters && is_unit(below.text))) {
            next();
            unit += "/" + lower_case(single_spaced(now().text));
            next();
        }
    }
    const Node node = tree_[value];
    if (node.kind == Kind::Unit) return tree_.add(Kind::Unit, node.text + " " + unit, node.kids);
    return tree_.add(Kind::Unit, unit, {value});
}

} // namespace stillroom::maths
