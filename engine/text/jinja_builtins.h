// SPDX-License-Identifier: GPL-3.0-or-later
// Filters, tests and global functions by name.
#pragma once

#include "text/jinja_value.h"

#include <string>

namespace stillroom::text::jinja {

/// `value | name(arguments)`. Fails for a name that is not known, and names the nearest.
Value filtered(Work& work, const std::string& name, const Value& value, const Arguments& arguments);

/// `value is name(arguments)`
bool tested(Work& work, const std::string& name, const Value& value, const Arguments& arguments);

/// A global function or undefined.
Value global(Work& work, const std::string& name);

/// Whether a name of a filter or test is known.
bool is_filter(const std::string& name);
bool is_test(const std::string& name);

/// `value` by a path as selectattr and map take it: "function.name", "0".
Value at_path(Work& work, const Value& value, const Value& path);

/// Parts of `text` between `separator` (white space, if none), at most `limit` cuts (below 0: all), from the
/// right if `from_right`; as str.split does.
List split(Work& work, const std::string& text, const Value& separator, int64_t limit, bool from_right);

/// `text` with the first `count` (below 0: all) `from` replaced by `to`.
std::string replaced(Work& work, const std::string& text, const std::string& from, const std::string& to,
                     int64_t count);

/// str.strip(): `characters` (white space, if undefined or none) taken away at the chosen ends.
std::string stripped(Work& work, const std::string& text, const Value& characters, bool left, bool right);

std::string title_case(const std::string& text);
std::string capitalized(const std::string& text);

/// The text that `value` must be; fails naming `callee` else.
const std::string& expect_text(Work& work, const Value& value, const std::string& callee);
int64_t expect_integer(Work& work, const Value& value, const std::string& callee);

} // namespace stillroom::text::jinja
