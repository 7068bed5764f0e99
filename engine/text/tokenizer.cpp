// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/tokenizer.h"

#include "text/tokenizer_parts.h"

namespace stillroom::text {

namespace {

void encode_plain(const TokenizerParts& parts, std::string_view text, std::vector<TokenId>& ids) {
    parts.pre_tokenizer.for_each_word(text, [&](std::string_view word) { parts.bpe.encode(word, ids); });
}

// `text` is well-formed UTF-8.
void encode_characters(const TokenizerParts& parts, std::string_view text, bool parse_special,
                       std::vector<TokenId>& ids) {
    const auto take = [&](TokenId id) { ids.push_back(id); };
    parts.in_raw_text.cut(
        text, parse_special,
        [&](std::string_view gap) {
            std::string changed;
            for (const NormalForm form : parts.normal_forms) {
                changed = normalized(gap, form);
                gap = changed;
            }
            parts.in_normalized_text.cut(
                gap, parse_special, [&](std::string_view plain) { encode_plain(parts, plain, ids); }, take);
        },
        take);
}

} // namespace

std::vector<TokenId> Tokenizer::encode(std::string_view text, bool parse_special) const {
    std::vector<TokenId> ids;
    for (size_t at = 0; at < text.size();) {
        size_t end = at;
        while (const size_t length = character_length(text.substr(end))) end += length;
        if (end > at) encode_characters(*parts_, text.substr(at, end - at), parse_special, ids);
        at = end;
        while (end < text.size() && character_length(text.substr(end)) == 0) ++end;
        if (end > at) parts_->bpe.encode(text.substr(at, end - at), ids);
        at = end;
    }
    return ids;
}

std::vector<TokenId> Tokenizer::encode_with_bos(std::string_view text, bool parse_special) const {
    std::vector<TokenId> ids = encode(text, parse_special);
    const auto& before = parts_->before;
    if (ids.size() < before.size() || !std::equal(before.begin(), before.end(), ids.begin())) {
        ids.insert(ids.begin(), before.begin(), before.end());
    }
    ids.insert(ids.end(), parts_->after.begin(), parts_->after.end());
    return ids;
}

std::string Tokenizer::decode(std::span<const TokenId> ids, bool skip_special) const {
    std::string text;
    for (const TokenId id : ids) {
        if (!skip_special || !is_special(id)) text += bytes_of(id);
    }
    return text;
}

std::string_view Tokenizer::bytes_of(TokenId id) const {
    return id >= 0 && id < size() ? std::string_view(parts_->bytes[size_t(id)]) : std::string_view{};
}

std::string_view Tokenizer::token(TokenId id) const {
    return id >= 0 && id < size() ? std::string_view(parts_->tokens[size_t(id)]) : std::string_view{};
}

int64_t Tokenizer::size() const { return int64_t(parts_->tokens.size()); }

bool Tokenizer::is_known(TokenId id) const {
    return id >= 0 && id < size() && parts_->kinds[size_t(id)] >= TokenKind::Plain;
}

std::optional<TokenId> Tokenizer::id_of(std::string_view token) const {
    const auto found = parts_->ids.find(std::string(token));
    return found == parts_->ids.end() ? std::nullopt : std::optional(found->second);
}

bool Tokenizer::is_special(TokenId id) const {
    return id >= 0 && id < size() && parts_->kinds[size_t(id)] == TokenKind::Special;
}

std::optional<TokenId> Tokenizer::bos() const { return parts_->bos; }
std::optional<TokenId> Tokenizer::eos() const { return parts_->eos; }
std::optional<TokenId> Tokenizer::pad() const { return parts_->pad; }
std::optional<TokenId> Tokenizer::unk() const { return parts_->unk; }
const std::optional<std::string>& Tokenizer::bos_token() const { return parts_->roles.bos; }
const std::optional<std::string>& Tokenizer::eos_token() const { return parts_->roles.eos; }
const std::optional<std::string>& Tokenizer::pad_token() const { return parts_->roles.pad; }
const std::optional<std::string>& Tokenizer::unk_token() const { return parts_->roles.unk; }
bool Tokenizer::adds_bos() const { return !parts_->before.empty(); }
const std::string& Tokenizer::chat_template() const { return parts_->chat_template; }

} // namespace stillroom::text
