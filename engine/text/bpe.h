// SPDX-License-Identifier: GPL-3.0-or-later
// Byte-pair merging of one word: its bytes become tokens, and the neighbours with the best merge are joined
// until none is left. A linked list and a heap keep it at n log n, however long the word.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace stillroom::text {

using TokenId = int32_t;

struct Merge {
    TokenId left = 0, right = 0, joined = 0;
};

class Bpe {
public:
    /// `byte_tokens`: the token of each byte, -1 where there is none; `merges`: best first (of two equal
    /// pairs the later counts); `whole_words`: words that are taken as they are, unmerged (empty unless
    /// ignore_merges). A byte without a token becomes `unknown` (a run of them one, if `fuse_unknown`), or is
    /// left out without one.
    Bpe(std::array<TokenId, 256> byte_tokens, const std::vector<Merge>& merges,
        std::unordered_map<std::string, TokenId> whole_words, std::optional<TokenId> unknown,
        bool fuse_unknown);

    /// Appends the tokens of `word` to `ids`. Safe to call from several threads.
    void encode(std::string_view word, std::vector<TokenId>& ids) const;

private:
    struct Joined {
        int32_t rank;
        TokenId token;
    };
    // Words repeat: their tokens are remembered up to a number of words, all short.
    struct Cache {
        std::mutex mutex;
        std::unordered_map<std::string, std::vector<TokenId>> words;
    };
    static uint64_t pair(TokenId left, TokenId right) {
        return uint64_t(uint32_t(left)) << 32 | uint32_t(right);
    }
    std::vector<TokenId> merged(std::string_view word) const;

    std::array<TokenId, 256> byte_tokens_;
    std::unordered_map<uint64_t, Joined> merges_;
    std::unordered_map<std::string, TokenId> whole_words_;
    std::optional<TokenId> unknown_;
    bool fuse_unknown_;
    std::unique_ptr<Cache> cache_ = std::make_unique<Cache>();
};

} // namespace stillroom::text
