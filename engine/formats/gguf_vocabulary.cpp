// SPDX-License-Identifier: GPL-3.0-or-later
#include "formats/gguf_vocabulary.h"

#include "base/strings.h"
#include "formats/gguf_metadata.h"

#include <algorithm>
#include <array>
#include <unordered_set>

namespace stillroom::formats {

namespace {

// The split patterns that engine/text has, by llama.cpp's names. Several names stand for one pattern.
const std::vector<std::string> known_pre_tokenizers{"gpt-2",     "default", "llama3", "llama-v3",
                                                    "llama-bpe", "qwen2",   "smollm", "deepseek-r1-qwen"};

bool is_llama3(const std::string& pre) { return pre == "llama3" || pre == "llama-v3" || pre == "llama-bpe"; }

std::vector<int32_t> token_types(MetadataReader& keys, size_t vocab) {
    const std::string key = "tokenizer.ggml.token_type";
    if (!keys.has(key)) return std::vector<int32_t>(vocab, 1);
    const auto numbers = keys.whole_numbers(key);
    if (numbers.size() != vocab) {
        keys.fail(key, "has " + std::to_string(numbers.size()) + " entries, " + std::to_string(vocab) +
                           " tokens are there");
    }
    for (const int64_t number : numbers) {
        if (number < 1 || number > 6)
            keys.fail(key, "holds " + std::to_string(number) + ", 1 to 6 is expected");
    }
    return {numbers.begin(), numbers.end()};
}

void check_merges(const MetadataReader& keys, const std::vector<std::string>& merges,
                  const std::unordered_set<std::string_view>& tokens) {
    for (const std::string& merge : merges) {
        const size_t space = merge.find(' ', 1);
        if (space == std::string::npos || space + 1 >= merge.size()) {
            keys.fail("tokenizer.ggml.merges",
                      "holds " + stillroom::quoted(merge) + ", two parts with a space between are expected");
        }
        const std::string left = merge.substr(0, space), right = merge.substr(space + 1),
                          joined = left + right;
        for (const std::string& part : {left, right, joined}) {
            if (tokens.contains(part)) continue;
            keys.fail("tokenizer.ggml.merges", "holds " + stillroom::quoted(merge) + ", but " +
                                                   stillroom::quoted(part) + " is no token");
        }
    }
}

} // namespace

Result<GgufVocabulary> vocabulary_of(const Gguf& file) try {
    MetadataReader keys(file);
    GgufVocabulary vocabulary;
    vocabulary.model = keys.text("tokenizer.ggml.model");
    if (vocabulary.model != "gpt2") {
        keys.fail("tokenizer.ggml.model",
                  "is " + stillroom::quoted(vocabulary.model) + ", gpt2 (byte-level BPE) is expected");
    }
    vocabulary.pre = keys.text("tokenizer.ggml.pre");
    if (std::ranges::find(known_pre_tokenizers, vocabulary.pre) == known_pre_tokenizers.end()) {
        keys.fail("tokenizer.ggml.pre", "is " + stillroom::quoted(vocabulary.pre) + ", one of " +
                                            join(known_pre_tokenizers, ", ") + " is expected");
    }
    vocabulary.tokens = keys.texts("tokenizer.ggml.tokens");
    const std::unordered_set<std::string_view> distinct(vocabulary.tokens.begin(), vocabulary.tokens.end());
    if (distinct.size() != vocabulary.tokens.size()) {
        keys.fail("tokenizer.ggml.tokens", "holds " + std::to_string(vocabulary.tokens.size()) +
                                               " tokens of which only " + std::to_string(distinct.size()) +
                                               " are distinct");
    }
    if (const GgufTensor* embedding = file.find("token_embd.weight");
        embedding && !embedding->shape.empty() &&
        size_t(embedding->shape.front()) != vocabulary.tokens.size()) {
        keys.fail("tokenizer.ggml.tokens", "holds " + std::to_string(vocabulary.tokens.size()) +
                                               " tokens, the embedding has " +
                                               std::to_string(embedding->shape.front()) + " rows");
    }
    vocabulary.types = token_types(keys, vocabulary.tokens.size());
    vocabulary.merges = keys.texts("tokenizer.ggml.merges");
    check_merges(keys, vocabulary.merges, distinct);

    const auto count = int64_t(vocabulary.tokens.size());
    vocabulary.bos = keys.token_id("tokenizer.ggml.bos_token_id", count);
    vocabulary.eos = keys.token_id("tokenizer.ggml.eos_token_id", count);
    vocabulary.pad = keys.token_id("tokenizer.ggml.padding_token_id", count);
    vocabulary.unk = keys.token_id("tokenizer.ggml.unknown_token_id", count);
    vocabulary.add_bos =
        keys.flag("tokenizer.ggml.add_bos_token", is_llama3(vocabulary.pre)); // as llama.cpp has it
    if (keys.flag("tokenizer.ggml.add_eos_token", false))
        keys.fail("tokenizer.ggml.add_eos_token", "is true, which is not supported");
    if (keys.has("tokenizer.chat_template")) vocabulary.chat_template = keys.text("tokenizer.chat_template");
    return vocabulary;
} catch (const ErrorException& error) {
    return error.error();
}

} // namespace stillroom::formats
