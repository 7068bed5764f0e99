// SPDX-License-Identifier: GPL-3.0-or-later
#include "formats/check_weights.h"

#include "base/strings.h"

#include <algorithm>
#include <set>

namespace stillroom::formats {

namespace {

bool is_floating(DType dtype) {
    return dtype == DType::F64 || dtype == DType::F32 || dtype == DType::F16 || dtype == DType::BF16;
}

bool is_the_embedding(const TensorView& head, const WeightFiles& files) {
    const TensorView* embedding = files.find("model.embed_tokens.weight");
    return embedding && embedding->dtype == head.dtype && embedding->shape == head.shape &&
           std::ranges::equal(embedding->bytes, head.bytes);
}

} // namespace

Result<void> check_weights(const WeightFiles& files, const ModelConfig& config, const std::string& where) {
    std::set<std::string> known;
    for (const WeightShape& weight : weight_shapes(config)) {
        const TensorView* tensor = files.find(weight.name);
        const auto expected = to_string(std::span<const int64_t>(weight.shape));
        if (!tensor)
            return Error{"tensor " + weight.name + " is missing, shape " + expected + " is expected", where};
        if (tensor->shape != weight.shape) {
            return Error{"tensor " + weight.name + " has shape " +
                             to_string(std::span<const int64_t>(tensor->shape)) + ", " + expected +
                             " is expected",
                         where};
        }
        if (!is_floating(tensor->dtype)) {
            return Error{"tensor " + weight.name + " has type " + to_string(tensor->dtype) +
                             ", F64, F32, F16 or BF16 is expected",
                         where};
        }
        known.insert(weight.name);
    }
    for (const TensorView& tensor : files.tensors()) {
        if (known.contains(tensor.name) || tensor.name.ends_with("rotary_emb.inv_freq")) continue;
        if (tensor.name == "lm_head.weight" && config.tied) {
            if (is_the_embedding(tensor, files)) continue;
            return Error{"lm_head.weight differs from model.embed_tokens.weight, but config.json ties them "
                         "(tie_word_embeddings)",
                         where};
        }
        return Error{"tensor " + stillroom::quoted(tensor.name, 100) + " is no part of a " +
                         to_string(config.family) + " decoder",
                     where};
    }
    return {};
}

} // namespace stillroom::formats
