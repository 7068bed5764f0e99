// SPDX-License-Identifier: GPL-3.0-or-later
// Reductions of objectives.md section 7: what each row's loss is multiplied with, fixed before the first
// micro-batch.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace stillroom::objective {

/// One factor a sequence, for all of its rows. `lengths`: rows that count, by sequence; `n_global` their sum;
/// `live_sequences` those with at least one; `longest`: the response cap of seq_mean_token_sum_norm.
/// token_mean_global 1/N_global, seq_mean_token_sum 1/B_live, seq_mean_token_mean 1/(B_live L_b),
/// seq_mean_token_sum_norm 1/(B_live L_max). A sequence without rows has factor 0.
std::vector<double> row_scales(const std::string& reduction, std::span<const int64_t> lengths,
                               int64_t n_global, int64_t live_sequences, int64_t longest);

} // namespace stillroom::objective
