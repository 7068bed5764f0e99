// SPDX-License-Identifier: GPL-3.0-or-later
// logprobs: what a model thinks of given token ids. Probabilities are over the tokens that the tokenizer
// knows, as everywhere in training; a head's padding rows show up under --logits alone.
#include "app/cli/command.h"
#include "app/cli/commands.h"
#include "model/decoder.h"

#include <memory>
#include <string>
#include <vector>

namespace stillroom::cli {

namespace {

struct Options {
    std::string model;
    int64_t top = 0;
    bool logits = false;
    Streams streams;
    DeviceOptions device;
};

constexpr int64_t rows_at_once = 256; // bounds the memory that logits of a long text take

/// Appends a tensor's values to a JSON list: a [N] tensor's numbers, a [N, k] tensor's rows.
template <typename Number>
void append(nlohmann::json& list, const torch::Tensor& tensor) {
    const auto values = tensor.cpu().contiguous();
    const Number* value = values.const_data_ptr<Number>();
    if (tensor.dim() == 1) {
        for (int64_t i = 0; i < tensor.size(0); ++i) list.push_back(value[i]);
        return;
    }
    for (int64_t i = 0; i < tensor.size(0); ++i, value += tensor.size(1)) {
        list.push_back(std::vector<Number>(value, value + tensor.size(1)));
    }
}

nlohmann::json answer(const nlohmann::json& item, const model::Model& model, const Options& options) {
    const torch::NoGradGuard no_grad;
    const std::vector<int32_t> ids = ids_of(item, model.real_vocab()).value();
    if (int64_t(ids.size()) > model.config.context) {
        throw ErrorException({"\"ids\" holds " + std::to_string(ids.size()) +
                              " tokens, the model's context is " + std::to_string(model.config.context)});
    }
    const auto pack = model::Pack::of({&ids, 1}, model.device());
    const auto attention = model::causal_attention(pack, model.config);
    const auto hidden = model::forward(model, pack.ids, pack.positions, attention); // [T, d]

    nlohmann::json reply{{"logprobs", nlohmann::json::array()}};
    if (options.top > 0) {
        for (const char* key : {"top_ids", "top_logprobs", "entropy", "logsumexp"})
            reply[key] = nlohmann::json::array();
    }
    if (options.logits) reply["logits"] = nlohmann::json::array();
    const int64_t T = pack.tokens();
    for (int64_t first = 0; first < T; first += rows_at_once) {
        const int64_t rows = std::min(rows_at_once, T - first);
        const auto all = model::logits(hidden.narrow(0, first, rows), model.head()); // [rows, V]
        const auto real = all.narrow(1, 0, model.real_vocab()).to(torch::kFloat64);  // [rows, V_real]
        const auto log_probs = at::log_softmax(real, -1);
        const int64_t predicting = std::min(rows, T - 1 - first); // the last position has no next token here
        const auto next = pack.ids.narrow(0, first + 1, predicting).unsqueeze(1);
        append<double>(reply["logprobs"], log_probs.narrow(0, 0, predicting).gather(1, next).squeeze(1));
        if (options.top > 0) {
            const auto [best, best_ids] = log_probs.topk(std::min(options.top, model.real_vocab()), -1);
            append<int64_t>(reply["top_ids"], best_ids);
            append<double>(reply["top_logprobs"], best);
            append<double>(reply["entropy"], -at::xlogy(log_probs.exp(), log_probs.exp()).sum(-1));
            append<double>(reply["logsumexp"], real.logsumexp(-1));
        }
        if (options.logits) append<float>(reply["logits"], all);
    }
    return reply;
}

} // namespace

void add_logprobs(CLI::App& app) {
    auto options = std::make_shared<Options>();
    CLI::App* command = app.add_subcommand("logprobs", "log-probs of given token ids");
    command->add_option("MODEL", options->model, "a model folder or a .gguf file")->required();
    command
        ->add_option("--top", options->top,
                     "also the K likeliest tokens, entropy and logsumexp at every position")
        ->check(positive());
    command->add_flag("--logits", options->logits, "also every logit (small models)");
    add_stream_options(*command, options->streams);
    add_device_options(*command, options->device);
    command->footer(
        "Reads {\"ids\": [...]}; entry t of \"logprobs\" is log p(ids[t+1] given ids[0..t]), in nats.\n"
        "Example:\n  echo '{\"ids\": [1, 2, 3]}' | build/bin/stillroom-cli logprobs resources/sample/student "
        "--top 3");
    command->callback([options] {
        if (options->device.threads > 0) torch::set_num_threads(options->device.threads);
        const auto load = model::load_options(options->device.device, options->device.dtype);
        const auto model = model::load_model(options->model, load.value());
        model.value();
        exit_with(answer_lines(options->streams, [&](const nlohmann::json& item) -> Result<nlohmann::json> {
            return answer(item, *model, *options);
        }));
    });
}

} // namespace stillroom::cli
