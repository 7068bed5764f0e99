// SPDX-License-Identifier: GPL-3.0-or-later
// The exact divergences of objectives.md section 3 on any pair of distributions, entry by entry. Internal to
// objective/.
#pragma once

#include <torch/torch.h>

namespace stillroom::objective {

enum class Direction { Reverse, Forward, Jsd };

/// A distribution by its tempered logits [N, C]; -inf entries have probability 0.
struct Distribution {
    torch::Tensor logits;    // [N, C] x
    torch::Tensor lse;       // [N, 1]
    torch::Tensor log_probs; // [N, C]
    torch::Tensor probs;     // [N, C]
    static Distribution of(torch::Tensor logits);
    /// Of logits [N, V] before temperature: entries from `real` on are not read.
    static Distribution of(const torch::Tensor& logits, int64_t real, double temperature);
};

struct Divergence {
    torch::Tensor entries; // [N, C] f_v
    torch::Tensor slope;   // [N, C] h_v = dD / d log p_v, less a multiple of p_v (which changes no gradient)
    torch::Tensor
        total; // [N, 1] sum of slope, exact where it is known: rounding must not leave a gradient at p = q
};

/// beta counts for Jsd alone, with 0 < beta < 1; its end points are the other two.
Divergence divergence(Direction direction, double beta, const Distribution& student,
                      const Distribution& teacher);

/// g = h - p sum h.
inline torch::Tensor logit_gradient(const torch::Tensor& slope, const torch::Tensor& total,
                                    const torch::Tensor& probs) {
    return slope - probs * total;
}

} // namespace stillroom::objective
