// SPDX-License-Identifier: GPL-3.0-or-later
#include "maths/numeric.h"

#include "maths/latex.h"

#include <algorithm>
#include <cln/cln.h>
#include <cmath>

namespace stillroom::maths {

namespace {

using cln::cl_I;
using cln::cl_N;
using cln::cl_R;
using cln::cl_RA;

constexpr double most_bits = 70'000;   // of an exact value, about 20,000 digits
constexpr double most_magnitude = 1e6; // decimal exponent of a value
constexpr double most_argument = 30;   // decimal exponent of the argument of a sine
constexpr int64_t longest_series = 2000, largest_factorial = 4000;

struct Undefined {};

double bits_of(const cl_N& value) {
    const auto rational = [](const cl_R& part) {
        const cl_RA& exact = cln::the<cl_RA>(part);
        return double(cln::integer_length(cln::numerator(exact))) +
               double(cln::integer_length(cln::denominator(exact)));
    };
    return rational(cln::realpart(value)) + rational(cln::imagpart(value));
}

bool is_integer(const cl_N& value) { return cln:: instanceof (value, cln::cl_I_ring); }

int64_t small_integer(const cl_N& value, int64_t least, int64_t most) {
    if (!is_integer(value)) throw Undefined();
    const cl_I& whole = cln::the<cl_I>(value);
    if (whole < cl_I(long(least)) || whole > cl_I(long(most))) throw Undefined();
    return cln::cl_I_to_long(whole);
}

class Evaluator {
public:
    Evaluator(const Tree& tree, Evaluation& run)
        : tree_(tree), run_(run), format_(cln::float_format(uintE(run.digits))) {}

    cl_N value(int at) {
        const Node& node = tree_[at];
        if (!run_.work->spend(1 + run_.digits / 60)) throw Undefined();
        return noted(computed(node));
    }

private:
    cl_N noted(const cl_N& value) {
        if (is_exact(value)) {
            const double bits = bits_of(value);
            if (bits > most_bits || !run_.work->spend(int64_t(bits / 2000))) throw Undefined();
            if (!cln::zerop(value))
                run_.magnitude = std::max(run_.magnitude, std::abs(log10_magnitude(value)));
        } else if (!cln::zerop(value)) {
            const double size = log10_magnitude(value);
            if (std::abs(size) > most_magnitude) throw Undefined();
            if (size > -run_.digits / 2.0) run_.magnitude = std::max(run_.magnitude, std::abs(size));
        }
        return value;
    }

    cl_N as_float(const cl_N& value) const {
        if (!is_exact(value)) return value;
        const cl_R real = cln::cl_float(cln::realpart(value), format_);
        if (is_real(value)) return real;
        return cln::complex(real, cln::cl_float(cln::imagpart(value), format_));
    }
    cl_R real(const cl_N& value) const {
        if (!is_real(value)) throw Undefined();
        return cln::realpart(value);
    }
    bool vanishes(const cl_N& value) const {
        return cln::zerop(value) || (!is_exact(value) && log10_magnitude(value) < -run_.digits / 2.0);
    }

    cl_N computed(const Node& node) {
        switch (node.kind) {
        case Kind::Number:
            return literal(node.text);
        case Kind::Symbol: {
            const auto found = run_.values.find(node.text);
            if (found == run_.values.end()) throw Undefined();
            return found->second;
        }
        case Kind::Constant:
            if (node.text == "pi") return cln::pi(format_);
            if (node.text == "e") return cln::exp1(format_);
            if (node.text == "i") return cln::complex(cl_I(0), cl_I(1));
            throw Undefined();
        case Kind::Add: {
            cl_N sum = cl_I(0);
            for (const int kid : node.kids) sum = noted(sum + value(kid));
            return sum;
        }
        case Kind::Negate:
            return -value(node.kids[0]);
        case Kind::Multiply: {
            cl_N product = cl_I(1);
            for (const int kid : node.kids) product = noted(product * value(kid));
            return product;
        }
        case Kind::Divide:
            return quotient(value(node.kids[0]), value(node.kids[1]));
        case Kind::Power:
            return power(value(node.kids[0]), value(node.kids[1]));
        case Kind::Series:
            return series(node);
        case Kind::Percent:
            return value(node.kids[0]) / cl_I(100);
        case Kind::Degrees:
            return value(node.kids[0]) * cln::pi(format_) / cl_I(180);
        case Kind::Unit:
        case Kind::Choice:
            return value(node.kids[0]);
        case Kind::Based:
            return based(node);
        case Kind::Apply:
            return applied(node);
        default:
            throw Undefined();
        }
    }

