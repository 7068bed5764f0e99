// SPDX-License-Identifier: GPL-3.0-or-later
// Reading recipes: TOML by toml++, whose source positions give the lines of our messages.
#include "formats/recipe_keys.h"

#include "base/files.h"
#include "base/strings.h"

#include <set>
#include <toml++/toml.h>

namespace stillroom::formats {

namespace {

std::string described(const toml::node& node) {
    if (const auto* text = node.as_string()) return "the text " + stillroom::quoted(text->get());
    if (const auto* whole = node.as_integer()) return "the whole number " + std::to_string(whole->get());
    if (node.is_floating_point()) {
        std::ostringstream number;
        number << node.as_floating_point()->get();
        return "the number " + number.str();
    }
    if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
    if (node.is_table()) return "a table";
    if (node.is_array()) return "a list";
    return "a date or time";
}

/// Puts `node` into `recipe` and checks it. The type has to fit: whole numbers are numbers, one text is a
/// list of one.
Result<void> put(const Key& key, const toml::node& node, Recipe& recipe, const std::string& where) {
    const Value value = key.at(recipe);
    const auto wrong = [&] {
        return Result<void>(
            Error{key.path() + ": found " + described(node) + ", expected " + expected(key), where});
    };
    if (auto* const* text = std::get_if<std::string*>(&value)) {
        if (!node.is_string()) return wrong();
        **text = node.as_string()->get();
    } else if (auto* const* flag = std::get_if<bool*>(&value)) {
        if (!node.is_boolean()) return wrong();
        **flag = node.as_boolean()->get();
    } else if (auto* const* whole = std::get_if<int64_t*>(&value)) {
        if (!node.is_integer()) return wrong();
        **whole = node.as_integer()->get();
    } else if (auto* const* seed = std::get_if<uint64_t*>(&value)) {
        if (!node.is_integer() || node.as_integer()->get() < 0) return wrong();
        **seed = uint64_t(node.as_integer()->get());
    } else if (auto* const* real = std::get_if<double*>(&value)) {
        if (!node.is_number()) return wrong();
        **real = *node.value<double>();
    } else {
        auto& texts = *std::get<std::vector<std::string>*>(value);
        if (node.is_string()) {
            texts = {node.as_string()->get()};
        } else if (const auto* array = node.as_array()) {
            texts.clear();
            for (const toml::node& item : *array) {
                if (!item.is_string()) {
                    return Error{key.path() + ": found " + described(item) + " in the list, expected " +
                                     expected(key),
                                 where};
                }
                texts.push_back(item.as_string()->get());
            }
        } else {
            return wrong();
        }
    }
    return check_value(key, recipe, where);
}

const std::set<std::string>& sections() {
    static const std::set<std::string> names = [] {
        std::set<std::string> found;
        for (const Key& key : recipe_keys()) {
            if (!key.section.empty()) found.insert(key.section);
        }
        return found;
    }();
    return names;
}

/// Reads whole tables, collecting every fault, so that the first in the file can be the one reported.
class Reader {
public:
    Reader(Recipe& recipe, std::string where) : recipe_(recipe), where_(std::move(where)) {}

    void read(const toml::table& table, const std::string& section) {
        for (const auto& [name, node] : table) {
            const std::string path =
                section.empty() ? std::string(name.str()) : section + "." + std::string(name.str());
            const uint32_t line = name.source().begin.line;
            if (sections().contains(path)) {
                if (const toml::table* inner = node.as_table()) {
                    read(*inner, path);
                } else {
                    fault(line, path + ": found " + described(node) + ", expected a table [" + path + "]");
                }
            } else if (const Key* key = find_key(path)) {
                if (auto done = put(*key, node, recipe_, at(line)); !done)
                    faults_.emplace(line, done.error());
            } else if (node.is_table() && section.empty()) {
                const std::vector<std::string> known(sections().begin(), sections().end());
                const std::string close = nearest(path, known);
                fault(line,
                      "unknown section [" + path + "], " +
                          (close.empty() ? "known are " + join(known, ", ") : "nearest is [" + close + "]"));
            } else {
                fault(line, unknown_key(section, std::string(name.str())));
            }
        }
    }
    Result<void> first_fault() const {
        if (faults_.empty()) return {};
        return faults_.begin()->second;
    }

private:
    std::string at(uint32_t line) const { return where_ + ":" + std::to_string(line); }
    void fault(uint32_t line, const std::string& what) { faults_.emplace(line, Error{what, at(line)}); }

    Recipe& recipe_;
    std::string where_;
    std::multimap<uint32_t, Error> faults_;
};

Result<void> set(Recipe& recipe, const std::string& setting) {
    const std::string where = "--set " + setting;
    const size_t equals = setting.find('=');
    if (equals == std::string::npos) return Error{"expected section.key=value", where};
    const std::string path{trimmed(std::string_view(setting).substr(0, equals))};
    const std::string text{trimmed(std::string_view(setting).substr(equals + 1))};
    const Key* key = find_key(path);
    if (key == nullptr) {
        const size_t dot = path.rfind('.');
        const std::string section = dot == std::string::npos ? "" : path.substr(0, dot);
        if (dot != std::string::npos && sections().contains(section)) {
            return Error{unknown_key(section, path.substr(dot + 1)), where};
        }
        std::vector<std::string> known;
        for (const Key& candidate : recipe_keys()) known.push_back(candidate.path());
        const std::string close = nearest(path, known);
        return Error{"unknown key '" + path + "'" + (close.empty() ? "" : ", nearest is '" + close + "'"),
                     where};
    }
    const bool wants_text = std::holds_alternative<std::string*>(key->at(recipe));
    try {
        const toml::table parsed = toml::parse("value = " + text);
        const toml::node* node = parsed.get("value");
        // A text that happens to read as a number or a date (run.name=2026) is still meant as text.
        if (parsed.size() == 1 && (node->is_string() || !wants_text)) return put(*key, *node, recipe, where);
    } catch (const toml::parse_error&) {
        // a bare word
    }
    const toml::value<std::string> bare(text);
    return put(*key, bare, recipe, where);
}

} // namespace

Result<Recipe> parse_recipe(std::string_view toml, const std::string& where) {
    Recipe recipe;
    Reader reader(recipe, where);
    try {
        reader.read(toml::parse(toml, where), "");
    } catch (const toml::parse_error& error) {
        return Error{std::string(error.description()), where + ":" +
                                                           std::to_string(error.source().begin.line) + ":" +
                                                           std::to_string(error.source().begin.column)};
    }
    if (auto fault = reader.first_fault(); !fault) return fault.error();
    return recipe;
}

Result<Recipe> read_recipe(const std::filesystem::path& file) {
    const auto content = read_file(file);
    if (!content) return content.error();
    auto recipe = parse_recipe(*content, file.string());
    if (!recipe) return recipe;
    std::error_code ignored;
    recipe->file = std::filesystem::absolute(file, ignored);
    const auto folder = std::filesystem::weakly_canonical(recipe->file, ignored).parent_path();
    const auto shipped = std::filesystem::weakly_canonical(resources_folder() / "recipes", ignored);
    if (recipe->preset.empty() && folder == shipped) recipe->preset = file.stem().string();
    return recipe;
}

Result<Recipe> with_settings(const Recipe& recipe, const std::vector<std::string>& settings) {
    Recipe changed = recipe;
    for (const std::string& setting : settings) {
        if (auto done = set(changed, setting); !done) return done.error();
    }
    return changed;
}

} // namespace stillroom::formats
