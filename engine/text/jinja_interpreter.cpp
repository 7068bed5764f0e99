// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/jinja_interpreter.h"

#include "text/jinja_builtins.h"

#include <algorithm>

namespace stillroom::text {

Result<JinjaTemplate> JinjaTemplate::parse(const std::string& source, const std::string& where) {
    try {
        return JinjaTemplate(std::make_shared<const jinja::Program>(jinja::parsed(source, where)));
    } catch (const ErrorException& fault) {
        return fault.error();
    }
}

Result<std::string> JinjaTemplate::render(const nlohmann::ordered_json& variables,
                                          const JinjaLimits& limits) const {
    try {
        return jinja::Interpreter(*program_, limits).run(variables);
    } catch (const ErrorException& fault) {
        return fault.error();
    }
}

} // namespace stillroom::text

namespace stillroom::text::jinja {

Interpreter::~Interpreter() {
    // All values of namespaces go while each namespace is still held here, so that no chain of them is freed
    // at once.
    for (const auto& names : namespaces_) names->names.clear();
}

std::string Interpreter::run(const nlohmann::ordered_json& variables) {
    for (const auto& [name, value] : variables.items()) root_.set(name, from_json(work_, value));
    std::string out;
    run(program_.body, root_, out);
    return out;
}

Interpreter::Flow Interpreter::run(const Body& body, Scope& scope, std::string& out) {
    for (const Statement& statement : body) {
        work_.at_line(statement.line);
        if (const Flow flow = run(statement, scope, out); flow != Flow::On) return flow;
    }
    return Flow::On;
}

Interpreter::Flow Interpreter::run(const Statement& statement, Scope& scope, std::string& out) {
    using Kind = Statement::Kind;
    work_.spend(1);
    switch (statement.kind) {
    case Kind::Text:
        append(out, statement.text);
        break;
    case Kind::Output:
        append(out, shown(work_, evaluate(*statement.value, scope)));
        break;
    case Kind::If: {
        const Nested guard(*this);
        for (const Branch& branch : statement.branches) {
            if (branch.condition == nullptr || truth(evaluate(*branch.condition, scope)))
                return run(branch.body, scope, out);
        }
        break;
    }
    case Kind::For: {
        const Nested guard(*this);
        return run_for(statement, scope, out);
    }
    case Kind::Set:
        assign(statement.names, evaluate(*statement.value, scope), scope);
        break;
    case Kind::SetMember: {
        Namespace* const names = look_up(statement.names[0], scope).names();
        if (names == nullptr)
            work_.fail("'" + statement.names[0] + "' is not a namespace, so its members cannot be set");
        Value value = evaluate(*statement.value, scope);
        const auto known = std::ranges::find(names->names, statement.names[1],
                                             [](const auto& entry) { return entry.first; });
        if (known == names->names.end()) {
            names->names.emplace_back(statement.names[1], std::move(value));
        } else {
            known->second = std::move(value);
        }
        break;
    }
    case Kind::SetBlock:
    case Kind::Filter: {
        const Nested guard(*this);
        Value text = work_.text(text_of(statement.body, scope));
        if (statement.value != nullptr) {
            std::swap(filter_input_, text);
            Value result = evaluate(*statement.value, scope);
            filter_input_ = std::exchange(text, std::move(result));
        }
        if (statement.kind == Kind::Filter) {
            append(out, shown(work_, text));
        } else {
            scope.set(statement.names[0], std::move(text));
        }
        break;
    }
    case Kind::Macro:
        scope.set(statement.text, macro(statement, scope));
        break;
    case Kind::Group: {
        const Nested guard(*this);
        return run(statement.body, scope, out);
    }
    case Kind::Break:
        return Flow::Break;
    case Kind::Continue:
        return Flow::Continue;
    }
    return Flow::On;
}

Interpreter::Flow Interpreter::run_for(const Statement& statement, Scope& scope, std::string& out) {
    List items = items_of(work_, evaluate(*statement.value, scope));
    if (statement.condition != nullptr) {
        List kept;
        for (Value& entry : items) {
            Scope round{&scope};
            assign(statement.names, entry, round);
            if (truth(evaluate(*statement.condition, round))) kept.push_back(std::move(entry));
        }
        items = std::move(kept);
    }
    if (items.empty()) return run(statement.otherwise, scope, out);
    for (size_t i = 0; i < items.size(); ++i) {
        work_.spend(1);
        Scope round{&scope};
        round.set("loop", work_.loop({
                              .index0 = int64_t(i),
                              .length = int64_t(items.size()),
                              .previous = i > 0 ? items[i - 1] : Value(Undefined{"loop.previtem"}),
                              .next = i + 1 < items.size() ? items[i + 1] : Value(Undefined{"loop.nextitem"}),
                          }));
        assign(statement.names, items[i], round);
        if (run(statement.body, round, out) == Flow::Break) break;
    }
    return Flow::On;
}

void Interpreter::assign(const std::vector<std::string>& names, const Value& value, Scope& scope) {
    if (names.size() == 1) return scope.set(names[0], value);
    const List parts = items_of(work_, value);
    if (parts.size() != names.size()) {
        work_.fail("cannot give " + std::to_string(parts.size()) + " values to " +
                   std::to_string(names.size()) + " names");
    }
    for (size_t i = 0; i < names.size(); ++i) scope.set(names[i], parts[i]);
}

std::string Interpreter::text_of(const Body& body, Scope& scope) {
    Scope inner{&scope};
    std::string text;
    run(body, inner, text);
    return text;
}

// A macro sees the template's own names as they are when it is called, and those of blocks around it as they
// were when it was defined.
Value Interpreter::macro(const Statement& statement, const Scope& scope) {
    auto captured = std::make_shared<Scope>();
    for (const Scope* block = &scope; block != &root_ && block != nullptr; block = block->outer) {
        for (const auto& [name, value] : block->names) {
            if (std::ranges::find(captured->names, name, [](const auto& entry) { return entry.first; }) ==
                captured->names.end()) {
                captured->names.emplace_back(name, value);
            }
        }
    }
    captured->outer = &root_;
    work_.spend(int64_t(captured->names.size()));
    int nesting = 0;
    for (const auto& [name, value] : captured->names) nesting = std::max(nesting, value.nesting());
    const auto call = [this, &statement, captured](Work&, const Arguments& given) {
        const Nested guard(*this);
        if (given.positional.size() > statement.names.size()) {
            work_.fail("macro " + statement.text + " takes " + std::to_string(statement.names.size()) +
                       " arguments, found " + std::to_string(given.positional.size()));
        }
        Scope scope{captured.get()};
        for (const auto& [name, value] : given.named) {
            if (std::ranges::find(statement.names, name) == statement.names.end()) {
                work_.fail("macro " + statement.text + " has no parameter '" + name + "'");
            }
            scope.set(name, value);
        }
        for (size_t i = 0; i < statement.names.size(); ++i) {
            if (i < given.positional.size()) {
                scope.set(statement.names[i], given.positional[i]);
            } else if (std::ranges::find(given.named, statement.names[i], [](const auto& entry) {
                           return entry.first;
                       }) == given.named.end()) {
                scope.set(statement.names[i], statement.defaults[i] != nullptr
                                                  ? evaluate(*statement.defaults[i], scope)
                                                  : Value(Undefined{statement.names[i]}));
            }
        }
        std::string text;
        run(statement.body, scope, text);
        return work_.text(std::move(text));
    };
    return work_.callable("macro " + statement.text, call, nesting);
}

void Interpreter::append(std::string& out, const std::string& text) {
    work_.spend(int64_t(text.size()) / 16);
    work_.check_size(out.size() + text.size());
    out += text;
}

void Interpreter::deeper() {
    if (++depth_ > work_.limits().depth) {
        work_.fail("the template nests calls deeper than " + std::to_string(work_.limits().depth));
    }
}

} // namespace stillroom::text::jinja
