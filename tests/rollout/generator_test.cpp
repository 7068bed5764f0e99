// SPDX-License-Identifier: GPL-3.0-or-later
// Whole answers: golden greedy continuations, log-probs against one pass over the sequence, and the same
// answer whatever else is in the batch and however pages are cut.
#include "rollout/generator.h"
#include "tests/model/support.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>

namespace stillroom::rollout {

namespace {

class OnEachDevice : public test::OnDevice<std::string> {
protected:
    std::string device() const override { return GetParam(); }
    model::Model golden_model(const std::string& name, torch::Dtype dtype = torch::kFloat32) const {
        return test::load(test::golden("models/" + name), device(), dtype);
    }
};

INSTANTIATE_TEST_SUITE_P(Generator, OnEachDevice, test::devices, [](const auto& info) { return info.param; });

SamplingPolicy greedy(int64_t max_new, std::vector<int64_t> eos_ids = {}) {
    SamplingPolicy policy;
    policy.temperature = 0;
    policy.max_new = max_new;
    policy.eos_ids = std::move(eos_ids);
    return policy;
}

/// The ids before the first one whose margin float32 (off by 2e-4 at most) could overturn.
std::vector<int32_t> decided(const std::vector<int32_t>& tokens, const std::vector<double>& margins,
                             double tolerance) {
    size_t count = 0;
    while (count < tokens.size() && margins.at(count) >= 2 * tolerance) ++count;
    return {tokens.begin(), tokens.begin() + int64_t(count)};
}

void expect_starts_with(const std::vector<int32_t>& found, const std::vector<int32_t>& expected,
                        const std::string& what) {
    ASSERT_GE(found.size(), expected.size()) << what;
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), found.begin()))
        << what << ": found " << testing::PrintToString(found) << ", expected "
        << testing::PrintToString(expected);
}

/// Prompts of several lengths with some samples of each, drawn at temperature 1; end tokens make answers
/// ragged.
std::vector<Request> mixed_requests() {
    std::vector<Request> requests;
    for (const int32_t length : {1, 7, 16, 33, 20}) {
        for (int64_t sample = 0; sample < 3; ++sample) {
            Request request;
            for (int32_t token = 0; token < length; ++token)
                request.prompt_ids.push_back((37 * length + 11 * token) % 290);
            request.step = 4;
            request.prompt = length;
            request.sample = sample;
            requests.push_back(std::move(request));
        }
    }
    return requests;
}

SamplingPolicy mixed_policy() {
    SamplingPolicy policy;
    policy.max_new = 40;
    for (int64_t id = 0; id < 12; ++id) policy.eos_ids.push_back(25 * id);
    return policy;
}

void expect_same(const std::vector<Rollout>& found, const std::vector<Rollout>& expected,
                 const std::string& what) {
    ASSERT_EQ(found.size(), expected.size()) << what;
    for (size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(found[i].ids, expected[i].ids) << what << ", request " << i;
        EXPECT_EQ(found[i].finish, expected[i].finish) << what << ", request " << i;
        ASSERT_EQ(found[i].logprobs.size(), expected[i].logprobs.size()) << what << ", request " << i;
        for (size_t t = 0; t < found[i].logprobs.size(); ++t)
            EXPECT_NEAR(found[i].logprobs[t], expected[i].logprobs[t], 1e-4)
                << what << ", request " << i << ", token " << t;
    }
}

std::vector<Rollout> generated(const model::Model& model, const GeneratorOptions& options,
                               const std::vector<Request>& requests, const SamplingPolicy& policy,
                               GenerationReport* report = nullptr) {
    Generator generator(model, options);
    return generator.generate(requests, policy, report).value();
}

const std::vector<std::string> golden_models{"qwen2-tied",      "qwen2-untied",       "qwen2-untied-bf16",
                                             "qwen3-tied",      "llama-smol-sharded", "llama-rope3",
                                             "llama-rope3-near"};

} // namespace

