// SPDX-License-Identifier: GPL-3.0-or-later
// The syntax tree of a template.
#pragma once

#include "text/jinja_value.h"

#include <memory>
#include <string>
#include <vector>

namespace stillroom::text::jinja {

enum class Operation {
    Literal,   // literal
    Text,      // name: a string
    Name,      // name
    List,      // parts
    Tuple,     // parts
    Dict,      // parts: key, value, key, value
    Attribute, // parts[0] . name
    Item,      // parts[0] [ parts[1] ]
    Slice,     // parts[0] [ parts[1] : parts[2] : parts[3] ], each possibly null
    Call,      // parts[0] ( parts[1...], named )
    Filter,    // parts[0] | name ( parts[1...], named )
    Test,      // parts[0] is name ( parts[1...], named )
    Not,       // parts[0]
    Negate,    // parts[0]
    Plus,      // parts[0]
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Modulo,
    Power,       // parts[0], parts[1]
    Concatenate, // parts
    And,
    Or,          // parts[0], parts[1]
    Compare,     // parts[0] comparisons[0] parts[1] comparisons[1] parts[2] ...
    Conditional, // parts[0] if parts[1] else parts[2] (possibly null)
};

enum class Comparison { Equal, Unequal, Less, LessEqual, Greater, GreaterEqual, In, NotIn };

struct Expression;
using ExpressionPtr = std::unique_ptr<const Expression>;

struct Expression {
    Operation operation = Operation::Literal;
    int line = 1;
    int depth = 1; // of the tree below
    std::string name;
    Value literal;
    std::vector<ExpressionPtr> parts;
    std::vector<std::pair<std::string, ExpressionPtr>> named;
    std::vector<Comparison> comparisons;
};

struct Statement;
using Body = std::vector<Statement>;

struct Branch {
    ExpressionPtr condition; // null: else
    Body body;
};

struct Statement {
    enum class Kind {
        Text,      // text
        Output,    // value
        If,        // branches
        For,       // names in value if condition: body, otherwise
        Set,       // names = value
        SetMember, // names[0] . names[1] = value
        SetBlock, // names[0] = the text of body, through the filters of value (applied to a name "", or null)
        Macro,    // name text, names, defaults (null where none), body
        Filter,   // the text of body through value
        Group,    // body
        Break,
        Continue,
    };
    Kind kind = Kind::Text;
    int line = 1;
    std::string text;
    std::vector<std::string> names;
    ExpressionPtr value, condition;
    std::vector<ExpressionPtr> defaults;
    std::vector<Branch> branches;
    Body body, otherwise;
};

struct Program {
    std::string where;
    Body body;
};

/// Throws ErrorException.
Program parsed(const std::string& source, const std::string& where);

} // namespace stillroom::text::jinja
