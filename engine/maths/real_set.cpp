// SPDX-License-Identifier: GPL-3.0-or-later
#include "maths/real_set.h"

#include <algorithm>
#include <cln/cln.h>

namespace stillroom::maths {

namespace {

constexpr int digits = 80;
constexpr double most_magnitude = 6; // of the ends: 80 digits tell all such apart

struct NoSet {};

/// -1, 0, 1.
int order(const Value& a, const Value& b) {
    const Match match = compare_values(a, b, digits, most_magnitude);
    if (match == Match::Undecided) throw NoSet();
    if (match == Match::Same) return 0;
    return cln::realpart(a) < cln::realpart(b) ? -1 : 1;
}

/// Of two lower ends (upper: of two upper ends): which one lets more in comes first (last).
int order_low(const RealPiece& a, const RealPiece& b) {
    if (!a.low || !b.low) return int(bool(a.low)) - int(bool(b.low));
    const int by_value = order(*a.low, *b.low);
    return by_value != 0 ? by_value : int(b.low_in) - int(a.low_in);
}
int order_high(const RealPiece& a, const RealPiece& b) {
    if (!a.high || !b.high) return int(bool(b.high)) - int(bool(a.high));
    const int by_value = order(*a.high, *b.high);
    return by_value != 0 ? by_value : int(a.high_in) - int(b.high_in);
}

bool is_empty(const RealPiece& piece) {
    if (!piece.low || !piece.high) return false;
    const int ends = order(*piece.low, *piece.high);
    return ends > 0 || (ends == 0 && !(piece.low_in && piece.high_in));
}

RealSet united(RealSet pieces) {
    std::erase_if(pieces, is_empty);
    std::sort(pieces.begin(), pieces.end(), [](const auto& a, const auto& b) { return order_low(a, b) < 0; });
    RealSet all;
    for (const RealPiece& piece : pieces) {
        if (!all.empty()) {
            RealPiece& last = all.back();
            const int gap = !last.high || !piece.low ? -1 : order(*piece.low, *last.high);
            if (gap < 0 || (gap == 0 && (piece.low_in || last.high_in))) {
                if (order_high(last, piece) < 0) {
                    last.high = piece.high;
                    last.high_in = piece.high_in;
                }
                continue;
            }
        }
        all.push_back(piece);
    }
    return all;
}

RealSet common(const RealSet& a, const RealSet& b) {
    RealSet all;
    for (const RealPiece& p : a) {
        for (const RealPiece& q : b) {
            RealPiece both = order_low(p, q) > 0 ? p : q;
            const RealPiece& upper = order_high(p, q) < 0 ? p : q;
            both.high = upper.high;
            both.high_in = upper.high_in;
            all.push_back(both);
        }
    }
    return united(all);
}

RealSet complement(const RealSet& set) {
    RealSet gaps;
    RealPiece gap; // from minus infinity
    for (const RealPiece& piece : set) {
        if (piece.low) {
            gap.high = piece.low;
            gap.high_in = !piece.low_in;
            gaps.push_back(gap);
        }
        if (!piece.high) return united(gaps);
        gap = {piece.high, std::nullopt, !piece.high_in, false};
    }
    gaps.push_back(gap);
    return united(gaps);
}

RealPiece mirrored(const RealPiece& piece) {
    const auto negated = [](const std::optional<Value>& end) {
        return end ? std::optional<Value>(-*end) : std::nullopt;
    };
    return {negated(piece.high), negated(piece.low), piece.high_in, piece.low_in};
}

class SetReader {
public:
    SetReader(Tree& tree, Work& work) : tree_(tree), work_(work) {}

    RealSet set(int at) {
        const Node node = tree_[at];
        switch (node.kind) {
        case Kind::Interval:
            return interval(node);
        case Kind::Tuple:
            if (node.kids.size() != 2) throw NoSet();
            return interval(node);
        case Kind::Set:
        case Kind::List: {
            if (!node.text.empty() && has_relation(node)) return connected(node);
            RealSet points;
            for (const int kid : node.kids) {
                if (has_plus_minus(tree_, kid)) {
                    for (const bool upper : {true, false})
                        points.push_back(point(with_signs(tree_, kid, upper)));
                } else {
                    points.push_back(point(kid));
                }
            }
            return united(points);
        }
        case Kind::Constant:
            if (node.text != "reals") throw NoSet();
            return {RealPiece{}};
        case Kind::Union: {
            RealSet all = set(node.kids[0]), more = set(node.kids[1]);
            all.insert(all.end(), more.begin(), more.end());
            return united(all);
        }
        case Kind::Intersection:
            return common(set(node.kids[0]), set(node.kids[1]));
        case Kind::Negate: {
            RealSet all;
            for (const RealPiece& piece : set(node.kids[0])) all.push_back(mirrored(piece));
            return united(all);
        }
        case Kind::Difference:
            return common(set(node.kids[0]), complement(set(node.kids[1])));
        case Kind::Relation:
            if (node.text == "e") return set(node.kids[1]);
            return solutions(node);
        default:
            throw NoSet();
        }
    }

private:
    bool has_relation(const Node& list) const {
        return std::any_of(list.kids.begin(), list.kids.end(), [&](int kid) {
            return tree_[kid].kind == Kind::Relation && tree_[kid].text != "=";
        });
    }
    /// "x < 2 or x > 3", "x > 1 and x < 2".
    RealSet connected(const Node& list) {
        RealSet all = set(list.kids[0]);
        for (size_t i = 1; i < list.kids.size(); ++i) {
            const RealSet more = set(list.kids[i]);
            if (list.text == "and") {
                all = common(all, more);
            } else {
                all.insert(all.end(), more.begin(), more.end());
            }
        }
        return united(all);
    }

