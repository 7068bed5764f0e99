// SPDX-License-Identifier: GPL-3.0-or-later
// Where the recorder writes to: the run store, and in tests something that fails on command.
#pragma once

#include "base/result.h"
#include "record/records.h"

#include <span>

namespace stillroom::record {

class RecordSink {
public:
    virtual ~RecordSink() = default;

    /// Writes all of `records` in one transaction, or none of them.
    virtual Result<void> append(std::span<const Record> records) = 0;
    /// Whether append() last failed over what the records hold, so that writing them again is pointless.
    virtual bool refused() const = 0;
    /// A sign of life: `progress` grows with whatever the run gets done within a step.
    virtual Result<void> heartbeat(int64_t progress) = 0;
};

} // namespace stillroom::record
