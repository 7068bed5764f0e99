// SPDX-License-Identifier: GPL-3.0-or-later
// generate: answers to prompts, many at once. A prompt's random stream is keyed by its token ids, so that the
// same answers come out wherever it stands among the lines.
#include "app/cli/command.h"
#include "app/cli/commands.h"
#include "base/hash.h"
#include "rollout/generator.h"
#include "text/chat_template.h"

#include <memory>
#include <string>
#include <vector>

namespace stillroom::cli {

namespace {

struct Options {
    std::string model;
    int64_t samples = 1;
    rollout::SamplingPolicy policy;
    Streams streams;
    DeviceOptions device;
};

constexpr size_t items_a_block = 1024; // their answers are held until the last of them has ended

/// A model, and what turns items into prompts for it.
struct Prompter {
    const model::Model& model;
    std::optional<text::ChatTemplate> chat_template;

    Result<std::vector<int32_t>> prompt_of(const nlohmann::json& item) const;

private:
    Result<std::vector<int32_t>> encoded(const nlohmann::json& item) const;
};

Result<std::vector<int32_t>> Prompter::encoded(const nlohmann::json& item) const {
    if (item.contains("prompt") + item.contains("messages") + item.contains("ids") != 1)
        return Error{"one of \"prompt\", \"messages\" and \"ids\" is expected"};
    if (item.contains("ids")) return ids_of(item, model.real_vocab());
    if (!model.tokenizer) return Error{"the model has no tokenizer", "", "give \"ids\""};
    if (item.contains("prompt")) {
        if (!item["prompt"].is_string()) return Error{"\"prompt\" is not a string"};
        return model.tokenizer->encode_with_bos(item["prompt"].get_ref<const std::string&>());
    }
    if (!chat_template) return Error{"the model has no chat template", "", "give \"prompt\" or \"ids\""};
    const auto text = text::render(*chat_template, item["messages"], /*add_generation_prompt=*/true);
    if (!text) return text.error();
    return model.tokenizer->encode(*text);
}

Result<std::vector<int32_t>> Prompter::prompt_of(const nlohmann::json& item) const {
    auto ids = encoded(item);
    if (!ids) return ids;
    if (ids->empty()) return Error{"the prompt is empty, expected at least one token"};
    if (int64_t(ids->size()) >= model.config.context) {
        return Error{"the prompt has " + std::to_string(ids->size()) +
                     " tokens and leaves no room in the model's context of " +
                     std::to_string(model.config.context)};
    }
    return ids;
}

/// The sampler's counter of a prompt: the first 32 bits of a hash of its ids.
int64_t stream_of(const std::vector<int32_t>& ids) {
    std::string text;
    for (const int32_t id : ids) text += std::to_string(id) + " ";
    return std::stoll(sha256(text).substr(0, 8), nullptr, 16);
}

nlohmann::json as_json(const rollout::Rollout& rollout, const model::Model& model) {
    return {{"ids", rollout.ids},
            {"text", model.tokenizer
                         ? nlohmann::json(model.tokenizer->decode(rollout.ids, /*skip_special=*/true))
                         : nlohmann::json()},
            {"logprobs", rollout.logprobs},
            {"finish_reason", to_string(rollout.finish)}};
}

/// The answers to a block of items; an error in place of those that hold no prompt.
std::vector<Result<nlohmann::json>> answers(const std::vector<nlohmann::json>& items,
                                            const Prompter& prompter, rollout::Generator& generator,
                                            const Options& options) {
    std::vector<std::optional<Error>> faults;
    std::vector<rollout::Request> requests;
    for (const nlohmann::json& item : items) {
        auto ids = prompter.prompt_of(item);
        faults.push_back(ids ? std::nullopt : std::optional(ids.error()));
        if (!ids) continue;
        const int64_t stream = stream_of(*ids);
        for (int64_t sample = 0; sample < options.samples; ++sample)
            requests.push_back({*ids, 0, stream, sample, 0});
    }
    Progress progress("samples", int64_t(requests.size()), options.streams.quiet);
    const auto rollouts = generator
                              .generate(requests, options.policy, nullptr,
                                        [&](int64_t finished, int64_t tokens) {
                                            progress.advance(finished, std::to_string(tokens) + " tokens");
                                            return true;
                                        })
                              .value();
    std::vector<Result<nlohmann::json>> replies;
    auto next = rollouts.begin();
    for (const auto& fault : faults) {
        if (fault) {
            replies.emplace_back(*fault);
            continue;
        }
        nlohmann::json samples = nlohmann::json::array();
        for (int64_t sample = 0; sample < options.samples; ++sample)
            samples.push_back(as_json(*next++, prompter.model));
        replies.emplace_back(nlohmann::json{{"samples", std::move(samples)}});
    }
    return replies;
}

int generate(const Options& options) {
    if (options.device.threads > 0) torch::set_num_threads(options.device.threads);
    const auto load = model::load_options(options.device.device, options.device.dtype).value();
    const auto model = model::load_model(options.model, load).value();
    Prompter prompter{model, std::nullopt};
    if (model.tokenizer && !model.tokenizer->chat_template().empty())
        prompter.chat_template = text::ChatTemplate::of(*model.tokenizer).value();
    Options resolved = options;
    resolved.policy.eos_ids = model.eos_ids();
    resolved.policy.seed = options.device.seed;
    rollout::Generator generator(model, {});
    return answer_blocks(options.streams, items_a_block, [&](const std::vector<nlohmann::json>& items) {
        return answers(items, prompter, generator, resolved);
    });
}

} // namespace

void add_generate(CLI::App& app) {
    auto options = std::make_shared<Options>();
    rollout::SamplingPolicy& policy = options->policy;
    CLI::App* command = app.add_subcommand("generate", "answers to prompts, with their log-probs");
    command->add_option("MODEL", options->model, "a Hugging Face folder, a checkpoint, or a .gguf file")
        ->required();
    command->add_option("--samples", options->samples, "answers a prompt")
        ->check(CLI::Range(int64_t{1}, int64_t{1} << 20))
        ->capture_default_str();
    command->add_option("--max-new", policy.max_new, "tokens an answer")
        ->check(positive())
        ->capture_default_str();
    command->add_option("--temperature", policy.temperature, "0: greedy")
        ->check(not_negative())
        ->capture_default_str();
    command->add_option("--top-p", policy.top_p, "1: off")
        ->check(CLI::Range(0.0, 1.0))
        ->capture_default_str();
    command->add_option("--top-k", policy.top_k, "0: off")->check(not_negative())->capture_default_str();
    add_stream_options(*command, options->streams);
    add_device_options(*command, options->device);
    command->footer(
        "Reads {\"prompt\": s}, {\"messages\": [...]} or {\"ids\": [...]}. An answer ends at an end token of "
        "the "
        "model's generation config; \"text\" leaves special tokens out. In fp32 a prompt's answers depend on "
        "the seed alone, not on the other lines.\n"
        "Example:\n  echo '{\"messages\": [{\"role\": \"user\", \"content\": \"2+2=\"}]}' | "
        "build/bin/stillroom-cli generate resources/sample/student --samples 2 --max-new 16");
    command->callback([options] { exit_with(generate(*options)); });
}

} // namespace stillroom::cli
