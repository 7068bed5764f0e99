// SPDX-License-Identifier: GPL-3.0-or-later
#include "objective/reduction.h"

#include "base/ensure.h"

namespace stillroom::objective {

std::vector<double> row_scales(const std::string& reduction, std::span<const int64_t> lengths,
                               int64_t n_global, int64_t live_sequences, int64_t longest) {
    std::vector<double> scales;
    for (const int64_t length : lengths) {
        double divisor = 0;
        if (reduction == "token_mean_global") divisor = double(n_global);
        if (reduction == "seq_mean_token_sum") divisor = double(live_sequences);
        if (reduction == "seq_mean_token_mean") divisor = double(live_sequences) * double(length);
        if (reduction == "seq_mean_token_sum_norm") divisor = double(live_sequences) * double(longest);
        ensure(divisor > 0 || length == 0, "reduction " + reduction + " has nothing to divide by");
        scales.push_back(length > 0 ? 1 / divisor : 0.0);
    }
    return scales;
}

} // namespace stillroom::objective
