// SPDX-License-Identifier: GPL-3.0-or-later
// `stillroom-cli inspect` as people script it: exit status, one line of fault, the report. Each call starts a
// process, so that of the malformed sets, which the readers' own tests go through whole, every fifth file is
// shown to it.
#include "tests/support/golden.h"

#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>
#include <sys/wait.h>

namespace stillroom {

namespace {

struct Answer {
    int status = -1;
    std::string out, err;
};

std::string content(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

Answer inspect(const std::filesystem::path& path, const std::string& options = "") {
    const test::TemporaryFolder folder;
    const std::string command = "'" STILLROOM_CLI "' inspect " + options + " '" + path.string() + "' >'" +
                                (folder / "out").string() + "' 2>'" + (folder / "err").string() + "'";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content(folder / "out"), content(folder / "err")};
}

class Inspect : public testing::Test {
protected:
    void SetUp() override {
        if (!std::filesystem::exists(STILLROOM_CLI)) GTEST_SKIP() << "stillroom-cli is not built";
    }
};

} // namespace

TEST_F(Inspect, a_malformed_file_ends_with_status_1_and_one_line) {
    size_t position = 0, refused = 0;
    for (const std::string folder : {"models/malformed/", "gguf/malformed/"}) {
        for (const auto& item : test::read_json(test::golden(folder + "manifest.json"))) {
            const bool sound = item["expected"] == "ok";
            if (!sound && position++ % 5 != 0) continue;
            const auto answer = inspect(test::golden(folder + item["file"].get<std::string>()));
            EXPECT_EQ(answer.status, sound ? 0 : 1) << item["file"] << ": " << item["problem"] << answer.err;
            EXPECT_EQ(answer.out.empty(), !sound) << item["file"];
            EXPECT_EQ(std::ranges::count(answer.err, '\n'), sound ? 0 : 1) << answer.err;
            refused += !sound;
        }
    }
    EXPECT_EQ(refused, 24u);
}

TEST_F(Inspect, a_model_folder_is_reported_with_architecture_and_tensors) {
    const auto answer = inspect(test::golden("models/llama-smol-sharded"), "--json");
    ASSERT_EQ(answer.status, 0) << answer.err;
    const auto report = nlohmann::json::parse(answer.out);
    EXPECT_EQ(report["kind"], "model folder");
    EXPECT_EQ(report["architecture"]["family"], "llama");
    EXPECT_EQ(report["architecture"]["heads"], 9);
    EXPECT_EQ(report["architecture"]["eos_ids"], (std::vector<int>{209, 224}));
    EXPECT_EQ(report["files"].size(), 5u);
    EXPECT_EQ(report["tensors"].size(), 20u);
}

TEST_F(Inspect, a_gguf_model_is_reported_with_metadata_and_vocabulary) {
    const auto answer = inspect(test::golden("gguf/tiny-qwen3.gguf"), "--json");
    ASSERT_EQ(answer.status, 0) << answer.err;
    const auto report = nlohmann::json::parse(answer.out);
    EXPECT_EQ(report["version"], 3);
    EXPECT_EQ(report["architecture"]["head_size"], 16);
    EXPECT_EQ(report["vocabulary"]["size"], 283);
    EXPECT_EQ(report["tensors"].size(), 24u);
}

TEST_F(Inspect, weights_that_are_not_those_of_the_config_are_a_fault) {
    const test::TemporaryFolder folder;
    std::filesystem::copy_file(test::golden("models/qwen2-tied/model.safetensors"),
                               folder / "model.safetensors");
    EXPECT_EQ(inspect(folder.path()).status, 1); // no config.json
    auto config = test::read_json(test::golden("models/qwen2-tied/config.json"));
    config["intermediate_size"] = 128;
    std::ofstream(folder / "config.json") << config;
    const auto answer = inspect(folder.path());
    EXPECT_EQ(answer.status, 1);
    EXPECT_NE(answer.err.find("mlp"), std::string::npos) << answer.err;
}

TEST_F(Inspect, wrong_usage_ends_with_status_2) { EXPECT_EQ(inspect("x", "--nonsense").status, 2); }

TEST_F(Inspect, an_absent_path_ends_with_status_1) { EXPECT_EQ(inspect("/nonexistent").status, 1); }

} // namespace stillroom
