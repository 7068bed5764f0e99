// SPDX-License-Identifier: GPL-3.0-or-later
// Reading of tokenizer files' JSON with errors that name the place. All throw ErrorException.
#pragma once

#include "text/tokenizer_parts.h"

#include <initializer_list>
#include <nlohmann/json.hpp>

namespace stillroom::text {

nlohmann::json parsed_json(const std::string& content, const std::string& where);

/// `object[key]`, which must exist.
const nlohmann::json& member(const nlohmann::json& object, const std::string& key, const std::string& where);
std::string text_at(const nlohmann::json& object, const std::string& key, const std::string& where);
/// Nothing where the key is missing or null.
std::optional<std::string> optional_text_at(const nlohmann::json& object, const std::string& key,
                                            const std::string& where);
/// `otherwise` where the key is missing or null.
bool flag_at(const nlohmann::json& object, const std::string& key, bool otherwise, const std::string& where);
const nlohmann::json& list_at(const nlohmann::json& object, const std::string& key, const std::string& where);

/// Refuses any other key by name.
void only_keys(const nlohmann::json& object, std::initializer_list<const char*> known,
               const std::string& where);

/// {"token": id, ...}
void read_vocabulary(const nlohmann::json& vocabulary, const std::string& where, TokenizerSource& source);

/// "left right"
std::pair<std::string, std::string> merge_line(const std::string& line, const std::string& where);

/// {"content": ..., "special": ..., ...}
AddedToken added_token(const nlohmann::json& object, int64_t id, const std::string& where);

} // namespace stillroom::text
