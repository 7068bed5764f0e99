// SPDX-License-Identifier: GPL-3.0-or-later
// From what tokenizer files state to a tokenizer that runs: ids are given their tokens, merges their ids, and
// whatever does not fit together is refused.
#include "text/byte_alphabet.h"
#include "text/tokenizer_parts.h"

#include "base/strings.h"

#include <algorithm>
#include <set>

namespace stillroom::text {

namespace {

// Far above any vocabulary; keeps a wrong id from asking for gigabytes.
constexpr int64_t largest_id = (1 << 24) - 1;

class Assembly {
public:
    explicit Assembly(TokenizerSource source) : source_(std::move(source)) {}

    std::shared_ptr<const TokenizerParts> build() {
        for (const auto& [token, id] : source_.vocabulary) place(token, id, TokenKind::Plain);
        const auto vocabulary_size = tokens_.size();
        for (const TokenId id : source_.unused) kinds_[size_t(id)] = TokenKind::Unused;
        add_added_tokens();
        mark_roles();

        std::vector<Merge> merges;
        merges.reserve(source_.merges.size());
        for (const auto& [left, right] : source_.merges) merges.push_back(merge(left, right, merges.size()));

        std::array<TokenId, 256> byte_tokens{};
        for (unsigned byte = 0; byte < 256; ++byte) {
            byte_tokens[byte] = plain_id(byte_character(uint8_t(byte))).value_or(-1);
        }
        std::optional<TokenId> unknown;
        if (source_.unknown_token) {
            unknown = id(*source_.unknown_token);
            if (!unknown)
                fail("model.unk_token " + stillroom::quoted(*source_.unknown_token) +
                     " is not in the vocabulary");
        }
        std::unordered_map<std::string, TokenId> whole_words;
        if (source_.ignore_merges) {
            for (size_t i = 0; i < vocabulary_size; ++i) {
                if (in_vocabulary_[i]) {
                    if (auto bytes = bytes_in_alphabet(tokens_[i]))
                        whole_words.emplace(std::move(*bytes), TokenId(i));
                }
            }
        }
        auto pre_tokenizer = PreTokenizer::of(source_.steps, source_.where).value();
        const std::vector<TokenId> before = frame(source_.before), after = frame(source_.after);
        std::vector<std::string> bytes = bytes_of_tokens();
        Bpe bpe(byte_tokens, merges, std::move(whole_words), unknown, source_.fuse_unknown);
        auto parts = std::make_shared<TokenizerParts>(TokenizerParts{
            .tokens = std::move(tokens_),
            .bytes = std::move(bytes),
            .kinds = std::move(kinds_),
            .in_vocabulary = std::move(in_vocabulary_),
            .ids = std::move(ids_),
            .merges = std::move(merges),
            .added = source_.added,
            .normal_forms = source_.normal_forms,
            .pre_tokenizer = std::move(pre_tokenizer),
            .bpe = std::move(bpe),
            .in_raw_text = finder(false),
            .in_normalized_text = finder(true),
            .ignore_merges = source_.ignore_merges,
            .fuse_unknown = source_.fuse_unknown,
            .unknown = unknown,
            .before = before,
            .after = after,
            .roles = source_.roles,
            .chat_template = source_.chat_template,
            .files = std::move(source_.files),
        });
        const auto find = [&](const std::optional<std::string>& token) -> std::optional<TokenId> {
            if (!token) return std::nullopt;
            const auto found = parts->ids.find(*token);
            return found == parts->ids.end() ? std::nullopt : std::optional(found->second);
        };
        parts->bos = find(source_.roles.bos);
        parts->eos = find(source_.roles.eos);
        parts->pad = find(source_.roles.pad);
        parts->unk = find(source_.roles.unk);
        if (parts->before.empty() && parts->after.empty() && source_.add_bos.value_or(false)) {
            if (!parts->bos) fail("add_bos_token is true, but there is no bos_token");
            parts->before.push_back(*parts->bos);
        }
        return parts;
    }

private:
    [[noreturn]] void fail(const std::string& what, const std::string& remedy = {}) const {
        throw ErrorException({what, source_.where, remedy});
    }

    std::optional<TokenId> id(const std::string& token) const {
        const auto found = ids_.find(token);
        return found == ids_.end() ? std::nullopt : std::optional(found->second);
    }

    // The id of a token of the model itself; added tokens take no part in merging.
    std::optional<TokenId> plain_id(const std::string& token) const {
        const auto found = id(token);
        return found && in_vocabulary_[size_t(*found)] ? found : std::nullopt;
    }

    void place(const std::string& token, int64_t id, TokenKind kind) {
        if (id < 0 || id > largest_id) {
            fail("token " + stillroom::quoted(token) + " has the id " + std::to_string(id) +
                 ", expected 0 to " + std::to_string(largest_id));
        }
        if (size_t(id) >= tokens_.size()) {
            tokens_.resize(size_t(id) + 1);
            kinds_.resize(size_t(id) + 1, TokenKind::Absent);
            in_vocabulary_.resize(size_t(id) + 1, false);
        }
        if (kinds_[size_t(id)] != TokenKind::Absent) {
            fail("id " + std::to_string(id) + " is given to " + stillroom::quoted(tokens_[size_t(id)]) +
                 " and to " + stillroom::quoted(token));
        }
        const auto [entry, added] = ids_.try_emplace(token, TokenId(id));
        if (!added) {
            fail("token " + stillroom::quoted(token) + " has two ids, " + std::to_string(entry->second) +
                 " and " + std::to_string(id));
        }
        tokens_[size_t(id)] = token;
        kinds_[size_t(id)] = kind;
        in_vocabulary_[size_t(id)] = kind == TokenKind::Plain;
    }

