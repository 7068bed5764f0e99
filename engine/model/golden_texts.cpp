// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/golden_texts.h"

#include "model/decoder.h"

namespace stillroom::model {

namespace {

// Of different kinds; what matters is that two models, or one model at two steps, read the same.
constexpr const char* texts[] = {
    "The quick brown fox jumps over the lazy dog.",
    "If 3x + 5 = 20, then x = 5, since 3 * 5 + 5 = 20.",
    "def add(a, b):\n    return a + b\n",
    "Water boils at 100 degrees Celsius at sea level.",
};

} // namespace

torch::Tensor golden_logprobs(const Model& model, int64_t vocab) {
    const torch::NoGradGuard no_grad;
    std::vector<std::vector<int32_t>> sequences;
    std::vector<int64_t> rows, next; // places in the pack whose next token is known, and that token
    int64_t begin = 0;
    for (const char* text : texts) {
        const auto ids = model.tokenizer->encode(text);
        for (size_t i = 0; i + 1 < ids.size(); ++i) {
            rows.push_back(begin + int64_t(i));
            next.push_back(ids[i + 1]);
        }
        begin += int64_t(ids.size());
        sequences.emplace_back(ids.begin(), ids.end());
    }
    const auto device = model.device();
    const auto pack = Pack::of(sequences, device);
    const auto hidden = forward(model, pack.ids, pack.positions, causal_attention(pack, model.config))
                            .index_select(0, torch::tensor(rows).to(device));
    const auto logprobs = logits(hidden, model.head()).narrow(1, 0, vocab).log_softmax(-1);
    return logprobs.gather(1, torch::tensor(next).to(device).unsqueeze(1)).squeeze(1).to(torch::kCPU);
}

double golden_nll(const Model& model, int64_t vocab) {
    return -golden_logprobs(model, vocab).mean().item<double>();
}

} // namespace stillroom::model
