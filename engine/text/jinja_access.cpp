// SPDX-License-Identifier: GPL-3.0-or-later
// Reaching into Jinja values: items, attributes, slices.
#include "text/jinja_value.h"
#include "text/unicode.h"

#include <algorithm>

namespace stillroom::text::jinja {

namespace {

// A position from the end counts back; nothing outside.
std::optional<size_t> position(int64_t index, size_t size) {
    if (index < 0) index += int64_t(size);
    if (index < 0 || index >= int64_t(size)) return std::nullopt;
    return size_t(index);
}

Value loop_attribute(Work& work, const Value& value, const std::string& name) {
    const Loop& loop = *value.loop();
    if (name == "index") return loop.index0 + 1;
    if (name == "index0") return loop.index0;
    if (name == "revindex") return loop.length - loop.index0;
    if (name == "revindex0") return loop.length - loop.index0 - 1;
    if (name == "first") return loop.index0 == 0;
    if (name == "last") return loop.index0 + 1 == loop.length;
    if (name == "length") return loop.length;
    if (name == "depth") return int64_t{1}; // more only in recursive loops
    if (name == "depth0") return int64_t{0};
    if (name == "previtem") return loop.previous;
    if (name == "nextitem") return loop.next;
    if (name == "cycle") {
        return work.callable("loop.cycle", [index = loop.index0](Work& at, const Arguments& arguments) {
            if (arguments.positional.empty()) at.fail("loop.cycle needs at least one value");
            return arguments.positional[size_t(index) % arguments.positional.size()];
        });
    }
    return Undefined{"loop." + name};
}

Value namespace_attribute(const Namespace& names, const std::string& name) {
    for (const auto& [key, value] : names.names) {
        if (key == name) return value;
    }
    return Undefined{name};
}

} // namespace

Value item(Work& work, const Value& value, const Value& key) {
    work.spend(1);
    if (value.is_undefined()) work.fail("'" + value.undefined_name() + "' is undefined");
    if (const Dict* dict = value.dict()) {
        work.spend(int64_t(dict->size()) / 8);
        for (const auto& [name, entry] : *dict) {
            if (equal(work, name, key)) return entry;
        }
    } else if (const List* list = value.list()) {
        if (const auto index = key.integer()) {
            const auto at = position(*index, list->size());
            return at ? (*list)[*at] : Value(Undefined{"list item " + std::to_string(*index)});
        }
    } else if (const std::string* text = value.text()) {
        if (const auto index = key.integer()) {
            const auto characters = characters_of(*text);
            work.spend(int64_t(characters.size()) / 8);
            const auto at = position(*index, characters.size());
            return at ? work.text(to_utf8({characters[*at]}))
                      : Value(Undefined{"character " + std::to_string(*index)});
        }
    } else if (value.names() != nullptr && key.text() != nullptr) {
        return namespace_attribute(*value.names(), *key.text());
    }
    if (key.text() == nullptr) return Undefined{shown(work, key)};
    if (value.loop() != nullptr) return loop_attribute(work, value, *key.text());
    Value found = method(work, value, *key.text());
    return found.is_undefined() ? Value(Undefined{*key.text()}) : found;
}

Value attribute(Work& work, const Value& value, const std::string& name) {
    if (value.is_undefined()) {
        work.fail("'" + value.undefined_name() + "' is undefined, so it has no attribute '" + name + "'");
    }
    work.spend(1);
    if (value.names() != nullptr) return namespace_attribute(*value.names(), name);
    if (value.loop() != nullptr) return loop_attribute(work, value, name);
    if (Value found = method(work, value, name); !found.is_undefined()) return found;
    if (const Dict* dict = value.dict()) {
        work.spend(int64_t(dict->size()) / 8);
        for (const auto& [key, entry] : *dict) {
            if (key.text() != nullptr && *key.text() == name) return entry;
        }
    }
    return Undefined{name};
}

Value slice(Work& work, const Value& value, const Value& begin, const Value& end, const Value& step) {
    const bool is_text = value.text() != nullptr;
    if (!is_text && value.list() == nullptr) {
        work.fail("cannot slice " + std::string(value.type_name()) + ", expected a list or str");
    }
    const auto characters = is_text ? characters_of(*value.text()) : std::vector<char32_t>{};
    const int64_t size = is_text ? int64_t(characters.size()) : int64_t(value.list()->size());
    work.spend(1 + size / 8);
    const auto number = [&](const Value& part) -> std::optional<int64_t> {
        if (part.is_undefined() || part.is_none()) return std::nullopt;
        if (!part.integer()) work.fail("a slice expects integers, found " + std::string(part.type_name()));
        return std::clamp<int64_t>(*part.integer(), -size - 1, size + 1); // farther out is the same
    };
    int64_t stride = 1;
    if (!step.is_undefined() && !step.is_none()) {
        if (!step.integer()) work.fail("a slice expects integers, found " + std::string(step.type_name()));
        stride = std::clamp<int64_t>(*step.integer(), -size - 1, size + 1);
    }
    if (stride == 0) work.fail("the step of a slice is 0");
    // The limits of a slice that runs forwards are 0 and size, of one that runs backwards size - 1 and -1.
    const int64_t lowest = stride > 0 ? 0 : -1, highest = stride > 0 ? size : size - 1;
    const auto limit = [&](const std::optional<int64_t>& given, int64_t otherwise) {
        if (!given) return otherwise;
        return std::clamp(*given < 0 ? *given + size : *given, lowest, highest);
    };
    const int64_t from = limit(number(begin), stride > 0 ? 0 : size - 1);
    const int64_t to = limit(number(end), stride > 0 ? size : -1);
    List items;
    std::vector<char32_t> kept;
    for (int64_t at = from; stride > 0 ? at < to : at > to; at += stride) {
        if (is_text) {
            kept.push_back(characters[size_t(at)]);
        } else {
            items.push_back((*value.list())[size_t(at)]);
        }
    }
    if (is_text) return work.text(to_utf8(kept));
    return value.is_tuple() ? work.tuple(std::move(items)) : work.list(std::move(items));
}

} // namespace stillroom::text::jinja
