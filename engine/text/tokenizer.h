// SPDX-License-Identifier: GPL-3.0-or-later
// The tokenizer: byte-level byte-pair encoding as the models of this program use it, read from Hugging Face
// files or from a GGUF file's metadata, giving the ids that Hugging Face's own tokenizers give. Whatever in
// those files would change ids and is not understood is refused by name.
#pragma once

#include "base/result.h"
#include "formats/gguf_vocabulary.h"
#include "text/bpe.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stillroom::text {

using GgufVocabulary = formats::GgufVocabulary;

/// How a text is cut into words, for vocabularies that come without a tokenizer.json.
enum class SplitScheme {
    Gpt2,   // GPT-2's pattern
    Qwen2,  // normal form C, digits one by one
    Llama3, // digits by up to three; a word that is a token is taken whole
    SmolLm, // digits apart one by one, then GPT-2's pattern
};

struct TokenizerParts;

/// Cheap to copy: copies share the vocabulary. All members may be called from several threads.
class Tokenizer {
public:
    /// A folder with tokenizer.json, or vocab.json (encoder.json) and merges.txt (vocab.bpe), and
    /// tokenizer_config.json, special_tokens_map.json, added_tokens.json and chat_template.jinja where they
    /// exist; or a tokenizer.json alone.
    static Result<Tokenizer> load(const std::filesystem::path& folder_or_file);

    /// The tokenizer of a MODEL as the command line takes it: a Hugging Face or checkpoint folder, or a .gguf
    /// file.
    static Result<Tokenizer> of_model(const std::filesystem::path& model);

    /// A vocabulary and merges with the added tokens, special tokens and chat template of a
    /// tokenizer_config.json (and of the chat_template.jinja beside it). `scheme` is needed where the
    /// config's tokenizer_class names none.
    static Result<Tokenizer> from_vocab_and_merges(const std::filesystem::path& vocab,
                                                   const std::filesystem::path& merges,
                                                   const std::filesystem::path& tokenizer_config,
                                                   std::optional<SplitScheme> scheme = std::nullopt);

    /// Pre-tokenizers smollm, qwen2, llama-bpe, gpt-2 and default (read as gpt-2). `where` is named in
    /// errors.
    static Result<Tokenizer> from_gguf(const GgufVocabulary& vocabulary,
                                       const std::string& where = "GGUF vocabulary");

    /// The ids of `text`, without begin or end of text. With `parse_special` special tokens written in the
    /// text become their ids; else they are text like any other. Bytes that are not UTF-8 are words of their
    /// own.
    std::vector<TokenId> encode(std::string_view text, bool parse_special = true) const;

    /// encode(), with the begin-of-text token (or other frame) that the tokenizer's own files ask for. A chat
    /// template writes that token itself: its text goes through encode(). Begin of text is not doubled.
    std::vector<TokenId> encode_with_bos(std::string_view text, bool parse_special = true) const;

    /// The bytes of `ids`, joined. Ids that have no token give nothing.
    std::string decode(std::span<const TokenId> ids, bool skip_special = false) const;

    /// The bytes of one token; empty for an id that has none.
    std::string_view bytes_of(TokenId id) const;

    /// The token as the vocabulary writes it ("Ġhello").
    std::string_view token(TokenId id) const;

    /// Largest id plus one. A model may have more rows: they are padding.
    int64_t size() const;

    /// Whether `id` has a token (and not one that a GGUF file calls unused).
    bool is_known(TokenId id) const;

    std::optional<TokenId> id_of(std::string_view token) const;
    bool is_special(TokenId id) const;

    std::optional<TokenId> bos() const;
    std::optional<TokenId> eos() const;
    std::optional<TokenId> pad() const;
    std::optional<TokenId> unk() const;

    /// The special tokens as chat templates see them; nothing where the files name none.
    const std::optional<std::string>& bos_token() const;
    const std::optional<std::string>& eos_token() const;
    const std::optional<std::string>& pad_token() const;
    const std::optional<std::string>& unk_token() const;

    /// Whether encode_with_bos() puts anything before a text.
    bool adds_bos() const;

    /// The source of the chat template; empty if there is none.
    const std::string& chat_template() const;

    /// Writes the tokenizer's files into `folder`: those it was read from byte for byte, and where there was
    /// no tokenizer.json among them, one that Hugging Face loads and that encodes the same.
    Result<void> save(const std::filesystem::path& folder) const;

    /// SHA-256 over all that decides ids and bytes: equal for tokenizers that encode and decode the same.
    std::string fingerprint() const;

private:
    explicit Tokenizer(std::shared_ptr<const TokenizerParts> parts) : parts_(std::move(parts)) {}
    std::shared_ptr<const TokenizerParts> parts_;
};

/// An id that means different things in two tokenizers. A side without a token for it has no bytes.
struct TokenDifference {
    TokenId id = 0;
    std::optional<std::string> first, second; // bytes
    bool first_special = false, second_special = false;
};

/// The ids whose bytes or specialness differ, lowest first, at most `limit`. Ids that neither side knows
/// (padding) are equal, whatever the sizes; an id that only one side knows is a difference.
std::vector<TokenDifference> differences(const Tokenizer& first, const Tokenizer& second, int64_t limit);

} // namespace stillroom::text