    void add_added_tokens() {
        for (const AddedToken& token : source_.added) {
            if (token.content.empty()) fail("the added token " + std::to_string(token.id) + " is empty");
            const auto known = id(token.content);
            if (!known || *known != token.id) place(token.content, token.id, TokenKind::Added);
            kinds_[size_t(token.id)] = token.special ? TokenKind::Special : TokenKind::Added;
        }
    }

    // A token with a role is special, even where the list of added tokens does not say so.
    void mark_roles() {
        const auto mark = [&](const std::string& role, const std::string& token, bool needed) {
            const auto known = id(token);
            if (!known) {
                if (!needed) return;
                fail(role + " " + stillroom::quoted(token) +
                         " has no id: it is neither in the vocabulary nor an added token",
                     "give it in tokenizer.json, added_tokens_decoder or added_tokens.json");
            }
            const auto same = [&](const AddedToken& added) { return added.id == *known; };
            const auto listed = std::ranges::find_if(source_.added, same);
            if (listed == source_.added.end()) {
                source_.added.push_back({.id = *known, .content = token, .special = true});
            } else {
                listed->special = true;
            }
            kinds_[size_t(*known)] = TokenKind::Special;
        };
        const SpecialRoles& roles = source_.roles;
        if (roles.bos) mark("bos_token", *roles.bos, true);
        if (roles.eos) mark("eos_token", *roles.eos, true);
        if (roles.pad) mark("pad_token", *roles.pad, true);
        if (roles.unk) mark("unk_token", *roles.unk, false); // byte-level encoding never needs it
        for (const std::string& token : roles.others) mark("the special token", token, true);
    }

    Merge merge(const std::string& left, const std::string& right, size_t rank) const {
        const auto part = [&](const std::string& token) {
            const auto found = plain_id(token);
            if (!found) {
                fail("merge " + std::to_string(rank + 1) + " (" + stillroom::quoted(left) + ", " +
                     stillroom::quoted(right) + ") needs " + stillroom::quoted(token) +
                     ", which is not in the vocabulary");
            }
            return *found;
        };
        return {part(left), part(right), part(left + right)};
    }

    std::vector<TokenId> frame(const std::vector<std::string>& tokens) const {
        std::vector<TokenId> found;
        for (const std::string& token : tokens) {
            const auto known = id(token);
            if (!known)
                fail("the post-processor's token " + stillroom::quoted(token) + " is not in the vocabulary");
            found.push_back(*known);
        }
        return found;
    }

    // Added tokens stand for their own text; the model's for bytes, where they are written in the alphabet.
    std::vector<std::string> bytes_of_tokens() const {
        std::vector<std::string> bytes(tokens_.size());
        for (size_t i = 0; i < tokens_.size(); ++i) {
            auto decoded = kinds_[i] == TokenKind::Plain ? bytes_in_alphabet(tokens_[i]) : std::nullopt;
            bytes[i] = decoded ? std::move(*decoded) : tokens_[i];
        }
        return bytes;
    }

    AddedTokenFinder finder(bool normalized_ones) const {
        std::vector<AddedToken> tokens;
        std::vector<std::string> written;
        for (const AddedToken& token : source_.added) {
            if (token.normalized != normalized_ones) continue;
            std::string text = token.content;
            if (normalized_ones) {
                for (const NormalForm form : source_.normal_forms) text = normalized(text, form);
            }
            tokens.push_back(token);
            written.push_back(std::move(text));
        }
        return {std::move(tokens), written};
    }

    TokenizerSource source_;
    std::vector<std::string> tokens_;
    std::vector<TokenKind> kinds_;
    std::vector<bool> in_vocabulary_;
    std::unordered_map<std::string, TokenId> ids_;
};

} // namespace

std::shared_ptr<const TokenizerParts> assemble(TokenizerSource source) {
    return Assembly(std::move(source)).build();
}

void apply(SplitScheme scheme, TokenizerSource& source) {
    using Kind = SplitStep::Kind;
    const auto split = [](std::string_view pattern) {
        return SplitStep{.kind = Kind::Pattern, .pattern = std::string(pattern)};
    };
    const SplitStep bytes{.kind = Kind::ByteLevel}, gpt2{.kind = Kind::ByteLevel, .use_regex = true};
    switch (scheme) {
    case SplitScheme::Gpt2:
        source.steps = {gpt2};
        break;
    case SplitScheme::Qwen2:
        source.normal_forms = {NormalForm::C};
        source.steps = {split(qwen2_pattern), bytes};
        break;
    case SplitScheme::Llama3:
        source.steps = {split(llama3_pattern), bytes};
        source.ignore_merges = true;
        break;
    case SplitScheme::SmolLm:
        source.steps = {SplitStep{.kind = Kind::Digits, .individual_digits = true}, gpt2};
        break;
    }
}

} // namespace stillroom::text
