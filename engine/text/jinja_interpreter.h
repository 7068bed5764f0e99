// SPDX-License-Identifier: GPL-3.0-or-later
// Runs a parsed template.
#pragma once

#include "text/jinja_syntax.h"

#include <memory>
#include <string>
#include <vector>

namespace stillroom::text::jinja {

/// Names of one block; a for statement opens one for each round, a macro one for each call.
struct Scope {
    const Scope* outer = nullptr;
    std::vector<std::pair<std::string, Value>> names = {};

    const Value* find(const std::string& name) const {
        for (const auto& [known, value] : names) {
            if (known == name) return &value;
        }
        return outer == nullptr ? nullptr : outer->find(name);
    }
    void set(const std::string& name, Value value) {
        for (auto& [known, old] : names) {
            if (known == name) {
                old = std::move(value);
                return;
            }
        }
        names.emplace_back(name, std::move(value));
    }
};

class Interpreter {
public:
    Interpreter(const Program& program, const JinjaLimits& limits)
        : program_(program), work_(limits, program.where) {}
    Interpreter(const Interpreter&) = delete;
    Interpreter& operator=(const Interpreter&) = delete;
    ~Interpreter();

    /// Throws ErrorException.
    std::string run(const nlohmann::ordered_json& variables);

private:
    enum class Flow { On, Break, Continue };

    // Statements: jinja_interpreter.cpp
    Flow run(const Body& body, Scope& scope, std::string& out);
    Flow run(const Statement& statement, Scope& scope, std::string& out);
    Flow run_for(const Statement& statement, Scope& scope, std::string& out);
    void assign(const std::vector<std::string>& names, const Value& value, Scope& scope);
    std::string text_of(const Body& body, Scope& scope);
    Value macro(const Statement& statement, const Scope& scope);
    void append(std::string& out, const std::string& text);

    // Expressions: jinja_evaluation.cpp
    Value evaluate(const Expression& expression, const Scope& scope);
    Value evaluate_inner(const Expression& expression, const Scope& scope);
    Value optional(const ExpressionPtr& expression, const Scope& scope);
    Value call(const Expression& expression, const Scope& scope);
    bool compared(const Expression& expression, const Scope& scope);
    Value arithmetic(Operation operation, const Value& left, const Value& right);
    Value added(const Value& left, const Value& right);
    Value multiplied(const Value& left, const Value& right);
    Value negated(const Value& value);
    Arguments arguments(const Expression& expression, const Scope& scope);
    Value look_up(const std::string& name, const Scope& scope);
    Value new_namespace(const Arguments& arguments);
    void deeper();

    // Counts nested evaluations for as long as it lives.
    struct Nested {
        explicit Nested(Interpreter& interpreter) : interpreter(interpreter) { interpreter.deeper(); }
        Nested(const Nested&) = delete;
        Nested& operator=(const Nested&) = delete;
        ~Nested() { --interpreter.depth_; }
        Interpreter& interpreter;
    };

    const Program& program_;
    Work work_;
    Scope root_;
    std::vector<std::shared_ptr<Namespace>> namespaces_; // emptied at the end: they may hold one another
    Value filter_input_;                                 // what the unnamed Name of {% filter %} stands for
    int depth_ = 0;
};

} // namespace stillroom::text::jinja
