// SPDX-License-Identifier: GPL-3.0-or-later
// What StepSums holds: sums of row columns, and the rows' values where a percentile is wanted. Internal to
// objective/.
#pragma once

#include "objective/spec.h"

#include <map>
#include <torch/torch.h>
#include <vector>

namespace stillroom::objective {

/// Columns of figures of N rows, on the CPU.
struct RowTable {
    std::vector<std::string> names; // sorted
    torch::Tensor values;           // [columns, N] fp64

    /// From columns in parts, [n] each, with one transfer from their device.
    static RowTable of(const std::map<std::string, std::vector<torch::Tensor>>& columns);
    bool has(const std::string& name) const;
    torch::Tensor column(const std::string& name) const; // [N]
};

struct StepSums::State {
    std::map<std::string, double> sums, maxima; // over rows that count
    std::map<std::string, double> weighted;     // with w and the reduction's scale
    std::vector<double> gaps, ranks;            // every row, for percentiles
    double decile_kl[10] = {}, decile_entropy[10] = {}, decile_rows[10] = {};
    double loss = 0; // sum of scale w D'
    int64_t rows = 0, nonfinite = 0;
    int64_t real_vocab = 0;
    Clamp clamp = Clamp::None;

    /// Adds a micro-batch; returns the sum of scale w D'.
    double add(const RowTable& table, const Spec& spec, int64_t real_vocab);
};

} // namespace stillroom::objective
