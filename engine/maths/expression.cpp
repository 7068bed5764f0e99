// SPDX-License-Identifier: GPL-3.0-or-later
#include "maths/expression.h"

#include "maths/reader.h"

#include <algorithm>
#include <functional>

namespace stillroom::maths {

namespace {

/// Binding strength, for brackets: sum 1, product 2, sign 3, power 4, all else 5.
int strength(const Node& node) {
    switch (node.kind) {
    case Kind::List:
    case Kind::Relation:
    case Kind::Ratio:
    case Kind::Union:
    case Kind::Intersection:
    case Kind::Difference:
        return 0;
    case Kind::Add:
    case Kind::PlusMinus:
        return 1;
    case Kind::Multiply:
    case Kind::Divide:
        return 2;
    case Kind::Negate:
    case Kind::Unit:
        return 3;
    case Kind::Power:
        return 4;
    default:
        return 5;
    }
}

std::string operator_text(char symbol) {
    switch (symbol) {
    case 'l':
        return "<=";
    case 'g':
        return ">=";
    case 'n':
        return "!=";
    case 'e':
        return "in";
    default:
        return {symbol};
    }
}

class Printer {
public:
    explicit Printer(const Tree& tree) : tree_(tree) {}

    std::string text(int at) const {
        const Node& node = tree_[at];
        switch (node.kind) {
        case Kind::Number:
        case Kind::Symbol:
        case Kind::Constant:
        case Kind::Word:
            return node.text;
        case Kind::Apply:
            return node.text + "(" + joined(node, ", ", 0) + ")";
        case Kind::Series:
            return node.text + "(" + joined(node, ", ", 0) + ")";
        case Kind::Add:
            return sum(node);
        case Kind::Negate:
            return "-" + inner(node.kids[0], 3);
        case Kind::PlusMinus:
            return (node.kids.size() == 2 ? inner(node.kids[0], 1) + " " : "") + node.text +
                   (node.kids.size() == 2 ? " " : "") + inner(node.kids.back(), 2);
        case Kind::Multiply:
            return joined(node, "*", 3);
        case Kind::Divide:
            return inner(node.kids[0], 2) + "/" + inner(node.kids[1], 3);
        case Kind::Power:
            return inner(node.kids[0], 5) + "^" + inner(node.kids[1], 5);
        case Kind::Percent:
            return inner(node.kids[0], 3) + "%";
        case Kind::Degrees:
            return inner(node.kids[0], 3) + " degrees";
        case Kind::Unit:
            return inner(node.kids[0], 3) + " " + node.text;
        case Kind::Based:
            return node.text + "_" + inner(node.kids[0], 5);
        case Kind::Choice:
            return node.text + ": " + text(node.kids[0]);
        case Kind::Tuple:
        case Kind::Interval:
            return node.text.substr(0, 1) + joined(node, ", ", 0) + node.text.substr(1);
        case Kind::Set:
            return "{" + joined(node, ", ", 0) + "}";
        case Kind::List:
            return joined(node, ", ", 0);
        case Kind::Union:
            return joined(node, " union ", 1);
        case Kind::Intersection:
            return joined(node, " intersection ", 1);
        case Kind::Difference:
            return joined(node, " without ", 1);
        case Kind::Ratio:
            return joined(node, ":", 1);
        case Kind::Matrix:
            return matrix(node);
        case Kind::Relation:
            return relation(node);
        }
        return {};
    }

private:
    std::string inner(int at, int least) const {
        return strength(tree_[at]) >= least ? text(at) : "(" + text(at) + ")";
    }
    std::string joined(const Node& node, const std::string& separator, int least) const {
        std::string all;
        for (const int kid : node.kids) {
            if (!all.empty()) all += separator;
            all += inner(kid, least);
        }
        return all;
    }
    std::string sum(const Node& node) const {
        std::string all;
        for (const int kid : node.kids) {
            const bool negative = !all.empty() && tree_[kid].kind == Kind::Negate;
            if (!all.empty()) all += negative ? " - " : " + ";
            all += negative ? inner(tree_[kid].kids[0], 2) : inner(kid, 1);
        }
        return all;
    }
    std::string matrix(const Node& node) const {
        const size_t columns = node.kids.size() / size_t(std::max(node.rows, 1));
        std::string all = "[";
        for (size_t i = 0; i < node.kids.size(); ++i) {
            if (i > 0) all += i % columns == 0 ? "; " : ", ";
            all += text(node.kids[i]);
        }
        return all + "]";
    }
    std::string relation(const Node& node) const {
        std::string all = inner(node.kids[0], 1);
        for (size_t i = 0; i < node.text.size(); ++i) {
            all += " " + operator_text(node.text[i]) + " " + inner(node.kids[i + 1], 1);
        }
        return all;
    }

