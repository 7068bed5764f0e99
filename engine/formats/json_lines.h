// SPDX-License-Identifier: GPL-3.0-or-later
// JSON lines: one object a line, UTF-8. A bad line is an error with its number; the lines after it can still
// be read.
#pragma once

#include "base/result.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace stillroom::formats {

/// Parses one line; `where` is "file:line" for the message. Duplicate keys, trailing text, and values that
/// are not objects are errors.
Result<nlohmann::json> parse_json_line(std::string_view line, const std::string& where);

/// All objects of a file (blank lines skipped); the first bad line is the error.
Result<std::vector<nlohmann::json>> read_json_lines(const std::filesystem::path& file);

/// Strict JSON: UTF-8, one value, no key twice in an object, at most 64 levels deep. `where` is the file for
/// messages, which add line and column.
Result<nlohmann::json> parse_json(std::string_view text, const std::string& where);

/// Strict JSON of a whole file of at most 256 MiB.
Result<nlohmann::json> read_json(const std::filesystem::path& file);

} // namespace stillroom::formats
