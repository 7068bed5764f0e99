// SPDX-License-Identifier: GPL-3.0-or-later
// The values of answers: units and percent, constants, functions of symbols, equations.
#include "maths/comparison_steps.h"

#include "maths/symbolic.h"
#include "maths/units.h"

#include <algorithm>
#include <cln/cln.h>
#include <sstream>

namespace stillroom::maths {

namespace {

constexpr int rational_points = 6, natural_points = 5, needed_points = 3;

/// Where functions are compared: rational points first, of both signs, then natural numbers. Fixed, so that a
/// verdict never changes.
std::map<std::string, Value> point(const std::set<std::string>& names, int number) {
    std::map<std::string, Value> values;
    int i = 0;
    for (const std::string& name : names) {
        if (number < rational_points) {
            const int top = 5 + (number * 31 + i * 17) % 29, bottom = 7 + (number * 13 + i * 19) % 23;
            const bool negative = number % 2 == 1 && (i + number / 2) % 2 == 0;
            values[name] = cln::cl_RA(cln::cl_I(negative ? -top : top)) / cln::cl_I(bottom);
        } else {
            values[name] = cln::cl_I(2 + (number * 5 + i * 4) % 9 + i);
        }
        ++i;
    }
    return values;
}

std::string text_of(const Value& value) {
    constexpr size_t longest = 60;
    std::ostringstream text;
    text << value;
    std::string shown = text.str();
    if (shown.size() > longest) shown = shown.substr(0, longest) + "...";
    return shown;
}

struct Peeled {
    int node = -1;
    std::string unit;
    bool percent = false, degrees = false;
};

/// Takes units, percent and degree signs off the outside, also from under a minus sign.
Peeled peeled(Tree& tree, int at) {
    Peeled value{at, {}, false, false};
    bool negative = false;
    while (true) {
        const Node node = tree[value.node];
        if (node.kind == Kind::Unit && value.unit.empty()) {
            value.unit = node.text;
        } else if (node.kind == Kind::Percent && !value.percent) {
            value.percent = true;
        } else if (node.kind == Kind::Degrees && !value.degrees) {
            value.degrees = true;
        } else if (node.kind == Kind::Negate) {
            const Kind inner = tree[node.kids[0]].kind;
            if (inner != Kind::Unit && inner != Kind::Percent && inner != Kind::Degrees) break;
            negative = !negative;
        } else {
            break;
        }
        value.node = node.kids[0];
    }
    if (negative) value.node = tree.node(Kind::Negate, {value.node});
    const std::string unit = unit_name(value.unit);
    if (unit == "degree" || unit == "unit") {
        value.degrees = unit == "degree";
        value.unit.clear();
    }
    return value;
}

/// "5 m": five metres, or five times m.
bool may_be_measured(const Tree& tree, int at) {
    const Node& node = tree[at];
    if (node.kind == Kind::Negate) return may_be_measured(tree, node.kids[0]);
    if (node.kind != Kind::Multiply || variables(tree, at).size() != 1) return false;
    const Node& last = tree[node.kids.back()];
    return last.kind == Kind::Symbol && is_unit(last.text);
}

/// Left side minus right side.
int difference(Tree& tree, const Node& relation) {
    return tree.node(Kind::Add, {relation.kids[0], tree.node(Kind::Negate, {relation.kids[1]})});
}

std::string without_leading_zeros(std::string digits) {
    digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
    return digits;
}

std::set<std::string> united(std::set<std::string> a, const std::set<std::string>& b) {
    a.insert(b.begin(), b.end());
    return a;
}

} // namespace

Outcome Comparer::measures(int a, int b) {
    const Peeled left = peeled(a_, a), right = peeled(b_, b);
    if (left.percent || right.percent) {
        if (!left.unit.empty() || !right.unit.empty()) return {Verdict::Unknown, "a percentage with a unit"};
        return percentages(left.node, left.percent, right.node, right.percent);
    }
    if (policy_.units == Policy::Units::Required && (left.unit.empty() != right.unit.empty())) {
        return {Verdict::Different, "one side states no unit"};
    }
    if (!left.unit.empty() && !right.unit.empty() && unit_name(left.unit) != unit_name(right.unit)) {
        const auto from = parse_measure(left.unit), to = parse_measure(right.unit);
        if (!from || !to) {
            return {Verdict::Unknown, "different units, " + left.unit + " and " + right.unit};
        }
        if (from->dimensions != to->dimensions) {
            return {Verdict::Different, "units of different kinds, " + left.unit + " and " + right.unit};
        }
        const auto scaled = [](Tree& tree, int node, const Measure& measure) {
            const int top = tree.add(Kind::Number, std::to_string(measure.numerator));
            const int bottom = tree.add(Kind::Number, std::to_string(measure.denominator));
            return tree.node(Kind::Multiply, {node, tree.node(Kind::Divide, {top, bottom})});
        };
        return values(scaled(a_, left.node, *from), scaled(b_, right.node, *to));
    }
    const Node& x = a_[left.node];
    const Node& y = b_[right.node];
    if (x.kind == Kind::Based && y.kind == Kind::Based && to_text(a_, x.kids[0]) == to_text(b_, y.kids[0])) {
        const bool same = without_leading_zeros(x.text) == without_leading_zeros(y.text);
        return {same ? Verdict::Equal : Verdict::Different,
                same ? "the same digits" : "different digits in one base"};
    }
    if ((x.kind == Kind::Based) != (y.kind == Kind::Based)) {
        const bool left_out =
            y.kind == Kind::Based && x.kind == Kind::Number; // by the answer; the question asks for it
        if (left_out && without_leading_zeros(x.text) == without_leading_zeros(y.text)) {
            return {Verdict::Equal, "the same digits; the answer states no base"};
        }
        const Outcome plain = values(left.node, right.node);
        if (plain.verdict == Verdict::Equal) return {Verdict::Unknown, "the same value in another base"};
        return plain;
    }
    if (left.degrees != right.degrees) {
        if (!left.unit.empty() || !right.unit.empty())
            return {Verdict::Different, "degrees against another unit"};
        const Outcome plain = values(left.node, right.node);
        if (plain.verdict == Verdict::Equal)
            return {Verdict::Equal, plain.why + "; one side states no degrees"};
        const Outcome turned = values(a, b); // 90 degrees are pi/2
        return turned.verdict == Verdict::Equal ? turned : plain;
    }
    return values(left.node, right.node);
}

Outcome Comparer::percentages(int a, bool percent_a, int b, bool percent_b) {
    if (policy_.percent == Policy::Percent::Value) {
        return values(percent_a ? a_.node(Kind::Percent, {a}) : a,
                      percent_b ? b_.node(Kind::Percent, {b}) : b);
    }
    const Outcome written = values(a, b);
    if (percent_a && percent_b) return written;
    if (written.verdict == Verdict::Equal)
        return {Verdict::Equal, "the same number; one side has no percent sign"};
    const Outcome by_value =
        values(percent_a ? a_.node(Kind::Percent, {a}) : a, percent_b ? b_.node(Kind::Percent, {b}) : b);
    if (by_value.verdict == Verdict::Equal) {
        return {Verdict::Unknown, "the same value, once in percent and once not"};
    }
    return written;
}

Outcome Comparer::values(int a, int b) {
    for (const auto& [tree, at] : {std::pair<const Tree*, int>{&a_, a}, {&b_, b}}) {
        const std::string text = to_text(*tree, at);
        if (text != "infinity" && text != "-infinity") continue;
        const std::string other = tree == &a_ ? to_text(b_, b) : to_text(a_, a);
        if (text == other) return {Verdict::Equal, "the same after reading"};
        return {Verdict::Different, "infinity against something else"};
    }
    const Node& x = a_[a];
    const Node& y = b_[b];
    const auto is_letter_name = [](const Node& node) {
        return (node.kind == Kind::Symbol || node.kind == Kind::Constant) && node.text.size() == 1;
    };
    if (is_letter_name(x) && is_letter_name(y)) {
        if (x.text == y.text) return {Verdict::Equal, "the same letter"};
        if (lowered_letters(x.text) == lowered_letters(y.text)) {
            return {Verdict::Unknown, "the same letter in another case"};
        }
        return {Verdict::Different, "different letters"};
    }
    if (has_plain_logarithm(a_, a) || has_plain_logarithm(b_, b)) { // natural or decimal, as both sides agree
        const int decimal_a = with_decimal_logarithms(a_, a), decimal_b = with_decimal_logarithms(b_, b);
        const Outcome natural = numbers(a, b), decimal = numbers(decimal_a, decimal_b);
        if (natural.verdict == Verdict::Equal || natural.verdict == decimal.verdict) return natural;
        return decimal.verdict == Verdict::Equal ? decimal
                                                 : Outcome{Verdict::Unknown, "a logarithm without its base"};
    }
    return numbers(a, b);
}

Outcome Comparer::numbers(int a, int b) {
    const bool constant_a = variables(a_, a).empty(), constant_b = variables(b_, b).empty();
    if (constant_a && constant_b) return constants(a, b);
    const Outcome outcome = functions(a, b);
    const bool metres = (constant_b && may_be_measured(a_, a)) || (constant_a && may_be_measured(b_, b));
    if (outcome.verdict == Verdict::Different && metres)
        return {Verdict::Unknown, "a letter that may be a unit"};
    return outcome;
}

Outcome Comparer::constants(int a, int b) {
    const Comparison found = compare_at(a_, a, b_, b, {}, work_);
    if (found.match == Match::Same) {
        if (found.exact) return {Verdict::Equal, "equal as numbers: " + text_of(*found.b)};
        if (proof_by_expansion(a_, a, b_, b) == Proof::Equal)
            return {Verdict::Equal, "equal after expanding"};
        return {Verdict::Equal, "equal as numbers to at least 40 digits"};
    }
    if (found.match == Match::Differs) {
        const auto is_decimal = [](const Tree& tree, int at) {
            return to_text(tree, at).find('.') != std::string::npos;
        };
        if (policy_.decimals && (is_decimal(a_, a) || is_decimal(b_, b)) && is_real(*found.a) &&
            is_real(*found.b)) {
            const cln::cl_R gap = cln::abs(cln::realpart(*found.a - *found.b));
            const cln::cl_RA half =
                cln::cl_RA(1) / (2 * cln::expt(cln::cl_I(10), cln::cl_I(*policy_.decimals)));
            if (gap <= half * (cln::cl_RA(1'000'001) / 1'000'000)) {
                return {Verdict::Equal, "equal to " + std::to_string(*policy_.decimals) + " decimals"};
            }
        }
        if (found.exact) {
            return {Verdict::Different,
                    "different numbers: " + text_of(*found.a) + " against " + text_of(*found.b)};
        }
        return {Verdict::Different, "different numbers"};
    }
    if (!found.a || !found.b) return {Verdict::Unknown, "a value is undefined, or too large to work out"};
    return {Verdict::Unknown, "the values could not be told apart"};
}

/// Whether symbols that usually are whole numbers leave no difference there.
bool Comparer::agree_at_naturals(int a, int b, const std::set<std::string>& names) {
    constexpr std::string_view whole = "jklmnNr";
    for (const std::string& name : names) {
        if (name.size() != 1 || whole.find(name[0]) == std::string_view::npos) return false;
    }
    for (int number = rational_points; number < rational_points + natural_points; ++number) {
        if (compare_at(a_, a, b_, b, point(names, number), work_).match != Match::Same) return false;
    }
    return true;
}

Outcome Comparer::functions(int a, int b) {
    const auto names_a = variables(a_, a), names_b = variables(b_, b);
    const auto names = united(names_a, names_b);
    int same = 0;
    for (int number = 0; number < rational_points + natural_points; ++number) {
        const Comparison found = compare_at(a_, a, b_, b, point(names, number), work_);
        if (found.match == Match::Same) ++same;
        if (found.match != Match::Differs) continue;
        if (names_a.size() == 1 && names_b.size() == 1 && names_a != names_b) {
            const std::string &x = *names_a.begin(), &y = *names_b.begin();
            const Outcome as_one = functions(a, renamed(b_, b, y, x));
            if (as_one.verdict == Verdict::Equal)
                return {Verdict::Unknown, "equal if " + x + " and " + y + " name the same"};
        }
        if (number < rational_points && agree_at_naturals(a, b, names)) {
            return {Verdict::Unknown, "equal at whole numbers only"};
        }
        return {Verdict::Different, "different values at a point where both are defined"};
    }
    if (same < needed_points) return {Verdict::Unknown, "too few points where both sides are defined"};
    switch (proof_by_expansion(a_, a, b_, b)) {
    case Proof::Equal:
        return {Verdict::Equal, "equal after expanding"};
    case Proof::Different:
        return {Verdict::Different, "their difference does not vanish after expanding"};
    case Proof::None:
        break;
    }
    return {Verdict::Equal, "equal at " + std::to_string(same) + " points"};
}

/// The sign of the one factor between two expressions; 0 where there is none, nullopt where that is not
/// known.
std::optional<int> Comparer::ratio_sign(int a, int b) {
    const auto names = united(variables(a_, a), variables(b_, b));
    std::optional<std::pair<Value, Value>> first;
    int same = 0;
    for (int number = 0; number < rational_points + natural_points; ++number) {
        const Comparison found = compare_at(a_, a, b_, b, point(names, number), work_);
        if (!found.a || !found.b) continue;
        const bool zero_a = cln::zerop(*found.a), zero_b = cln::zerop(*found.b);
        if (zero_a != zero_b) return 0;
        if (zero_a) continue;
        if (!first) {
            first = {*found.a, *found.b};
            continue;
        }
        const Match match = compare_values(*found.a * first->second, *found.b * first->first, 80, 8);
        if (match == Match::Differs) return 0;
        if (match == Match::Same) ++same;
    }
    if (!first || same < needed_points - 1 || !is_real(first->first) || !is_real(first->second))
        return std::nullopt;
    return (cln::realpart(first->first) > 0) == (cln::realpart(first->second) > 0) ? 1 : -1;
}

/// Where the difference of an equation's sides is linear or quadratic in `name`: its one or two roots.
std::optional<std::vector<Value>> Comparer::roots(Tree& tree, int difference, const std::string& name,
                                                  const std::map<std::string, Value>& others) {
    std::vector<Value> at;
    auto values = others;
    for (const Value& x : {Value(0), Value(1), Value(2), Value(3), Value(-2), Value(cln::cl_RA(5) / 7)}) {
        values[name] = x;
        Evaluation run{values, 80, &work_};
        const auto value = evaluate(tree, difference, run);
        if (!value) return std::nullopt;
        at.push_back(*value);
    }
    const Value c = at[0], a = (at[2] - 2 * at[1] + at[0]) / 2, b = at[1] - at[0] - a;
    for (const auto& [i, x] : {std::pair<size_t, Value>{3, 3}, {4, -2}, {5, cln::cl_RA(5) / 7}}) {
        if (compare_values(at[i], a * x * x + b * x + c, 80, 8) != Match::Same) return std::nullopt;
    }
    const auto vanishes = [](const Value& value) { return compare_values(value, 0, 80, 8) == Match::Same; };
    if (vanishes(a)) {
        if (vanishes(b)) return std::nullopt;
        return std::vector<Value>{-c / b};
    }
    const Value inside = b * b - 4 * a * c;
    const Value root =
        is_exact(inside) ? cln::sqrt(cln::complex(cln::cl_float(cln::realpart(inside), cln::float_format(80)),
                                                  cln::imagpart(inside)))
                         : cln::sqrt(inside);
    return std::vector<Value>{(-b + root) / (2 * a), (-b - root) / (2 * a)};
}

Outcome Comparer::equations(int a, int b) {
    const Node left = a_[a], right = b_[b];
    if (left.kids.size() != 2 || right.kids.size() != 2) return {Verdict::Unknown, "chains of equations"};
    const int p = difference(a_, left);
    const int q = difference(b_, right);
    const auto factor = ratio_sign(p, q);
    if (factor && *factor != 0) return {Verdict::Equal, "the same equation up to a factor"};
    const auto names_a = variables(a_, p), names_b = variables(b_, q);
    const auto names = united(names_a, names_b);
    for (const std::string& name : names_a) {
        if (!names_b.contains(name)) continue;
        int same = 0;
        for (int number = 0; number < rational_points; ++number) {
            const auto others = point(names, number);
            const auto roots_a = roots(a_, p, name, others), roots_b = roots(b_, q, name, others);
            if (!roots_a || !roots_b) break;
            const auto among = [](const Value& x, const std::vector<Value>& all) {
                return std::any_of(all.begin(), all.end(), [&](const Value& y) {
                    return compare_values(x, y, 60, 4) != Match::Differs;
                });
            };
            const bool equal = std::all_of(roots_a->begin(), roots_a->end(),
                                           [&](const Value& x) { return among(x, *roots_b); }) &&
                               std::all_of(roots_b->begin(), roots_b->end(),
                                           [&](const Value& x) { return among(x, *roots_a); });
            if (!equal) return {Verdict::Different, "equations with different solutions for " + name};
            ++same;
        }
        if (same >= needed_points) return {Verdict::Equal, "the same solution for " + name};
    }
    return {Verdict::Unknown, "equations that are not multiples of each other"};
}

Outcome Comparer::inequalities(int a, int b) {
    const Node left = a_[a], right = b_[b];
    if (left.kids.size() != right.kids.size())
        return {Verdict::Unknown, "inequalities that are not compared"};
    std::string flipped = right.text;
    for (char& sign : flipped)
        sign = sign == '<' ? '>' : sign == '>' ? '<' : sign == 'l' ? 'g' : sign == 'g' ? 'l' : sign;
    if (left.kids.size() > 2) {
        if (left.text == right.text) {
            const Outcome forward = in_order(left.kids, right.kids);
            if (forward.verdict == Verdict::Equal) return forward;
        }
        std::string backward = flipped;
        std::reverse(backward.begin(), backward.end());
        if (left.text == backward) {
            std::vector<int> sides = right.kids;
            std::reverse(sides.begin(), sides.end());
            const Outcome reversed = in_order(left.kids, sides);
            if (reversed.verdict == Verdict::Equal) return reversed;
        }
        return {Verdict::Unknown, "chains of inequalities that are not the same"};
    }
    const int p = difference(a_, left);
    const int q = difference(b_, right);
    const auto sign = ratio_sign(p, q);
    if (!sign || *sign == 0) return {Verdict::Unknown, "inequalities that are not multiples of each other"};
    const bool same = left.text == (*sign > 0 ? right.text : flipped);
    return {same ? Verdict::Equal : Verdict::Different,
            same ? "the same inequality" : "opposite or other signs"};
}

} // namespace stillroom::maths
