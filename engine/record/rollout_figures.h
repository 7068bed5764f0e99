// SPDX-License-Identifier: GPL-3.0-or-later
// The figures of one rollout that the list sorts by and the top-16 policy chooses by.
#pragma once

#include "record/records.h"

namespace stillroom::record {

/// Over the rows of the loss (flag bit 2 unset) that have the value; from `means` where the run computed them
/// itself. NaN: nothing to compute them from.
struct RolloutFigures {
    double kl_mean, kl_max; // nats, exact reverse KL
    double entropy;         // nats, student
    double overlap;         // share of 16
    double gain;            // nats, log pT(y) - log pT°(y)
    double clipped;         // share of the summed KL that the clamp removed
};
RolloutFigures figures_of(const RolloutRecord& rollout);

/// Bytes that a record takes in memory, roughly: what the recorder's buffer counts.
size_t estimated_bytes(const Record& record);
size_t estimated_bytes(const TokenRecord& tokens);
size_t estimated_bytes(const Top16Record& top16);

} // namespace stillroom::record
