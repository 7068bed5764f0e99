// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/json_reading.h"

#include "base/strings.h"

#include <algorithm>

namespace stillroom::text {

using nlohmann::json;

json parsed_json(const std::string& content, const std::string& where) {
    try {
        return json::parse(content);
    } catch (const json::exception& fault) {
        const std::string message =
            fault.what(); // "[json.exception.parse_error.101] parse error at line ..."
        const size_t end_of_code = message.find("] ");
        throw ErrorException(
            {"is not JSON: " + (end_of_code == std::string::npos ? message : message.substr(end_of_code + 2)),
             where});
    }
}

const json& member(const json& object, const std::string& key, const std::string& where) {
    if (!object.is_object()) throw ErrorException({"is not an object", where});
    const auto found = object.find(key);
    if (found == object.end()) throw ErrorException({"has no " + stillroom::quoted(key), where});
    return *found;
}

std::string text_at(const json& object, const std::string& key, const std::string& where) {
    const json& value = member(object, key, where);
    if (!value.is_string())
        throw ErrorException({key + " is " + stillroom::quoted(value.dump()) + ", expected a string", where});
    return value.get<std::string>();
}

std::optional<std::string> optional_text_at(const json& object, const std::string& key,
                                            const std::string& where) {
    if (!object.contains(key) || object[key].is_null()) return std::nullopt;
    return text_at(object, key, where);
}

bool flag_at(const json& object, const std::string& key, bool otherwise, const std::string& where) {
    if (!object.contains(key) || object[key].is_null()) return otherwise;
    const json& value = object[key];
    if (!value.is_boolean()) {
        throw ErrorException(
            {key + " is " + stillroom::quoted(value.dump()) + ", expected true or false", where});
    }
    return value.get<bool>();
}

const json& list_at(const json& object, const std::string& key, const std::string& where) {
    const json& value = member(object, key, where);
    if (!value.is_array()) throw ErrorException({key + " is not a list", where});
    return value;
}

void only_keys(const json& object, std::initializer_list<const char*> known, const std::string& where) {
    if (!object.is_object()) throw ErrorException({"is not an object", where});
    for (const auto& [key, value] : object.items()) {
        if (std::ranges::find(known, key) != known.end()) continue;
        const std::vector<std::string> names(known.begin(), known.end());
        const std::string close = nearest(key, names);
        throw ErrorException({"the key " + stillroom::quoted(key) + " is not understood and may change ids",
                              where, close.empty() ? "" : "nearest known key: " + close});
    }
}

} // namespace stillroom::text
