// SPDX-License-Identifier: GPL-3.0-or-later
// The states of a run and which may follow which: one table.
#pragma once

#include "record/records.h"

namespace stillroom::session {

using record::RunState;

/// Whether a run may go from one state to another.
bool may_follow(RunState from, RunState to);
/// finished, stopped, failed, interrupted: nothing runs any more.
bool is_final(RunState state);

} // namespace stillroom::session
