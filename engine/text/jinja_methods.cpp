// SPDX-License-Identifier: GPL-3.0-or-later
// Methods of strings and dicts, as Python has them.
#include "text/jinja_builtins.h"
#include "text/unicode.h"

#include <algorithm>
#include <map>

namespace stillroom::text::jinja {

namespace {

using Method = Value (*)(Work&, const Value&, const Arguments&);

const std::string& self(const Value& value) { return *value.text(); }

bool all_characters(const std::string& text, bool (*has)(char32_t)) {
    const auto characters = characters_of(text);
    return !characters.empty() && std::ranges::all_of(characters, has);
}

Value strip_method(Work& work, const Value& value, const Arguments& given, const char* name, bool left,
                   bool right) {
    return work.text(stripped(work, self(value), bound(work, given, {"chars"}, name)[0], left, right));
}

Value split_method(Work& work, const Value& value, const Arguments& given, bool from_right) {
    const List parts = bound(work, given, {"sep", "maxsplit"}, "split");
    const int64_t limit = parts[1].is_undefined() ? -1 : expect_integer(work, parts[1], "split");
    return work.list(split(work, self(value), parts[0], limit, from_right));
}

// startswith and endswith take one str or a list of them.
Value affix_method(Work& work, const Value& value, const Arguments& given, const char* name, bool at_start) {
    const Value affix = bound(work, given, {"affix"}, name)[0];
    const List affixes = affix.list() != nullptr ? *affix.list() : List{affix};
    return std::ranges::any_of(affixes, [&](const Value& one) {
        const std::string& text = expect_text(work, one, name);
        return at_start ? self(value).starts_with(text) : self(value).ends_with(text);
    });
}

Value find_method(Work& work, const Value& value, const Arguments& given, const char* name, bool last) {
    const std::string needle = expect_text(work, bound(work, given, {"sub"}, name)[0], name);
    work.spend(1 + int64_t(self(value).size()) / 16);
    const size_t at = last ? self(value).rfind(needle) : self(value).find(needle);
    if (at == std::string::npos) return int64_t{-1};
    return int64_t(character_count(std::string_view(self(value)).substr(0, at)));
}

Value lines_method(Work& work, const Value& value, const Arguments& given) {
    const bool keep = truth(bound(work, given, {"keepends"}, "splitlines")[0]);
    List lines;
    const std::string& text = self(value);
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find_first_of("\r\n", at), text.size());
        size_t next = std::min(end + 1, text.size());
        if (end + 1 < text.size() && text[end] == '\r' && text[end + 1] == '\n') ++next;
        lines.push_back(work.text(text.substr(at, (keep ? next : end) - at)));
        at = next;
    }
    return work.list(std::move(lines));
}