    static cl_N literal(const std::string& text) {
        std::string digits = text;
        const size_t point = digits.find('.');
        cl_I scale = 1;
        if (point != std::string::npos) {
            scale = cln::expt_pos(cl_I(10), uintL(std::max<size_t>(digits.size() - point - 1, 1)));
            if (point + 1 == digits.size()) scale = 1;
            digits.erase(point, 1);
        }
        digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
        return cl_I(digits.c_str()) / scale;
    }

    cl_N quotient(const cl_N& a, const cl_N& b) const {
        if (vanishes(b)) throw Undefined();
        return a / b;
    }

    /// Counts an elementary function: about 20 operations at 80 digits, more than linear in them.
    void spend_function() const {
        const int64_t scale = 1 + run_.digits / 80;
        if (!run_.work->spend(20 * scale * scale)) throw Undefined();
    }

    /// e^x of a float.
    cl_N exponential(const cl_N& x) const {
        spend_function();
        if (!cln::zerop(cln::realpart(x)) && log10_magnitude(cln::realpart(x)) > 6) throw Undefined();
        if (!cln::zerop(cln::imagpart(x)) && log10_magnitude(cln::imagpart(x)) > most_argument)
            throw Undefined();
        return cln::exp(as_float(x));
    }

    cl_N power(const cl_N& base, const cl_N& exponent) {
        if (vanishes(base)) {
            if (!is_real(exponent) || cln::realpart(exponent) <= cl_I(0)) throw Undefined();
            return cl_I(0);
        }
        if (is_integer(exponent)) return whole_power(base, cln::the<cl_I>(exponent));
        if (is_exact(exponent) && is_real(exponent)) {
            const cl_RA ratio = cln::the<cl_RA>(cln::realpart(exponent));
            return whole_power(root(base, cln::denominator(ratio)), cln::numerator(ratio));
        }
        return exponential(exponent * logarithm(base));
    }

    cl_N whole_power(const cl_N& base, const cl_I& exponent) {
        if (cln::integer_length(exponent) > 40) throw Undefined();
        const double size = std::abs(cln::double_approx(exponent));
        if (is_exact(base)) {
            const double bits = bits_of(base);
            if (bits <= 2 && cln::abs(base) == cl_I(1)) return cln::oddp(exponent) ? base : base * base;
            if (bits * size <= most_bits && run_.work->spend(int64_t(bits * size / 500))) {
                return cln::expt(base, exponent);
            }
        }
        if (std::abs(log10_magnitude(base)) * size > most_magnitude) throw Undefined();
        return cln::expt(as_float(base), exponent);
    }

    /// Real where the degree is odd and x is real.
    cl_N root(const cl_N& x, const cl_I& degree) {
        if (degree < cl_I(1)) throw Undefined();
        if (cln::zerop(x)) return cl_I(0);
        const bool negative = is_real(x) && cln::minusp(cln::realpart(x));
        if (is_exact(x) && is_real(x)) {
            const cl_RA size = cln::abs(cln::the<cl_RA>(cln::realpart(x)));
            cl_RA exact;
            if ((!negative || cln::oddp(degree) || degree == cl_I(2)) && cln::rootp(size, degree, &exact)) {
                if (!negative) return exact;
                if (cln::oddp(degree)) return -exact;
                return cln::complex(cl_I(0), exact);
            }
        }
        if (negative && cln::oddp(degree)) return -exponential(logarithm(-x) / degree);
        if (degree == cl_I(2)) {
            spend_function();
            return cln::sqrt(as_float(x));
        }
        return exponential(logarithm(x) / degree);
    }

    cl_N series(const Node& node) {
        const std::string index = tree_[node.kids[0]].text;
        constexpr int64_t far = 1'000'000;
        const int64_t from = small_integer(value(node.kids[1]), -far, far),
                      to = small_integer(value(node.kids[2]), -far, far);
        if (to - from > longest_series) throw Undefined();
        const bool is_sum = node.text == "sum";
        cl_N total = cl_I(is_sum ? 0 : 1);
        const auto outer =
            run_.values.find(index) == run_.values.end() ? std::nullopt : std::optional(run_.values[index]);
        for (int64_t k = from; k <= to; ++k) {
            run_.values[index] = cl_I(long(k));
            total = noted(is_sum ? total + value(node.kids[3]) : total * value(node.kids[3]));
        }
        run_.values.erase(index);
        if (outer) run_.values[index] = *outer;
        return total;
    }

