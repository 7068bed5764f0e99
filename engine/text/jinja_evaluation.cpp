// SPDX-License-Identifier: GPL-3.0-or-later
// Evaluation of expressions, with Python's arithmetic.
#include "text/jinja_builtins.h"
#include "text/jinja_interpreter.h"

#include <algorithm>
#include <cmath>

namespace stillroom::text::jinja {

namespace {

std::string_view sign(Operation operation) {
    switch (operation) {
    case Operation::Add:
        return "+";
    case Operation::Subtract:
        return "-";
    case Operation::Multiply:
        return "*";
    case Operation::Divide:
        return "/";
    case Operation::FloorDivide:
        return "//";
    case Operation::Modulo:
        return "%";
    default:
        return "**";
    }
}

} // namespace

Value Interpreter::evaluate(const Expression& expression, const Scope& scope) {
    const Nested guard(*this);
    work_.at_line(expression.line);
    work_.spend(1);
    return evaluate_inner(expression, scope);
}

Value Interpreter::optional(const ExpressionPtr& expression, const Scope& scope) {
    return expression == nullptr ? Value() : evaluate(*expression, scope);
}

Value Interpreter::evaluate_inner(const Expression& expression, const Scope& scope) {
    const auto part = [&](size_t i) { return evaluate(*expression.parts[i], scope); };
    switch (expression.operation) {
    case Operation::Literal:
        return expression.literal;
    case Operation::Text:
        return work_.text(expression.name);
    case Operation::Name:
        return look_up(expression.name, scope);
    case Operation::List:
    case Operation::Tuple: {
        List items;
        for (size_t i = 0; i < expression.parts.size(); ++i) items.push_back(part(i));
        return expression.operation == Operation::Tuple ? work_.tuple(std::move(items))
                                                        : work_.list(std::move(items));
    }
    case Operation::Dict: {
        Dict entries;
        for (size_t i = 0; i + 1 < expression.parts.size(); i += 2) {
            Value key = part(i), value = part(i + 1);
            const auto known = std::ranges::find_if(
                entries, [&](const auto& entry) { return equal(work_, entry.first, key); });
            if (known == entries.end()) {
                entries.emplace_back(std::move(key), std::move(value));
            } else {
                known->second = std::move(value);
            }
        }
        return work_.dict(std::move(entries));
    }
    case Operation::Attribute:
        return attribute(work_, part(0), expression.name);
    case Operation::Item: {
        const Value value = part(0);
        return item(work_, value, part(1));
    }
    case Operation::Slice: {
        const Value value = part(0), begin = optional(expression.parts[1], scope),
                    end = optional(expression.parts[2], scope);
        return slice(work_, value, begin, end, optional(expression.parts[3], scope));
    }
    case Operation::Call:
        return call(expression, scope);
    case Operation::Filter: {
        const Value value = part(0);
        return filtered(work_, expression.name, value, arguments(expression, scope));
    }
    case Operation::Test: {
        const Value value = part(0);
        return tested(work_, expression.name, value, arguments(expression, scope));
    }
    case Operation::Not:
        return !truth(part(0));
    case Operation::Negate:
        return negated(part(0));
    case Operation::Plus: {
        Value value = part(0);
        if (!value.is_number()) work_.fail("+ expects a number, found " + std::string(value.type_name()));
        return value;
    }
    case Operation::Concatenate: {
        std::string text;
        for (size_t i = 0; i < expression.parts.size(); ++i) append(text, shown(work_, part(i)));
        return work_.text(std::move(text));
    }
    case Operation::And: {
        Value left = part(0);
        return truth(left) ? part(1) : left;
    }
    case Operation::Or: {
        Value left = part(0);
        return truth(left) ? left : part(1);
    }
    case Operation::Compare:
        return compared(expression, scope);
    case Operation::Conditional:
        if (truth(part(1))) return part(0);
        return expression.parts[2] != nullptr ? part(2) : Value(Undefined{"the else of an inline if"});
    default: {
        const Value left = part(0);
        return arithmetic(expression.operation, left, part(1));
    }
    }
}

Arguments Interpreter::arguments(const Expression& expression, const Scope& scope) {
    Arguments given;
    for (size_t i = 1; i < expression.parts.size(); ++i)
        given.positional.push_back(evaluate(*expression.parts[i], scope));
    for (const auto& [name, value] : expression.named)
        given.named.emplace_back(name, evaluate(*value, scope));
    return given;
}

Value Interpreter::call(const Expression& expression, const Scope& scope) {
    const Expression& callee = *expression.parts[0];
    const Value function = evaluate(callee, scope);
    const Arguments given = arguments(expression, scope);
    work_.at_line(expression.line);
    if (function.callable() == nullptr) {
        if (function.is_undefined())
            work_.fail("'" + function.undefined_name() + "' is undefined, so it cannot be called");
        work_.fail(std::string(function.type_name()) + " cannot be called");
    }
    return function.callable()->call(work_, given);
}

bool Interpreter::compared(const Expression& expression, const Scope& scope) {
    Value left = evaluate(*expression.parts[0], scope);
    for (size_t i = 0; i < expression.comparisons.size(); ++i) {
        Value right = evaluate(*expression.parts[i + 1], scope);
        bool holds = false;
        switch (expression.comparisons[i]) {
        case Comparison::Equal:
            holds = equal(work_, left, right);
            break;
        case Comparison::Unequal:
            holds = !equal(work_, left, right);
            break;
        case Comparison::Less:
            holds = compare(work_, left, right) < 0;
            break;
        case Comparison::LessEqual:
            holds = compare(work_, left, right) <= 0;
            break;
        case Comparison::Greater:
            holds = compare(work_, left, right) > 0;
            break;
        case Comparison::GreaterEqual:
            holds = compare(work_, left, right) >= 0;
            break;
        case Comparison::In:
            holds = contains(work_, right, left);
            break;
        case Comparison::NotIn:
            holds = !contains(work_, right, left);
            break;
        }
        if (!holds) return false;
        left = std::move(right);
    }
    return true;
}

Value Interpreter::look_up(const std::string& name, const Scope& scope) {
    if (name.empty()) return filter_input_;
    if (const Value* value = scope.find(name)) return *value;
    if (name == "namespace") {
        return work_.callable(name, [this](Work&, const Arguments& given) { return new_namespace(given); });
    }
    Value found = global(work_, name);
    return found.is_undefined() ? Value(Undefined{name}) : found;
}

Value Interpreter::new_namespace(const Arguments& given) {
    auto names = std::make_shared<Namespace>();
    for (const Value& start : given.positional) {
        if (start.dict() == nullptr) work_.fail("namespace() expects a dict or named values");
        for (const auto& [key, value] : *start.dict()) names->names.emplace_back(shown(work_, key), value);
    }
    for (const auto& [name, value] : given.named) names->names.emplace_back(name, value);
    work_.spend(4);
    namespaces_.push_back(names);
    return names;
}

Value Interpreter::negated(const Value& value) {
    if (value.is_float()) return -*value.number();
    const auto whole = value.integer();
    if (!whole) work_.fail("- expects a number, found " + std::string(value.type_name()));
    return arithmetic(Operation::Subtract, Value(int64_t{0}), value);
}

Value Interpreter::added(const Value& left, const Value& right) {
    if (left.text() != nullptr && right.text() != nullptr) {
        work_.check_size(left.text()->size() + right.text()->size());
        return work_.text(*left.text() + *right.text());
    }
    if (left.list() != nullptr && right.list() != nullptr) {
        List items = *left.list();
        items.insert(items.end(), right.list()->begin(), right.list()->end());
        return work_.list(std::move(items));
    }
    return {};
}

Value Interpreter::multiplied(const Value& left, const Value& right) {
    const bool left_counts = left.integer().has_value();
    const Value& repeated = left_counts ? right : left;
    const int64_t count = std::max<int64_t>(0, (left_counts ? left : right).integer().value_or(0));
    const auto times = [&](size_t size) { // checked before anything is made
        if (size > 0 && uint64_t(count) > work_.limits().text_bytes / size) work_.check_size(SIZE_MAX);
        work_.spend(int64_t(size) * count / 16);
    };
    if (repeated.text() != nullptr) {
        times(repeated.text()->size());
        std::string text;
        if (!repeated.text()->empty()) {
            for (int64_t i = 0; i < count; ++i) text += *repeated.text();
        }
        return work_.text(std::move(text));
    }
    if (repeated.list() != nullptr) {
        times(16 * repeated.list()->size());
        List items;
        if (!repeated.list()->empty()) {
            for (int64_t i = 0; i < count; ++i)
                items.insert(items.end(), repeated.list()->begin(), repeated.list()->end());
        }
        return work_.list(std::move(items));
    }
    return {};
}

Value Interpreter::arithmetic(Operation operation, const Value& left, const Value& right) {
    for (const Value* value : {&left, &right}) {
        if (value->is_undefined()) work_.fail("'" + value->undefined_name() + "' is undefined");
    }
    if (!left.is_number() || !right.is_number()) {
        Value result;
        if (operation == Operation::Add) result = added(left, right);
        if (operation == Operation::Multiply && (left.integer() || right.integer()))
            result = multiplied(left, right);
        if (!result.is_undefined()) return result;
        work_.fail(std::string(sign(operation)) + " cannot take " + std::string(left.type_name()) + " and " +
                   std::string(right.type_name()));
    }
    const auto a = left.integer(), b = right.integer();
    const double x = *left.number(), y = *right.number();
    const bool divides = operation == Operation::Divide || operation == Operation::FloorDivide ||
                         operation == Operation::Modulo;
    if (divides && y == 0) work_.fail("division by zero");
    if (operation == Operation::Divide) return x / y;
    if (!a || !b) {
        switch (operation) {
        case Operation::Add:
            return x + y;
        case Operation::Subtract:
            return x - y;
        case Operation::Multiply:
            return x * y;
        case Operation::FloorDivide:
            return std::floor(x / y);
        case Operation::Modulo: {
            const double rest = std::fmod(x, y);
            return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest; // has the sign of the divisor
        }
        default:
            return std::pow(x, y);
        }
    }
    int64_t result = 0;
    bool overflow = false;
    switch (operation) {
    case Operation::Add:
        overflow = __builtin_add_overflow(*a, *b, &result);
        break;
    case Operation::Subtract:
        overflow = __builtin_sub_overflow(*a, *b, &result);
        break;
    case Operation::Multiply:
        overflow = __builtin_mul_overflow(*a, *b, &result);
        break;
    case Operation::FloorDivide:
    case Operation::Modulo: {
        overflow = *b == -1 && *a == std::numeric_limits<int64_t>::min();
        if (overflow) break;
        const int64_t rest = *a % *b;
        const bool below = rest != 0 && (rest < 0) != (*b < 0);
        result = operation == Operation::Modulo ? (below ? rest + *b : rest) : *a / *b - (below ? 1 : 0);
        break;
    }
    default: {
        if (*b < 0) return std::pow(x, y);
        result = 1;
        for (int64_t i = 0; i < *b && !overflow && result != 0 && *a != 1; ++i) {
            if (*a == -1) {
                result = *b % 2 == 0 ? 1 : -1;
                break;
            }
            overflow = __builtin_mul_overflow(result, *a, &result);
        }
    }
    }
    if (overflow)
        work_.fail(std::string("the result of ") + std::string(sign(operation)) +
                   " does not fit into 64 bits");
    return result;
}

} // namespace stillroom::text::jinja
