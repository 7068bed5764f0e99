// SPDX-License-Identifier: GPL-3.0-or-later
#include "maths/symbolic.h"

#include "maths/latex.h"

#include <ginac/ginac.h>
#include <map>
#include <string>

namespace stillroom::maths {

namespace {

constexpr double most_terms = 2000; // of an expanded product
constexpr int largest_exponent = 60, most_digits = 60;

struct TooLarge {};

/// top / bottom, each with a bound on its terms when expanded.
struct Quotient {
    GiNaC::ex top, bottom = 1;
    double top_terms = 1, bottom_terms = 1;
};

class Converter {
public:
    Quotient quotient(const Tree& tree, int at) {
        const Node& node = tree[at];
        switch (node.kind) {
        case Kind::Number:
            return {number(node.text)};
        case Kind::Add: {
            Quotient sum = quotient(tree, node.kids[0]);
            for (size_t i = 1; i < node.kids.size(); ++i) sum = added(sum, quotient(tree, node.kids[i]));
            return sum;
        }
        case Kind::Negate: {
            Quotient value = quotient(tree, node.kids[0]);
            value.top = -value.top;
            return value;
        }
        case Kind::Multiply: {
            Quotient product = quotient(tree, node.kids[0]);
            for (size_t i = 1; i < node.kids.size(); ++i)
                product = multiplied(product, quotient(tree, node.kids[i]));
            return product;
        }
        case Kind::Divide: {
            Quotient below = quotient(tree, node.kids[1]);
            std::swap(below.top, below.bottom);
            std::swap(below.top_terms, below.bottom_terms);
            return multiplied(quotient(tree, node.kids[0]), below);
        }
        case Kind::Power: {
            const Node& exponent = tree[node.kids[1]];
            if (exponent.kind != Kind::Number || exponent.text.size() > 2 || exponent.text[0] == '.') break;
            const int power = std::stoi(exponent.text);
            if (power > largest_exponent || exponent.text.find('.') != std::string::npos) break;
            const Quotient base = quotient(tree, node.kids[0]);
            Quotient product{1};
            for (int i = 0; i < power; ++i) product = multiplied(product, base);
            return product;
        }
        case Kind::Symbol:
            return {symbol(node.text)};
        default:
            break;
        }
        opaque_ = true;
        return {symbol(to_text(tree, at))};
    }
    bool has_opaque_parts() const { return opaque_; }

    static Quotient added(const Quotient& a, const Quotient& b) {
        return limited({a.top * b.bottom + b.top * a.bottom, a.bottom * b.bottom,
                        a.top_terms * b.bottom_terms + b.top_terms * a.bottom_terms,
                        a.bottom_terms * b.bottom_terms});
    }

private:
    static Quotient limited(Quotient value) {
        if (value.top_terms > most_terms || value.bottom_terms > most_terms) throw TooLarge();
        return value;
    }
    static Quotient multiplied(const Quotient& a, const Quotient& b) {
        return limited(
            {a.top * b.top, a.bottom * b.bottom, a.top_terms * b.top_terms, a.bottom_terms * b.bottom_terms});
    }
    static GiNaC::ex number(const std::string& text) {
        if (text.size() > size_t(most_digits)) throw TooLarge();
        std::string digits = text;
        const size_t point = digits.find('.');
        int places = 0;
        if (point != std::string::npos) {
            places = int(digits.size() - point - 1);
            digits.erase(point, 1);
        }
        digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
        return GiNaC::numeric(digits.c_str()) / GiNaC::pow(GiNaC::numeric(10), places);
    }
    GiNaC::ex symbol(const std::string& name) {
        const auto found = symbols_.find(name);
        if (found != symbols_.end()) return found->second;
        return symbols_.emplace(name, GiNaC::symbol("s" + std::to_string(symbols_.size()))).first->second;
    }

    std::map<std::string, GiNaC::symbol> symbols_;
    bool opaque_ = false;
};

} // namespace

Proof proof_by_expansion(const Tree& ta, int a, const Tree& tb, int b) {
    try {
        Converter converter;
        const Quotient left = converter.quotient(ta, a);
        Quotient right = converter.quotient(tb, b);
        right.top = -right.top;
        if (Converter::added(left, right).top.expand().is_zero()) return Proof::Equal;
        return converter.has_opaque_parts() ? Proof::None : Proof::Different;
    } catch (const TooLarge&) {
        return Proof::None;
    } catch (const std::exception&) { // GiNaC's own limits
        return Proof::None;
    }
}

} // namespace stillroom::maths
