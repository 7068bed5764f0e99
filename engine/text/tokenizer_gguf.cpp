// SPDX-License-Identifier: GPL-3.0-or-later
// A tokenizer from the metadata of a GGUF file.
#include "formats/gguf.h"
#include "text/json_reading.h"
#include "text/tokenizer_parts.h"

#include "base/strings.h"

namespace stillroom::text {

namespace {

// tokenizer.ggml.token_type
enum class GgufTokenType : int32_t {
    Normal = 1,
    Unknown = 2,
    Control = 3,
    UserDefined = 4,
    Unused = 5,
    Byte = 6
};

SplitScheme scheme_of(const std::string& pre, const std::string& where) {
    if (pre == "smollm") return SplitScheme::SmolLm;
    if (pre == "qwen2") return SplitScheme::Qwen2;
    if (pre == "llama-bpe") return SplitScheme::Llama3;
    if (pre == "gpt-2" || pre == "default") return SplitScheme::Gpt2;
    throw ErrorException({"tokenizer.ggml.pre is " + stillroom::quoted(pre) +
                              ", expected smollm, qwen2, llama-bpe, gpt-2 or default",
                          where});
}

std::optional<std::string> token_of_role(const GgufVocabulary& vocabulary, std::optional<int64_t> id,
                                         const char* role, const std::string& where) {
    if (!id) return std::nullopt;
    if (*id < 0 || size_t(*id) >= vocabulary.tokens.size()) {
        throw ErrorException({std::string("the ") + role + " token has the id " + std::to_string(*id) +
                                  ", but there are " + std::to_string(vocabulary.tokens.size()) + " tokens",
                              where});
    }
    return vocabulary.tokens[size_t(*id)];
}

TokenizerSource source_of(const GgufVocabulary& vocabulary, const std::string& where) {
    if (vocabulary.model != "gpt2") {
        throw ErrorException(
            {"tokenizer.ggml.model is " + stillroom::quoted(vocabulary.model) + ", expected gpt2", where});
    }
    TokenizerSource source{.where = where};
    apply(scheme_of(vocabulary.pre, where), source);
    if (!vocabulary.types.empty() && vocabulary.types.size() != vocabulary.tokens.size()) {
        throw ErrorException({"tokenizer.ggml.token_type has " + std::to_string(vocabulary.types.size()) +
                                  " entries for " + std::to_string(vocabulary.tokens.size()) + " tokens",
                              where});
    }
    source.vocabulary.reserve(vocabulary.tokens.size());
    for (size_t i = 0; i < vocabulary.tokens.size(); ++i) {
        const std::string& token = vocabulary.tokens[i];
        source.vocabulary.emplace_back(token, int64_t(i));
        const auto type =
            vocabulary.types.empty() ? GgufTokenType::Normal : GgufTokenType(vocabulary.types[i]);
        switch (type) {
        case GgufTokenType::Normal:
        case GgufTokenType::Byte:
            break;
        case GgufTokenType::Unknown:
        case GgufTokenType::Control:
            source.added.push_back({.id = TokenId(i), .content = token, .special = true});
            break;
        case GgufTokenType::UserDefined:
            source.added.push_back({.id = TokenId(i), .content = token});
            break;
        case GgufTokenType::Unused:
            source.unused.push_back(TokenId(i));
            break;
        default:
            throw ErrorException({"token " + std::to_string(i) + " is of type " +
                                      std::to_string(vocabulary.types[i]) + ", expected 1 to 6",
                                  where + ": tokenizer.ggml.token_type"});
        }
    }
    source.merges.reserve(vocabulary.merges.size());
    for (size_t i = 0; i < vocabulary.merges.size(); ++i) {
        source.merges.push_back(
            merge_line(vocabulary.merges[i], where + ": tokenizer.ggml.merges[" + std::to_string(i) + "]"));
    }
    source.roles.bos = token_of_role(vocabulary, vocabulary.bos, "bos", where);
    source.roles.eos = token_of_role(vocabulary, vocabulary.eos, "eos", where);
    source.roles.pad = token_of_role(vocabulary, vocabulary.pad, "padding", where);
    source.roles.unk = token_of_role(vocabulary, vocabulary.unk, "unknown", where);
    source.add_bos = vocabulary.add_bos;
    source.chat_template = vocabulary.chat_template;
    return source;
}

} // namespace

Result<Tokenizer> Tokenizer::from_gguf(const GgufVocabulary& vocabulary, const std::string& where) {
    try {
        return Tokenizer(assemble(source_of(vocabulary, where)));
    } catch (const ErrorException& fault) {
        return fault.error();
    } catch (const std::exception& fault) {
        return Error{fault.what(), where};
    }
}

Result<Tokenizer> Tokenizer::of_model(const std::filesystem::path& model) {
    if (model.extension() != ".gguf") return load(model);
    const auto file = formats::Gguf::open(model);
    if (!file) return file.error();
    const auto vocabulary = formats::vocabulary_of(*file);
    if (!vocabulary) return vocabulary.error();
    return from_gguf(*vocabulary, model.string());
}

} // namespace stillroom::text