    const Tree& tree_;
};

/// A copy in which `change` may replace a node (given with its copied children) or return -1.
int copied(Tree& tree, int at, const std::function<int(const Node&)>& change) {
    Node node = tree[at];
    for (int& kid : node.kids) kid = copied(tree, kid, change);
    const int changed = change(node);
    return changed >= 0 ? changed : tree.add(node.kind, node.text, node.kids, node.rows);
}

void collect(const Tree& tree, int at, std::set<std::string>& names) {
    const Node& node = tree[at];
    if (node.kind == Kind::Symbol) names.insert(node.text);
    if (node.kind == Kind::Series) {
        std::set<std::string> body;
        collect(tree, node.kids[3], body);
        body.erase(tree[node.kids[0]].text);
        names.merge(body);
        collect(tree, node.kids[1], names);
        collect(tree, node.kids[2], names);
        return;
    }
    for (const int kid : node.kids) collect(tree, kid, names);
}

} // namespace

int Tree::add(Kind kind, std::string text, std::vector<int> kids, int rows) {
    if (nodes_.size() >= size_t(most_nodes)) throw Unreadable("too many parts");
    int depth = 1;
    for (const int kid : kids) depth = std::max(depth, nodes_[size_t(kid)].depth + 1);
    if (depth > deepest) throw Unreadable("nested too deeply");
    nodes_.push_back({kind, std::move(text), std::move(kids), rows, depth});
    return int(nodes_.size()) - 1;
}

std::string to_text(const Tree& tree, int node) { return Printer(tree).text(node); }

std::set<std::string> variables(const Tree& tree, int node) {
    std::set<std::string> names;
    collect(tree, node, names);
    return names;
}

int renamed(Tree& tree, int node, const std::string& name, const std::string& to) {
    return copied(tree, node, [&](const Node& part) {
        return part.kind == Kind::Symbol && part.text == name ? tree.add(Kind::Symbol, to) : -1;
    });
}

bool has_plus_minus(const Tree& tree, int node) {
    const Node& part = tree[node];
    return part.kind == Kind::PlusMinus || std::any_of(part.kids.begin(), part.kids.end(),
                                                       [&](int kid) { return has_plus_minus(tree, kid); });
}

int with_signs(Tree& tree, int node, bool upper) {
    return copied(tree, node, [&](const Node& part) {
        if (part.kind != Kind::PlusMinus) return -1;
        const bool plus = (part.text == "+-") == upper;
        const int last = plus ? part.kids.back() : tree.node(Kind::Negate, {part.kids.back()});
        return part.kids.size() == 1 ? last : tree.node(Kind::Add, {part.kids[0], last});
    });
}

bool has_plain_logarithm(const Tree& tree, int node) {
    const Node& part = tree[node];
    return (part.kind == Kind::Apply && part.text == "log" && part.kids.size() == 1) ||
           std::any_of(part.kids.begin(), part.kids.end(),
                       [&](int kid) { return has_plain_logarithm(tree, kid); });
}

int with_decimal_logarithms(Tree& tree, int node) {
    return copied(tree, node, [&](const Node& part) {
        if (part.kind != Kind::Apply || part.text != "log" || part.kids.size() != 1) return -1;
        return tree.add(Kind::Apply, "log", {tree.add(Kind::Number, "10"), part.kids[0]});
    });
}

} // namespace stillroom::maths
