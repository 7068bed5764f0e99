// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/added_tokens.h"

#include "text/unicode.h"

#include <algorithm>

namespace stillroom::text {

namespace {

bool word_before(std::string_view text, size_t at) {
    if (at == 0) return false;
    size_t start = previous_start(text, at);
    return is_word(next_character(text, start));
}

bool word_at(std::string_view text, size_t at) {
    return at < text.size() && is_word(next_character(text, at));
}

size_t before_white_space(std::string_view text, size_t at) {
    while (at > 0) {
        const size_t start = previous_start(text, at);
        size_t moved = start;
        if (!is_white_space(next_character(text, moved))) break;
        at = start;
    }
    return at;
}

size_t behind_white_space(std::string_view text, size_t at) {
    while (at < text.size()) {
        size_t moved = at;
        if (!is_white_space(next_character(text, moved))) break;
        at = moved;
    }
    return at;
}

} // namespace

AddedTokenFinder::AddedTokenFinder(std::vector<AddedToken> tokens, const std::vector<std::string>& written)
    : tokens_(std::move(tokens)) {
    for (size_t i = 0; i < tokens_.size(); ++i) {
        size_t node = 0;
        for (const char byte : written[i]) {
            const auto [edge, added] = nodes_[node].next.try_emplace(uint8_t(byte), int32_t(nodes_.size()));
            node = size_t(edge->second);
            if (added) nodes_.emplace_back();
        }
        nodes_[node].token = int32_t(i);
        starts_[uint8_t(written[i].front())] = true;
    }
}

void AddedTokenFinder::cut(std::string_view text, bool parse_special,
                           const std::function<void(std::string_view)>& gap,
                           const std::function<void(TokenId)>& token) const {
    size_t covered = 0; // everything before was handed out
    for (size_t at = 0; at < text.size();) {
        if (!starts_[uint8_t(text[at])]) {
            ++at;
            continue;
        }
        const AddedToken* found = nullptr;
        size_t end = at;
        size_t node = 0;
        for (size_t i = at; i < text.size(); ++i) {
            const auto edge = nodes_[node].next.find(uint8_t(text[i]));
            if (edge == nodes_[node].next.end()) break;
            node = size_t(edge->second);
            if (nodes_[node].token >= 0) {
                found = &tokens_[size_t(nodes_[node].token)];
                end = i + 1;
            }
        }
        if (found == nullptr) {
            ++at;
            continue;
        }
        size_t begin = at;
        at = end;
        if (found->special && !parse_special) continue;
        if (found->single_word && (word_before(text, begin) || word_at(text, end))) continue;
        if (found->lstrip) begin = std::max(before_white_space(text, begin), covered);
        if (found->rstrip) end = behind_white_space(text, end);
        at = end;
        if (begin > covered) gap(text.substr(covered, begin - covered));
        token(found->id);
        covered = end;
    }
    if (covered < text.size()) gap(text.substr(covered));
}

} // namespace stillroom::text
