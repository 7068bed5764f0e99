// SPDX-License-Identifier: GPL-3.0-or-later
#include "rollout/cache.h"

#include <cmath>

namespace stillroom::rollout {

PagedCache::PagedCache(const formats::ModelConfig& config, const torch::TensorOptions& options, int64_t pages,
                       int64_t page_tokens)
    : config_(config) {
    // Zeros: a masked key still meets weight 0, and 0 times a stray NaN would not be 0.
    const std::vector<int64_t> shape{config.layers, pages, page_tokens, config.kv_heads, config.head_size};
    keys_ = torch::zeros(shape, options);
    values_ = torch::zeros(shape, options);
    for (int64_t layer = 0; layer < config.layers; ++layer) {
        const auto keys = keys_.select(0, layer), values = values_.select(0, layer);
        layers_.push_back({keys, values, keys.flatten(0, 1), values.flatten(0, 1)});
    }
}

bool PagedCache::fits(const formats::ModelConfig& config, const torch::TensorOptions& options) const {
    return keys_.size(0) == config.layers && keys_.size(3) == config.kv_heads &&
           keys_.size(4) == config.head_size && config_.heads == config.heads &&
           keys_.scalar_type() == torch::typeMetaToScalarType(options.dtype()) &&
           keys_.device() == options.device();
}

int64_t PagedCache::bytes_per_token(const formats::ModelConfig& config, torch::Dtype dtype) {
    return 2 * config.layers * config.kv_heads * config.head_size * int64_t(torch::elementSize(dtype));
}

int64_t PagedCache::bytes_per_token() const { return bytes_per_token(config_, keys_.scalar_type()); }

void PagedCache::copy(std::span<const PageCopy> copies) {
    if (copies.empty()) return;
    std::vector<int64_t> from, to;
    for (const auto& copy : copies) {
        from.push_back(copy.from);
        to.push_back(copy.to);
    }
    // A page may be read by one copy and written by another: all are read first.
    const auto sources = torch::tensor(from, torch::kInt64).to(keys_.device());
    const auto targets = torch::tensor(to, torch::kInt64).to(keys_.device());
    keys_.index_copy_(1, targets, keys_.index_select(1, sources));
    values_.index_copy_(1, targets, values_.index_select(1, sources));
}

void PagedCache::append(int64_t layer, const torch::Tensor& slots, const torch::Tensor& k,
                        const torch::Tensor& v) const {
    auto keys = layers_[size_t(layer)].key_slots, values = layers_[size_t(layer)].value_slots;
    keys.index_copy_(0, slots, k);
    values.index_copy_(0, slots, v);
}

model::Attention PagedCache::decode_attention(DecodeStep step) const {
    const int64_t groups = config_.kv_heads, group = config_.heads / groups, size = config_.head_size;
    const int64_t rows = step.mask.size(0), seen = step.mask.size(3);
    const auto mask = step.mask.expand({rows, groups, group, seen});
    return [this, step = std::move(step), mask, rows, seen, groups, group,
            size](int64_t layer, const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v) {
        append(layer, step.slots, k, v);
        const auto gathered = [&](const torch::Tensor& pages) { // [B, G, S, h]
            return pages.index_select(0, step.table)
                .view({rows, -1, groups, size})
                .narrow(1, 0, seen)
                .transpose(1, 2);
        };
        const auto& pages = layers_[size_t(layer)];
        const auto keys = gathered(pages.key_pages), values = gathered(pages.value_pages);
        // The H/G query heads of a group are the query rows of one head: no key is repeated.
        const auto queries = q.reshape({rows, groups, group, size});
        const auto attended =
            q.is_cuda()
                // By name: the dispatcher might choose a library whose masks are slow or wrong on some
                // devices.
                ? std::get<0>(at::_scaled_dot_product_efficient_attention(queries, keys, values, mask, false))
                : at::scaled_dot_product_attention(queries, keys, values, mask);
        return attended.reshape({rows, groups * group, size});
    };
}

model::Attention PagedCache::prefill_attention(const model::Pack& pack, torch::Tensor slots) const {
    return [this, slots = std::move(slots), causal = model::causal_attention(pack, config_)](
               int64_t layer, const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v) {
        append(layer, slots, k, v);
        return causal(layer, q, k, v);
    };
}

} // namespace stillroom::rollout
