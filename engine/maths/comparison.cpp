// SPDX-License-Identifier: GPL-3.0-or-later
// The shapes of answers: labels, lists, tuples, sets, relations, matrices. Values are compared in
// comparison_values.cpp.
#include "maths/comparison_steps.h"

#include "maths/latex.h"
#include "maths/real_set.h"

#include <algorithm>

namespace stillroom::maths {

namespace {

bool is_inequality(const Node& node) {
    return node.kind == Kind::Relation && node.text.find_first_of("<>lgn") != std::string::npos;
}

bool is_set_like(const Node& node) {
    return node.kind == Kind::Interval || node.kind == Kind::Union || node.kind == Kind::Intersection ||
           node.kind == Kind::Difference || (node.kind == Kind::Constant && node.text == "reals");
}

bool is_set_like(const Tree& tree, int at) {
    const Node& node = tree[at];
    if (node.kind == Kind::List && !node.text.empty()) { // "x < 2 or x > 3"
        return std::all_of(node.kids.begin(), node.kids.end(),
                           [&](int kid) { return is_inequality(tree[kid]); });
    }
    return is_set_like(node) || (node.kind == Kind::Negate && is_set_like(tree[node.kids[0]]));
}

bool is_equation(const Node& node) { return node.kind == Kind::Relation && node.text == "="; }

/// What an answer may be named with before "=": a symbol, f(x), AB, |AB|, a quotient, ratio or tuple of such.
bool is_label(const Tree& tree, int at) {
    const Node& node = tree[at];
    const auto all_labels = [&] {
        return std::all_of(node.kids.begin(), node.kids.end(), [&](int kid) { return is_label(tree, kid); });
    };
    switch (node.kind) {
    case Kind::Symbol:
    case Kind::Word:
        return true;
    case Kind::Multiply: // "AB", "MBCN", the "dy" of dy/dx
        if (node.kids.size() == 2 && tree[node.kids[0]].text == "d" &&
            tree[node.kids[1]].kind == Kind::Symbol)
            return true;
        return std::all_of(node.kids.begin(), node.kids.end(), [&](int kid) {
            const Node& part = tree[kid];
            return part.kind == Kind::Symbol && part.text[0] >= 'A' && part.text[0] <= 'Z';
        });
    case Kind::Apply:
        if (node.text.ends_with("_") || node.text.size() == 1 || node.text.ends_with("^-1")) return true;
        return (node.text == "abs" || node.text.ends_with("'") || node.text == "overline") && all_labels();
    case Kind::Divide:
    case Kind::Ratio:
    case Kind::Tuple:
        return all_labels();
    default:
        return false;
    }
}

Outcome all_of(const std::vector<Outcome>& parts, const std::string& equal) {
    for (const Outcome& part : parts) {
        if (part.verdict == Verdict::Different) return part;
    }
    for (const Outcome& part : parts) {
        if (part.verdict == Verdict::Unknown) return part;
    }
    return {Verdict::Equal, equal};
}

Outcome of_sets(Match match) {
    switch (match) {
    case Match::Same:
        return {Verdict::Equal, "the same set of numbers"};
    case Match::Differs:
        return {Verdict::Different, "different sets of numbers"};
    case Match::Undecided:
        break;
    }
    return {Verdict::Unknown, "the ends of the sets could not be told apart"};
}

} // namespace

Side Comparer::stripped(Tree& tree, int at) const {
    Side side{at, -1};
    for (int hops = 0; hops < 4; ++hops) {
        const Node node = tree[side.node];
        if (node.kind != Kind::Relation) return side;
        if (node.text == "e") {
            if (!is_label(tree, node.kids[0])) return side;
            side = {node.kids[1], node.kids[0]};
            continue;
        }
        if (node.text.find_first_not_of("=~") != std::string::npos) return side;
        // "x = 1/3 ~ 0.33" says x = 1/3; "x ~ 11" says 11
        std::vector<int> sides = node.kids;
        const size_t about = node.text.find('~');
        if (about != std::string::npos && !(about == 0 && is_label(tree, sides[0]))) sides.resize(about + 1);
        if (sides.size() == 1) {
            side.node = sides[0];
            continue;
        }
        const auto constant = [&](int kid) { return variables(tree, kid).empty(); };
        if (is_label(tree, sides[0]) && !constant(sides[0])) {
            side = {sides.back(), sides[0]};
        } else if (tree[sides[0]].kind == Kind::Word) {
            side = {sides.back(), sides[0]};
        } else if (std::all_of(sides.begin(), sides.end(), constant)) {
            side.node = sides.back();
        } else if (sides.size() == 2 && is_label(tree, sides[1]) && constant(sides[0])) {
            side = {sides[0], sides[1]};
        } else if (sides.size() > 2 && constant(sides.back())) {
            const auto named =
                std::find_if(sides.begin(), sides.end(), [&](int kid) { return is_label(tree, kid); });
            if (named == sides.end()) return side;
            side = {sides.back(), *named};
        } else {
            return side;
        }
    }
    return side;
}

Outcome Comparer::compare(int a, int b) {
    if (!work_.spend(2)) return {Verdict::Unknown, "too much work"};
    if (to_text(a_, a) == to_text(b_, b)) return {Verdict::Equal, "the same after reading"};
    Side left = stripped(a_, a), right = stripped(b_, b);
    Outcome outcome;
    const bool labelled = left.label >= 0 && right.label >= 0;
    const std::string left_label = labelled ? to_text(a_, left.label) : "";
    const std::string right_label = labelled ? to_text(b_, right.label) : "";
    if (labelled && left_label != right_label) {
        const Node& f = a_[left.label];
        const Node& g = b_[right.label];
        const bool same_function = f.kind == Kind::Apply && g.kind == Kind::Apply && f.text == g.text &&
                                   f.kids.size() == 1 && g.kids.size() == 1 &&
                                   a_[f.kids[0]].kind == Kind::Symbol && b_[g.kids[0]].kind == Kind::Symbol;
        if (same_function) {
            return unlabelled(left.node, renamed(b_, right.node, b_[g.kids[0]].text, a_[f.kids[0]].text));
        }
        outcome = unlabelled(left.node, right.node);
        if (outcome.verdict == Verdict::Equal) {
            if (is_equation(a_[a]) && is_equation(b_[b])) {
                const Outcome whole = equations(a, b);
                if (whole.verdict == Verdict::Equal) return whole;
            }
            return {Verdict::Unknown, "values of different names, " + left_label + " and " + right_label};
        }
        if (!is_equation(a_[a]) || !is_equation(b_[b])) return outcome;
        const Outcome whole = equations(a, b); // "y = 2x" and "x = y/2"
        return whole.verdict == Verdict::Unknown ? outcome : whole;
    }
    const bool named = left.label >= 0 || right.label >= 0;
    const bool unsolved =
        (left.label < 0 && is_equation(a_[left.node])) || (right.label < 0 && is_equation(b_[right.node]));
    if (named && unsolved && is_equation(a_[a]) && is_equation(b_[b])) return equations(a, b);
    return unlabelled(left.node, right.node);
}

std::optional<std::vector<int>> Comparer::elements(Tree& tree, int at) const {
    const Node node = tree[at];
    if (node.kind == Kind::List || node.kind == Kind::Set) {
        std::vector<int> all;
        for (const int kid : node.kids) {
            const Side side = stripped(tree, kid);
            const auto inner = elements(tree, side.node);
            if (inner && (tree[side.node].kind != Kind::Set)) {
                all.insert(all.end(), inner->begin(), inner->end());
            } else {
                all.push_back(kid);
            }
        }
        return all;
    }
    const bool value = node.kind == Kind::Tuple || node.kind == Kind::Add || node.kind == Kind::Negate ||
                       node.kind == Kind::Multiply || node.kind == Kind::Divide ||
                       node.kind == Kind::PlusMinus || node.kind == Kind::Power || node.kind == Kind::Apply ||
                       node.kind == Kind::Unit || node.kind == Kind::Degrees;
    if (value && has_plus_minus(tree, at)) {
        return std::vector{with_signs(tree, at, true), with_signs(tree, at, false)};
    }
    return std::nullopt;
}

Outcome Comparer::unlabelled(int a, int b) {
    reduce_matrices(a_, a);
    reduce_matrices(b_, b);
    const Node left = a_[a], right = b_[b];
    if (left.kind == Kind::Choice || right.kind == Kind::Choice) return choices(a, b);
    if (left.kind == Kind::Word || right.kind == Kind::Word) return words(a, b);

    const bool set_a = is_set_like(a_, a) || is_inequality(left);
    const bool set_b = is_set_like(b_, b) || is_inequality(right);
    if (set_a || set_b) return sets(a, b);

    const auto many_a = elements(a_, a), many_b = elements(b_, b);
    if (many_a || many_b) return collections(a, b, many_a, many_b);

    const bool ordered_a = left.kind == Kind::Tuple || left.kind == Kind::Matrix;
    const bool ordered_b = right.kind == Kind::Tuple || right.kind == Kind::Matrix;
    if (ordered_a && ordered_b) return ordered(a, b);
    if (ordered_a || ordered_b) return {Verdict::Different, "a point or matrix against a single value"};

    if (left.kind == Kind::Ratio || right.kind == Kind::Ratio) return ratios(a, b);
    if (is_equation(left) && is_equation(right)) return equations(a, b);
    if (is_equation(left) || is_equation(right)) {
        return {Verdict::Different, "an equation against a value"};
    }
    if (left.kind == Kind::Relation || right.kind == Kind::Relation)
        return {Verdict::Unknown, "a relation that is not compared"};
    return measures(a, b);
}

Outcome Comparer::words(int a, int b) {
    const std::string left = lowered_letters(to_text(a_, a)), right = lowered_letters(to_text(b_, b));
    const bool both = a_[a].kind == Kind::Word && b_[b].kind == Kind::Word;
    if (!left.empty() && left == right) return {Verdict::Equal, "the same words"};
    if (both) {
        const bool single = (a_[a].text + b_[b].text).find(' ') == std::string::npos;
        if (single) return {Verdict::Different, "different words"};
        return {Verdict::Unknown, "different words, which may mean the same"};
    }
    const Node& other = a_[a].kind == Kind::Word ? b_[b] : a_[a];
    if (other.kind == Kind::Number || other.kind == Kind::Divide || other.kind == Kind::Negate) {
        return {Verdict::Different, "words against a number"};
    }
    return {Verdict::Unknown, "words against a formula"};
}

Outcome Comparer::choices(int a, int b) {
    const auto letter = [](const Tree& tree, int at) -> std::string {
        const Node& node = tree[at];
        const bool one =
            node.kind == Kind::Choice || node.kind == Kind::Symbol || node.kind == Kind::Constant;
        return one && node.text.size() == 1 ? lowered_letters(node.text) : "";
    };
    const std::string left = letter(a_, a), right = letter(b_, b);
    if (!left.empty() && !right.empty()) {
        return left == right ? Outcome{Verdict::Equal, "the same choice"}
                             : Outcome{Verdict::Different, "different choices"};
    }
    return compare(a_[a].kind == Kind::Choice ? a_[a].kids[0] : a,
                   b_[b].kind == Kind::Choice ? b_[b].kids[0] : b);
}

Outcome Comparer::sets(int a, int b) {
    const auto left = real_set(a_, a, work_), right = real_set(b_, b, work_);
    const Node x = a_[a], y = b_[b];
    if (policy_.decimals && x.kind == Kind::Interval && y.kind == Kind::Interval && x.text == y.text)
        return ordered(a, b);
    if (left && right) {
        const Outcome outcome = of_sets(compare_sets(*left, *right));
        const bool both_named = is_inequality(x) && is_inequality(y) && variables(a_, a) != variables(b_, b);
        if (outcome.verdict == Verdict::Equal && both_named)
            return {Verdict::Unknown, "the same set of numbers, of different names"};
        return outcome;
    }
    const bool ends = (x.kind == Kind::Interval || x.kind == Kind::Tuple) &&
                      (y.kind == Kind::Interval || y.kind == Kind::Tuple);
    if (ends && x.kids.size() == 2 && y.kids.size() == 2) {
        if (x.text != y.text) return {Verdict::Different, "intervals with different ends"};
        return ordered(a, b);
    }
    if ((x.kind == Kind::Union && y.kind == Kind::Union) ||
        (x.kind == Kind::Intersection && y.kind == Kind::Intersection)) {
        return unordered(x.kids, y.kids, "the same parts");
    }
    if (is_inequality(x) && is_inequality(y)) return inequalities(a, b);
    if ((left && is_number(b_, b)) || (right && is_number(a_, a)))
        return {Verdict::Different, "a number against a set"};
    return {Verdict::Unknown, "sets or inequalities that are not compared"};
}

Outcome Comparer::collections(int a, int b, const std::optional<std::vector<int>>& many_a,
                              const std::optional<std::vector<int>>& many_b) {
    const Kind left = a_[a].kind, right = b_[b].kind;
    if (many_a && many_b) {
        if (many_a->empty() || many_b->empty()) {
            const bool same = many_a->empty() && many_b->empty();
            return {same ? Verdict::Equal : Verdict::Different, same ? "both empty" : "an empty set"};
        }
        const bool as_written =
            policy_.order == Policy::Order::All && left == Kind::List && right == Kind::List;
        if (as_written) return in_order(*many_a, *many_b);
        const Outcome outcome = unordered(*many_a, *many_b, "the same elements");
        // Repeated points are one solution; repeated numbers may answer several questions.
        const bool points = a_[many_a->front()].kind == Kind::Tuple;
        const bool counts =
            left == Kind::List && right == Kind::List && many_a->size() != many_b->size() && !points;
        if (outcome.verdict == Verdict::Equal && counts)
            return {Verdict::Unknown, "the same values, repeated differently"};
        return outcome;
    }
    const std::vector<int>& many = many_a ? *many_a : *many_b;
    const Node& other = many_a ? b_[b] : a_[a];
    const Kind kind = many_a ? left : right;
    if (other.kind == Kind::Tuple || other.kind == Kind::Matrix) {
        if (kind == Kind::List && !(many.size() == 1)) {
            return many_a ? in_order(many, other.kids) : in_order(other.kids, many);
        }
        if (many.size() != 1) return {Verdict::Different, "a set against a point"};
    }
    if (many.size() == 1) return many_a ? compare(many[0], b) : compare(a, many[0]);
    if (many.empty()) return {Verdict::Different, "an empty set"};
    std::vector<Outcome> each;
    for (const int part : many) each.push_back(many_a ? compare(part, b) : compare(a, part));
    const bool all_equal = std::all_of(each.begin(), each.end(),
                                       [](const Outcome& one) { return one.verdict == Verdict::Equal; });
    if (all_equal) { // "1/2 or 0.5" says one thing; "5, 5" may be two
        const std::string& connector = many_a ? a_[a].text : b_[b].text;
        if (kind == Kind::Set || connector == "or")
            return {Verdict::Equal, "one value, said in several ways"};
        return {Verdict::Unknown, "one value, stated several times"};
    }
    return {Verdict::Different, std::to_string(many.size()) + " values against one"};
}

/// Elements of the answer against those of the gold answer.
Outcome Comparer::in_order(const std::vector<int>& left, const std::vector<int>& right) {
    if (left.size() != right.size()) {
        return {Verdict::Different,
                std::to_string(left.size()) + " parts against " + std::to_string(right.size())};
    }
    std::vector<Outcome> parts;
    for (size_t i = 0; i < left.size(); ++i) {
        parts.push_back(compare(left[i], right[i]));
        if (parts.back().verdict == Verdict::Different) {
            return {Verdict::Different, "part " + std::to_string(i + 1) + ": " + parts.back().why};
        }
    }
    return all_of(parts, "equal in each part");
}

Outcome Comparer::ordered(int a, int b) {
    const Node left = a_[a], right = b_[b];
    if (left.kind == Kind::Matrix && right.kind == Kind::Matrix && left.rows != right.rows) {
        return {Verdict::Different, "matrices of different shapes"};
    }
    const auto is_vector = [](const Node& node) {
        return node.kind == Kind::Tuple || node.rows == 1 || size_t(node.rows) == node.kids.size();
    };
    if (left.kind != right.kind && (!is_vector(left) || !is_vector(right))) {
        return {Verdict::Different, "a matrix against a point"};
    }
    if (left.kind == Kind::Tuple && right.kind == Kind::Tuple && left.kids.size() == 2 &&
        left.text != right.text) {
        return {Verdict::Different, "different brackets"};
    }
    if (policy_.order == Policy::Order::None && left.kind == Kind::Tuple && right.kind == Kind::Tuple) {
        if (left.kids.size() != right.kids.size()) return {Verdict::Different, "tuples of different lengths"};
        return unordered(left.kids, right.kids, "the same parts, in any order");
    }
    return in_order(left.kids, right.kids);
}

/// Each element of one side has its equal on the other; what is stated twice counts once.
Outcome Comparer::unordered(const std::vector<int>& left, const std::vector<int>& right,
                            const std::string& equal) {
    constexpr size_t most = 128;
    if (left.size() > most || right.size() > most) return {Verdict::Unknown, "more than 128 elements"};
    std::vector<bool> found(right.size());
    bool unknown = false;
    std::string why;
    for (const int x : left) {
        bool has_equal = false, may = false;
        for (size_t j = 0; j < right.size(); ++j) {
            const Outcome pair = compare(x, right[j]);
            may = may || pair.verdict == Verdict::Unknown;
            if (pair.verdict == Verdict::Unknown && why.empty()) why = pair.why;
            if (pair.verdict != Verdict::Equal) continue;
            has_equal = true;
            found[j] = true;
        }
        if (!has_equal && !may)
            return {Verdict::Different, to_text(a_, x) + " is not among the other's elements"};
        unknown = unknown || !has_equal;
    }
    if (unknown) return {Verdict::Unknown, why};
    for (size_t j = 0; j < right.size(); ++j) {
        if (found[j]) continue;
        for (const int x : left) {
            if (compare(x, right[j]).verdict == Verdict::Unknown)
                return {Verdict::Unknown, "elements that may be equal"};
        }
        return {Verdict::Different, to_text(b_, right[j]) + " is missing"};
    }
    return {Verdict::Equal, equal};
}

Outcome Comparer::ratios(int a, int b) {
    const Node left = a_[a], right = b_[b];
    if (left.kind != right.kind) {
        const Node& ratio = left.kind == Kind::Ratio ? left : right;
        if (ratio.kids.size() != 2) return {Verdict::Different, "a ratio against a value"};
        Tree& tree = left.kind == Kind::Ratio ? a_ : b_;
        const int quotient = tree.node(Kind::Divide, ratio.kids);
        return left.kind == Kind::Ratio ? measures(quotient, b) : measures(a, quotient);
    }
    const Outcome literal = in_order(left.kids, right.kids);
    if (literal.verdict != Verdict::Different || left.kids.size() != right.kids.size()) return literal;
    const auto has_zero = [](const Tree& tree, const Node& ratio) { // a time of day
        return std::any_of(ratio.kids.begin(), ratio.kids.end(), [&](int kid) {
            return tree[kid].text.find_first_not_of('0') == std::string::npos &&
                   tree[kid].kind == Kind::Number;
        });
    };
    if (has_zero(a_, left) || has_zero(b_, right)) return literal;
    std::vector<Outcome> parts;
    for (size_t i = 1; i < left.kids.size(); ++i) {
        const int p = a_.node(Kind::Divide, {left.kids[i], left.kids[0]});
        const int q = b_.node(Kind::Divide, {right.kids[i], right.kids[0]});
        parts.push_back(measures(p, q));
    }
    return all_of(parts, "the same ratio");
}

bool is_number(const Tree& tree, int at) {
    const Node& node = tree[at];
    switch (node.kind) {
    case Kind::Number:
    case Kind::Percent:
    case Kind::Degrees:
    case Kind::Unit:
    case Kind::Based:
        return true;
    case Kind::Negate:
    case Kind::Add:
    case Kind::Multiply:
    case Kind::Divide:
    case Kind::Power:
    case Kind::Apply:
        return variables(tree, at).empty() && std::all_of(node.kids.begin(), node.kids.end(), [&](int kid) {
                   return is_number(tree, kid) || tree[kid].kind == Kind::Constant;
               });
    default:
        return false;
    }
}

std::string lowered_letters(std::string_view text) {
    std::string letters;
    for (const char c : text) {
        if (is_letter(c) || is_digit(c)) letters += lower(c);
    }
    return letters;
}

Outcome compare_trees(Tree& answer, Tree& gold, const Policy& policy, Work& work) {
    return Comparer(answer, gold, policy, work).compare(answer.root, gold.root);
}

} // namespace stillroom::maths
