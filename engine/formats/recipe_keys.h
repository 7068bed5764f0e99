// SPDX-License-Identifier: GPL-3.0-or-later
// The one table of a recipe's keys: name, place in the struct, allowed values. Reading, checking, writing and
// --set all walk it, in the order of recipe.h.
#pragma once

#include "formats/recipe.h"

#include <functional>
#include <limits>
#include <variant>

namespace stillroom::formats {

/// Which values a key takes, beyond its type.
struct Limits {
    double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
    bool low_excluded = false, high_excluded = false;
    std::vector<std::string> allowed; // of a text, or of each text of a list; empty: any
    bool is_path = false;             // a file or folder (see resolve_path)
    bool is_deadline = false;         // a text of deadline_at
};

using Value = std::variant<std::string*, bool*, int64_t*, uint64_t*, double*, std::vector<std::string>*>;

struct Key {
    std::string section; // "objective.clamp"; empty for keys above all sections
    std::string name;    // "kind"
    std::function<Value(Recipe&)> at;
    Limits limits;

    std::string path() const { return section.empty() ? name : section + "." + name; }
};

/// All keys, sections together, in the order of recipe.h.
const std::vector<Key>& recipe_keys();
/// The key of that path, or null.
const Key* find_key(std::string_view path);

/// "a number above 0", "one of none, is", "true or false": what belongs at `key`.
std::string expected(const Key& key);
/// Whether the value in `recipe` is within the key's limits; the error says found and expected.
Result<void> check_value(const Key& key, const Recipe& recipe, const std::string& where);
/// The value as text, without quotes: "1e-06", "true", "q, k, v".
std::string shown(const Key& key, const Recipe& recipe);

/// "unknown key 'optimizer.learning_rate', nearest is 'lr'". `section` is a known one.
std::string unknown_key(const std::string& section, const std::string& name);

} // namespace stillroom::formats
