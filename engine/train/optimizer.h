// SPDX-License-Identifier: GPL-3.0-or-later
// AdamW over flat arenas: fp32 masters and moments, the weights written in their own type. Decoupled decay on
// every parameter, bias-corrected, eps outside the root (Loshchilov and Hutter, arXiv:1711.05101).
#pragma once

#include "formats/recipe.h"
#include "model/model.h"

namespace stillroom::train {

struct UpdateReport {
    bool applied = false;    // false: a gradient was not finite, nothing moved
    double grad_norm = 0;    // L2, before clipping
    double clip_scale = 1;   // min(1, max_norm / (grad_norm + 1e-6))
    double update_ratio = 0; // norm of the change of the masters / norm of the masters
};

class AdamW {
public:
    /// Starts from `parameters` (an arena that the model reads). fp32 arenas are their own masters; others
    /// start from `masters`, what they held before they were rounded, or where that is undefined from
    /// themselves.
    AdamW(model::Arena parameters, const formats::OptimizerSection& options,
          const torch::Tensor& masters = {});

    /// One update by `gradients` (fp32, the same layout), which are scaled in place by the clip factor.
    UpdateReport apply(torch::Tensor& gradients, double lr);

    int64_t updates() const { return updates_; }
    torch::Tensor masters() const { return masters_; } // [P] fp32
    torch::Tensor first_moment() const { return first_; }
    torch::Tensor second_moment() const { return second_; }
    /// Takes over a saved state: copies the tensors and writes the weights from the masters.
    void restore(const torch::Tensor& masters, const torch::Tensor& first, const torch::Tensor& second,
                 int64_t updates);

private:
    model::Arena parameters_;
    formats::OptimizerSection options_;
    torch::Tensor masters_, first_, second_;
    int64_t updates_ = 0;
};

} // namespace stillroom::train
