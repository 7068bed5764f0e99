// SPDX-License-Identifier: GPL-3.0-or-later
// Expressions of templates, by recursive descent in jinja2's order of precedence.
#include "text/jinja_parser.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>

namespace stillroom::text::jinja {

namespace {

constexpr int deepest_tree = 200;
constexpr int deepest_brackets = 100;

using Kind = Token::Kind;

class Expressions {
public:
    explicit Expressions(TokenReader& reader) : reader_(reader) {}

    ExpressionPtr conditional() {
        const Deeper guard(*this);
        ExpressionPtr value = either();
        while (reader_.next_is_name("if")) {
            auto node = start(Operation::Conditional);
            reader_.take();
            node->parts.push_back(std::move(value));
            node->parts.push_back(either());
            node->parts.push_back(reader_.accept_name("else") ? conditional() : nullptr);
            value = finish(std::move(node));
        }
        return value;
    }

    ExpressionPtr either() {
        return logical("or", Operation::Or, [this] { return both(); });
    }

    ExpressionPtr tuple(bool conditional_allowed) {
        const auto one = [&] { return conditional_allowed ? conditional() : either(); };
        ExpressionPtr first = one();
        if (!reader_.next_is_operator(",")) return first;
        auto node = start(Operation::Tuple);
        node->parts.push_back(std::move(first));
        while (reader_.accept_operator(",")) {
            if (ends_tuple()) break;
            node->parts.push_back(one());
        }
        return finish(std::move(node));
    }

    ExpressionPtr filters(ExpressionPtr value) {
        auto node = start(Operation::Filter);
        node->name = dotted_name("the name of a filter");
        node->parts.push_back(std::move(value));
        if (reader_.next_is_operator("(")) arguments(*node);
        return finish(std::move(node));
    }

private:
    using Node = std::unique_ptr<Expression>;

    // Bounds the parser's own recursion.
    struct Deeper {
        explicit Deeper(Expressions& parser) : parser(parser) {
            if (++parser.depth_ > deepest_brackets) parser.reader_.fail("the expression nests too deep");
        }
        Deeper(const Deeper&) = delete;
        Deeper& operator=(const Deeper&) = delete;
        ~Deeper() { --parser.depth_; }
        Expressions& parser;
    };

    Node start(Operation operation) {
        auto node = std::make_unique<Expression>();
        node->operation = operation;
        node->line = reader_.peek().line;
        return node;
    }
    // Bounds the tree, which a long chain of operators makes deep without recursion here.
    ExpressionPtr finish(Node node) {
        int below = 0;
        for (const auto& part : node->parts) below = std::max(below, part ? part->depth : 0);
        for (const auto& [name, part] : node->named) below = std::max(below, part->depth);
        node->depth = below + 1;
        if (node->depth > deepest_tree) reader_.fail("the expression is too long");
        return node;
    }

    template <typename Next>
    ExpressionPtr logical(std::string_view word, Operation operation, Next next) {
        ExpressionPtr left = next();
        while (reader_.next_is_name(word)) {
            auto node = start(operation);
            reader_.take();
            node->parts.push_back(std::move(left));
            node->parts.push_back(next());
            left = finish(std::move(node));
        }
        return left;
    }
    ExpressionPtr both() {
        return logical("and", Operation::And, [this] { return negation(); });
    }
    ExpressionPtr negation() {
        if (!reader_.next_is_name("not")) return comparison();
        const Deeper guard(*this);
        auto node = start(Operation::Not);
        reader_.take();
        node->parts.push_back(negation());
        return finish(std::move(node));
    }

    std::optional<Comparison> accept_comparison() {
        static constexpr std::pair<std::string_view, Comparison> signs[] = {
            {"==", Comparison::Equal},        {"!=", Comparison::Unequal}, {"<=", Comparison::LessEqual},
            {">=", Comparison::GreaterEqual}, {"<", Comparison::Less},     {">", Comparison::Greater}};
        for (const auto& [sign, comparison] : signs) {
            if (reader_.accept_operator(sign)) return comparison;
        }
        if (reader_.accept_name("in")) return Comparison::In;
        if (reader_.next_is_name("not") && reader_.peek(1).kind == Kind::Name &&
            reader_.peek(1).text == "in") {
            reader_.take();
            reader_.take();
            return Comparison::NotIn;
        }
        return std::nullopt;
    }
    ExpressionPtr comparison() {
        ExpressionPtr first = sum();
        auto node = start(Operation::Compare);
        while (const auto sign = accept_comparison()) {
            node->comparisons.push_back(*sign);
            node->parts.push_back(sum());
        }
        if (node->parts.empty()) return first;
        node->parts.insert(node->parts.begin(), std::move(first));
        return finish(std::move(node));
    }

