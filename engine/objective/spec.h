// SPDX-License-Identifier: GPL-3.0-or-later
// Which objective, with its options, checked; and the sums that a step accumulates over its micro-batches.
#pragma once

#include "base/result.h"
#include "formats/recipe.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace stillroom::objective {

/// Ids of objectives.md section 0.
enum class Kind {
    KlReverse,
    KlForward,
    Jsd,
    TopkUniformTail,
    TopkTailBucket,
    TopkRenorm,
    TopkUnnormForward,
    TopkUnnormReverse,
    TopkConstTail,
    K1Pg,
    K2Loss,
    TopkTokenPg,
    GopdPg,
    Sft,
};
std::string to_string(Kind kind);

enum class Clamp { None, PerEntry, PerToken, TrustRegion };
enum class Ratio { None, ImportanceSampling, Truncated, PpoClip };

/// Whether the loss compares with the log-probs of the batch's first update (section 5's ratios).
bool uses_old_policy(Kind kind);

struct Spec {
    Kind kind = Kind::KlReverse;
    formats::ObjectiveSection options; // every number, as the recipe states it
    Clamp clamp = Clamp::None;
    Ratio ratio = Ratio::None;
    bool needs_teacher() const { return kind != Kind::Sft; }
    bool needs_record() const; // section 4: the teacher's top-k

    /// Refuses what objectives.md section 13 refuses, each with its reason.
    static Result<Spec> of(const formats::ObjectiveSection& options);
};

/// Sums and counts of a step's rows, added over micro-batches and divided once (metrics.md section 1).
/// Doubles on the host; histograms of rows for percentiles.
class StepSums {
public:
    StepSums();
    ~StepSums();
    StepSums(StepSums&&) noexcept;
    StepSums& operator=(StepSums&&) noexcept;

    /// The metrics of metrics.md sections 2 and 3 that the head computes, by name, for N_global rows. NaN:
    /// undefined.
    std::map<std::string, double> metrics(int64_t n_global) const;
    int64_t nonfinite_rows() const;

    struct State;
    State& state() { return *state_; }

private:
    std::unique_ptr<State> state_;
};

} // namespace stillroom::objective