    cl_N based(const Node& node) {
        const int64_t base = small_integer(value(node.kids[0]), 2, 36);
        cl_I total = 0;
        for (const char c : node.text) {
            if (!is_digit(c) || c - '0' >= base) throw Undefined();
            total = total * cl_I(long(base)) + cl_I(c - '0');
        }
        return total;
    }

    cl_N logarithm(const cl_N& x) const {
        spend_function();
        if (vanishes(x)) throw Undefined();
        if (is_exact(x) && x == cl_I(1)) return cl_I(0);
        return cln::log(as_float(x));
    }

    cl_N circular(const std::string& name, const cl_N& x) const {
        spend_function();
        if (!cln::zerop(x) && log10_magnitude(x) > most_argument) throw Undefined();
        if (cln::zerop(x) && is_exact(x)) {
            if (name == "sin" || name == "tan") return cl_I(0);
            if (name == "cos" || name == "sec") return cl_I(1);
            throw Undefined();
        }
        const cl_N angle = as_float(x);
        if (!is_real(x)) (void)exponential(angle * cln::complex(cl_I(0), cl_I(1)));
        if (name == "sin") return cln::sin(angle);
        if (name == "cos") return cln::cos(angle);
        if (name == "tan") return quotient(cln::sin(angle), cln::cos(angle));
        if (name == "cot") return quotient(cln::cos(angle), cln::sin(angle));
        return quotient(cl_I(1), name == "sec" ? cln::cos(angle) : cln::sin(angle));
    }

    cl_N inverse(const std::string& name, const cl_N& x) const {
        spend_function();
        if (cln::zerop(x) && name != "acos" && name != "acot") return cl_I(0);
        if (!cln::zerop(x) && log10_magnitude(x) > most_argument) throw Undefined();
        const cl_N z = as_float(x);
        if (name == "asin") return arc_sine(z);
        if (name == "acos") return cln::pi(format_) / cl_I(2) - arc_sine(z);
        if (name == "atan") return arc_tangent(z);
        return cln::pi(format_) / cl_I(2) - arc_tangent(z);
    }

    // Outside the real range by logarithms: CLN's own complex functions do not end near their branch points.
    cl_N arc_tangent(const cl_N& z) const {
        if (is_real(z)) return cln::atan(cln::realpart(z));
        const cl_N turned = z * cln::complex(cl_I(0), cl_I(1));
        const cl_N difference = logarithm(cl_I(1) - turned) - logarithm(cl_I(1) + turned);
        return difference * cln::complex(cl_I(0), cl_RA(1) / 2);
    }
    cl_N arc_sine(const cl_N& z) const {
        const cl_N cosine = cln::sqrt(cl_I(1) - z * z);
        if (is_real(z) && is_real(cosine) && !vanishes(cosine)) {
            return cln::atan(cln::realpart(z) / cln::realpart(cosine));
        }
        const cl_N inside = z * cln::complex(cl_I(0), cl_I(1)) + cosine;
        return logarithm(inside) * cln::complex(cl_I(0), cl_I(-1));
    }

    cl_N rounded(const cl_N& x, bool down) const {
        const cl_R number = real(x);
        const cl_I floor = cln::floor1(number);
        if (!is_exact(x)) {
            const cl_R rest = number - floor;
            const cl_R edge = rest < cl_RA(cl_I(1)) / cl_I(2) ? rest : cl_R(cl_I(1) - rest);
            if (vanishes(edge)) throw Undefined(); // the error of the float would decide
        }
        return down || cl_N(floor) == x ? floor : cl_I(floor + 1);
    }

    cl_N binomial(const cl_N& n, const cl_N& k) {
        const int64_t lower = small_integer(k, 0, longest_series);
        cl_N product = cl_I(1);
        for (int64_t i = 0; i < lower; ++i) {
            product = noted(product * (n - cl_I(long(i))) / cl_I(long(i + 1)));
            if (!run_.work->spend(1)) throw Undefined();
        }
        return product;
    }