    Value value(int at, const std::map<std::string, Value>& values = {}) {
        Evaluation run{values, digits, &work_};
        const auto found = evaluate(tree_, at, run);
        if (!found || !is_real(*found) || run.magnitude > most_magnitude) throw NoSet();
        return cln::realpart(*found);
    }
    RealPiece point(int at) {
        const Value x = value(at);
        return {x, x, true, true};
    }
    std::optional<Value> end(int at, int sign) {
        const std::string text = to_text(tree_, at);
        if (text == (sign < 0 ? "-infinity" : "infinity")) return std::nullopt;
        return value(at);
    }
    RealSet interval(const Node& node) {
        RealPiece piece{end(node.kids[0], -1), end(node.kids[1], 1), node.text[0] == '[',
                        node.text[1] == ']'};
        return united({piece});
    }

    /// The values of the one expression that is not constant, then those of its unknown.
    RealSet solutions(const Node& relation) {
        std::string unknown;
        int subject = -1;
        RealSet allowed{RealPiece{}};
        for (size_t i = 0; i < relation.text.size(); ++i) {
            char sign = relation.text[i];
            if (std::string_view("<>lgn").find(sign) == std::string_view::npos) throw NoSet();
            int left = relation.kids[i], right = relation.kids[i + 1];
            const bool left_varies = varies(left), right_varies = varies(right);
            if (left_varies == right_varies) {
                if (!left_varies || relation.text.size() > 1) throw NoSet();
                left = tree_.node(Kind::Add, {left, tree_.node(Kind::Negate, {right})});
                right = tree_.add(Kind::Number, "0");
            } else if (right_varies) {
                std::swap(left, right);
                sign = sign == '<' ? '>' : sign == '>' ? '<' : sign == 'l' ? 'g' : sign == 'g' ? 'l' : sign;
            }
            const std::string text = to_text(tree_, left);
            if (subject >= 0 && text != unknown) throw NoSet();
            unknown = text;
            subject = left;
            const Value bound = value(right);
            const bool included = sign == 'l' || sign == 'g';
            if (sign == 'n') {
                allowed = common(allowed, complement({RealPiece{bound, bound, true, true}}));
            } else if (sign == '<' || sign == 'l') {
                allowed = common(allowed, {RealPiece{std::nullopt, bound, false, included}});
            } else {
                allowed = common(allowed, {RealPiece{bound, std::nullopt, included, false}});
            }
        }
        return solved(subject, allowed);
    }

    bool varies(int at) { return !variables(tree_, at).empty(); }

    RealSet solved(int subject, const RealSet& allowed) {
        const Node node = tree_[subject];
        if (node.kind == Kind::Symbol) return allowed;
        const bool square = node.kind == Kind::Power && to_text(tree_, node.kids[1]) == "2";
        if (node.kind == Kind::Apply && node.text.size() == 1) return allowed; // f(x) as the unknown
        if (square || (node.kind == Kind::Apply && node.text == "abs")) {
            RealSet both;
            for (RealPiece piece : common(allowed, {RealPiece{Value(0), std::nullopt, true, false}})) {
                if (square) {
                    piece.low =
                        cln::sqrt(cln::cl_float(cln::realpart(*piece.low), cln::float_format(digits)));
                    if (piece.high)
                        piece.high =
                            cln::sqrt(cln::cl_float(cln::realpart(*piece.high), cln::float_format(digits)));
                }
                both.push_back(piece);
                both.push_back(mirrored(piece));
            }
            return solved(node.kids[0], united(both));
        }
        return by_line(subject, allowed);
    }

    /// `subject` is a + b x: its values give those of x.
    RealSet by_line(int subject, const RealSet& allowed) {
        const auto names = variables(tree_, subject);
        if (names.size() != 1) throw NoSet();
        const auto at = [&](const Value& x) { return value(subject, {{*names.begin(), x}}); };
        const Value start = at(0), slope = at(1) - start;
        for (const Value& x : {Value(2), Value(-3), Value(cln::cl_RA(5) / 7)}) {
            if (order(at(x), start + slope * x) != 0) throw NoSet();
        }
        if (order(slope, 0) == 0) throw NoSet();
        const bool rising = order(slope, 0) > 0;
        RealSet all;
        for (const RealPiece& piece : allowed) {
            const auto back = [&](const std::optional<Value>& y) {
                return y ? std::optional<Value>((*y - start) / slope) : std::nullopt;
            };
            RealPiece x{back(piece.low), back(piece.high), piece.low_in, piece.high_in};
            if (!rising) {
                std::swap(x.low, x.high);
                std::swap(x.low_in, x.high_in);
            }
            all.push_back(x);
        }
        return united(all);
    }

    Tree& tree_;
    Work& work_;
};

} // namespace

std::optional<RealSet> real_set(Tree& tree, int node, Work& work) {
    try {
        return SetReader(tree, work).set(node);
    } catch (const NoSet&) {
        return std::nullopt;
    }
}

Match compare_sets(const RealSet& a, const RealSet& b) {
    try {
        if (a.size() != b.size()) return Match::Differs;
        for (size_t i = 0; i < a.size(); ++i) {
            if (order_low(a[i], b[i]) != 0 || order_high(a[i], b[i]) != 0) return Match::Differs;
        }
        return Match::Same;
    } catch (const NoSet&) {
        return Match::Undecided;
    }
}

} // namespace stillroom::maths