TEST_P(OnEachDevice, greedy_continuations_are_the_golden_ones) {
    for (const auto& name : golden_models) {
        const auto model = golden_model(name);
        const auto expected = test::read_json(test::golden("models/" + name + "/expected.json"));
        const auto eos_ids = expected["eos_token_ids"].get<std::vector<int64_t>>();
        EXPECT_EQ(model.eos_ids(), eos_ids) << name;
        std::vector<Request> requests;
        for (const auto& item : expected["greedy"]) {
            requests.push_back(
                {item["prompt"].get<std::vector<int32_t>>(), 0, int64_t(requests.size()), 0, 0});
        }
        const auto stopped = generated(model, {}, requests, greedy(32, eos_ids));
        const auto endless = generated(model, {}, requests, greedy(32));
        for (size_t i = 0; i < requests.size(); ++i) {
            const auto& item = expected["greedy"][i];
            const auto margins = item["margins"].get<std::vector<double>>();
            const auto what = name + ", prompt " + std::to_string(i);
            const auto tokens = item["tokens"].get<std::vector<int32_t>>();
            const auto sure = decided(tokens, margins, 2e-4);
            expect_starts_with(stopped[i].ids, sure, what);
            if (sure.size() == tokens.size()) {
                EXPECT_EQ(stopped[i].ids.size(), tokens.size()) << what;
                EXPECT_EQ(to_string(stopped[i].finish), item["finish"].get<std::string>()) << what;
            }
            EXPECT_EQ(endless[i].ids.size(), 32u) << what;
            EXPECT_EQ(endless[i].finish, Finish::Length) << what;
            expect_starts_with(
                endless[i].ids,
                decided(item["tokens_ignoring_eos"].get<std::vector<int32_t>>(), margins, 2e-4), what);
        }
    }
}

TEST_P(OnEachDevice, tiny_gguf_models_continue_as_their_golden_files_say) {
    for (const std::string name : {"tiny-llama", "tiny-qwen2", "tiny-qwen3"}) {
        const auto model = test::load(test::golden("gguf/" + name + ".gguf"), device());
        const auto expected = test::read_json(test::golden("gguf/" + name + ".expected.json"));
        const auto found = generated(
            model, {}, {{expected["prompt_ids"].get<std::vector<int32_t>>(), 0, 0, 0, 0}}, greedy(24));
        expect_starts_with(found[0].ids,
                           decided(expected["greedy_24"].get<std::vector<int32_t>>(),
                                   expected["margins"].get<std::vector<double>>(), 2e-4),
                           name);
    }
}

TEST_P(OnEachDevice, smollm2_answers_chats_as_transformers_does) {
    const char* file = std::getenv("STILLROOM_SMOLLM2_GGUF");
    if (!file) GTEST_SKIP() << "STILLROOM_SMOLLM2_GGUF does not name SmolLM2-135M-Instruct.Q4_1.gguf";
    const auto model = test::load(file, device());
    const auto expected = test::read_json(test::golden("gguf/smollm2-135m-q4_1.chat.json"));
    std::vector<Request> requests;
    for (const auto& chat : expected["chats"])
        requests.push_back({chat["ids"].get<std::vector<int32_t>>(), 0, int64_t(requests.size()), 0, 0});
    const auto found = generated(model, {}, requests, greedy(48, {expected["eos_token_id"].get<int64_t>()}));
    for (size_t i = 0; i < requests.size(); ++i) {
        const auto& chat = expected["chats"][i];
        // Logits of this model are good to 6.3e-5 in stock float32 (golden/README.md); the smallest margin is
        // 0.00146.
        const auto sure = decided(chat["tokens"].get<std::vector<int32_t>>(),
                                  chat["margins"].get<std::vector<double>>(), 2e-4);
        EXPECT_EQ(found[i].ids, sure) << "chat " << i;
        EXPECT_EQ(to_string(found[i].finish), chat["finish"].get<std::string>()) << "chat " << i;
    }
}

