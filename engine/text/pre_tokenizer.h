// SPDX-License-Identifier: GPL-3.0-or-later
// Pre-tokenizers cut a text into the words that byte-pair merges may not cross. One is a list of steps, each
// cutting the pieces of the one before, as the `pre_tokenizer` of a tokenizer.json states them.
#pragma once

#include "text/split_pattern.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace stillroom::text {

/// What becomes of the stretches that a pattern matches.
enum class SplitBehavior { Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous };
std::string_view to_string(SplitBehavior behavior);

struct SplitStep {
    enum class Kind { Pattern, Literal, Digits, ByteLevel };
    Kind kind = Kind::Pattern;
    std::string pattern; // Pattern: the regular expression; Literal: the text
    SplitBehavior behavior = SplitBehavior::Isolated;
    bool invert = false;            // Pattern, Literal: the gaps count as the matches
    bool individual_digits = false; // Digits
    bool add_prefix_space = false;  // ByteLevel: a space before a piece that has none
    bool use_regex = false;         // ByteLevel: cut by GPT-2's pattern
};

inline constexpr std::string_view gpt2_pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view qwen2_pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view llama3_pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

class PreTokenizer {
public:
    PreTokenizer() = default;
    /// Compiles the patterns of `steps`; the last one must be ByteLevel, and only the last.
    static Result<PreTokenizer> of(std::vector<SplitStep> steps, const std::string& where);

    /// Calls `word` for each word of `text` (well-formed UTF-8), from left to right.
    void for_each_word(std::string_view text, const std::function<void(std::string_view)>& word) const;

    const std::vector<SplitStep>& steps() const { return steps_; }

private:
    void cut(size_t step, std::string_view piece, const std::function<void(std::string_view)>& word) const;

    std::vector<SplitStep> steps_;
    std::vector<SplitPattern> patterns_; // one a step; unused ones are empty
};

} // namespace stillroom::text