    /// By elimination, of real or complex entries.
    cl_N determinant(const Node& matrix) {
        const auto n = size_t(matrix.rows);
        if (matrix.kids.size() != n * n || n > 8) throw Undefined();
        std::vector<cl_N> m;
        for (const int kid : matrix.kids) m.push_back(value(kid));
        cl_N product = cl_I(1);
        for (size_t c = 0; c < n; ++c) {
            size_t pivot = c;
            while (pivot < n && vanishes(m[pivot * n + c])) ++pivot;
            if (pivot == n) return cl_I(0);
            if (pivot != c) {
                for (size_t k = 0; k < n; ++k) std::swap(m[pivot * n + k], m[c * n + k]);
                product = -product;
            }
            product = noted(product * m[c * n + c]);
            for (size_t r = c + 1; r < n; ++r) {
                const cl_N factor = m[r * n + c] / m[c * n + c];
                for (size_t k = c; k < n; ++k) m[r * n + k] = noted(m[r * n + k] - factor * m[c * n + k]);
            }
        }
        return product;
    }

    cl_N applied(const Node& node) {
        const std::string& name = node.text;
        if (name == "det" && tree_[node.kids[0]].kind == Kind::Matrix)
            return determinant(tree_[node.kids[0]]);
        std::vector<cl_N> x;
        for (const int kid : node.kids) x.push_back(value(kid));
        if (x.empty()) throw Undefined();
        if (name == "root" && x.size() == 2) return root(x[1], cl_I(long(small_integer(x[0], 1, 1000))));
        if (name == "binomial" && x.size() == 2) return binomial(x[0], x[1]);
        if (name == "log" && x.size() == 2) {
            if (is_exact(x[0]) && is_exact(x[1]) && is_real(x[0]) && is_real(x[1])) {
                const cl_RA base = cln::the<cl_RA>(cln::realpart(x[0])),
                            of = cln::the<cl_RA>(cln::realpart(x[1]));
                cl_RA exact;
                if (of > cl_I(0) && base > cl_I(0) && base != cl_I(1) && cln::logp(of, base, &exact))
                    return exact;
            }
            return quotient(logarithm(x[1]), logarithm(x[0]));
        }
        if (name == "max" || name == "min" || name == "gcd" || name == "lcm") return combined(name, x);
        if (x.size() == 1) {
            if (name == "sqrt") return root(x[0], 2);
            if (name == "cbrt") return root(x[0], 3);
            if (name == "abs")
                return is_exact(x[0]) && !is_real(x[0]) ? root(cln::realpart(x[0] * cln::conjugate(x[0])), 2)
                                                        : cl_N(cln::abs(x[0]));
            if (name == "ln" || name == "log") return logarithm(x[0]);
            if (name == "exp") return cln::zerop(x[0]) ? cl_N(cl_I(1)) : exponential(x[0]);
            if (name == "floor" || name == "ceil") return rounded(x[0], name == "floor");
            if (name == "factorial") return cln::factorial(uintL(small_integer(x[0], 0, largest_factorial)));
            if (name == "sgn") return vanishes(x[0]) ? cl_I(0) : cl_I(cln::plusp(real(x[0])) ? 1 : -1);
            for (const char* known : {"sin", "cos", "tan", "cot", "sec", "csc"}) {
                if (name == known) return circular(name, x[0]);
            }
            for (const char* known : {"asin", "acos", "atan", "acot"}) {
                if (name == known) return inverse(name, x[0]);
            }
            if (name == "sinh" || name == "cosh" || name == "tanh") {
                const cl_N up = exponential(x[0]), down = exponential(-x[0]);
                if (name == "sinh") return (up - down) / cl_I(2);
                if (name == "cosh") return (up + down) / cl_I(2);
                return quotient(up - down, up + down);
            }
        }
        return generic(name, x);
    }

    cl_N combined(const std::string& name, const std::vector<cl_N>& x) const {
        cl_N result = x[0];
        for (size_t i = 0; i < x.size(); ++i) {
            if (name == "max" || name == "min") {
                const cl_R a = real(result), b = real(x[i]);
                result = (name == "max") == (a < b) ? b : a;
            } else {
                if (!is_integer(result) || !is_integer(x[i])) throw Undefined();
                const cl_I a = cln::the<cl_I>(result), b = cln::the<cl_I>(x[i]);
                result = name == "gcd" ? cln::gcd(a, b) : cln::lcm(a, b);
            }
        }
        return result;
    }

