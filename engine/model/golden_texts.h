// SPDX-License-Identifier: GPL-3.0-or-later
// Short texts that are always the same: what a model says of them shows whether its weights are whole.
#pragma once

#include "model/model.h"

namespace stillroom::model {

/// Log-probs [N] fp32 on the CPU of every token of every text given those before it, over the model's first
/// `vocab` entries.
torch::Tensor golden_logprobs(const Model& model, int64_t vocab);
/// golden_nll_* of metrics.md: their mean, negated; nats per token.
double golden_nll(const Model& model, int64_t vocab);

} // namespace stillroom::model
