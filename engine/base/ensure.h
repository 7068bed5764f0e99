// SPDX-License-Identifier: GPL-3.0-or-later
// ensure(): an invariant of the engine. Its failure is a fault of the program, never of its input.
#pragma once

#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>

namespace stillroom {

class BrokenInvariant : public std::logic_error {
    using std::logic_error::logic_error;
};

/// Throws BrokenInvariant with file and line when `holds` is false. `message` states the numbers.
inline void ensure(bool holds, std::string_view message,
                   std::source_location at = std::source_location::current()) {
    if (holds) return;
    throw BrokenInvariant(std::string(at.file_name()) + ":" + std::to_string(at.line()) + ": " +
                          std::string(message));
}

} // namespace stillroom
