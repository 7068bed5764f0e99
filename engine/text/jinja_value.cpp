// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/jinja_value.h"

#include "text/unicode.h"

#include <algorithm>

namespace stillroom::text::jinja {

namespace {

constexpr int deepest_nesting = 64;
constexpr int64_t bytes_a_step = 16; // a step of work moves about that many bytes

template <typename T, typename State>
const T* shared(const State& state) {
    const auto* held = std::get_if<std::shared_ptr<const T>>(&state);
    return held == nullptr ? nullptr : held->get();
}

} // namespace

const std::string* Value::text() const { return shared<std::string>(state_); }

const List* Value::list() const {
    const auto* box = shared<ListBox>(state_);
    return box == nullptr ? nullptr : &box->items;
}

bool Value::is_tuple() const {
    const auto* box = shared<ListBox>(state_);
    return box != nullptr && box->is_tuple;
}

const Dict* Value::dict() const {
    const auto* box = shared<DictBox>(state_);
    return box == nullptr ? nullptr : &box->entries;
}

Namespace* Value::names() const {
    const auto* held = std::get_if<std::shared_ptr<Namespace>>(&state_);
    return held == nullptr ? nullptr : held->get();
}

const Loop* Value::loop() const { return shared<Loop>(state_); }
const Callable* Value::callable() const { return shared<Callable>(state_); }

std::optional<int64_t> Value::integer() const {
    if (const auto* flag = std::get_if<bool>(&state_)) return *flag ? 1 : 0;
    if (const auto* number = std::get_if<int64_t>(&state_)) return *number;
    return std::nullopt;
}

std::optional<double> Value::number() const {
    if (const auto whole = integer()) return double(*whole);
    if (const auto* number = std::get_if<double>(&state_)) return *number;
    return std::nullopt;
}

int Value::nesting() const {
    if (const auto* box = shared<ListBox>(state_)) return box->nesting;
    if (const auto* box = shared<DictBox>(state_)) return box->nesting;
    if (loop() != nullptr) return loop()->nesting;
    if (callable() != nullptr) return callable()->nesting;
    return 0;
}

bool Value::same_as(const Value& other) const {
    if (state_.index() != other.state_.index()) return false;
    if (is_undefined()) return false;
    if (is_none()) return true;
    if (is_number()) return number() == other.number();
    if (text() != nullptr) return *text() == *other.text(); // Python shares equal short strings
    return list() == other.list() && dict() == other.dict() && names() == other.names() &&
           loop() == other.loop() && callable() == other.callable();
}

std::string_view Value::type_name() const {
    if (is_undefined()) return "undefined";
    if (is_none()) return "none";
    if (is_bool()) return "bool";
    if (is_integer()) return "int";
    if (is_float()) return "float";
    if (text() != nullptr) return "str";
    if (list() != nullptr) return is_tuple() ? "tuple" : "list";
    if (dict() != nullptr) return "dict";
    if (names() != nullptr) return "namespace";
    if (loop() != nullptr) return "loop";
    return "function";
}

void Work::fail(const std::string& what) const {
    throw ErrorException({what, where_ + " line " + std::to_string(line_)});
}

void Work::out_of_steps() const {
    fail("the template takes more than " + std::to_string(limits_.steps) + " steps");
}

void Work::check_size(size_t bytes) const {
    if (bytes > limits_.text_bytes) {
        fail("the template makes a text of more than " + std::to_string(limits_.text_bytes) + " bytes");
    }
}

Value Work::text(std::string text) {
    check_size(text.size());
    spend(1 + int64_t(text.size()) / bytes_a_step);
    return std::make_shared<const std::string>(std::move(text));
}

// Nesting of what holds a value nested so deep. Bounded, since values are walked and freed by recursion.
int Work::around(int nesting) const {
    if (nesting >= deepest_nesting) fail("values nest deeper than " + std::to_string(deepest_nesting));
    return nesting + 1;
}

Value Work::list(List items) {
    spend(1 + int64_t(items.size()));
    int nesting = 0;
    for (const Value& entry : items) nesting = std::max(nesting, entry.nesting());
    return std::make_shared<const ListBox>(ListBox{std::move(items), around(nesting)});
}

Value Work::tuple(List items) {
    spend(1 + int64_t(items.size()));
    int nesting = 0;
    for (const Value& entry : items) nesting = std::max(nesting, entry.nesting());
    return std::make_shared<const ListBox>(ListBox{std::move(items), around(nesting), true});
}

Value Work::dict(Dict entries) {
    spend(1 + int64_t(entries.size()));
    int nesting = 0;
    for (const auto& [key, value] : entries) nesting = std::max({nesting, key.nesting(), value.nesting()});
    return std::make_shared<const DictBox>(DictBox{std::move(entries), around(nesting)});
}

Value Work::loop(Loop loop) {
    spend(1);
    loop.nesting = around(std::max(loop.previous.nesting(), loop.next.nesting()));
    return std::make_shared<const Loop>(std::move(loop));
}

Value Work::callable(std::string name, std::function<Value(Work&, const Arguments&)> call, int held) {
    spend(1);
    return std::make_shared<const Callable>(Callable{std::move(name), std::move(call), around(held)});
}

Value from_json(Work& work, const nlohmann::ordered_json& json) {
    using Type = nlohmann::json::value_t;
    switch (json.type()) {
    case Type::boolean:
        return json.get<bool>();
    case Type::number_integer:
        return json.get<int64_t>();
    case Type::number_unsigned:
        if (json.get<uint64_t>() > uint64_t(std::numeric_limits<int64_t>::max())) return json.get<double>();
        return json.get<int64_t>();
    case Type::number_float:
        return json.get<double>();
    case Type::string:
        return work.text(json.get<std::string>());
    case Type::array: {
        List items;
        for (const auto& entry : json) items.push_back(from_json(work, entry));
        return work.list(std::move(items));
    }
    case Type::object: {
        Dict entries;
        for (const auto& [key, value] : json.items())
            entries.emplace_back(work.text(key), from_json(work, value));
        return work.dict(std::move(entries));
    }
    default:
        return None{};
    }
}

bool truth(const Value& value) {
    if (value.is_undefined() || value.is_none()) return false;
    if (const auto number = value.number()) return *number != 0;
    if (value.text() != nullptr) return !value.text()->empty();
    if (value.list() != nullptr) return !value.list()->empty();
    if (value.dict() != nullptr) return !value.dict()->empty();
    return true;
}

bool equal(Work& work, const Value& a, const Value& b) {
    work.spend(1);
    if (a.is_number() && b.is_number()) {
        if (a.integer() && b.integer()) return a.integer() == b.integer();
        return a.number() == b.number();
    }
    if (a.text() != nullptr && b.text() != nullptr) {
        work.spend(int64_t(a.text()->size()) / bytes_a_step);
        return *a.text() == *b.text();
    }
    if (a.list() != nullptr && b.list() != nullptr) {
        const List &left = *a.list(), &right = *b.list();
        return a.is_tuple() == b.is_tuple() && left.size() == right.size() &&
               std::equal(left.begin(), left.end(), right.begin(),
                          [&](const Value& x, const Value& y) { return equal(work, x, y); });
    }
    if (a.dict() != nullptr && b.dict() != nullptr) {
        if (a.dict()->size() != b.dict()->size()) return false;
        return std::ranges::all_of(*a.dict(), [&](const auto& entry) {
            const Value other = item(work, b, entry.first);
            return !other.is_undefined() && equal(work, entry.second, other);
        });
    }
    if (a.is_undefined() && b.is_undefined()) return true;
    return a.same_as(b);
}

int compare(Work& work, const Value& a, const Value& b) {
    work.spend(1);
    if (a.is_number() && b.is_number()) {
        if (a.integer() && b.integer()) return a.integer() < b.integer() ? -1 : a.integer() > b.integer();
        return a.number() < b.number() ? -1 : a.number() > b.number();
    }
    if (a.text() != nullptr && b.text() != nullptr) {
        work.spend(int64_t(std::min(a.text()->size(), b.text()->size())) / bytes_a_step);
        const int order = a.text()->compare(*b.text()); // bytes of UTF-8 are in the order of the characters
        return order < 0 ? -1 : order > 0;
    }
    if (a.list() != nullptr && b.list() != nullptr) {
        const List &left = *a.list(), &right = *b.list();
        for (size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
            if (!equal(work, left[i], right[i])) return compare(work, left[i], right[i]);
        }
        return left.size() < right.size() ? -1 : left.size() > right.size();
    }
    work.fail("cannot order " + std::string(a.type_name()) + " and " + std::string(b.type_name()));
}

bool contains(Work& work, const Value& haystack, const Value& needle) {
    if (haystack.text() != nullptr) {
        if (needle.text() == nullptr) {
            work.fail("'in' a str expects a str, found " + std::string(needle.type_name()));
        }
        work.spend(1 + int64_t(haystack.text()->size()) / bytes_a_step);
        return haystack.text()->find(*needle.text()) != std::string::npos;
    }
    if (haystack.dict() != nullptr) return !item(work, haystack, needle).is_undefined();
    const List items = items_of(work, haystack);
    return std::ranges::any_of(items, [&](const Value& entry) { return equal(work, entry, needle); });
}

List items_of(Work& work, const Value& value) {
    List items;
    if (value.list() != nullptr) {
        items = *value.list();
    } else if (value.dict() != nullptr) {
        for (const auto& [key, entry] : *value.dict()) items.push_back(key);
    } else if (value.text() != nullptr) {
        const std::string& text = *value.text();
        for (size_t at = 0; at < text.size();) {
            const size_t begin = at;
            next_character(text, at);
            items.push_back(work.text(text.substr(begin, at - begin)));
        }
    } else if (!value.is_undefined()) {
        work.fail("cannot iterate over " + std::string(value.type_name()));
    }
    work.spend(1 + int64_t(items.size()));
    return items;
}

List bound(Work& work, const Arguments& arguments, std::initializer_list<const char*> parameters,
           const std::string& callee) {
    List values(parameters.size());
    if (arguments.positional.size() > parameters.size()) {
        work.fail(callee + " takes at most " + std::to_string(parameters.size()) + " arguments, found " +
                  std::to_string(arguments.positional.size()));
    }
    std::ranges::copy(arguments.positional, values.begin());
    for (const auto& [name, value] : arguments.named) {
        const auto found = std::ranges::find(parameters, name);
        if (found == parameters.end()) work.fail(callee + " has no parameter '" + name + "'");
        values[size_t(found - parameters.begin())] = value;
    }
    return values;
}

} // namespace stillroom::text::jinja
