// SPDX-License-Identifier: GPL-3.0-or-later
// Tokens of a rollout as JSON for the clipboard: what they are, where they are from, all that was recorded.
#pragma once

#include "ui/models/token_rollout.h"

#include <QByteArray>

namespace stillroom::ui {

struct TokenSource {
    std::string run, seed;
};

/// Tokens [range.first, range.second]. Values that were not recorded are null; the text of a token whose
/// bytes are not UTF-8 by themselves is null too, and `bytes` has them in hexadecimal.
QByteArray tokens_as_json(const TokenRollout& rollout, TokenRange range, const TokenSource& source);

} // namespace stillroom::ui
