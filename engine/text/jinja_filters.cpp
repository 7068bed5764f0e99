// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/jinja_builtins.h"

#include "base/strings.h"
#include "text/unicode.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

namespace stillroom::text::jinja {

namespace {

using Filter = Value (*)(Work&, const Value&, const Arguments&);

Value length(Work& work, const Value& value, const Arguments&) {
    if (value.text() != nullptr) return int64_t(character_count(*value.text()));
    if (value.dict() != nullptr) return int64_t(value.dict()->size());
    if (value.list() != nullptr) return int64_t(value.list()->size());
    if (value.is_undefined()) return int64_t{0};
    work.fail("length cannot take " + std::string(value.type_name()));
}

Value json_filter(Work& work, const Value& value, const Arguments& given) {
    const List parts = bound(work, given, {"indent", "ensure_ascii", "separators", "sort_keys"}, "tojson");
    if (truth(parts[1])) work.fail("tojson does not support ensure_ascii");
    const bool has_indent = !parts[0].is_undefined() && !parts[0].is_none();
    const int64_t indent = has_indent ? expect_integer(work, parts[0], "tojson") : -1;
    if (indent > 32) work.fail("tojson indents by at most 32, found " + std::to_string(indent));
    std::string between = has_indent ? "," : ", ", behind_key = ": ";
    if (parts[2].list() != nullptr && parts[2].list()->size() == 2) {
        between = expect_text(work, (*parts[2].list())[0], "tojson");
        behind_key = expect_text(work, (*parts[2].list())[1], "tojson");
    }
    return work.text(json_of(work, value, int(indent), between, behind_key, truth(parts[3])));
}

Value default_filter(Work& work, const Value& value, const Arguments& given) {
    const List parts = bound(work, given, {"default_value", "boolean"}, "default");
    const bool missing = value.is_undefined() || (truth(parts[1]) && !truth(value));
    if (!missing) return value;
    return parts[0].is_undefined() ? work.text("") : parts[0];
}

Value join_filter(Work& work, const Value& value, const Arguments& given) {
    const List parts = bound(work, given, {"d", "attribute"}, "join");
    const std::string between = parts[0].is_undefined() ? "" : shown(work, parts[0]);
    std::string text;
    bool first = true;
    for (const Value& part : items_of(work, value)) {
        if (!std::exchange(first, false)) text += between;
        text += shown(work, parts[1].is_undefined() ? part : at_path(work, part, parts[1]));
        work.check_size(text.size());
        work.spend(1 + int64_t(between.size()) / 16);
    }
    return work.text(std::move(text));
}

Value end_filter(Work& work, const Value& value, bool first) {
    const List items = items_of(work, value);
    if (items.empty()) return Undefined{first ? "the first of no items" : "the last of no items"};
    return first ? items.front() : items.back();
}

Value reverse_filter(Work& work, const Value& value, const Arguments&) {
    return slice(
        work, value.text() != nullptr || value.list() != nullptr ? value : work.list(items_of(work, value)),
        {}, {}, int64_t{-1});
}

Value items_filter(Work& work, const Value& value, const Arguments&) {
    if (value.is_undefined()) return work.list({});
    if (value.dict() == nullptr) work.fail("items expects a dict, found " + std::string(value.type_name()));
    List pairs;
    for (const auto& [key, entry] : *value.dict()) pairs.push_back(work.tuple({key, entry}));
    return work.list(std::move(pairs));
}

Value int_filter(Work& work, const Value& value, const Arguments& given) {
    const List parts = bound(work, given, {"default"}, "int");
    const Value otherwise = parts[0].is_undefined() ? Value(int64_t{0}) : parts[0];
    if (value.integer()) return *value.integer();
    double number = 0;
    if (value.is_float()) {
        number = *value.number();
    } else if (value.text() != nullptr) {
        const std::string text = stripped(work, *value.text(), {}, true, true);
        const char *begin = text.data(), *end = text.data() + text.size();
        if (text.starts_with('+')) ++begin;
        int64_t whole = 0;
        if (const auto [at, fault] = std::from_chars(begin, end, whole); fault == std::errc{} && at == end)
            return whole;
        if (const auto [at, fault] = std::from_chars(begin, end, number); fault != std::errc{} || at != end)
            return otherwise;
    } else {
        return otherwise;
    }
    return std::fabs(number) < 9e18 ? Value(int64_t(number)) : otherwise;
}

Value float_filter(Work& work, const Value& value, const Arguments& given) {
    const List parts = bound(work, given, {"default"}, "float");
    if (value.number()) return *value.number();
    if (value.text() != nullptr) {
        const std::string text = stripped(work, *value.text(), {}, true, true);
        double number = 0;
        const auto [at, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (fault == std::errc{} && at == text.data() + text.size()) return number;
    }
    return parts[0].is_undefined() ? Value(0.0) : parts[0];
}

Value round_filter(Work& work, const Value& value, const Arguments& given) {
    const List parts = bound(work, given, {"precision", "method"}, "round");
    if (!value.number()) work.fail("round expects a number, found " + std::string(value.type_name()));
    const int64_t digits = parts[0].is_undefined() ? 0 : expect_integer(work, parts[0], "round");
    const std::string way = parts[1].is_undefined() ? "common" : expect_text(work, parts[1], "round");
    if (digits < 0 || digits > 15) work.fail("round takes 0 to 15 digits, found " + std::to_string(digits));
    if (value.integer() && way == "common") return *value.integer();
    const double scale = std::pow(10.0, double(digits));
    const double scaled = *value.number() * scale;
    if (way == "ceil") return std::ceil(scaled) / scale;
    if (way == "floor") return std::floor(scaled) / scale;
    if (way != "common") work.fail("round knows common, ceil and floor, found " + stillroom::quoted(way));
    return std::nearbyint(scaled) / scale; // to even, as Python's round()
}

// select, reject: by a test of the item. selectattr, rejectattr: of what stands at a path in it.
Value select(Work& work, const Value& value, const Arguments& given, bool keeps, bool by_path) {
    size_t used = 0;
    Value path;
    if (by_path) {
        if (given.positional.empty()) work.fail("selectattr and rejectattr expect the name of an attribute");
        path = given.positional[used++];
    }
    std::string test;
    Arguments rest;
    if (given.positional.size() > used) {
        test = expect_text(work, given.positional[used++], "select");
        rest.positional.assign(given.positional.begin() + std::ptrdiff_t(used), given.positional.end());
    }
    List kept;
    for (const Value& entry : items_of(work, value)) {
        const Value subject = by_path ? at_path(work, entry, path) : entry;
        if ((test.empty() ? truth(subject) : tested(work, test, subject, rest)) == keeps)
            kept.push_back(entry);
    }
    return work.list(std::move(kept));
}

Value map_filter(Work& work, const Value& value, const Arguments& given) {
    List mapped;
    const List items = items_of(work, value);
    if (given.positional.empty()) {
        const List parts = bound(work, given, {"attribute", "default"}, "map");
        if (parts[0].is_undefined()) work.fail("map expects the name of a filter, or attribute=");
        for (const Value& entry : items) {
            const Value found = at_path(work, entry, parts[0]);
            mapped.push_back(found.is_undefined() ? parts[1] : found);
        }
    } else {
        const std::string name = expect_text(work, given.positional[0], "map");
        Arguments rest{{given.positional.begin() + 1, given.positional.end()}, given.named};
        for (const Value& entry : items) mapped.push_back(filtered(work, name, entry, rest));
    }
    return work.list(std::move(mapped));
}

// What sorting looks at: strings without regard to case, unless told otherwise.
Value sort_key(Work& work, const Value& entry, const Value& path, bool case_sensitive) {
    const Value key = path.is_undefined() || path.is_none() ? entry : at_path(work, entry, path);
    return key.text() != nullptr && !case_sensitive ? work.text(to_lower(*key.text())) : key;
}

Value sort_filter(Work& work, const Value& value, const Arguments& given) {
    const List parts = bound(work, given, {"reverse", "case_sensitive", "attribute"}, "sort");
    std::vector<std::pair<Value, Value>> keyed;
    for (const Value& entry : items_of(work, value))
        keyed.emplace_back(sort_key(work, entry, parts[2], truth(parts[1])), entry);
    std::ranges::stable_sort(keyed, [&](const auto& a, const auto& b) {
        const int order = compare(work, a.first, b.first);
        return truth(parts[0]) ? order > 0 : order < 0;
    });
    List sorted;
    for (auto& [key, entry] : keyed) sorted.push_back(std::move(entry));
    return work.list(std::move(sorted));
}

Value unique_filter(Work& work, const Value& value, const Arguments& given) {
    const List parts = bound(work, given, {"case_sensitive", "attribute"}, "unique");
    List keys, kept;
    for (const Value& entry : items_of(work, value)) {
        Value key = sort_key(work, entry, parts[1], truth(parts[0]));
        if (std::ranges::any_of(keys, [&](const Value& known) { return equal(work, known, key); })) continue;
        keys.push_back(std::move(key));
        kept.push_back(entry);
    }
    return work.list(std::move(kept));
}

Value extreme(Work& work, const Value& value, bool largest) {
    Value best;
    for (const Value& entry : items_of(work, value)) {
        const int order = best.is_undefined() ? 1
                                              : compare(work, sort_key(work, entry, {}, false),
                                                        sort_key(work, best, {}, false));
        if (best.is_undefined() || (largest ? order > 0 : order < 0)) best = entry;
    }
    return best;
}

Value sum_filter(Work& work, const Value& value, const Arguments& given) {
    const List parts = bound(work, given, {"attribute", "start"}, "sum");
    List numbers = items_of(work, value);
    if (!parts[0].is_undefined()) {
        for (Value& entry : numbers) entry = at_path(work, entry, parts[0]);
    }
    if (!parts[1].is_undefined()) numbers.push_back(parts[1]);
    double sum = 0;
    bool whole = true;
    for (const Value& number : numbers) {
        if (!number.number()) work.fail("sum expects numbers, found " + std::string(number.type_name()));
        whole = whole && number.integer().has_value();
        sum += *number.number();
    }
    if (whole && std::fabs(sum) < 0x1p53) return int64_t(sum);
    return sum;
}

Value indent_filter(Work& work, const Value& value, const Arguments& given) {
    const List parts = bound(work, given, {"width", "first", "blank"}, "indent");
    std::string margin = "    ";
    if (parts[0].text() != nullptr) margin = *parts[0].text();
    if (parts[0].integer())
        margin = std::string(size_t(std::clamp<int64_t>(*parts[0].integer(), 0, 1000)), ' ');
    const std::string text = shown(work, value);
    std::string indented = truth(parts[1]) ? margin : "";
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find('\n', at), text.size());
        if (at > 0 && (end > at || truth(parts[2]))) indented += margin;
        indented.append(text, at, std::min(end + 1, text.size()) - at);
        at = end + 1;
        work.check_size(indented.size());
    }
    return work.text(std::move(indented));
}

Value escape_filter(Work& work, const Value& value, const Arguments&) {
    std::string escaped;
    for (const char c : shown(work, value)) {
        switch (c) {
        case '&':
            escaped += "&amp;";
            break;
        case '<':
            escaped += "&lt;";
            break;
        case '>':
            escaped += "&gt;";
            break;
        case '"':
            escaped += "&#34;";
            break;
        case '\'':
            escaped += "&#39;";
            break;
        default:
            escaped += c;
        }
    }
    return work.text(std::move(escaped));
}

Value replace_filter(Work& work, const Value& value, const Arguments& given) {
    const List parts = bound(work, given, {"old", "new", "count"}, "replace");
    const int64_t count =
        parts[2].is_undefined() || parts[2].is_none() ? -1 : expect_integer(work, parts[2], "replace");
    return work.text(replaced(work, shown(work, value), shown(work, parts[0]), shown(work, parts[1]), count));
}

Value trim_filter(Work& work, const Value& value, const Arguments& given) {
    return work.text(
        stripped(work, shown(work, value), bound(work, given, {"chars"}, "trim")[0], true, true));
}

Value dictsort_filter(Work& work, const Value& value, const Arguments& given) {
    const List parts = bound(work, given, {"case_sensitive", "by", "reverse"}, "dictsort");
    const bool by_value = !parts[1].is_undefined() && expect_text(work, parts[1], "dictsort") == "value";
    Arguments order;
    order.named = {
        {"attribute", int64_t{by_value}}, {"case_sensitive", truth(parts[0])}, {"reverse", truth(parts[2])}};
    return sort_filter(work, items_filter(work, value, {}), order);
}

Value abs_filter(Work& work, const Value& value, const Arguments&) {
    if (value.is_float()) return std::fabs(*value.number());
    if (!value.integer() || *value.integer() == std::numeric_limits<int64_t>::min())
        work.fail("abs expects a number");
    return int64_t(std::abs(*value.integer()));
}

const std::map<std::string, Filter>& filters() {
    static const std::map<std::string, Filter> known = {
        {"abs", abs_filter},
        {"capitalize",
         [](Work& w, const Value& v, const Arguments&) { return w.text(capitalized(shown(w, v))); }},
        {"count", length},
        {"d", default_filter},
        {"default", default_filter},
        {"dictsort", dictsort_filter},
        {"e", escape_filter},
        {"escape", escape_filter},
        {"first", [](Work& w, const Value& v, const Arguments&) { return end_filter(w, v, true); }},
        {"float", float_filter},
        {"indent", indent_filter},
        {"int", int_filter},
        {"items", items_filter},
        {"join", join_filter},
        {"last", [](Work& w, const Value& v, const Arguments&) { return end_filter(w, v, false); }},
        {"length", length},
        {"list", [](Work& w, const Value& v, const Arguments&) { return w.list(items_of(w, v)); }},
        {"lower", [](Work& w, const Value& v, const Arguments&) { return w.text(to_lower(shown(w, v))); }},
        {"map", map_filter},
        {"max", [](Work& w, const Value& v, const Arguments&) { return extreme(w, v, true); }},
        {"min", [](Work& w, const Value& v, const Arguments&) { return extreme(w, v, false); }},
        {"reject", [](Work& w, const Value& v, const Arguments& g) { return select(w, v, g, false, false); }},
        {"rejectattr",
         [](Work& w, const Value& v, const Arguments& g) { return select(w, v, g, false, true); }},
        {"replace", replace_filter},
        {"reverse", reverse_filter},
        {"round", round_filter},
        {"safe", [](Work&, const Value& v, const Arguments&) { return v; }},
        {"select", [](Work& w, const Value& v, const Arguments& g) { return select(w, v, g, true, false); }},
        {"selectattr",
         [](Work& w, const Value& v, const Arguments& g) { return select(w, v, g, true, true); }},
        {"sort", sort_filter},
        {"string", [](Work& w, const Value& v, const Arguments&) { return w.text(shown(w, v)); }},
        {"sum", sum_filter},
        {"title", [](Work& w, const Value& v, const Arguments&) { return w.text(title_case(shown(w, v))); }},
        {"tojson", json_filter},
        {"trim", trim_filter},
        {"unique", unique_filter},
        {"upper", [](Work& w, const Value& v, const Arguments&) { return w.text(to_upper(shown(w, v))); }},
        {"wordcount",
         [](Work& w, const Value& v, const Arguments&) -> Value {
             return int64_t(split(w, shown(w, v), {}, -1, false).size());
         }},
    };
    return known;
}

} // namespace

Value filtered(Work& work, const std::string& name, const Value& value, const Arguments& arguments) {
    const auto found = filters().find(name);
    if (found == filters().end()) {
        std::vector<std::string> names;
        for (const auto& [known, filter] : filters()) names.push_back(known);
        const std::string close = nearest(name, names);
        work.fail("the filter '" + name + "' is not known" + (close.empty() ? "" : ", nearest: " + close));
    }
    work.spend(1);
    return found->second(work, value, arguments);
}

bool is_filter(const std::string& name) { return filters().contains(name); }

Value at_path(Work& work, const Value& value, const Value& path) {
    if (path.integer()) return item(work, value, path);
    const std::string& text = expect_text(work, path, "an attribute");
    Value reached = value;
    for (size_t at = 0; at <= text.size();) {
        const size_t end = std::min(text.find('.', at), text.size());
        const std::string part = text.substr(at, end - at);
        int64_t index = 0;
        const auto [last, fault] = std::from_chars(part.data(), part.data() + part.size(), index);
        const bool number = fault == std::errc{} && last == part.data() + part.size();
        reached = item(work, reached, number ? Value(index) : work.text(part));
        at = end + 1;
    }
    return reached;
}

} // namespace stillroom::text::jinja
