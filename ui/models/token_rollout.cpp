// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/token_rollout.h"

#include <limits>

namespace stillroom::ui {

namespace {

std::optional<size_t> end_of_thought(const TokenTexts& texts) {
    const size_t at = texts.bytes.rfind("</think>");
    if (at == std::string::npos) return {};
    return texts.token_at(at + std::string_view("</think>").size() - 1);
}

/// The last place of the extracted answer after the thought, in a box if it stands in one.
std::optional<TokenRange> answer_range(const TokenTexts& texts, const std::string& extracted,
                                       std::optional<size_t> think_end) {
    if (extracted.empty() || texts.size() == 0) return {};
    const size_t from = think_end ? texts.offset[*think_end + 1] : 0;
    size_t at = std::string::npos;
    for (const std::string_view opening : {"\\boxed{", "\\fbox{", "#### "}) {
        const size_t found = texts.bytes.rfind(std::string(opening) + extracted);
        if (found == std::string::npos || found < from) continue;
        at = found + opening.size();
        break;
    }
    if (at == std::string::npos) at = texts.bytes.rfind(extracted);
    if (at == std::string::npos || at < from) return {};
    return TokenRange{texts.token_at(at), texts.token_at(at + extracted.size() - 1)};
}

} // namespace

TokenRolloutPtr open_token_rollout(int64_t id, record::RolloutRecord record,
                                   std::shared_ptr<const text::Tokenizer> tokenizer) {
    auto opened = std::make_shared<TokenRollout>();
    opened->id = id;
    opened->prompt = token_texts(record.prompt_ids, tokenizer.get());
    opened->teacher_prompt = record.teacher_prompt_ids.empty()
                                 ? opened->prompt
                                 : token_texts(record.teacher_prompt_ids, tokenizer.get());
    opened->prompts = compare_prompts(opened->prompt, opened->teacher_prompt, record.gold);
    opened->response = token_texts(record.tokens.ids, tokenizer.get());
    opened->think_end = end_of_thought(opened->response);
    opened->answer = answer_range(opened->response, record.extracted, opened->think_end);
    opened->tokenizer = std::move(tokenizer);
    opened->record = std::move(record);
    return opened;
}

float recorded(const std::vector<float>& values, size_t token) {
    return token < values.size() ? values[token] : std::numeric_limits<float>::quiet_NaN();
}

} // namespace stillroom::ui
