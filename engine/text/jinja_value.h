// SPDX-License-Identifier: GPL-3.0-or-later
// Values of the Jinja interpreter: Python's as templates see them. All but namespaces never change once made,
// so that they can be shared, and none nests deeper than a limit, so that walking one needs no guard.
#pragma once

#include "text/jinja.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace stillroom::text::jinja {

class Value;
class Work;

using List = std::vector<Value>;
using Dict = std::vector<std::pair<Value, Value>>; // in order of insertion

struct Undefined {
    std::string name; // what was looked up, for messages
};
struct None {};

struct ListBox;
struct DictBox;
struct Namespace;
struct Loop;
struct Callable;

class Value {
public:
    Value() : state_(Undefined{}) {}
    Value(Undefined undefined) : state_(std::move(undefined)) {}
    Value(None) : state_(None{}) {}
    Value(bool flag) : state_(flag) {}
    Value(int64_t number) : state_(number) {}
    Value(double number) : state_(number) {}
    Value(std::shared_ptr<const std::string> text) : state_(std::move(text)) {}
    Value(std::shared_ptr<const ListBox> list) : state_(std::move(list)) {}
    Value(std::shared_ptr<const DictBox> dict) : state_(std::move(dict)) {}
    Value(std::shared_ptr<Namespace> names) : state_(std::move(names)) {}
    Value(std::shared_ptr<const Loop> loop) : state_(std::move(loop)) {}
    Value(std::shared_ptr<const Callable> callable) : state_(std::move(callable)) {}
    Value(const char*) = delete; // would become a bool

    bool is_undefined() const { return std::holds_alternative<Undefined>(state_); }
    bool is_none() const { return std::holds_alternative<None>(state_); }
    bool is_bool() const { return std::holds_alternative<bool>(state_); }
    bool is_integer() const { return std::holds_alternative<int64_t>(state_); } // not a bool
    bool is_float() const { return std::holds_alternative<double>(state_); }
    bool is_number() const { return is_bool() || is_integer() || is_float(); }

    const std::string* text() const;
    const List* list() const; // or tuple
    bool is_tuple() const;
    const Dict* dict() const;
    Namespace* names() const;
    const Loop* loop() const;
    const Callable* callable() const;
    /// Of an integer or bool.
    std::optional<int64_t> integer() const;
    /// Of any number.
    std::optional<double> number() const;
    const std::string& undefined_name() const { return std::get<Undefined>(state_).name; }

    /// How deep lists, dicts and functions that hold values nest in it; 0 for all else.
    int nesting() const;
    /// Whether both are the same object.
    bool same_as(const Value& other) const;
    /// "str", "int", "list", ... as Python names it.
    std::string_view type_name() const;

private:
    std::variant<Undefined, None, bool, int64_t, double, std::shared_ptr<const std::string>,
                 std::shared_ptr<const ListBox>, std::shared_ptr<const DictBox>, std::shared_ptr<Namespace>,
                 std::shared_ptr<const Loop>, std::shared_ptr<const Callable>>
        state_;
};

struct ListBox {
    List items;
    int nesting = 1;
    bool is_tuple = false;
};
struct DictBox {
    Dict entries;
    int nesting = 1;
};
struct Namespace {
    std::vector<std::pair<std::string, Value>> names;
};
/// The `loop` of a for statement.
struct Loop {
    int64_t index0 = 0, length = 0;
    Value previous, next; // undefined at the ends
    int nesting = 1;
};
struct Arguments {
    List positional;
    std::vector<std::pair<std::string, Value>> named;
};
struct Callable {
    std::string name;
    std::function<Value(Work&, const Arguments&)> call;
    int nesting = 1; // of the values that `call` holds, plus one
};

/// What a rendering may still use, and where it is. Makes values, so that none escapes the limits.
class Work {
public:
    Work(const JinjaLimits& limits, std::string where)
        : limits_(limits), steps_(limits.steps), where_(std::move(where)) {}

    /// Ends the rendering with an error at the current line.
    [[noreturn]] void fail(const std::string& what) const;
    void spend(int64_t steps) {
        if ((steps_ -= steps) < 0) out_of_steps();
    }
    /// Checks a text that is being put together.
    void check_size(size_t bytes) const;

    Value text(std::string text);
    Value list(List items);
    Value tuple(List items);
    Value dict(Dict entries);
    Value loop(Loop loop);
    /// `held`: nesting of the deepest value that `call` keeps.
    Value callable(std::string name, std::function<Value(Work&, const Arguments&)> call, int held = 0);

    const JinjaLimits& limits() const { return limits_; }
    void at_line(int line) { line_ = line; }

private:
    [[noreturn]] void out_of_steps() const;
    int around(int nesting) const;
    const JinjaLimits& limits_;
    int64_t steps_;
    std::string where_;
    int line_ = 1;
};

Value from_json(Work& work, const nlohmann::ordered_json& json);

bool truth(const Value& value);
bool equal(Work& work, const Value& a, const Value& b);
/// Below, at or above 0; fails where Python cannot order the two.
int compare(Work& work, const Value& a, const Value& b);
/// `needle in haystack`
bool contains(Work& work, const Value& haystack, const Value& needle);

/// Python's str().
std::string shown(Work& work, const Value& value);
/// Python's json.dumps() with ensure_ascii=False. `indent` below 0: one line.
std::string json_of(Work& work, const Value& value, int indent, const std::string& item_separator,
                    const std::string& key_separator, bool sort_keys);

/// What a for statement goes over: items, keys, characters; nothing for undefined. Fails for anything else.
List items_of(Work& work, const Value& value);
/// `value[key]`; undefined where there is none.
Value item(Work& work, const Value& value, const Value& key);
/// `value.name`: a method, a key, a loop's or namespace's variable; undefined where there is none.
Value attribute(Work& work, const Value& value, const std::string& name);
/// A method of a string or dict; undefined where there is none.
Value method(Work& work, const Value& value, const std::string& name);
/// `value[begin:end:step]`, each possibly none.
Value slice(Work& work, const Value& value, const Value& begin, const Value& end, const Value& step);

/// The arguments by the names of the parameters; undefined where not given. Fails on one too many or unknown.
List bound(Work& work, const Arguments& arguments, std::initializer_list<const char*> parameters,
           const std::string& callee);

} // namespace stillroom::text::jinja