TEST_P(OnEachDevice, logprobs_are_those_of_one_pass_over_the_whole_sequence) {
    for (const std::string name : {"qwen2-tied", "qwen3-tied", "llama-rope3-near"}) {
        const auto model = golden_model(name);
        for (const double temperature : {1.0, 0.7}) {
            auto policy = mixed_policy();
            policy.temperature = temperature;
            policy.top_p = 0.9;
            for (const auto& rollout : generated(model, {}, mixed_requests(), policy)) {
                auto sequence = rollout.request.prompt_ids;
                sequence.insert(sequence.end(), rollout.ids.begin(), rollout.ids.end());
                const auto answer = int64_t(rollout.ids.size()),
                           first = int64_t(rollout.request.prompt_ids.size()) - 1;
                const auto logits = model::logits(test::hidden_of(model, {sequence}), model.head()).cpu();
                const auto ids = torch::tensor(std::vector<int64_t>(rollout.ids.begin(), rollout.ids.end()));
                const auto expected = (logits.narrow(0, first, answer).to(torch::kFloat64) / temperature)
                                          .log_softmax(1)
                                          .gather(1, ids.unsqueeze(1))
                                          .squeeze(1);
                ASSERT_EQ(int64_t(rollout.logprobs.size()), answer);
                EXPECT_LT(test::difference(torch::tensor(rollout.logprobs), expected), 1e-4)
                    << name << " at temperature " << temperature;
            }
        }
    }
}

TEST_P(OnEachDevice, a_rollout_is_the_same_in_any_batch_any_cache_and_alone) {
    for (const std::string name : {"qwen2-untied", "llama-smol-sharded"}) {
        const auto model = golden_model(name);
        const auto requests = mixed_requests();
        const auto expected = generated(model, {}, requests, mixed_policy());
        const auto ended = std::count_if(expected.begin(), expected.end(), [](const Rollout& rollout) {
            return rollout.finish == Finish::Eos;
        });
        EXPECT_GT(ended, 3) << "end tokens should make the answers ragged";

        for (const int64_t batch_rows : {1, 2, 5, 15}) {
            for (const int64_t page_tokens : {1, 5, 16, 64, 1024}) {
                const GeneratorOptions options{
                    .batch_rows = batch_rows, .page_tokens = page_tokens, .prefill_tokens = 30};
                expect_same(generated(model, options, requests, mixed_policy()), expected,
                            name + ", " + std::to_string(batch_rows) + " rows, pages of " +
                                std::to_string(page_tokens));
            }
        }
        // The longest row needs 33 + 40 - 1 tokens, so that the largest cache has room for 15 such rows.
        for (const int64_t cache_tokens : {72, 100, 160, 15 * 76}) {
            GenerationReport report;
            const GeneratorOptions options{.page_tokens = 4, .cache_tokens = cache_tokens};
            expect_same(generated(model, options, requests, mixed_policy(), &report), expected,
                        name + ", a cache of " + std::to_string(cache_tokens) + " tokens");
            if (cache_tokens < 15 * 76)
                EXPECT_GT(report.preemptions, 0) << cache_tokens;
            else
                EXPECT_EQ(report.preemptions, 0);
            EXPECT_LE(report.pages_used_max, cache_tokens / 4);
        }
        Generator generator(model, {});
        for (size_t i = 0; i < requests.size(); ++i) {
            const auto alone = generator.generate(std::span(requests).subspan(i, 1), mixed_policy());
            expect_same(alone.value(), {expected[i]}, name + " alone, request " + std::to_string(i));
        }
        auto turned = requests;
        std::reverse(turned.begin(), turned.end());
        auto backwards = generated(model, {.batch_rows = 4}, turned, mixed_policy());
        std::reverse(backwards.begin(), backwards.end());
        expect_same(backwards, expected, name + " in the opposite order");
    }
}

