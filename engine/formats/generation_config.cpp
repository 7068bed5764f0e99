// SPDX-License-Identifier: GPL-3.0-or-later
#include "formats/model_config.h"

#include "formats/json_lines.h"

#include <algorithm>

namespace stillroom::formats {

using nlohmann::json;

namespace {

bool is_token_id(const json& value) { return value.is_number_integer() && value >= 0 && value <= INT32_MAX; }

// The key's value if it is set (not null) and `accepts` holds; an error naming it if it is set otherwise.
template <typename Accepts>
const json* checked(const json& object, const char* key, const std::string& where, const char* expected,
                    Accepts accepts) {
    const auto found = object.find(key);
    if (found == object.end() || found->is_null()) return nullptr;
    if (!accepts(*found)) {
        throw ErrorException({std::string(key) + " is " +
                                  found->dump(-1, ' ', false, json::error_handler_t::replace).substr(0, 60) +
                                  ", " + expected + " is expected",
                              where});
    }
    return &*found;
}

GenerationConfig parse(json object, const std::string& where) {
    if (!object.is_object()) throw ErrorException({"a JSON object is expected", where});
    GenerationConfig config;
    if (const json* eos =
            checked(object, "eos_token_id", where, "a token id or a list of them", [](const json& value) {
                return is_token_id(value) || (value.is_array() && std::ranges::all_of(value, is_token_id));
            })) {
        config.eos_ids =
            eos->is_array() ? eos->get<std::vector<int64_t>>() : std::vector<int64_t>{eos->get<int64_t>()};
    }
    if (const json* t = checked(object, "temperature", where, "a number of at least 0",
                                [](const json& value) { return value.is_number() && value >= 0; })) {
        config.temperature = t->get<double>();
    }
    if (const json* p = checked(object, "top_p", where, "a number of 0 to 1", [](const json& value) {
            return value.is_number() && value >= 0 && value <= 1;
        })) {
        config.top_p = p->get<double>();
    }
    if (const json* k = checked(object, "top_k", where, "a whole number of at least 0", is_token_id)) {
        config.top_k = k->get<int64_t>();
    }
    config.source = std::move(object);
    return config;
}

} // namespace

Result<GenerationConfig> read_generation_config(const std::filesystem::path& folder) {
    const auto file = folder / "generation_config.json";
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored)) return GenerationConfig{};
    auto object = read_json(file);
    if (!object) return object.error();
    try {
        return parse(*std::move(object), file.string());
    } catch (const ErrorException& error) {
        return error.error();
    }
}

} // namespace stillroom::formats
