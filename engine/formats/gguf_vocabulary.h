// SPDX-License-Identifier: GPL-3.0-or-later
// The tokenizer that a GGUF file carries in its metadata, as plain lists; engine/text makes a tokenizer of
// it.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stillroom::formats {

class Gguf;

struct GgufVocabulary {
    std::string model, pre;          // tokenizer.ggml.model ("gpt2": byte-level BPE), tokenizer.ggml.pre
    std::vector<std::string> tokens; // by id, as written in the file (byte-level characters)
    std::vector<int32_t> types;      // 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte
    std::vector<std::string> merges; // "left right", best first
    std::optional<int64_t> bos, eos, pad, unk;
    bool add_bos = false;
    std::string chat_template; // empty if the file has none
};

/// Reads tokenizer.ggml.* and checks it: a known model and pre-tokenizer, lists of matching length, distinct
/// tokens, special ids inside the vocabulary, merges whose parts and result are tokens.
Result<GgufVocabulary> vocabulary_of(const Gguf& file);

} // namespace stillroom::formats