    /// A smooth function that depends on its name (FNV-1a) and on every argument.
    cl_N generic(const std::string& name, const std::vector<cl_N>& x) const {
        uint64_t hash = 14695981039346656037ULL;
        for (const char c : name) hash = (hash ^ uint64_t(static_cast<unsigned char>(c))) * 1099511628211ULL;
        const auto coefficient = [&] {
            hash = hash * 6364136223846793005ULL + 1442695040888963407ULL;
            return cl_I(long(hash >> 40)) / cl_I(long(1) << 22); // in [0, 4)
        };
        cl_N total = as_float(coefficient());
        for (const cl_N& argument : x) {
            const cl_N angle = argument * coefficient() + coefficient();
            total = total + coefficient() * argument + coefficient() * circular("sin", angle);
        }
        return total;
    }

    const Tree& tree_;
    Evaluation& run_;
    cln::float_format_t format_;
};

} // namespace

bool is_exact(const Value& value) {
    return cln:: instanceof (cln::realpart(value), cln::cl_RA_ring) && cln:: instanceof
        (cln::imagpart(value), cln::cl_RA_ring);
}

bool is_real(const Value& value) {
    const cl_R imaginary = cln::imagpart(value);
    if (cln::zerop(imaginary)) return true;
    if (is_exact(value)) return false;
    const cl_R part = cln::realpart(value);
    const double size = cln::zerop(part) ? 0 : std::max(0.0, log10_magnitude(part));
    return log10_magnitude(imaginary) < size - 40;
}

double log10_magnitude(const Value& value) {
    const auto part = [](const cl_R& x) {
        constexpr double log10_of_2 = 0.30102999566398120;
        if (cln::zerop(x)) return -1e300;
        if (cln:: instanceof (x, cln::cl_RA_ring)) {
            const cl_RA& exact = cln::the<cl_RA>(x);
            const auto log2 = [](const cl_I& whole) {
                const uintC length = cln::integer_length(cln::abs(whole));
                const sintC drop = length > 60 ? sintC(length) - 60 : 0;
                return std::log2(cln::double_approx(cln::abs(whole) >> drop)) + double(drop);
            };
            return (log2(cln::numerator(exact)) - log2(cln::denominator(exact))) * log10_of_2;
        }
        return double(cln::float_exponent(cln::the<cln::cl_F>(x))) * log10_of_2;
    };
    return std::max(part(cln::realpart(value)), part(cln::imagpart(value)));
}

std::optional<Value> evaluate(const Tree& tree, int node, Evaluation& evaluation) {
    try {
        return Evaluator(tree, evaluation).value(node);
    } catch (const Undefined&) {
        return std::nullopt;
    } catch (const cln::runtime_exception&) {
        return std::nullopt;
    }
}

Match compare_values(const Value& a, const Value& b, int digits, double magnitude) {
    try {
        if (is_exact(a) && is_exact(b)) return a == b ? Match::Same : Match::Differs;
        const cl_N difference = a - b;
        if (cln::zerop(difference)) return Match::Same;
        const auto size = [](const cl_N& value) { return cln::zerop(value) ? 0 : log10_magnitude(value); };
        const double relative = log10_magnitude(difference) - std::max({0.0, size(a), size(b)});
        if (relative < -std::min(digits - 20.0 - magnitude, 40 + 2 * magnitude)) return Match::Same;
        return relative > -(20 + magnitude) ? Match::Differs : Match::Undecided;
    } catch (const cln::runtime_exception&) {
        return Match::Undecided;
    }
}

Comparison compare_at(const Tree& ta, int a, const Tree& tb, int b,
                      const std::map<std::string, Value>& values, Work& work) {
    constexpr int first_digits = 80;
    constexpr double most = 400;
    Comparison result;
    int digits = first_digits;
    for (int pass = 0; pass < 2; ++pass) {
        Evaluation left{values, digits, &work}, right{values, digits, &work};
        result.a = evaluate(ta, a, left);
        result.b = evaluate(tb, b, right);
        if (!result.a || !result.b) return result;
        result.exact = is_exact(*result.a) && is_exact(*result.b);
        const double magnitude = std::max(left.magnitude, right.magnitude);
        const int needed = 60 + 3 * int(std::ceil(magnitude));
        if (!result.exact && magnitude > most) return result;
        if (result.exact || needed <= digits || pass == 1) {
            if (!values.empty() && is_real(*result.a) != is_real(*result.b)) return result;
            result.match = compare_values(*result.a, *result.b, digits, magnitude);
            return result;
        }
        digits = needed;
    }
    return result;
}

} // namespace stillroom::maths
