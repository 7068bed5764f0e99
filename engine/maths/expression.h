// SPDX-License-Identifier: GPL-3.0-or-later
// What an answer says, as a tree: numbers, expressions, and the shapes that answers take (tuples, sets,
// intervals, relations, matrices, words).
#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <vector>

namespace stillroom::maths {

enum class Kind {
    Number,    // text: digits with at most one point, no sign
    Symbol,    // text: "x", "x_{1}", "alpha"
    Constant,  // text: "pi", "e", "i", "infinity", "reals", "integers", ...
    Apply,     // text: the function, "sin", "root" (n, x), "log" (base, x), "f", "a_" (subscript); kids:
               // arguments
    Add,       // kids: two or more
    Negate,    // kid
    PlusMinus, // text: "+-" or "-+"; kids: (sign of b) b, or a and b
    Multiply,  // kids: two or more
    Divide,    // kids: two
    Power,     // kids: two
    Series,    // text: "sum" or "product"; kids: index, from, to, body
    Percent,   // kid
    Degrees,   // kid
    Unit,      // text: as written; kid
    Based,     // text: digits; kid: the base
    Choice,    // text: letter of a multiple choice; kid: what stands there
    Tuple,     // text: its brackets, "()" (perhaps an open interval), "[]" (perhaps a closed one)
    Interval,  // text: "[)" or "(]"; kids: two
    Set,       // kids: elements
    List,      // text: "or", "and" where only these connect; kids: elements, two or more
    Union,
    Intersection,
    Difference, // of two sets
    Matrix,     // rows; kids: row by row
    Relation,   // text: one character for each operator; kids: one more. = < > n(not equal) l(<=) g(>=) ~
                // e(element of)
    Ratio,      // kids: two or more, a : b
    Word,       // text: lower case, single spaces
};

struct Node {
    Kind kind = Kind::Number;
    std::string text;
    std::vector<int> kids;
    int rows = 0; // Matrix
    int depth = 1;
};

/// Nodes refer to each other by index, children before parents; so a tree of any depth is freed flat.
class Tree {
public:
    static constexpr int most_nodes = 6000, deepest = 100;
    /// Throws Unreadable (reader.h) where the tree grows over these.
    int add(Kind kind, std::string text, std::vector<int> kids = {}, int rows = 0);
    int node(Kind kind, std::vector<int> kids) { return add(kind, {}, std::move(kids)); }
    const Node& operator[](int node) const { return nodes_[size_t(node)]; }

    int root = -1;

private:
    std::deque<Node> nodes_; // so that references to nodes stay good while it grows
};

/// One line, as people write it without LaTeX: "(1/2, sqrt(3))". The normal form shown beside a verdict.
/// Equal trees have equal texts.
std::string to_text(const Tree& tree, int node);

/// Names of the symbols below `node`; indices of a Series are bound and not among them.
std::set<std::string> variables(const Tree& tree, int node);

/// A copy of the subtree with each symbol `name` renamed.
int renamed(Tree& tree, int node, const std::string& name, const std::string& to);

/// A copy with every plus-minus sign set: `upper` takes the upper sign of each.
int with_signs(Tree& tree, int node, bool upper);
/// A copy in which a logarithm without a base is that to the base 10.
int with_decimal_logarithms(Tree& tree, int node);
bool has_plain_logarithm(const Tree& tree, int node);

bool has_plus_minus(const Tree& tree, int node);

} // namespace stillroom::maths