    template <typename Next>
    ExpressionPtr chain(std::initializer_list<std::pair<std::string_view, Operation>> operators, Next next) {
        ExpressionPtr left = next();
        for (;;) {
            const auto found = std::ranges::find_if(
                operators, [&](const auto& o) { return reader_.next_is_operator(o.first); });
            if (found == operators.end()) return left;
            auto node = start(found->second);
            reader_.take();
            node->parts.push_back(std::move(left));
            node->parts.push_back(next());
            left = finish(std::move(node));
        }
    }
    ExpressionPtr sum() {
        return chain({{"+", Operation::Add}, {"-", Operation::Subtract}}, [this] { return concatenation(); });
    }
    ExpressionPtr concatenation() {
        ExpressionPtr first = product();
        if (!reader_.next_is_operator("~")) return first;
        auto node = start(Operation::Concatenate);
        node->parts.push_back(std::move(first));
        while (reader_.accept_operator("~")) node->parts.push_back(product());
        return finish(std::move(node));
    }
    ExpressionPtr product() {
        return chain({{"*", Operation::Multiply},
                      {"/", Operation::Divide},
                      {"//", Operation::FloorDivide},
                      {"%", Operation::Modulo}},
                     [this] { return power(); });
    }
    ExpressionPtr power() {
        return chain({{"**", Operation::Power}}, [this] { return signed_value(true); });
    }
    ExpressionPtr signed_value(bool with_filters) {
        const Deeper guard(*this);
        for (const auto& [sign, operation] :
             {std::pair{"-", Operation::Negate}, std::pair{"+", Operation::Plus}}) {
            if (!reader_.next_is_operator(sign)) continue;
            auto node = start(operation);
            reader_.take();
            node->parts.push_back(signed_value(false));
            ExpressionPtr value = finish(std::move(node));
            return with_filters ? filtered(std::move(value)) : std::move(value);
        }
        ExpressionPtr value = postfix(primary());
        return with_filters ? filtered(std::move(value)) : std::move(value);
    }

    ExpressionPtr primary() {
        const Token& next = reader_.peek();
        switch (next.kind) {
        case Kind::Name:
            return name();
        case Kind::String: {
            auto node = start(Operation::Text);
            while (reader_.next_is(Kind::String)) node->name += reader_.take().text;
            return finish(std::move(node));
        }
        case Kind::Integer: {
            auto node = start(Operation::Literal);
            const std::string digits = reader_.peek().text;
            int64_t value = 0;
            if (std::from_chars(digits.data(), digits.data() + digits.size(), value).ec != std::errc{}) {
                reader_.fail("the number " + digits + " is too large");
            }
            reader_.take();
            node->literal = value;
            return finish(std::move(node));
        }
        case Kind::Float: {
            auto node = start(Operation::Literal);
            const std::string digits = reader_.take().text;
            double value = 0;
            std::from_chars(digits.data(), digits.data() + digits.size(), value);
            node->literal = value;
            return finish(std::move(node));
        }
        case Kind::Operator:
            if (reader_.accept_operator("(")) return in_brackets();
            if (reader_.next_is_operator("[")) return list();
            if (reader_.next_is_operator("{")) return dict();
            break;
        default:
            break;
        }
        reader_.unexpected("an expression");
    }

    ExpressionPtr name() {
        const std::string word = reader_.peek().text;
        auto node = start(Operation::Literal);
        if (word == "true" || word == "True") {
            node->literal = true;
        } else if (word == "false" || word == "False") {
            node->literal = false;
        } else if (word == "none" || word == "None") {
            node->literal = None{};
        } else {
            node->operation = Operation::Name;
            node->name = word;
        }
        reader_.take();
        return finish(std::move(node));
    }

    bool ends_tuple() const {
        return reader_.next_is_operator(")") || reader_.next_is(Kind::BlockEnd) ||
               reader_.next_is(Kind::OutputEnd);
    }
    ExpressionPtr in_brackets() {
        if (reader_.accept_operator(")")) return finish(start(Operation::Tuple));
        ExpressionPtr value = tuple(true);
        reader_.expect_operator(")");
        return value;
    }
    ExpressionPtr list() {
        auto node = start(Operation::List);
        reader_.take();
        while (!reader_.next_is_operator("]")) {
            node->parts.push_back(conditional());
            if (!reader_.accept_operator(",")) break;
        }
        reader_.expect_operator("]");
        return finish(std::move(node));
    }
    ExpressionPtr dict() {
        auto node = start(Operation::Dict);
        reader_.take();
        while (!reader_.next_is_operator("}")) {
            node->parts.push_back(conditional());
            reader_.expect_operator(":");
            node->parts.push_back(conditional());
            if (!reader_.accept_operator(",")) break;
        }
        reader_.expect_operator("}");
        return finish(std::move(node));
    }