TEST_P(OnEachDevice, samples_of_one_prompt_hold_its_pages_once) {
    const auto model = golden_model("qwen2-tied");
    std::vector<Request> requests;
    for (int64_t sample = 0; sample < 8; ++sample) {
        Request request{std::vector<int32_t>(70), 0, 0, sample, 0};
        std::iota(request.prompt_ids.begin(), request.prompt_ids.end(), 5);
        requests.push_back(request);
    }
    SamplingPolicy policy;
    policy.max_new = 10; // tokens 70..78 are kept: page 4 of 16, which holds tokens 64..79, is one's own
    GenerationReport report;
    const auto together = generated(model, {.page_tokens = 16}, requests, policy, &report);
    EXPECT_EQ(report.prefill_tokens, 70);
    EXPECT_EQ(report.pages_used_max, 4 + 8);
    EXPECT_EQ(report.sampled_tokens, 80);
    EXPECT_EQ(report.decode_steps, 9);
    EXPECT_DOUBLE_EQ(report.live_rows_mean, 8);
    EXPECT_EQ(report.batch_rows, 8);
    // Each of 9 steps reads 71 to 79 tokens a row; 2 layers of 2 key-value heads of 16 floats, keys and
    // values.
    EXPECT_DOUBLE_EQ(report.kv_bytes_read, 8 * (9 * 75) * double(2 * 2 * 2 * 16 * 4));
    EXPECT_GT(report.seconds, 0);

    // Rows that parted hold what each alone would hold.
    for (size_t i = 0; i < requests.size(); ++i)
        expect_same(generated(model, {.page_tokens = 16}, {requests[i]}, policy), {together[i]},
                    "sample " + std::to_string(i));
    std::set<std::vector<int32_t>> distinct;
    for (const auto& rollout : together) distinct.insert(rollout.ids);
    EXPECT_EQ(distinct.size(), 8u);
}

TEST_P(OnEachDevice, a_second_call_with_changed_weights_uses_the_changed_weights) {
    auto model = golden_model("qwen2-tied");
    const auto other = golden_model("qwen2-tied");
    Generator generator(model, {});
    const auto before = generator.generate(mixed_requests(), mixed_policy()).value();
    model.weights.flat.mul_(0.9);
    const auto changed = generator.generate(mixed_requests(), mixed_policy()).value();
    expect_same(changed, generated(model, {}, mixed_requests(), mixed_policy()), "changed in place");
    EXPECT_NE(changed[0].logprobs, before[0].logprobs);
    generator.release();
    model.weights.flat.copy_(other.weights.flat);
    expect_same(generator.generate(mixed_requests(), mixed_policy()).value(), before,
                "changed back, after release()");
}

TEST_P(OnEachDevice, answers_end_at_any_end_token_or_at_the_cap_of_the_request) {
    const auto model = golden_model("llama-rope3");
    const Request request{{17, 4, 200}, 0, 0, 0, 0};
    const auto endless = generated(model, {}, {request}, greedy(32))[0].ids;
    // The first token that has not come before it, past the middle, ends the answer there.
    size_t last = 0;
    for (size_t t = 1; t < endless.size() && last == 0; ++t) {
        if (std::find(endless.begin(), endless.begin() + int64_t(t), endless[t]) ==
            endless.begin() + int64_t(t))
            last = t;
    }
    ASSERT_GT(last, 0u);
    const std::vector<int32_t> ended(endless.begin(), endless.begin() + int64_t(last) + 1);
    const int64_t eos = endless[last], never = 303;
    ASSERT_EQ(std::count(endless.begin(), endless.end(), never), 0);

    const auto stopped = generated(model, {}, {request}, greedy(32, {never, eos}))[0];
    EXPECT_EQ(stopped.ids, ended);
    EXPECT_EQ(stopped.finish, Finish::Eos);
    EXPECT_EQ(stopped.logprobs.size(), stopped.ids.size());

    const auto at_cap = generated(model, {}, {request}, greedy(int64_t(ended.size()), {eos}))[0];
    EXPECT_EQ(at_cap.ids, ended);
    EXPECT_EQ(at_cap.finish, Finish::Eos) << "an end token at the very cap is an end";
    const auto cut = generated(model, {}, {request}, greedy(int64_t(ended.size()) - 1, {eos}))[0];
    EXPECT_EQ(cut.ids.size(), ended.size() - 1);
    EXPECT_EQ(cut.finish, Finish::Length);

    auto shorter = request, longer = request;
    shorter.max_new = 1;
    longer.max_new = 20;
    const auto capped = generated(model, {}, {request, shorter, longer}, greedy(7));
    EXPECT_EQ(capped[0].ids.size(), 7u);
    EXPECT_EQ(capped[1].ids, std::vector<int32_t>(endless.begin(), endless.begin() + 1));
    EXPECT_EQ(capped[2].ids, std::vector<int32_t>(endless.begin(), endless.begin() + 20));
}

