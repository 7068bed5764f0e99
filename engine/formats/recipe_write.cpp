// SPDX-License-Identifier: GPL-3.0-or-later
// Writing recipes: every key, in the table's order.
#include "formats/recipe_keys.h"

#include "base/hash.h"

#include <cstdio>

namespace stillroom::formats {

namespace {

std::string toml_string(std::string_view text) {
    std::string written = "\"";
    for (const char character : text) {
        const auto byte = static_cast<unsigned char>(character);
        if (character == '"' || character == '\\') {
            written += '\\';
            written += character;
        } else if (character == '\n') {
            written += "\\n";
        } else if (character == '\t') {
            written += "\\t";
        } else if (byte < 0x20 || byte == 0x7f) {
            char escape[8];
            std::snprintf(escape, sizeof escape, "\\u%04X", byte);
            written += escape;
        } else {
            written += character;
        }
    }
    return written + "\"";
}

std::string toml_list(const std::vector<std::string>& texts) {
    size_t length = 0;
    for (const std::string& text : texts) length += text.size() + 4;
    const bool wrapped = length > 90;
    std::string written = "[";
    for (size_t i = 0; i < texts.size(); ++i) {
        written += wrapped ? "\n    " : i > 0 ? " " : "";
        written += toml_string(texts[i]);
        if (wrapped || i + 1 < texts.size()) written += ",";
    }
    return written + (wrapped ? "\n]" : "]");
}

std::string toml_value(const Key& key, const Recipe& recipe) {
    Recipe copy = recipe;
    const Value value = key.at(copy);
    if (const auto* text = std::get_if<std::string*>(&value)) return toml_string(**text);
    if (const auto* texts = std::get_if<std::vector<std::string>*>(&value)) return toml_list(**texts);
    std::string text = shown(key, recipe);
    const bool real = std::holds_alternative<double*>(value);
    if (real && text.find_first_of(".e") == std::string::npos) text += ".0"; // else TOML reads a whole number
    return text;
}

std::string written(const Recipe& recipe, const std::function<bool(const Key&)>& wanted) {
    std::string text, section;
    for (const Key& key : recipe_keys()) {
        if (!wanted(key)) continue;
        if (key.section != section) {
            text += (text.empty() ? "[" : "\n[") + key.section + "]\n";
            section = key.section;
        }
        text += key.name + " = " + toml_value(key, recipe) + "\n";
    }
    return text;
}

} // namespace

std::string to_toml(const Recipe& recipe) {
    return written(recipe, [&](const Key& key) { return key.path() != "preset" || !recipe.preset.empty(); });
}

std::string recipe_hash(const Recipe& recipe) {
    return sha256(written(recipe, [](const Key& key) {
        return key.path() != "preset" && key.path() != "run.name" && key.section != "provenance";
    }));
}

std::map<std::string, std::string> flattened(const Recipe& recipe) {
    std::map<std::string, std::string> values;
    for (const Key& key : recipe_keys()) values[key.path()] = shown(key, recipe);
    return values;
}

} // namespace stillroom::formats
