// SPDX-License-Identifier: GPL-3.0-or-later
// Inside of the tokenizer: what the readers of tokenizer files collect, and what encoding and decoding run
// on.
#pragma once

#include "text/added_tokens.h"
#include "text/bpe.h"
#include "text/pre_tokenizer.h"
#include "text/tokenizer.h"
#include "text/unicode.h"

#include <nlohmann/json.hpp>

namespace stillroom::text {

/// Special tokens by role, as tokenizer_config.json and special_tokens_map.json name them.
struct SpecialRoles {
    std::optional<std::string> bos, eos, pad, unk;
    std::vector<std::string> others; // additional_special_tokens, cls, sep, mask
};

struct KeptFile {
    std::string name, content;
};

/// A tokenizer as its files state it, before any check across them.
struct TokenizerSource {
    std::string where; // file or folder, for messages
    std::vector<std::pair<std::string, int64_t>> vocabulary;
    std::vector<std::pair<std::string, std::string>> merges; // best first
    std::vector<AddedToken> added;
    std::vector<TokenId> unused; // in the vocabulary, but said to have no meaning
    std::vector<NormalForm> normal_forms;
    std::vector<SplitStep> steps;
    bool ignore_merges = false;
    std::optional<std::string> unknown_token;
    bool fuse_unknown = false;
    std::vector<std::string> before, after; // tokens that frame a text
    std::optional<bool> add_bos;            // tokenizer_config.json; counts where there is no frame
    SpecialRoles roles;
    std::string chat_template;
    std::vector<KeptFile> files; // to be written back by save()
};

enum class TokenKind : uint8_t { Absent, Unused, Plain, Added, Special };

struct TokenizerParts {
    std::vector<std::string> tokens; // by id, as the vocabulary writes them
    std::vector<std::string> bytes;  // by id
    std::vector<TokenKind> kinds;    // by id
    std::vector<bool> in_vocabulary; // by id: a token of the model itself, which may take part in merges
    std::unordered_map<std::string, TokenId> ids;
    std::vector<Merge> merges;
    std::vector<AddedToken> added;
    std::vector<NormalForm> normal_forms;
    PreTokenizer pre_tokenizer;
    Bpe bpe;
    AddedTokenFinder in_raw_text, in_normalized_text;
    bool ignore_merges = false, fuse_unknown = false;
    std::optional<TokenId> unknown;
    std::vector<TokenId> before, after;
    std::optional<TokenId> bos, eos, pad, unk;
    SpecialRoles roles;
    std::string chat_template;
    std::vector<KeptFile> files;
};

/// Checks a source as a whole and builds what runs. Throws ErrorException.
std::shared_ptr<const TokenizerParts> assemble(TokenizerSource source);

/// Fills normal forms, steps and ignore_merges.
void apply(SplitScheme scheme, TokenizerSource& source);

/// Reads the content of a tokenizer.json into `source`. Throws ErrorException.
void read_tokenizer_json(const std::string& content, const std::string& where, TokenizerSource& source);

/// A tokenizer.json that says what `parts` do.
nlohmann::ordered_json tokenizer_json_of(const TokenizerParts& parts);

/// The tokenizer_config.json to go with it.
nlohmann::ordered_json tokenizer_config_of(const TokenizerParts& parts);

} // namespace stillroom::text
