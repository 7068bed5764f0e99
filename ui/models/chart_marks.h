// SPDX-License-Identifier: GPL-3.0-or-later
// What happened beside the steps, as charts mark it: markers in the strip above, hatched bands, and where
// curves are interrupted. Made of the lists that a run's store keeps.
#pragma once

#include "ui/models/decimation.h"

#include <set>

namespace stillroom::ui {

/// The lists of a run.
struct RunLists {
    const std::vector<record::CheckpointRecord>& checkpoints;
    const std::vector<record::EvaluationSummary>& evaluations;
    const std::vector<record::AlarmRecord>& alarms;
    const std::vector<record::StoredEvent>& events;
};

/// Ascending by X. Alarms stand at their last step.
std::vector<Marker> markers_of(const RunLists& lists, const SeriesStore& clocks, XAxis axis,
                               const std::set<MarkerKind>& kinds);
/// Steps that were not recorded, with the cause; on wall time also pauses.
std::vector<Band> bands_of(const RunLists& lists, const SeriesStore& clocks, XAxis axis);
/// Lost steps, and the steps at which another session went on.
Breaks breaks_of(const std::vector<record::StoredEvent>& events);

} // namespace stillroom::ui
