// SPDX-License-Identifier: GPL-3.0-or-later
// One spelling for answers that differ in typesetting only: spacing, delimiters, \dfrac, \left, thousands
// marks. Two answers with the same normal form mean the same; nothing that carries meaning is dropped.
#pragma once

#include <string>
#include <string_view>

namespace stillroom::maths {

/// With texts still marked, as `\text{...}` (also for \mathrm, \textbf, \mbox and the like): what units are
/// read from. Takes off: outer $ $, \( \), \[ \], \boxed{ }, \text{ }, a final full stop.
std::string marked_form(std::string_view answer);

/// A marked form without its text marks: what is compared and shown.
std::string plain_form(std::string_view marked);

} // namespace stillroom::maths
