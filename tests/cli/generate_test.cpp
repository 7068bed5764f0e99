// SPDX-License-Identifier: GPL-3.0-or-later
// generate: golden greedy continuations, answers that do not depend on the other lines, bad lines.
#include "tests/cli/program.h"

#include <algorithm>

namespace stillroom {
namespace {

using nlohmann::json;
using test::golden;

class Generate : public test::Program {
protected:
    test::Outcome generate(const std::filesystem::path& model, std::vector<std::string> options,
                           const std::vector<json>& items) const {
        std::vector<std::string> arguments{"generate", model.string(), "--device", "cpu",    "--dtype",
                                           "fp32",     "--threads",    "1",        "--quiet"};
        arguments.insert(arguments.end(), options.begin(), options.end());
        return run(arguments, test::json_lines(items));
    }
    std::filesystem::path student() const { return test::source_folder() / "resources/sample/student"; }
};

/// How many ids come before the first margin that float32 (off by 2e-4 at most, golden/README.md) could
/// overturn.
size_t decided(const json& tokens, const json& margins) {
    size_t count = 0;
    while (count < tokens.size() && margins.at(count).get<double>() >= 4e-4) ++count;
    return count;
}

json prompt_of(const std::vector<int>& ids) { return json{{"ids", ids}}; }

void expect_begins_with(const json& found, const json& expected, size_t count, const std::string& what) {
    ASSERT_GE(found.size(), count) << what;
    for (size_t i = 0; i < count; ++i) EXPECT_EQ(found[i], expected[i]) << what << ", token " << i;
}

TEST_F(Generate, greedy_continuations_are_the_golden_ones_and_end_at_the_models_end_tokens) {
    for (const std::string name : {"qwen2-tied", "qwen3-tied", "llama-smol-sharded"}) {
        const json expected = test::read_json(golden("models/" + name + "/expected.json")).at("greedy");
        std::vector<json> items;
        for (const json& item : expected)
            items.push_back(json{{"ids", item["prompt"]}, {"mine", item["finish"]}});
        const auto outcome =
            generate(golden("models/" + name), {"--temperature", "0", "--max-new", "32"}, items);
        ASSERT_EQ(outcome.status, 0) << outcome.err;
        EXPECT_EQ(outcome.err, "");
        const auto lines = outcome.lines();
        ASSERT_EQ(lines.size(), expected.size());
        for (size_t i = 0; i < lines.size(); ++i) {
            const std::string what = name + ", prompt " + std::to_string(i);
            EXPECT_EQ(lines[i]["mine"], expected[i]["finish"]) << what; // carried through
            EXPECT_EQ(lines[i]["ids"], expected[i]["prompt"]) << what;
            ASSERT_EQ(lines[i]["samples"].size(), 1u) << what;
            const json &sample = lines[i]["samples"][0], &tokens = expected[i]["tokens"];
            const size_t sure = decided(tokens, expected[i]["margins"]);
            expect_begins_with(sample["ids"], tokens, sure, what);
            EXPECT_EQ(sample["logprobs"].size(), sample["ids"].size()) << what;
            EXPECT_TRUE(sample["text"].is_null()) << what; // these models have no tokenizer
            if (sure < tokens.size()) continue;
            EXPECT_EQ(sample["ids"].size(), tokens.size()) << what;
            EXPECT_EQ(sample["finish_reason"], expected[i]["finish"]) << what;
        }
    }
}

TEST_F(Generate, messages_their_rendering_and_its_ids_are_one_prompt) {
    for (const std::string name : {"tiny-llama", "tiny-qwen2"}) {
        const json expected = test::read_json(golden("gguf/" + name + ".expected.json"));
        const auto outcome =
            generate(golden("gguf/" + name + ".gguf"), {"--temperature", "0", "--max-new", "24"},
                     {json{{"messages", expected["messages"]}}, json{{"prompt", expected["rendered"]}},
                      json{{"ids", expected["prompt_ids"]}}});
        ASSERT_EQ(outcome.status, 0) << outcome.err;
        const auto lines = outcome.lines();
        ASSERT_EQ(lines.size(), 3u);
        EXPECT_EQ(lines[0]["samples"], lines[2]["samples"]) << name;
        EXPECT_EQ(lines[1]["samples"], lines[2]["samples"]) << name;
        const json& ids = lines[2]["samples"][0]["ids"];
        // `greedy_24` ignores the end token, id 2 of these files.
        const json& tokens = expected["greedy_24"];
        const size_t end = size_t(std::find(tokens.begin(), tokens.end(), 2) - tokens.begin());
        expect_begins_with(ids, tokens, std::min(end, decided(tokens, expected["margins"])), name);
    }
}

TEST_F(Generate, sampled_answers_are_the_same_whatever_else_is_in_the_batch) {
    std::vector<json> items;
    for (const int number : {3, 14, 15, 92, 65}) {
        const std::string problem = "Start with " + std::to_string(number) + ", add 5, subtract 2.";
        items.push_back(
            json{{"messages", json::array({{{"role", "user"}, {"content", problem}}})}, {"number", number}});
    }
    const std::vector<std::string> options{"--samples", "3", "--max-new", "24", "--seed", "7"};
    const auto together = generate(student(), options, items);
    ASSERT_EQ(together.status, 0) << together.err;
    const auto expected = together.lines();
    ASSERT_EQ(expected.size(), items.size());

    auto turned = items;
    std::ranges::reverse(turned);
    auto backwards = generate(student(), options, turned).lines();
    std::ranges::reverse(backwards);
    const auto alone = generate(student(), options, {items[2]}).lines();
    ASSERT_EQ(backwards.size(), items.size());
    ASSERT_EQ(alone.size(), 1u);
    const auto expect_same = [](const json& found, const json& wanted) {
        EXPECT_EQ(found["number"], wanted["number"]);
        ASSERT_EQ(found["samples"].size(), 3u);
        for (size_t i = 0; i < 3; ++i) {
            for (const char* key : {"ids", "text", "finish_reason"})
                EXPECT_EQ(found["samples"][i][key], wanted["samples"][i][key]) << key;
            const json &ours = found["samples"][i]["logprobs"], &theirs = wanted["samples"][i]["logprobs"];
            ASSERT_EQ(ours.size(), theirs.size());
            // Other shapes of batches sum in another order.
            for (size_t t = 0; t < ours.size(); ++t)
                EXPECT_NEAR(ours[t].get<double>(), theirs[t].get<double>(), 1e-4);
        }
    };
    for (size_t i = 0; i < items.size(); ++i) expect_same(backwards[i], expected[i]);
    expect_same(alone[0], expected[2]);
    EXPECT_NE(expected[0]["samples"][0]["ids"], expected[0]["samples"][1]["ids"]);

    auto other_seed = options;
    other_seed.back() = "8";
    EXPECT_NE(generate(student(), other_seed, {items[2]}).lines()[0]["samples"], alone[0]["samples"]);
}

TEST_F(Generate, an_answers_text_is_that_of_its_ids_without_special_tokens) {
    const json item =
        json::parse(R"({"messages": [{"role": "user", "content": "Start with 14, add 5, add 4, add 3."}]})");
    const auto outcome = generate(student(), {"--samples", "4", "--max-new", "64"}, {item});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    size_t ended = 0;
    const auto lines = outcome.lines();
    for (const json& sample : lines.at(0)["samples"]) {
        auto ids = sample["ids"];
        if (sample["finish_reason"] == "eos") {
            EXPECT_EQ(ids.back(), 2); // the end token of its generation config
            ids.erase(ids.size() - 1);
            ++ended;
        }
        const auto decoded =
            run({"tokenize", student().string(), "--decode"}, json{{"ids", ids}}.dump() + "\n");
        ASSERT_EQ(decoded.status, 0) << decoded.err;
        EXPECT_EQ(decoded.lines().at(0)["text"], sample["text"]);
        for (const json& log_prob : sample["logprobs"]) EXPECT_LE(log_prob.get<double>(), 0);
    }
    EXPECT_GT(ended, 0u);
}

TEST_F(Generate, filters_that_leave_one_token_give_the_greedy_answer) {
    const json item = prompt_of({14, 3, 9});
    const auto model = golden("models/qwen2-tied");
    const auto ids = [&](const std::vector<std::string>& options) {
        return generate(model, options, {item}).lines().at(0)["samples"][0]["ids"];
    };
    const json greedy = ids({"--max-new", "12", "--temperature", "0"});
    EXPECT_EQ(greedy.size(), 12u);
    EXPECT_EQ(ids({"--max-new", "12", "--top-k", "1"}), greedy);
    EXPECT_EQ(ids({"--max-new", "12", "--top-p", "0.000001"}), greedy);
    EXPECT_NE(ids({"--max-new", "12"}), greedy);
}

TEST_F(Generate, bad_lines_are_answered_in_their_place_and_the_others_as_without_them) {
    const auto model = golden("models/qwen2-tied"); // 307 ids, no tokenizer
    const std::string good = R"({"ids": [1, 2, 3]})";
    const std::vector<std::string> bad{"no json",
                                       R"({"ids": [1, 307]})",
                                       R"({"ids": []})",
                                       R"({"prompt": "text"})",
                                       R"({"messages": [{"role": "user", "content": "text"}]})",
                                       R"({"ids": [1], "prompt": "text"})",
                                       R"({"unknown": 1})",
                                       R"({"ids": [18446744073709551615]})",
                                       R"([1, 2])",
                                       R"({"ids": [)" +
                                           [] {
                                               std::string many = "1";
                                               for (int i = 1; i < 5000; ++i) many += ",1";
                                               return many;
                                           }() +
                                           "]}"};
    std::string in = good + "\n\n"; // an empty line is counted, and not answered
    for (const std::string& line : bad) in += line + "\n";
    const auto outcome = run({"generate", model.string(), "--device", "cpu", "--dtype", "fp32", "--max-new",
                              "5", "--temperature", "0", "--quiet"},
                             in + good);
    EXPECT_EQ(outcome.status, 1);
    const auto lines = outcome.lines();
    ASSERT_EQ(lines.size(), bad.size() + 2);
    for (size_t i = 0; i < bad.size(); ++i) {
        EXPECT_TRUE(lines[i + 1].contains("error")) << bad[i];
        EXPECT_EQ(lines[i + 1]["line"], i + 3) << bad[i];
    }
    EXPECT_NE(lines[2]["error"].get<std::string>().find("307"), std::string::npos);
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), std::ptrdiff_t(bad.size())) << outcome.err;
    EXPECT_NE(outcome.err.find("standard input:4: "), std::string::npos) << outcome.err;
    EXPECT_EQ(lines.front(), lines.back());
    const auto alone = generate(model, {"--max-new", "5", "--temperature", "0"}, {prompt_of({1, 2, 3})});
    EXPECT_EQ(lines.front()["samples"][0]["ids"], alone.lines().at(0)["samples"][0]["ids"]);
}

TEST_F(Generate, files_stand_in_for_standard_input_and_output) {
    const std::string in = write("prompts.jsonl", R"({"ids": [5, 6]})");
    const auto outcome = run({"generate", golden("models/qwen2-tied").string(), "--max-new", "3", "--in", in,
                              "--out", path("answers.jsonl")});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find("samples"), std::string::npos) << "progress goes to standard error";
    const auto lines = test::read_json_lines(path("answers.jsonl"));
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_EQ(lines[0]["samples"][0]["ids"].size(), 3u);

    const auto missing =
        run({"generate", golden("models/qwen2-tied").string(), "--in", path("nowhere.jsonl")});
    EXPECT_EQ(missing.status, 1);
    EXPECT_TRUE(test::is_one_line(missing.err)) << missing.err;
    EXPECT_NE(missing.err.find("nowhere.jsonl"), std::string::npos);
}

} // namespace
} // namespace stillroom