TEST_P(OnEachDevice, an_answer_may_fill_the_context_and_a_prompt_that_leaves_no_room_is_refused) {
    const auto model = golden_model("qwen2-untied"); // a context of 512
    const auto prompt = [](size_t length) { return Request{std::vector<int32_t>(length, 3), 0, 0, 0, 0}; };
    const auto filled = generated(model, {}, {prompt(509)}, greedy(100))[0];
    EXPECT_EQ(filled.ids.size(), 3u);
    EXPECT_EQ(filled.finish, Finish::Length);
    EXPECT_EQ(generated(model, {}, {prompt(511)}, greedy(100))[0].ids.size(), 1u);

    Generator generator(model, {});
    const std::vector<Request> requests{prompt(4), prompt(512)};
    const auto refused = generator.generate(requests, greedy(100));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message(),
              "request 1: the prompt has 512 tokens and leaves no room in the model's context of "
              "512 (shorten the prompt)");
}

TEST_P(OnEachDevice, requests_that_mean_nothing_are_errors_that_name_the_fault) {
    const auto model = golden_model("qwen2-untied"); // 320 ids
    const auto message = [&](const Request& request, const SamplingPolicy& policy,
                             GeneratorOptions options = {}) {
        Generator generator(model, options);
        const auto result = generator.generate(std::span(&request, 1), policy);
        return result ? std::string() : result.error().message();
    };
    EXPECT_EQ(message({{}, 0, 0, 0, 0}, greedy(4)),
              "request 0: the prompt is empty, expected at least one token");
    EXPECT_EQ(message({{1, 320}, 0, 0, 0, 0}, greedy(4)),
              "request 0: prompt id 320 at place 1 is outside the vocabulary of 320");
    EXPECT_EQ(message({{-1}, 0, 0, 0, 0}, greedy(4)),
              "request 0: prompt id -1 at place 0 is outside the vocabulary of 320");
    EXPECT_NE(message({{1}, 0, -1, 0, 0}, greedy(4)).find("the counter prompt is -1"), std::string::npos);
    EXPECT_NE(message({{1}, 0, 0, int64_t{1} << 32, 0}, greedy(4)).find("the counter sample is 4294967296"),
              std::string::npos);
    EXPECT_NE(message({{1}, 0, 0, 0, -2}, greedy(4)).find("max_new is -2"), std::string::npos);
    EXPECT_NE(message({{1}, 0, 0, 0, 0}, greedy(0)).find("max_new is 0"), std::string::npos);
    // 1 + 64 - 1 tokens fit 64; one more does not.
    EXPECT_EQ(message({{1}, 0, 0, 0, 0}, greedy(64), {.page_tokens = 16, .cache_tokens = 64}), "");
    EXPECT_EQ(message({{1}, 0, 0, 0, 0}, greedy(65), {.page_tokens = 16, .cache_tokens = 64}),
              "cache_tokens: a cache of 64 tokens is too small: one row needs 80 (raise cache_tokens or "
              "lower max_new)");
    Generator generator(model, {});
    EXPECT_TRUE(generator.generate({}, greedy(4)).value().empty());
}

