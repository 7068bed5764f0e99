// SPDX-License-Identifier: GPL-3.0-or-later
// Search in a rollout's tokens (ui.md 4.6): a text, /a regular expression/, id:151649, kl>1 and the like.
#pragma once

#include "ui/models/token_rollout.h"

namespace stillroom::ui {

struct SearchResult {
    std::vector<TokenRange> hits; // ascending
    QString fault;                // not empty: the search can't be understood, and why
};

/// Text is compared byte by byte, ASCII letters of either case alike; a hit may run over several tokens.
/// Conditions are on kl, gap, gain, entropy, overlap (common ids) with > or <.
SearchResult search_tokens(const TokenRollout& rollout, const QString& query);

} // namespace stillroom::ui
