// SPDX-License-Identifier: GPL-3.0-or-later
// The shapes of answers: lists, relations, sets, words. The terms inside them are read in reader_terms.cpp.
#include "maths/reader.h"

#include "maths/latex.h"
#include "maths/reader_terms.h"
#include "maths/vocabulary.h"

#include <algorithm>
#include <utility>

namespace stillroom::maths {

namespace {

char relation_sign(const Token& token, const Token& after) {
    if (token.is_command("in")) return 'e';
    const bool opens = after.is('(') || after.is('[') || after.is('S');
    if (token.kind == TokenKind::Letters && token.text == "in" && opens) return 'e';
    if (token.kind != TokenKind::Sign) return '\0';
    return std::string_view("=<>lgn~").find(token.text[0]) == std::string_view::npos ? '\0' : token.text[0];
}

} // namespace

int Reader::whole() {
    int node = choice();
    if (node < 0) node = answer();
    while (now().is('.') || now().is('R')) next();
    if (now().kind != TokenKind::End) throw Unreadable("unexpected " + shown(now()));
    if (is_prose(node)) throw Unreadable("sentences and formulas");
    return node;
}

/// A list of formulas and sentences is prose.
bool Reader::is_prose(int node) const {
    const auto& kids = tree_[node].kids;
    const auto is_sentence = [&](int kid) {
        return tree_[kid].kind == Kind::Word && tree_[kid].text.find(' ') != std::string::npos;
    };
    return tree_[node].kind == Kind::List && std::any_of(kids.begin(), kids.end(), is_sentence) &&
           std::any_of(kids.begin(), kids.end(), [&](int kid) { return tree_[kid].kind != Kind::Word; });
}

/// What stands between two answers here.
Reader::Between Reader::separator() {
    Between found = Between::Nothing;
    for (bool comma = false;;) {
        const Token& token = now();
        const bool word = (token.kind == TokenKind::Letters && is_connector(token.text)) ||
                          (token.kind == TokenKind::Text && is_connector(token.text));
        if (token.is(',') || (word && token.text.find(',') != std::string::npos)) {
            comma = true;
            if (found == Between::Nothing) found = Between::Comma;
        } else if (token.is(';')) {
            found = Between::Semicolon;
        } else if (word) {
            const bool is_or = lower_case(token.text).find("or") != std::string::npos;
            if (!comma) found = is_or ? Between::Or : Between::And;
        } else if (token.is('R') && found != Between::Nothing) { // a line break after a comma
        } else {
            return found;
        }
        next();
    }
}

int Reader::answer() {
    const Depth deeper(*this);
    std::vector<std::vector<int>> groups{{item()}}; // a comma binds closer than the others
    bool all_or = true, all_and = true;
    while (true) {
        Between between = separator();
        if (between == Between::Nothing && after_box_ && now().is_command("boxed")) between = Between::Comma;
        if (between == Between::Nothing || ends_here()) break;
        all_or = all_or && between == Between::Or;
        all_and = all_and && between == Between::And;
        if (between != Between::Comma) groups.emplace_back();
        groups.back().push_back(item());
    }
    return grouped(groups, all_or ? "or" : all_and ? "and" : "");
}

bool Reader::ends_here() const {
    const Token& token = now();
    return token.kind == TokenKind::End || token.is(')') || token.is(']') || token.is('}') || token.is('T') ||
           (token.is('.') && tokens_[at_ + 1].kind == TokenKind::End);
}

/// "p=5, q=2; p=7, q=2" is two points; else one list, whatever separates.
int Reader::grouped(const std::vector<std::vector<int>>& groups, const std::string& connector) {
    const auto is_point = [&](const std::vector<int>& group) {
        std::vector<std::string> names;
        for (const int part : group) {
            const Node& node = tree_[part];
            if (node.kind != Kind::Relation || node.text != "=") return false;
            const Node& left = tree_[node.kids[0]];
            if (left.kind != Kind::Symbol) return false;
            if (std::find(names.begin(), names.end(), left.text) != names.end()) return false;
            names.push_back(left.text);
        }
        return group.size() > 1 && group.size() == groups[0].size();
    };
    std::vector<int> all;
    const bool points = groups.size() > 1 && std::all_of(groups.begin(), groups.end(), is_point);
    for (const auto& group : groups) {
        if (points) {
            all.push_back(tree_.add(Kind::Tuple, "()", group));
        } else {
            all.insert(all.end(), group.begin(), group.end());
        }
    }
    return all.size() == 1 ? all[0] : tree_.add(Kind::List, connector, all);
}

/// Where words stand up to the next separator, and nothing else: how many tokens they are; else 0.
size_t Reader::words_ahead() const {
    bool words = false;
    size_t end = at_;
    for (;; ++end) {
        const Token& token = tokens_[end];
        if (token.kind == TokenKind::Letters) {
            if (is_connector(token.text)) break;
            words = words || is_yes_or_no(token.text) ||
                    (!is_product_of_letters(token.text) && !is_function(token.text) &&
                     !constant(token.text) && !is_greek(token.text));
        } else if (token.kind == TokenKind::Text) {
            if (is_connector(token.text)) break;
            const std::string text = single_spaced(token.text);
            if (lists_letters(text)) return 0;
            if (std::any_of(text.begin(), text.end(), [](char c) {
                    return !is_letter(c) && std::string_view(" -'.!?,").find(c) == std::string_view::npos;
                })) {
                return 0;
            }
            words = words || (text.size() > 1 && !is_function(text));
        } else if (token.kind == TokenKind::Number && !token.spaced && end > at_ &&
                   tokens_[end - 1].kind == TokenKind::Letters && tokens_[end - 1].text.size() > 1 &&
                   !is_function(tokens_[end - 1].text)) {
            words = true; // a name: "AZ2"
        } else if (!token.is('.') && !token.is('-') && !token.is('\'') && !token.is('!')) {
            break;
        }
    }
    const Token& stop = tokens_[end];
    const bool separated = stop.kind == TokenKind::End || stop.is(',') || stop.is(';') || stop.is('}') ||
                           stop.is('T') || stop.is(')') || stop.is('=') || stop.kind == TokenKind::Letters ||
                           stop.kind == TokenKind::Text;
    return words && separated ? end - at_ : 0;
}

int Reader::item() {
    if (const size_t count = words_ahead(); count > 0) {
        std::string text;
        for (size_t i = 0; i < count; ++i) {
            const Token& token = now();
            if (token.kind != TokenKind::Sign || token.is('-'))
                text += (token.spaced ? " " : "") + token.text;
            next();
        }
        return relation(words(lower_case(single_spaced(text))));
    }
    if (now().is('~') || now().is('=')) next(); // "= 5"
    return relation(ratio());
}

/// What words stand for: a number, all reals, a choice; else themselves.
int Reader::words(const std::string& said) {
    std::string text = said;
    for (const std::string_view article : {"the ", "an ", "a "}) {
        if (text.starts_with(article)) text.erase(0, article.size());
    }
    while (!text.empty() && std::string_view(".!?,").find(text.back()) != std::string_view::npos)
        text.pop_back();
    if (const auto number = number_word(text)) return tree_.add(Kind::Number, *number);
    if (text == "all real numbers" || text == "all reals" || text == "real numbers") {
        return tree_.add(Kind::Constant, "reals");
    }
    for (const std::string_view naming : {"option ", "choice ", "answer "}) {
        if (!text.starts_with(naming) || text.size() != naming.size() + 1) continue;
        return tree_.add(Kind::Symbol, std::string(1, char(text.back() - 'a' + 'A')));
    }
    return tree_.add(Kind::Word, text);
}

/// "B) 12", "(B) 12", "B. 12": what is chosen, and its letter; -1 where no such stands here.
int Reader::choice() {
    const size_t letter = at_ + (now().is('(') ? 1 : 0);
    if (letter + 2 >= tokens_.size()) return -1;
    const Token name = tokens_[letter], close = tokens_[letter + 1];
    const bool closed = close.is(')') || (letter == at_ && (close.is('.') || close.is(':')));
    const bool named = name.kind == TokenKind::Letters && name.text.size() == 1 && name.text[0] >= 'A' &&
                       name.text[0] <= 'J';
    if (!named || !closed || !tokens_[letter + 2].spaced || tokens_[letter + 2].kind == TokenKind::End)
        return -1;
    if (tokens_[letter + 2].is_command("cup") || tokens_[letter + 2].is_command("cap")) return -1;
    at_ = letter + 2;
    return tree_.add(Kind::Choice, name.text, {answer()});
}

int Reader::relation(int first) {
    std::string signs;
    std::vector<int> sides{first};
    while (const char sign = relation_sign(now(), after())) {
        after_box_ = false;
        next();
        signs += sign;
        sides.push_back(ratio());
    }
    return signs.empty() ? first : tree_.add(Kind::Relation, signs, sides);
}

int Reader::ratio() {
    std::vector<int> parts{set_expression()};
    while (now().is(':') && in_set_ == 0) {
        next();
        parts.push_back(set_expression());
    }
    return parts.size() == 1 ? parts[0] : tree_.node(Kind::Ratio, parts);
}

int Reader::set_expression() {
    int left = sum();
    while (true) {
        const Token& token = now();
        Kind kind = Kind::Union;
        if (token.is_command("cap")) {
            kind = Kind::Intersection;
        } else if (token.is_command("setminus") || token.is_command("backslash")) {
            kind = Kind::Difference;
        } else if (!token.is_command("cup") &&
                   !(token.kind == TokenKind::Letters && token.text == "U" && token.spaced)) {
            return left;
        }
        next();
        const int right = sum();
        if (tree_[left].kind == Kind::Number || tree_[right].kind == Kind::Number)
            throw Unreadable("a number among sets");
        left = tree_.node(kind, {left, right});
    }
}

/// After its opening bracket: a group in brackets, a tuple, an interval.
int Reader::bracketed(char open) {
    const Depth deeper(*this);
    const int outer_abs = std::exchange(in_abs_, 0);
    std::vector<int> items{item()};
    while (separator() != Between::Nothing) {
        if (ends_here()) break;
        items.push_back(item());
    }
    in_abs_ = outer_abs;
    const char close = now().is(')') ? ')' : now().is(']') ? ']' : '\0';
    if (close == '\0') throw Unreadable("a bracket is not closed");
    next();
    const std::string brackets{open, close};
    const bool matched = brackets == "()" || brackets == "[]";
    if (!matched && items.size() != 2) throw Unreadable("brackets do not match");
    if (!matched) return tree_.add(Kind::Interval, brackets, items);
    if (items.size() == 1) return items[0];
    return tree_.add(Kind::Tuple, brackets, items);
}

/// After "\{": elements, or "x | condition" over the real numbers, which is the condition.
int Reader::set() {
    const Depth deeper(*this);
    const int outer_abs = std::exchange(in_abs_, 1),
              outer_set = std::exchange(in_set_, 1); // a bar, a colon ends
    std::vector<int> items;
    if (!now().is('T')) items.push_back(item());
    if (now().is('|') || now().is(':')) {
        const Node first = tree_[items[0]];
        const bool real = first.kind == Kind::Symbol || (first.kind == Kind::Relation && first.text == "e" &&
                                                         tree_[first.kids[1]].text == "reals");
        if (!real) throw Unreadable("a set of other than real numbers");
        in_abs_ = in_set_ = 0;
        next();
        items = {item()};
    } else if (!items.empty()) {
        while (separator() != Between::Nothing) items.push_back(item());
        items = {tree_.node(Kind::Set, items)};
    } else {
        items = {tree_.node(Kind::Set, {})};
    }
    in_abs_ = outer_abs;
    in_set_ = outer_set;
    if (!now().is('T')) throw Unreadable("a set is not closed");
    next();
    return items[0];
}

std::string Reader::shown(const Token& token) {
    switch (token.kind) {
    case TokenKind::End:
        return "end";
    case TokenKind::Command:
        return "\\" + token.text;
    default:
        return "\"" + token.text.substr(0, 20) + "\"";
    }
}

Tree read(std::string_view text, Commas commas) {
    Reader reader(tokens_of(text, commas));
    const int root = reader.whole();
    Tree tree = reader.take_tree();
    tree.root = root;
    return tree;
}

} // namespace stillroom::maths
