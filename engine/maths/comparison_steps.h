// SPDX-License-Identifier: GPL-3.0-or-later
// The steps behind compare_trees(): first the shapes of two answers, then their values.
#pragma once

#include "maths/comparison.h"

namespace stillroom::maths {

/// An answer without what it is called: the 5 of "x = 5".
struct Side {
    int node = -1, label = -1; // label -1: none
};

/// Letters and digits, lower case.
std::string lowered_letters(std::string_view text);
/// A constant expression.
bool is_number(const Tree& tree, int at);
/// Sums and products of matrices below `at` become one matrix, where shapes allow.
void reduce_matrices(Tree& tree, int& at);

/// `a` is always a part of the answer, `b` one of the gold answer.
class Comparer {
public:
    Comparer(Tree& a, Tree& b, const Policy& policy, Work& work)
        : a_(a), b_(b), policy_(policy), work_(work) {}
    Outcome compare(int a, int b);

private:
    // comparison.cpp
    Side stripped(Tree& tree, int at) const;
    std::optional<std::vector<int>> elements(Tree& tree, int at) const;
    Outcome unlabelled(int a, int b);
    Outcome words(int a, int b);
    Outcome choices(int a, int b);
    Outcome sets(int a, int b);
    Outcome collections(int a, int b, const std::optional<std::vector<int>>& many_a,
                        const std::optional<std::vector<int>>& many_b);
    Outcome in_order(const std::vector<int>& left, const std::vector<int>& right);
    Outcome ordered(int a, int b);
    Outcome unordered(const std::vector<int>& left, const std::vector<int>& right, const std::string& equal);
    Outcome ratios(int a, int b);

    // comparison_values.cpp
    Outcome measures(int a, int b);
    Outcome percentages(int a, bool percent_a, int b, bool percent_b);
    Outcome values(int a, int b);
    Outcome numbers(int a, int b);
    Outcome constants(int a, int b);
    Outcome functions(int a, int b);
    bool agree_at_naturals(int a, int b, const std::set<std::string>& names);
    Outcome equations(int a, int b);
    Outcome inequalities(int a, int b);
    std::optional<int> ratio_sign(int a, int b);
    std::optional<std::vector<Value>> roots(Tree& tree, int difference, const std::string& name,
                                            const std::map<std::string, Value>& others);

    Tree& a_;
    Tree& b_;
    const Policy& policy_;
    Work& work_;
};

} // namespace stillroom::maths
