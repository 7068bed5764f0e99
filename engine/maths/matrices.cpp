// SPDX-License-Identifier: GPL-3.0-or-later
// Sums and products of matrices, worked out on the tree.
#include "maths/comparison_steps.h"

#include <algorithm>

namespace stillroom::maths {

namespace {

bool has_matrix(const Tree& tree, int at) {
    const Node& node = tree[at];
    return node.kind == Kind::Matrix ||
           std::any_of(node.kids.begin(), node.kids.end(), [&](int kid) { return has_matrix(tree, kid); });
}

template <typename Entry>
int each_entry(Tree& tree, int matrix, const Entry& entry) {
    const Node node = tree[matrix];
    std::vector<int> cells;
    for (const int cell : node.kids) cells.push_back(entry(cell));
    return tree.add(Kind::Matrix, "", cells, node.rows);
}

/// -1 where the shapes do not allow it.
int product(Tree& tree, int left, int right) {
    const bool matrix_left = tree[left].kind == Kind::Matrix, matrix_right = tree[right].kind == Kind::Matrix;
    if (!matrix_left && !matrix_right) return tree.node(Kind::Multiply, {left, right});
    if (!matrix_left)
        return each_entry(tree, right, [&](int cell) { return tree.node(Kind::Multiply, {left, cell}); });
    if (!matrix_right)
        return each_entry(tree, left, [&](int cell) { return tree.node(Kind::Multiply, {cell, right}); });
    const Node a = tree[left], b = tree[right];
    const size_t n = size_t(a.rows), inner = a.kids.size() / n, m = b.kids.size() / size_t(b.rows);
    if (inner != size_t(b.rows)) return -1;
    std::vector<int> cells;
    for (size_t i = 0; i < n; ++i) {
        for (size_t j = 0; j < m; ++j) {
            std::vector<int> terms;
            for (size_t k = 0; k < inner; ++k) {
                terms.push_back(tree.node(Kind::Multiply, {a.kids[i * inner + k], b.kids[k * m + j]}));
            }
            cells.push_back(terms.size() == 1 ? terms[0] : tree.node(Kind::Add, terms));
        }
    }
    return tree.add(Kind::Matrix, "", cells, a.rows);
}

int sum(Tree& tree, const std::vector<int>& kids) {
    const Node first = tree[kids[0]];
    std::vector<int> cells;
    for (size_t i = 0; i < first.kids.size(); ++i) {
        std::vector<int> terms;
        for (const int kid : kids) {
            const Node& node = tree[kid];
            if (node.kind != Kind::Matrix || node.rows != first.rows || node.kids.size() != first.kids.size())
                return -1;
            terms.push_back(node.kids[i]);
        }
        cells.push_back(tree.node(Kind::Add, terms));
    }
    return tree.add(Kind::Matrix, "", cells, first.rows);
}

int reduced(Tree& tree, int at) {
    if (!has_matrix(tree, at)) return at;
    Node node = tree[at];
    if (node.kind == Kind::Matrix) return at;
    for (int& kid : node.kids) kid = reduced(tree, kid);
    int result = -1;
    const bool first_is_matrix = !node.kids.empty() && tree[node.kids[0]].kind == Kind::Matrix;
    if (node.kind == Kind::Add && first_is_matrix) {
        result = sum(tree, node.kids);
    } else if (node.kind == Kind::Multiply) {
        result = node.kids[0];
        for (size_t i = 1; i < node.kids.size() && result >= 0; ++i)
            result = product(tree, result, node.kids[i]);
    } else if (node.kind == Kind::Negate && first_is_matrix) {
        result = each_entry(tree, node.kids[0], [&](int cell) { return tree.node(Kind::Negate, {cell}); });
    } else if (node.kind == Kind::Divide && first_is_matrix && tree[node.kids[1]].kind != Kind::Matrix) {
        result = each_entry(tree, node.kids[0], [&](int cell) {
            return tree.node(Kind::Divide, {cell, node.kids[1]});
        });
    }
    return result >= 0 ? result : tree.add(node.kind, node.text, node.kids, node.rows);
}

} // namespace

void reduce_matrices(Tree& tree, int& at) { at = reduced(tree, at); }

} // namespace stillroom::maths
