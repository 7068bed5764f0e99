// SPDX-License-Identifier: GPL-3.0-or-later
// Tests (`x is defined`) and global functions.
#include "text/jinja_builtins.h"

#include "base/strings.h"
#include "text/unicode.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <map>

namespace stillroom::text::jinja {

namespace {

using Test = bool (*)(Work&, const Value&, const Arguments&);

constexpr int64_t longest_range = 100'000; // as jinja2's sandbox

const Value& operand(Work& work, const Arguments& given, const char* test) {
    if (given.positional.size() != 1) work.fail(std::string("the test ") + test + " expects one value");
    return given.positional[0];
}

bool has_case(const Value& value, bool (*is_case)(char32_t), bool (*is_other)(char32_t)) {
    if (value.text() == nullptr) return false;
    const auto characters = characters_of(*value.text());
    return std::ranges::any_of(characters, is_case) && std::ranges::none_of(characters, is_other);
}

const std::map<std::string, Test>& tests() {
    static const std::map<std::string, Test> known = [] {
        std::map<std::string, Test> list = {
            {"boolean", [](Work&, const Value& v, const Arguments&) { return v.is_bool(); }},
            {"callable", [](Work&, const Value& v, const Arguments&) { return v.callable() != nullptr; }},
            {"defined", [](Work&, const Value& v, const Arguments&) { return !v.is_undefined(); }},
            {"undefined", [](Work&, const Value& v, const Arguments&) { return v.is_undefined(); }},
            {"none", [](Work&, const Value& v, const Arguments&) { return v.is_none(); }},
            {"true", [](Work&, const Value& v, const Arguments&) { return v.is_bool() && truth(v); }},
            {"false", [](Work&, const Value& v, const Arguments&) { return v.is_bool() && !truth(v); }},
            {"string", [](Work&, const Value& v, const Arguments&) { return v.text() != nullptr; }},
            {"number", [](Work&, const Value& v, const Arguments&) { return v.is_number(); }},
            {"integer", [](Work&, const Value& v, const Arguments&) { return v.is_integer(); }},
            {"float", [](Work&, const Value& v, const Arguments&) { return v.is_float(); }},
            {"mapping", [](Work&, const Value& v, const Arguments&) { return v.dict() != nullptr; }},
            {"iterable",
             [](Work&, const Value& v, const Arguments&) {
                 return v.text() != nullptr || v.list() != nullptr || v.dict() != nullptr || v.is_undefined();
             }},
            {"sequence",
             [](Work&, const Value& v, const Arguments&) {
                 return v.text() != nullptr || v.list() != nullptr || v.dict() != nullptr || v.is_undefined();
             }},
            {"lower",
             [](Work&, const Value& v, const Arguments&) { return has_case(v, is_lower, is_upper); }},
            {"upper",
             [](Work&, const Value& v, const Arguments&) { return has_case(v, is_upper, is_lower); }},
            {"even",
             [](Work& w, const Value& v, const Arguments&) { return expect_integer(w, v, "even") % 2 == 0; }},
            {"odd",
             [](Work& w, const Value& v, const Arguments&) { return expect_integer(w, v, "odd") % 2 != 0; }},
            {"divisibleby",
             [](Work& w, const Value& v, const Arguments& g) {
                 const int64_t divisor = expect_integer(w, operand(w, g, "divisibleby"), "divisibleby");
                 if (divisor == 0) w.fail("division by zero");
                 return divisor == -1 || expect_integer(w, v, "divisibleby") % divisor == 0;
             }},
            {"sameas",
             [](Work& w, const Value& v, const Arguments& g) { return v.same_as(operand(w, g, "sameas")); }},
            {"in",
             [](Work& w, const Value& v, const Arguments& g) { return contains(w, operand(w, g, "in"), v); }},
            {"filter", [](Work& w, const Value& v,
                          const Arguments&) { return is_filter(expect_text(w, v, "filter")); }},
            {"test",
             [](Work& w, const Value& v, const Arguments&) { return is_test(expect_text(w, v, "test")); }},
            {"eq",
             [](Work& w, const Value& v, const Arguments& g) { return equal(w, v, operand(w, g, "eq")); }},
            {"ne",
             [](Work& w, const Value& v, const Arguments& g) { return !equal(w, v, operand(w, g, "ne")); }},
            {"lt", [](Work& w, const Value& v,
                      const Arguments& g) { return compare(w, v, operand(w, g, "lt")) < 0; }},
            {"le", [](Work& w, const Value& v,
                      const Arguments& g) { return compare(w, v, operand(w, g, "le")) <= 0; }},
            {"gt", [](Work& w, const Value& v,
                      const Arguments& g) { return compare(w, v, operand(w, g, "gt")) > 0; }},
            {"ge", [](Work& w, const Value& v,
                      const Arguments& g) { return compare(w, v, operand(w, g, "ge")) >= 0; }},
        };
        for (const auto& [other, name] :
             std::initializer_list<std::pair<const char*, const char*>>{{"equalto", "eq"},
                                                                        {"==", "eq"},
                                                                        {"!=", "ne"},
                                                                        {"lessthan", "lt"},
                                                                        {"<", "lt"},
                                                                        {"<=", "le"},
                                                                        {"greaterthan", "gt"},
                                                                        {">", "gt"},
                                                                        {">=", "ge"}}) {
            list[other] = list.at(name);
        }
        return list;
    }();
    return known;
}

Value range(Work& work, const Arguments& given) {
    const List parts = bound(work, given, {"start", "stop", "step"}, "range");
    int64_t start = 0, stop = expect_integer(work, parts[0], "range"), step = 1;
    if (!parts[1].is_undefined()) start = std::exchange(stop, expect_integer(work, parts[1], "range"));
    if (!parts[2].is_undefined()) step = expect_integer(work, parts[2], "range");
    if (step == 0) work.fail("the step of range is 0");
    List numbers;
    for (int64_t at = start; step > 0 ? at < stop : at > stop;) {
        if (int64_t(numbers.size()) == longest_range)
            work.fail("range has more than " + std::to_string(longest_range) + " items");
        numbers.push_back(at);
        if (__builtin_add_overflow(at, step, &at)) break;
    }
    return work.list(std::move(numbers));
}

Value dict(Work& work, const Arguments& given) {
    Dict entries;
    if (!given.positional.empty()) {
        if (given.positional.size() != 1 || given.positional[0].dict() == nullptr)
            work.fail("dict() expects a dict or named values");
        entries = *given.positional[0].dict();
    }
    for (const auto& [name, value] : given.named) {
        const auto known = std::ranges::find_if(entries, [&](const auto& entry) {
            return entry.first.text() != nullptr && *entry.first.text() == name;
        });
        if (known == entries.end()) {
            entries.emplace_back(work.text(name), value);
        } else {
            known->second = value;
        }
    }
    return work.dict(std::move(entries));
}

Value strftime_now(Work& work, const Arguments& given) {
    const std::string format =
        expect_text(work, bound(work, given, {"format"}, "strftime_now")[0], "strftime_now");
    std::tm now{};
    if (work.limits().now) {
        now = *work.limits().now;
    } else {
        const std::time_t seconds = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
        localtime_r(&seconds, &now);
    }
    std::string text(1024, '\0');
    const size_t length = format.empty() ? 0 : std::strftime(text.data(), text.size(), format.c_str(), &now);
    text.resize(length);
    return work.text(std::move(text));
}

} // namespace

bool tested(Work& work, const std::string& name, const Value& value, const Arguments& arguments) {
    const auto found = tests().find(name);
    if (found == tests().end()) {
        std::vector<std::string> names;
        for (const auto& [known, test] : tests()) names.push_back(known);
        const std::string close = nearest(name, names);
        work.fail("the test '" + name + "' is not known" + (close.empty() ? "" : ", nearest: " + close));
    }
    work.spend(1);
    return found->second(work, value, arguments);
}

bool is_test(const std::string& name) { return tests().contains(name); }

Value global(Work& work, const std::string& name) {
    if (name == "range") return work.callable(name, range);
    if (name == "dict") return work.callable(name, dict);
    if (name == "strftime_now") return work.callable(name, strftime_now);
    if (name == "raise_exception") {
        return work.callable(name, [](Work& at, const Arguments& given) -> Value {
            const Value message = bound(at, given, {"message"}, "raise_exception")[0];
            at.fail("the template refuses these messages: " + shown(at, message));
        });
    }
    return {};
}

} // namespace stillroom::text::jinja
