// SPDX-License-Identifier: GPL-3.0-or-later
// One rollout opened: its record, what its tokens say, and the marks that a reader looks for. Made on the
// reader's thread, never changed after.
#pragma once

#include "record/records.h"
#include "ui/models/token_prompts.h"

#include <memory>
#include <optional>

namespace stillroom::ui {

/// Of TokenRecord::flags.
inline constexpr uint8_t clamped_flag = 1, end_flag = 2, masked_flag = 4;
inline constexpr uint8_t no_overlap = 255;

struct TokenRollout {
    int64_t id = 0;
    record::RolloutRecord record; // vectors of `tokens` are empty or as long as its ids
    TokenTexts prompt, teacher_prompt, response;
    PromptComparison prompts;
    std::shared_ptr<const text::Tokenizer> tokenizer; // null: ids alone
    std::optional<size_t> think_end;                  // the token that closes the thought
    std::optional<TokenRange> answer; // where the extracted answer stands, as far as it is found

    size_t size() const { return response.size(); }
};
using TokenRolloutPtr = std::shared_ptr<const TokenRollout>;

TokenRolloutPtr open_token_rollout(int64_t id, record::RolloutRecord record,
                                   std::shared_ptr<const text::Tokenizer> tokenizer);

/// Value `token`, NaN where it was not recorded.
float recorded(const std::vector<float>& values, size_t token);

} // namespace stillroom::ui