TEST_P(OnEachDevice, damaged_weights_are_an_error_that_names_the_row_and_leave_no_trace) {
    auto model = golden_model("qwen2-untied");
    const auto sound = model.weights.flat.clone();
    Generator generator(model, {});
    const std::vector<Request> requests{{{1, 2, 3}, 0, 5, 1, 0}};
    const auto expected = generator.generate(requests, mixed_policy()).value();
    model.weights.view("final_norm").fill_(std::numeric_limits<float>::quiet_NaN());
    const auto found = generator.generate(requests, mixed_policy());
    ASSERT_FALSE(found);
    EXPECT_NE(found.error().message().find("request 0 (prompt 5, sample 1)"), std::string::npos)
        << found.error().message();
    model.weights.flat.copy_(sound);
    expect_same(generator.generate(requests, mixed_policy()).value(), expected, "after the fault");
}

TEST_P(OnEachDevice, cancelling_keeps_what_was_drawn_and_marks_what_is_unfinished) {
    const auto model = golden_model("qwen2-untied");
    const auto requests = mixed_requests();
    auto policy = mixed_policy();
    const auto whole = generated(model, {.batch_rows = 4}, requests, policy);
    Generator generator(model, {.batch_rows = 4});
    int64_t calls = 0, last_tokens = 0;
    const auto cut = generator
                         .generate(requests, policy, nullptr,
                                   [&](int64_t finished, int64_t tokens) {
                                       EXPECT_GT(tokens, last_tokens);
                                       last_tokens = tokens;
                                       ++calls;
                                       return finished < 3;
                                   })
                         .value();
    EXPECT_GT(calls, 1);
    int64_t cancelled = 0, untouched = 0, tokens = 0;
    for (size_t i = 0; i < cut.size(); ++i) {
        tokens += int64_t(cut[i].ids.size());
        if (cut[i].finish != Finish::Cancelled) {
            EXPECT_EQ(cut[i].ids, whole[i].ids);
            continue;
        }
        ++cancelled;
        untouched += cut[i].ids.empty();
        expect_starts_with(whole[i].ids, cut[i].ids, "request " + std::to_string(i));
    }
    EXPECT_GT(cancelled, 0);
    EXPECT_LT(cancelled, int64_t(cut.size()) - 2);
    EXPECT_GT(untouched, 0);
    EXPECT_EQ(tokens, last_tokens);
    EXPECT_EQ(to_string(Finish::Cancelled), "cancelled");
    expect_same(generator.generate(requests, policy).value(), whole, "after cancelling");
}

TEST_P(OnEachDevice, bf16_weights_generate_with_logprobs_near_those_of_one_pass) {
    const auto model = golden_model("qwen2-untied-bf16", torch::kBFloat16);
    for (const auto& rollout : generated(model, {.page_tokens = 8}, mixed_requests(), mixed_policy())) {
        auto sequence = rollout.request.prompt_ids;
        sequence.insert(sequence.end(), rollout.ids.begin(), rollout.ids.end());
        const auto logits = model::logits(test::hidden_of(model, {sequence}), model.head()).cpu();
        const auto ids = torch::tensor(std::vector<int64_t>(rollout.ids.begin(), rollout.ids.end()));
        const auto expected = logits.narrow(0, int64_t(rollout.request.prompt_ids.size()) - 1, ids.size(0))
                                  .log_softmax(1)
                                  .gather(1, ids.unsqueeze(1))
                                  .squeeze(1);
        // bf16 logits: rms 0.1, max 0.8 (golden/README.md).
        EXPECT_LT(test::difference(torch::tensor(rollout.logprobs), expected), 0.8);
    }
}

} // namespace stillroom::rollout