const std::map<std::string, Method, std::less<>>& text_methods() {
    static const std::map<std::string, Method, std::less<>> methods = {
        {"strip", [](Work& w, const Value& v,
                     const Arguments& g) { return strip_method(w, v, g, "strip", true, true); }},
        {"lstrip", [](Work& w, const Value& v,
                      const Arguments& g) { return strip_method(w, v, g, "lstrip", true, false); }},
        {"rstrip", [](Work& w, const Value& v,
                      const Arguments& g) { return strip_method(w, v, g, "rstrip", false, true); }},
        {"split", [](Work& w, const Value& v, const Arguments& g) { return split_method(w, v, g, false); }},
        {"rsplit", [](Work& w, const Value& v, const Arguments& g) { return split_method(w, v, g, true); }},
        {"splitlines", lines_method},
        {"startswith", [](Work& w, const Value& v,
                          const Arguments& g) { return affix_method(w, v, g, "startswith", true); }},
        {"endswith", [](Work& w, const Value& v,
                        const Arguments& g) { return affix_method(w, v, g, "endswith", false); }},
        {"find",
         [](Work& w, const Value& v, const Arguments& g) { return find_method(w, v, g, "find", false); }},
        {"rfind",
         [](Work& w, const Value& v, const Arguments& g) { return find_method(w, v, g, "rfind", true); }},
        {"upper", [](Work& w, const Value& v, const Arguments&) { return w.text(to_upper(self(v))); }},
        {"lower", [](Work& w, const Value& v, const Arguments&) { return w.text(to_lower(self(v))); }},
        {"title", [](Work& w, const Value& v, const Arguments&) { return w.text(title_case(self(v))); }},
        {"capitalize",
         [](Work& w, const Value& v, const Arguments&) { return w.text(capitalized(self(v))); }},
        {"isdigit",
         [](Work&, const Value& v, const Arguments&) -> Value {
             return all_characters(self(v), is_numeric);
         }},
        {"isalpha",
         [](Work&, const Value& v, const Arguments&) -> Value { return all_characters(self(v), is_letter); }},
        {"isspace",
         [](Work&, const Value& v, const Arguments&) -> Value {
             return all_characters(self(v), is_python_space);
         }},
        {"count",
         [](Work& w, const Value& v, const Arguments& g) -> Value {
             const std::string needle = expect_text(w, bound(w, g, {"sub"}, "count")[0], "count");
             if (needle.empty()) return int64_t(character_count(self(v)) + 1);
             int64_t count = 0;
             for (size_t at = self(v).find(needle); at != std::string::npos;
                  at = self(v).find(needle, at + needle.size()))
                 ++count;
             w.spend(count + int64_t(self(v).size()) / 16);
             return count;
         }},
        {"replace",
         [](Work& w, const Value& v, const Arguments& g) {
             const List parts = bound(w, g, {"old", "new", "count"}, "replace");
             const int64_t count = parts[2].is_undefined() ? -1 : expect_integer(w, parts[2], "replace");
             return w.text(replaced(w, self(v), expect_text(w, parts[0], "replace"),
                                    expect_text(w, parts[1], "replace"), count));
         }},
        {"join",
         [](Work& w, const Value& v, const Arguments& g) {
             std::string text;
             bool first = true;
             for (const Value& part : items_of(w, bound(w, g, {"iterable"}, "join")[0])) {
                 if (!std::exchange(first, false)) text += self(v);
                 text += expect_text(w, part, "join");
                 w.check_size(text.size());
             }
             return w.text(std::move(text));
         }},
        {"removeprefix",
         [](Work& w, const Value& v, const Arguments& g) {
             const std::string affix =
                 expect_text(w, bound(w, g, {"prefix"}, "removeprefix")[0], "removeprefix");
             return self(v).starts_with(affix) ? w.text(self(v).substr(affix.size())) : v;
         }},
        {"removesuffix",
         [](Work& w, const Value& v, const Arguments& g) {
             const std::string affix =
                 expect_text(w, bound(w, g, {"suffix"}, "removesuffix")[0], "removesuffix");
             return self(v).ends_with(affix) ? w.text(self(v).substr(0, self(v).size() - affix.size())) : v;
         }},
    };
    return methods;
}

const std::map<std::string, Method, std::less<>>& dict_methods() {
    static const std::map<std::string, Method, std::less<>> methods = {
        {"items",
         [](Work& w, const Value& v, const Arguments&) {
             List pairs;
             for (const auto& [key, value] : *v.dict()) pairs.push_back(w.tuple({key, value}));
             return w.list(std::move(pairs));
         }},
        {"keys", [](Work& w, const Value& v, const Arguments&) { return w.list(items_of(w, v)); }},
        {"values",
         [](Work& w, const Value& v, const Arguments&) {
             List values;
             for (const auto& [key, value] : *v.dict()) values.push_back(value);
             return w.list(std::move(values));
         }},
        {"get",
         [](Work& w, const Value& v, const Arguments& g) -> Value {
             const List parts = bound(w, g, {"key", "default"}, "get");
             for (const auto& [key, value] : *v.dict()) {
                 if (equal(w, key, parts[0])) return value;
             }
             return parts[1].is_undefined() ? Value(None{}) : parts[1];
         }},
    };
    return methods;
}

} // namespace

Value method(Work& work, const Value& value, const std::string& name) {
    if (value.text() == nullptr && value.dict() == nullptr) return {};
    const auto& methods = value.text() != nullptr ? text_methods() : dict_methods();
    const auto found = methods.find(name);
    if (found == methods.end()) return {};
    const auto call = [value, run = found->second](Work& at, const Arguments& given) {
        return run(at, value, given);
    };
    return work.callable("method " + name, call, value.nesting());
}

const std::string& expect_text(Work& work, const Value& value, const std::string& callee) {
    if (value.text() == nullptr)
        work.fail(callee + " expects a str, found " + std::string(value.type_name()));
    return *value.text();
}

