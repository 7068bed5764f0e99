// SPDX-License-Identifier: GPL-3.0-or-later
#include "formats/gguf_metadata.h"

#include "base/strings.h"

#include <cmath>

namespace stillroom::formats {

namespace {

std::optional<int64_t> whole(const GgufValue& value) {
    if (const auto* number = std::get_if<int64_t>(&value)) return *number;
    if (const auto* number = std::get_if<uint64_t>(&value); number && *number <= uint64_t(INT64_MAX))
        return int64_t(*number);
    return std::nullopt;
}

} // namespace

const GgufValue* MetadataReader::find(const std::string& key) {
    asked_.insert(key);
    const auto found = file_.metadata().find(key);
    return found == file_.metadata().end() ? nullptr : &found->second;
}

const GgufValue& MetadataReader::need(const std::string& key) {
    const GgufValue* value = find(key);
    if (!value) fail(key, "is missing");
    return *value;
}

void MetadataReader::fail(const std::string& key, const std::string& what) const {
    throw ErrorException({key + " " + what, file_.path().string()});
}

std::string MetadataReader::text(const std::string& key) {
    const auto* text = std::get_if<std::string>(&need(key));
    if (!text || !is_utf8(*text)) fail(key, "is " + shown(key) + ", a UTF-8 string is expected");
    return *text;
}

double MetadataReader::number(const std::string& key) {
    const GgufValue& value = need(key);
    if (const auto* real = std::get_if<double>(&value)) return *real;
    const auto number = whole(value);
    if (!number) fail(key, "is " + shown(key) + ", a number is expected");
    return double(*number);
}

double MetadataReader::positive(const std::string& key) {
    const double value = number(key);
    if (!(value > 0) || !std::isfinite(value))
        fail(key, "is " + shown(key) + ", a positive number is expected");
    return value;
}

int64_t MetadataReader::size(const std::string& key) {
    const auto number = whole(need(key));
    if (!number || *number < 1 || *number > INT32_MAX) {
        fail(key,
             "is " + shown(key) + ", a whole number of 1 to " + std::to_string(INT32_MAX) + " is expected");
    }
    return *number;
}

bool MetadataReader::flag(const std::string& key, bool absent) {
    const GgufValue* value = find(key);
    if (!value) return absent;
    const auto* truth = std::get_if<bool>(value);
    if (!truth) fail(key, "is " + shown(key) + ", a bool is expected");
    return *truth;
}

std::vector<std::string> MetadataReader::texts(const std::string& key) {
    const auto* array = std::get_if<GgufArray>(&need(key));
    const auto* texts = array ? std::get_if<std::vector<std::string>>(array) : nullptr;
    if (!texts) fail(key, "is " + shown(key) + ", an array of strings is expected");
    for (const std::string& text : *texts) {
        if (!is_utf8(text)) fail(key, "holds " + stillroom::quoted(text) + ", which is not UTF-8");
    }
    return *texts;
}

std::vector<int64_t> MetadataReader::whole_numbers(const std::string& key) {
    const auto* array = std::get_if<GgufArray>(&need(key));
    if (array) {
        if (const auto* numbers = std::get_if<std::vector<int64_t>>(array)) return *numbers;
        if (const auto* numbers = std::get_if<std::vector<uint64_t>>(array))
            return {numbers->begin(), numbers->end()};
    }
    fail(key, "is " + shown(key) + ", an array of whole numbers is expected");
}

std::optional<int64_t> MetadataReader::token_id(const std::string& key, int64_t vocab) {
    const GgufValue* value = find(key);
    if (!value) return std::nullopt;
    const auto id = whole(*value);
    if (!id || *id < 0 || *id >= vocab) {
        fail(key, "is " + shown(key) + ", a token id of 0 to " + std::to_string(vocab - 1) + " is expected");
    }
    return id;
}

std::vector<std::string> MetadataReader::unasked(const std::string& prefix) const {
    std::vector<std::string> keys;
    for (const auto& [key, value] : file_.metadata()) {
        if (key.starts_with(prefix) && !asked_.contains(key)) keys.push_back(key);
    }
    return keys;
}

} // namespace stillroom::formats
