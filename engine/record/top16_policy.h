// SPDX-License-Identifier: GPL-3.0-or-later
// Which rollouts of a step keep their top-16 record (ui.md 4.1).
#pragma once

#include "record/records.h"

#include <span>

namespace stillroom::record {

/// Says in `kept_because` why each rollout of one step keeps its top-16 record, and drops the record of the
/// others: the 2 with the highest mean KL, the 2 with the highest KL of one token, the shortest, the longest,
/// 1 truncated, 2 random from (seed, step) among those that no other reason keeps, and all that are pinned or
/// marked as alarmed
/// (`kept_because` "alarm" beforehand). A rollout may have several reasons, joined by ", ". Ties go to the
/// earlier. A rollout whose record was not computed gets no reason.
void choose_top16(std::span<RolloutRecord> rollouts, uint64_t seed);

} // namespace stillroom::record