int64_t expect_integer(Work& work, const Value& value, const std::string& callee) {
    if (!value.integer()) work.fail(callee + " expects an int, found " + std::string(value.type_name()));
    return *value.integer();
}

std::string stripped(Work& work, const std::string& text, const Value& characters, bool left, bool right) {
    const bool blanks = characters.is_undefined() || characters.is_none();
    const auto set = blanks ? std::vector<char32_t>{} : characters_of(expect_text(work, characters, "strip"));
    work.spend(1 + int64_t(text.size()) / 16);
    const auto goes = [&](char32_t character) {
        return blanks ? is_python_space(character) : std::ranges::find(set, character) != set.end();
    };
    size_t begin = 0, end = text.size();
    while (left && begin < end) {
        size_t next = begin;
        if (!goes(next_character(text, next))) break;
        begin = next;
    }
    while (right && end > begin) {
        const size_t start = previous_start(text, end);
        size_t next = start;
        if (!goes(next_character(text, next))) break;
        end = start;
    }
    return text.substr(begin, end - begin);
}

List split(Work& work, const std::string& text, const Value& separator, int64_t limit, bool from_right) {
    work.spend(1 + int64_t(text.size()) / 16);
    std::vector<std::string> parts;
    if (separator.is_undefined() || separator.is_none()) {
        // Words between white space; from the right only the place of the uncut rest differs, which templates
        // never use.
        if (from_right && limit >= 0) work.fail("rsplit with a limit needs a separator");
        for (size_t at = 0; at < text.size();) {
            size_t next = at;
            if (is_python_space(next_character(text, next))) {
                at = next;
                continue;
            }
            size_t end = at;
            if (limit >= 0 && int64_t(parts.size()) == limit) {
                end = text.size();
            } else {
                for (next = at; next < text.size(); end = next) {
                    if (is_python_space(next_character(text, next))) break;
                }
            }
            parts.push_back(text.substr(at, end - at));
            at = end;
        }
    } else {
        const std::string& cut = expect_text(work, separator, "split");
        if (cut.empty()) work.fail("split expects a separator that is not empty");
        if (from_right) {
            size_t end = text.size();
            while (limit < 0 || int64_t(parts.size()) < limit) {
                const size_t at = end < cut.size() ? std::string::npos : text.rfind(cut, end - cut.size());
                if (at == std::string::npos) break;
                parts.push_back(text.substr(at + cut.size(), end - at - cut.size()));
                end = at;
            }
            parts.push_back(text.substr(0, end));
            std::ranges::reverse(parts);
        } else {
            size_t begin = 0;
            while (limit < 0 || int64_t(parts.size()) < limit) {
                const size_t at = text.find(cut, begin);
                if (at == std::string::npos) break;
                parts.push_back(text.substr(begin, at - begin));
                begin = at + cut.size();
            }
            parts.push_back(text.substr(begin));
        }
    }
    List values;
    for (std::string& part : parts) values.push_back(work.text(std::move(part)));
    return values;
}

std::string replaced(Work& work, const std::string& text, const std::string& from, const std::string& to,
                     int64_t count) {
    std::string result;
    size_t at = 0;
    for (int64_t done = 0; count < 0 || done < count; ++done) {
        if (from.empty()) { // before every character and at the end
            result += to;
            if (at >= text.size()) break;
            const size_t begin = at;
            next_character(text, at);
            result.append(text, begin, at - begin);
        } else {
            const size_t found = text.find(from, at);
            if (found == std::string::npos) break;
            result.append(text, at, found - at);
            result += to;
            at = found + from.size();
        }
        work.spend(1);
        work.check_size(result.size());
    }
    if (at < text.size()) result.append(text, at);
    return result;
}

std::string title_case(const std::string& text) {
    std::string result;
    bool in_word = false;
    for (size_t at = 0; at < text.size();) {
        const size_t begin = at;
        const bool letter = is_letter(next_character(text, at));
        const std::string character = text.substr(begin, at - begin);
        result += !letter ? character : in_word ? to_lower(character) : to_upper(character);
        in_word = letter;
    }
    return result;
}

std::string capitalized(const std::string& text) {
    size_t at = 0;
    if (!text.empty()) next_character(text, at);
    return to_upper(text.substr(0, at)) + to_lower(text.substr(at));
}

} // namespace stillroom::text::jinja
