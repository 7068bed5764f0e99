// SPDX-License-Identifier: GPL-3.0-or-later
// logprobs and import as a person runs them.
#include "tests/model/support.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <sys/wait.h>

namespace stillroom {
namespace {

using test::golden;

struct Answer {
    int status = 0;
    std::vector<nlohmann::json> lines; // of standard output
    std::string err;
};

std::string content(const std::filesystem::path& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
}

std::string quote(const std::filesystem::path& path) { return "'" + path.string() + "'"; }

/// Runs `stillroom-cli ARGUMENTS` with `in` on standard input.
Answer run(const std::string& arguments, const std::string& in = "") {
    const test::TemporaryFolder folder;
    std::ofstream(folder / "in") << in;
    const std::string command = "'" STILLROOM_CLI "' " + arguments + " <" + quote(folder / "in") + " >" +
                                quote(folder / "out") + " 2>" + quote(folder / "err");
    const int status = std::system(command.c_str());
    Answer answer{WIFEXITED(status) ? WEXITSTATUS(status) : -1, {}, content(folder / "err")};
    std::ifstream out(folder / "out");
    for (std::string line; std::getline(out, line);) {
        if (nlohmann::json::accept(line)) answer.lines.push_back(nlohmann::json::parse(line));
    }
    return answer;
}

class ModelCommands : public testing::Test {
protected:
    void SetUp() override {
        if (!std::filesystem::exists(STILLROOM_CLI)) GTEST_SKIP() << "stillroom-cli is not built";
    }
    static Answer logprobs(const std::filesystem::path& model, const std::string& options,
                           const std::string& in) {
        return run("logprobs " + quote(model) + " --device cpu --dtype fp32 " + options, in);
    }
};

TEST_F(ModelCommands, logprobs_are_the_golden_ones) {
    for (const std::string name : {"qwen2-tied", "llama-rope3-near"}) {
        const auto folder = golden("models/" + name);
        const auto expected = test::read_json(folder / "expected.json")["scored"];
        std::string in;
        for (const auto& item : expected) {
            auto ids = item["prompt"];
            for (const auto& id : item["continuation"]) ids.push_back(id);
            in += nlohmann::json{{"ids", ids}, {"mine", ids.size()}}.dump() + "\n";
        }
        const auto answer = logprobs(folder, "", in);
        ASSERT_EQ(answer.status, 0) << answer.err;
        ASSERT_EQ(answer.lines.size(), expected.size());
        for (size_t i = 0; i < expected.size(); ++i) {
            const auto& line = answer.lines[i];
            EXPECT_EQ(line["mine"], line["ids"].size()); // carried through
            const auto found = line["logprobs"].get<std::vector<double>>();
            const auto wanted = expected[i]["logprob_t1"].get<std::vector<double>>();
            ASSERT_EQ(found.size() + 1, line["ids"].size());
            for (size_t j = 0; j < wanted.size(); ++j) {
                EXPECT_NEAR(found[found.size() - wanted.size() + j], wanted[j], 2e-4);
            }
        }
    }
}

TEST_F(ModelCommands, every_position_shows_its_likeliest_tokens_and_logits) {
    const auto folder = golden("models/qwen3-tied");
    const auto expected = test::read_json(folder / "expected.json");
    const auto logits = test::read_tensors(folder / "expected.safetensors").at("logits").to(torch::kFloat64);
    const auto offsets = expected["cu_seqlens"].get<std::vector<int64_t>>();
    std::string in;
    for (const auto& ids : expected["inputs"]) in += nlohmann::json{{"ids", ids}}.dump() + "\n";
    const auto answer = logprobs(folder, "--top 4 --logits", in);
    ASSERT_EQ(answer.status, 0) << answer.err;
    ASSERT_EQ(answer.lines.size(), expected["inputs"].size());
    for (size_t i = 0; i < answer.lines.size(); ++i) {
        const auto& line = answer.lines[i];
        ASSERT_EQ(int64_t(line["logits"].size()), offsets[i + 1] - offsets[i]);
        for (size_t t = 0; t < line["logits"].size(); ++t) {
            const auto row = logits[offsets[i] + int64_t(t)];
            const auto log_probs = row.log_softmax(0);
            const auto [best, best_ids] = log_probs.topk(4);
            EXPECT_EQ(line["top_ids"][t][0], best_ids[0].item<int64_t>());
            EXPECT_EQ(line["top_logprobs"][t].size(), 4u);
            EXPECT_NEAR(line["top_logprobs"][t][3].get<double>(), best[3].item<double>(), 2e-4);
            EXPECT_NEAR(line["logsumexp"][t].get<double>(), row.logsumexp(0).item<double>(), 2e-4);
            EXPECT_NEAR(line["entropy"][t].get<double>(), -(log_probs.exp() * log_probs).sum().item<double>(),
                        2e-4);
            const auto found = torch::tensor(line["logits"][t].get<std::vector<double>>(), torch::kFloat64);
            EXPECT_LE(test::difference(found, row), 2e-4);
        }
    }
}

TEST_F(ModelCommands, bad_lines_are_answered_in_their_place) {
    const std::vector<std::string> bad{R"({"ids": [1, 307]})", R"({"ids": []})", "no json",
                                       R"({"ids": [1, -1]})", R"({"ids": [1, 2.5]})"};
    std::string in;
    for (const std::string& line : bad) in += line + "\n";
    const auto answer = logprobs(golden("models/qwen2-tied"), "", in + R"({"ids": [1, 2]})");
    EXPECT_EQ(answer.status, 1);
    ASSERT_EQ(answer.lines.size(), bad.size() + 1);
    for (size_t i = 0; i < bad.size(); ++i) {
        EXPECT_EQ(answer.lines[i]["line"], i + 1);
        EXPECT_TRUE(answer.lines[i].contains("error"));
    }
    EXPECT_NE(answer.lines[0]["error"].get<std::string>().find("307"), std::string::npos);
    EXPECT_EQ(answer.lines.back()["logprobs"].size(), 1u);
}

TEST_F(ModelCommands, an_imported_file_gives_the_logits_of_the_file) {
    const test::TemporaryFolder folder;
    for (const std::string name : {"tiny-llama", "tiny-qwen2", "tiny-qwen3"}) {
        const auto file = golden("gguf/" + name + ".gguf");
        const auto imported = run("import " + quote(file) + " " + quote(folder / name));
        ASSERT_EQ(imported.status, 0) << imported.err;
        const auto prompt = test::read_json(golden("gguf/" + name + ".expected.json"))["prompt_ids"];
        const auto before = logprobs(file, "--logits", nlohmann::json{{"ids", prompt}}.dump());
        const auto after = logprobs(folder / name, "--logits", nlohmann::json{{"ids", prompt}}.dump());
        ASSERT_EQ(after.status, 0) << after.err;
        ASSERT_EQ(after.lines.size(), 1u);
        EXPECT_EQ(after.lines, before.lines) << name;
    }
}

TEST_F(ModelCommands, an_import_that_cannot_be_made_leaves_nothing) {
    const test::TemporaryFolder folder;
    const auto tiny = quote(golden("gguf/tiny-llama.gguf"));
    EXPECT_EQ(run("import " + tiny + " " + quote(folder.path())).status, 1); // exists already
    const auto no_model = run("import " + quote(golden("gguf/types.gguf")) + " " + quote(folder / "types"));
    EXPECT_EQ(no_model.status, 1);
    EXPECT_EQ(std::ranges::count(no_model.err, '\n'), 1) << no_model.err;
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

} // namespace
} // namespace stillroom
