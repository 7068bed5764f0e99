// SPDX-License-Identifier: GPL-3.0-or-later
// Keys and values of all live tokens, in pages, and attention over them in plain ATen operations.
#pragma once

#include "model/decoder.h"
#include "rollout/schedule.h"

#include <span>
#include <torch/torch.h>
#include <vector>

namespace stillroom::rollout {

class PagedCache {
public:
    PagedCache(const formats::ModelConfig& config, const torch::TensorOptions& options, int64_t pages,
               int64_t page_tokens);

    int64_t pages() const { return keys_.size(1); }
    int64_t page_tokens() const { return keys_.size(2); }
    /// Whether this is a cache for such a model.
    bool fits(const formats::ModelConfig& config, const torch::TensorOptions& options) const;
    /// Bytes of one token's keys and values over all layers.
    int64_t bytes_per_token() const;
    static int64_t bytes_per_token(const formats::ModelConfig& config, torch::Dtype dtype);

    void copy(std::span<const PageCopy> copies);

    /// Where the rows of a decode step are: one token a row goes to `slots` [B] (page x page_tokens +
    /// offset), and sees the tokens that `mask` [B, 1, 1, S] (0 or minus infinity) lets it see of the pages
    /// `table` [B x columns].
    struct DecodeStep {
        torch::Tensor slots, table, mask;
    };
    /// Appends each row's token and attends to its row of pages: q, k, v of [B, heads, h].
    model::Attention decode_attention(DecodeStep step) const;

    /// Causal attention within the sequences of `pack`, whose keys and values are kept at `slots` [T].
    model::Attention prefill_attention(const model::Pack& pack, torch::Tensor slots) const;

private:
    void append(int64_t layer, const torch::Tensor& slots, const torch::Tensor& k,
                const torch::Tensor& v) const;

    formats::ModelConfig config_;
    torch::Tensor keys_, values_; // [L, P, page_tokens, G, h]
    struct Layer {
        torch::Tensor key_pages, value_pages; // [P, page_tokens, G, h]
        torch::Tensor key_slots, value_slots; // [P x page_tokens, G, h]
    };
    std::vector<Layer> layers_; // views
};

} // namespace stillroom::rollout
