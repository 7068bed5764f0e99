// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/bpe.h"

#include <queue>
#include <tuple>

namespace stillroom::text {

namespace {

constexpr size_t cached_words = 1 << 16;
constexpr size_t longest_cached_word = 64; // bytes

// A token in the list that is being merged; one that was joined to its left neighbour is no longer `alive`.
struct Node {
    TokenId token;
    int32_t previous, next;
    bool alive;
};

// A possible merge of the node at `position` with its neighbour; stale once either has changed.
struct Candidate {
    int32_t rank, position;
    TokenId left, right, joined;
    bool operator>(const Candidate& other) const {
        return std::tie(rank, position) > std::tie(other.rank, other.position);
    }
};

} // namespace

Bpe::Bpe(std::array<TokenId, 256> byte_tokens, const std::vector<Merge>& merges,
         std::unordered_map<std::string, TokenId> whole_words, std::optional<TokenId> unknown,
         bool fuse_unknown)
    : byte_tokens_(byte_tokens), whole_words_(std::move(whole_words)), unknown_(unknown),
      fuse_unknown_(fuse_unknown) {
    merges_.reserve(merges.size());
    for (size_t rank = 0; rank < merges.size(); ++rank) {
        merges_[pair(merges[rank].left, merges[rank].right)] = {int32_t(rank), merges[rank].joined};
    }
}

void Bpe::encode(std::string_view word, std::vector<TokenId>& ids) const {
    if (word.size() == 1 && byte_tokens_[uint8_t(word[0])] >= 0) {
        ids.push_back(byte_tokens_[uint8_t(word[0])]);
        return;
    }
    if (word.size() > longest_cached_word) {
        const auto tokens = merged(word);
        ids.insert(ids.end(), tokens.begin(), tokens.end());
        return;
    }
    std::string key(word);
    {
        const std::lock_guard lock(cache_->mutex);
        if (const auto found = cache_->words.find(key); found != cache_->words.end()) {
            ids.insert(ids.end(), found->second.begin(), found->second.end());
            return;
        }
    }
    auto tokens = merged(word);
    ids.insert(ids.end(), tokens.begin(), tokens.end());
    const std::lock_guard lock(cache_->mutex);
    if (cache_->words.size() < cached_words) cache_->words.emplace(std::move(key), std::move(tokens));
}

std::vector<TokenId> Bpe::merged(std::string_view word) const {
    if (!whole_words_.empty()) {
        if (const auto whole = whole_words_.find(std::string(word)); whole != whole_words_.end()) {
            return {whole->second};
        }
    }
    std::vector<Node> nodes;
    nodes.reserve(word.size());
    bool after_unknown = false;
    for (const char byte : word) {
        TokenId token = byte_tokens_[uint8_t(byte)];
        const bool is_unknown = token < 0;
        if (is_unknown) {
            if (!unknown_ || (fuse_unknown_ && after_unknown)) continue;
            token = *unknown_;
        }
        after_unknown = is_unknown;
        const auto at = int32_t(nodes.size());
        nodes.push_back({token, at - 1, at + 1, true});
    }
    if (nodes.empty()) return {};
    nodes.back().next = -1;

    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
    const auto consider = [&](int32_t left) {
        if (left < 0 || nodes[size_t(left)].next < 0) return;
        const TokenId a = nodes[size_t(left)].token, b = nodes[size_t(nodes[size_t(left)].next)].token;
        const auto found = merges_.find(pair(a, b));
        if (found != merges_.end()) candidates.push({found->second.rank, left, a, b, found->second.token});
    };
    for (int32_t i = 0; i + 1 < int32_t(nodes.size()); ++i) consider(i);
    while (!candidates.empty()) {
        const Candidate best = candidates.top();
        candidates.pop();
        Node& left = nodes[size_t(best.position)];
        if (!left.alive || left.token != best.left || left.next < 0) continue;
        Node& right = nodes[size_t(left.next)];
        if (right.token != best.right) continue;
        left.token = best.joined;
        left.next = right.next;
        right.alive = false;
        if (left.next >= 0) nodes[size_t(left.next)].previous = best.position;
        consider(left.previous);
        consider(best.position);
    }
    std::vector<TokenId> tokens;
    for (int32_t i = 0; i >= 0; i = nodes[size_t(i)].next) tokens.push_back(nodes[size_t(i)].token);
    return tokens;
}

} // namespace stillroom::text