    ExpressionPtr postfix(ExpressionPtr value) {
        for (;;) {
            if (reader_.accept_operator(".")) {
                auto node = start(Operation::Attribute);
                node->parts.push_back(std::move(value));
                if (reader_.next_is(Kind::Integer)) { // "list.0" is an item
                    node->operation = Operation::Item;
                    node->parts.push_back(primary());
                } else {
                    node->name = reader_.expect_name("the name of an attribute");
                }
                value = finish(std::move(node));
            } else if (reader_.next_is_operator("[")) {
                value = subscript(std::move(value));
            } else if (reader_.next_is_operator("(")) {
                value = call(std::move(value));
            } else {
                return value;
            }
        }
    }
    ExpressionPtr call(ExpressionPtr value) {
        auto node = start(Operation::Call);
        node->parts.push_back(std::move(value));
        arguments(*node);
        return finish(std::move(node));
    }
    ExpressionPtr subscript(ExpressionPtr value) {
        auto node = start(Operation::Item);
        reader_.take();
        node->parts.push_back(std::move(value));
        const auto part = [&]() -> ExpressionPtr {
            return reader_.next_is_operator(":") || reader_.next_is_operator("]") ? nullptr : conditional();
        };
        node->parts.push_back(part());
        if (reader_.accept_operator(":")) {
            node->operation = Operation::Slice;
            node->parts.push_back(part());
            node->parts.push_back(reader_.accept_operator(":") ? part() : nullptr);
        } else if (node->parts.back() == nullptr) {
            reader_.unexpected("an index");
        }
        reader_.expect_operator("]");
        return finish(std::move(node));
    }
    void arguments(Expression& node) {
        reader_.expect_operator("(");
        while (!reader_.next_is_operator(")")) {
            if (reader_.next_is_operator("*") || reader_.next_is_operator("**"))
                reader_.unexpected("an argument");
            const Token& after = reader_.peek(1);
            if (reader_.next_is(Kind::Name) && after.kind == Kind::Operator && after.text == "=") {
                std::string name = reader_.take().text;
                reader_.take();
                node.named.emplace_back(std::move(name), conditional());
            } else {
                if (!node.named.empty()) reader_.unexpected("a named argument");
                node.parts.push_back(conditional());
            }
            if (!reader_.accept_operator(",")) break;
        }
        reader_.expect_operator(")");
    }

    std::string dotted_name(const std::string& what) {
        std::string name = reader_.expect_name(what);
        while (reader_.accept_operator(".")) name += "." + reader_.expect_name(what);
        return name;
    }
    ExpressionPtr filtered(ExpressionPtr value) {
        for (;;) {
            if (reader_.accept_operator("|")) {
                value = filters(std::move(value));
            } else if (reader_.next_is_name("is")) {
                value = test(std::move(value));
            } else if (reader_.next_is_operator("(")) {
                value = call(std::move(value));
            } else {
                return value;
            }
        }
    }
    ExpressionPtr test(ExpressionPtr value) {
        auto node = start(Operation::Test);
        reader_.take();
        const bool negated = reader_.accept_name("not");
        node->name = dotted_name("the name of a test");
        node->parts.push_back(std::move(value));
        if (reader_.next_is_operator("(")) {
            arguments(*node);
        } else if (starts_argument()) {
            node->parts.push_back(postfix(primary()));
        }
        ExpressionPtr tested = finish(std::move(node));
        if (!negated) return tested;
        auto inverse = start(Operation::Not);
        inverse->parts.push_back(std::move(tested));
        return finish(std::move(inverse));
    }
    // `x is divisibleby 3`: a test takes one argument without brackets.
    bool starts_argument() const {
        const Token& next = reader_.peek();
        if (next.kind == Kind::Name) {
            static constexpr std::string_view others[] = {"else", "or", "and", "if", "is", "not", "in"};
            return std::ranges::find(others, next.text) == std::end(others);
        }
        return next.kind == Kind::String || next.kind == Kind::Integer || next.kind == Kind::Float ||
               reader_.next_is_operator("[") || reader_.next_is_operator("{");
    }

    TokenReader& reader_;
    int depth_ = 0;
};

} // namespace

ExpressionPtr parsed_expression(TokenReader& reader, bool conditional, bool tuple) {
    Expressions parser(reader);
    if (tuple) return parser.tuple(conditional);
    return conditional ? parser.conditional() : parser.either();
}

ExpressionPtr parsed_filters(TokenReader& reader) {
    auto nothing = std::make_unique<Expression>();
    nothing->operation = Operation::Name;
    nothing->line = reader.peek().line;
    Expressions parser(reader);
    ExpressionPtr value = parser.filters(std::move(nothing));
    while (reader.accept_operator("|")) value = parser.filters(std::move(value));
    return value;
}

} // namespace stillroom::text::jinja
