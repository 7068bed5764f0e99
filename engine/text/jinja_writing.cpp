// SPDX-License-Identifier: GPL-3.0-or-later
// Jinja values as text: as Python prints them, and as JSON.
#include "text/jinja_value.h"
#include "text/unicode.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace stillroom::text::jinja {

namespace {

// repr() of a float: shortest digits, an exponent for the very large and small.
std::string python_float(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    char buffer[40];
    const double magnitude = std::fabs(value);
    const bool plain = magnitude == 0 || (magnitude >= 1e-4 && magnitude < 1e16);
    const auto form = plain ? std::chars_format::fixed : std::chars_format::scientific;
    const auto [end, fault] = std::to_chars(buffer, buffer + sizeof buffer, value, form);
    std::string text(buffer, end);
    if (plain && text.find('.') == std::string::npos) text += ".0";
    return text;
}

void append_text(Work& work, std::string& text, std::string_view more) {
    text += more;
    work.check_size(text.size());
    work.spend(1);
}

// repr() of a str: single quotes unless it holds those and no double ones.
std::string python_literal(const std::string& text) {
    const bool single = text.find('\'') != std::string::npos, twice = text.find('"') != std::string::npos;
    const char quote = single && !twice ? '"' : '\'';
    std::string literal(1, quote);
    for (const char byte : text) {
        if (byte == quote || byte == '\\') {
            literal += {'\\', byte};
        } else if (byte == '\n') {
            literal += "\\n";
        } else if (byte == '\t') {
            literal += "\\t";
        } else if (byte == '\r') {
            literal += "\\r";
        } else if (static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f) {
            char escaped[8];
            std::snprintf(escaped, sizeof escaped, "\\x%02x", unsigned(static_cast<unsigned char>(byte)));
            literal += escaped;
        } else {
            literal += byte;
        }
    }
    return literal + quote;
}

void write_literal(Work& work, const Value& value, std::string& text) {
    if (value.text() != nullptr) {
        append_text(work, text, python_literal(*value.text()));
    } else if (value.list() != nullptr) {
        text += value.is_tuple() ? '(' : '[';
        for (size_t i = 0; i < value.list()->size(); ++i) {
            if (i > 0) text += ", ";
            write_literal(work, (*value.list())[i], text);
        }
        if (value.is_tuple() && value.list()->size() == 1) text += ',';
        append_text(work, text, value.is_tuple() ? ")" : "]");
    } else if (value.dict() != nullptr) {
        text += '{';
        bool first = true;
        for (const auto& [key, entry] : *value.dict()) {
            if (!std::exchange(first, false)) text += ", ";
            write_literal(work, key, text);
            text += ": ";
            write_literal(work, entry, text);
        }
        append_text(work, text, "}");
    } else {
        append_text(work, text, shown(work, value));
    }
}

std::string json_literal(const std::string& text) {
    std::string literal = "\"";
    for (const char byte : text) {
        switch (byte) {
        case '"':
            literal += "\\\"";
            break;
        case '\\':
            literal += "\\\\";
            break;
        case '\n':
            literal += "\\n";
            break;
        case '\r':
            literal += "\\r";
            break;
        case '\t':
            literal += "\\t";
            break;
        case '\b':
            literal += "\\b";
            break;
        case '\f':
            literal += "\\f";
            break;
        default:
            if (static_cast<unsigned char>(byte) < 0x20) {
                char escaped[8];
                std::snprintf(escaped, sizeof escaped, "\\u%04x", unsigned(static_cast<unsigned char>(byte)));
                literal += escaped;
            } else {
                literal += byte;
            }
        }
    }
    return literal + '"';
}

class JsonWriter {
public:
    JsonWriter(Work& work, int indent, const std::string& item_separator, const std::string& key_separator,
               bool sort_keys)
        : work_(work), indent_(indent), item_separator_(item_separator), key_separator_(key_separator),
          sort_keys_(sort_keys) {}

    void write(const Value& value, int level) {
        if (value.is_none()) {
            add("null");
        } else if (value.is_bool()) {
            add(truth(value) ? "true" : "false");
        } else if (value.is_float() && !std::isfinite(*value.number())) {
            add(std::isnan(*value.number()) ? "NaN" : *value.number() > 0 ? "Infinity" : "-Infinity");
        } else if (value.is_number()) {
            add(shown(work_, value));
        } else if (value.text() != nullptr) {
            add(json_literal(*value.text()));
        } else if (value.list() != nullptr) {
            const List& list = *value.list();
            write_group('[', ']', list.size(), level, [&](size_t i) { write(list[i], level + 1); });
        } else if (value.dict() != nullptr) {
            Dict entries = *value.dict();
            if (sort_keys_) {
                std::ranges::stable_sort(entries, [&](const auto& a, const auto& b) {
                    return compare(work_, a.first, b.first) < 0;
                });
            }
            write_group('{', '}', entries.size(), level, [&](size_t i) {
                const Value& key = entries[i].first;
                if (key.text() != nullptr) {
                    write(key, level);
                } else { // json.dumps makes strings of numbers, true and none
                    text_ += '"';
                    write(key, level);
                    text_ += '"';
                }
                add(key_separator_);
                write(entries[i].second, level + 1);
            });
        } else {
            work_.fail("tojson cannot write " + std::string(value.type_name()) +
                       (value.is_undefined() ? " '" + value.undefined_name() + "'" : ""));
        }
    }

    std::string take() { return std::move(text_); }

private:
    void add(std::string_view more) { append_text(work_, text_, more); }

    template <typename Entry>
    void write_group(char open, char close, size_t size, int level, Entry entry) {
        text_ += open;
        for (size_t i = 0; i < size; ++i) {
            if (i > 0) add(item_separator_);
            line(level + 1);
            entry(i);
        }
        if (size > 0) line(level);
        text_ += close;
        add("");
    }
    void line(int level) {
        if (indent_ >= 0) text_ += "\n" + std::string(size_t(indent_ * level), ' ');
    }

    Work& work_;
    std::string text_;
    int indent_;
    const std::string &item_separator_, &key_separator_;
    bool sort_keys_;
};

} // namespace

std::string shown(Work& work, const Value& value) {
    work.spend(1);
    if (value.is_undefined()) return "";
    if (value.is_none()) return "None";
    if (value.is_bool()) return truth(value) ? "True" : "False";
    if (value.is_integer()) return std::to_string(*value.integer());
    if (value.is_float()) return python_float(*value.number());
    if (value.text() != nullptr) return *value.text();
    if (value.list() != nullptr || value.dict() != nullptr) {
        std::string text;
        write_literal(work, value, text);
        return text;
    }
    if (value.names() != nullptr) return "<Namespace>";
    if (value.loop() != nullptr) return "<LoopContext>";
    return "<" + value.callable()->name + ">";
}

std::string json_of(Work& work, const Value& value, int indent, const std::string& item_separator,
                    const std::string& key_separator, bool sort_keys) {
    JsonWriter writer(work, indent, item_separator, key_separator, sort_keys);
    writer.write(value, 0);
    return writer.take();
}

} // namespace stillroom::text::jinja
