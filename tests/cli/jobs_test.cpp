// SPDX-License-Identifier: GPL-3.0-or-later
// The jobs that make no run: evaluate, overlap, objective, tokenize, render, import; wrong usage; and the
// example of every --help, run as it stands.
#include "tests/cli/program.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sys/wait.h>

namespace stillroom {
namespace {

using nlohmann::json;
using test::data;
using test::golden;

class Jobs : public test::Program {};

std::string sample(const std::string& file) {
    return (test::source_folder() / "resources/sample" / file).string();
}

TEST_F(Jobs, evaluate_reports_what_its_answers_add_up_to) {
    const std::vector<std::string> arguments{"evaluate",  sample("student"),
                                             "--data",    sample("heldout.jsonl"),
                                             "--samples", "2",
                                             "--max-new", "48",
                                             "--limit",   "20",
                                             "--device",  "cpu",
                                             "--answers", path("a.jsonl"),
                                             "--json",    "--quiet"};
    const auto outcome = run(arguments);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const json metrics = outcome.object()["metrics"];
    const auto answers = test::read_json_lines(path("a.jsonl"));
    ASSERT_EQ(answers.size(), 40u);
    double right = 0, format = 0, cut = 0, length = 0;
    std::map<std::string, double> of_question;
    for (const json& answer : answers) {
        right += answer["correct"].get<int>();
        of_question[answer["question"]] += answer["correct"].get<int>();
        format += answer["format"].get<int>();
        cut += answer["truncated"].get<int>();
        length += answer["length"].get<double>();
        EXPECT_EQ(answer["ids"].size(), answer["length"].get<size_t>());
    }
    ASSERT_EQ(of_question.size(), 20u);
    double passed = 0, squares = 0;
    for (const auto& [question, count] : of_question) {
        passed += count > 0;
        squares += std::pow(count / 2 - right / 40, 2);
    }
    EXPECT_NEAR(metrics["eval_avg_at_n"].get<double>(), right / 40, 1e-12);
    EXPECT_NEAR(metrics["eval_pass_at_2"].get<double>(), passed / 20, 1e-12);
    EXPECT_NEAR(metrics["se_clustered"].get<double>(), std::sqrt(squares / 19 / 20), 1e-9); // metrics.md 6.2
    EXPECT_NEAR(metrics["eval_format_rate"].get<double>(), format / 40, 1e-12);
    EXPECT_NEAR(metrics["eval_truncated_fraction"].get<double>(), cut / 40, 1e-12);
    EXPECT_NEAR(metrics["eval_length_mean"].get<double>(), length / 40, 1e-9);
    EXPECT_GT(right, 0);
    EXPECT_LT(right, 40);

    // statistics over the same answers says the same.
    const auto statistics = run({"statistics", "--json", "--in", path("a.jsonl")});
    ASSERT_EQ(statistics.status, 0) << statistics.err;
    EXPECT_NEAR(statistics.object()["se_clustered"].get<double>(), metrics["se_clustered"].get<double>(),
                1e-12);

    const auto no_data = run({"evaluate", sample("student"), "--data", path("none.jsonl")});
    EXPECT_EQ(no_data.status, 1);
    EXPECT_TRUE(test::is_one_line(no_data.err)) << no_data.err;
}

TEST_F(Jobs, a_kept_evaluation_is_graded_again_and_compared_only_with_its_own_protocol) {
    const auto with = [&](const std::string& model, const std::vector<std::string>& more) {
        std::vector<std::string> arguments{"evaluate", sample(model), "--data",    sample("heldout.jsonl"),
                                           "--limit",  "20",          "--max-new", "48",
                                           "--device", "cpu",         "--json",    "--quiet"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run(arguments);
    };
    const auto student = with("student", {"--samples", "2", "--out", path("student")});
    ASSERT_EQ(student.status, 0) << student.err;
    const auto again = run({"evaluate", "--regrade", path("student"), "--json", "--quiet"});
    ASSERT_EQ(again.status, 0) << again.err;
    EXPECT_EQ(again.object(), student.object());
    const auto teacher = with("teacher", {"--samples", "2", "--against", path("student")});
    ASSERT_EQ(teacher.status, 0) << teacher.err;
    const double difference = teacher.object()["metrics"]["eval_avg_at_n"].get<double>() -
                              student.object()["metrics"]["eval_avg_at_n"].get<double>();
    EXPECT_NEAR(teacher.object()["against"]["paired_difference"].get<double>(), difference, 1e-12);
    const auto other = with("teacher", {"--samples", "3", "--top-p", "0.9", "--against", path("student")});
    EXPECT_EQ(other.status, 1);
    EXPECT_TRUE(test::is_one_line(other.err)) << other.err;
    EXPECT_NE(other.err.find("n: 2 and 3"), std::string::npos) << other.err;
    EXPECT_NE(other.err.find("top_p: 1.0 and 0.9"), std::string::npos) << other.err;
    const auto clear = with("teacher", {"--samples", "8", "--out", path("teacher"), "--until-clear"});
    EXPECT_EQ(clear.status, 2); // against what?
    for (const auto& arguments : std::vector<std::vector<std::string>>{
             {"evaluate"}, {"evaluate", sample("student"), "--regrade", path("student")}}) {
        EXPECT_EQ(run(arguments).status, 2);
    }
}

TEST_F(Jobs, a_clear_difference_ends_an_evaluation_early_and_says_so) {
    const std::vector<std::string> common{
        "--data", sample("heldout.jsonl"), "--limit", "60", "--samples", "8", "--max-new", "48", "--device",
        "cpu"};
    std::vector<std::string> first{"evaluate", sample("student"), "--out", path("base"), "--quiet"};
    first.insert(first.end(), common.begin(), common.end());
    ASSERT_EQ(run(first).status, 0);
    std::vector<std::string> second{"evaluate", sample("teacher"), "--against", path("base"),
                                    "--until-clear"};
    second.insert(second.end(), common.begin(), common.end());
    const auto stopped = run(second); // .45 against .95: two rounds are enough
    ASSERT_EQ(stopped.status, 0) << stopped.err;
    EXPECT_NE(stopped.err.find("the difference is clear"), std::string::npos) << stopped.err;
    EXPECT_NE(stopped.out.find("stopped after           120 of 480"), std::string::npos) << stopped.out;
    EXPECT_NE(stopped.out.find("resolved: the 95 % interval excludes 0"), std::string::npos) << stopped.out;
}

TEST_F(Jobs, overlap_finds_the_pairs_that_data_readme_counts) {
    const auto outcome =
        run({"overlap", data("datasets/math_small_with_responses.jsonl").string(),
             (test::source_folder() / "resources/math500/math500.jsonl").string(), "--json"});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.object()["pairs"].size(), 4u);
    EXPECT_EQ(outcome.object()["left_rows_shared"], 4);
    const auto text = run({"overlap", sample("heldout.jsonl"), sample("heldout.jsonl")});
    EXPECT_NE(text.out.find("200 of 200 problems"), std::string::npos) << text.out;
}

TEST_F(Jobs, objective_answers_golden_cases_in_order) {
    size_t compared = 0, refused = 0;
    for (const std::string name : {"exact_divergences", "topk_targets", "sft"}) {
        const json cases = test::read_json(golden("objectives/" + name + ".json"))["cases"];
        std::vector<json> items;
        bool clean = true;
        for (const json& item : cases) {
            items.push_back(item);
            items.back().erase("expected");
            clean =
                clean && !item["expected"].contains("defined") && !item.value("refused_by_default", false);
        }
        const auto outcome = run({"objective"}, test::json_lines(items));
        EXPECT_EQ(outcome.status, clean ? 0 : 1) << name << ": " << outcome.err;
        const auto lines = outcome.lines();
        ASSERT_EQ(lines.size(), cases.size());
        for (size_t i = 0; i < lines.size(); ++i) {
            const json& expected = cases[i]["expected"];
            if (lines[i].contains("error")) {
                EXPECT_EQ(lines[i]["line"], i + 1);
                ++refused;
                continue;
            }
            EXPECT_EQ(lines[i]["name"], cases[i]["name"]);
            ASSERT_TRUE(expected.contains("loss")) << cases[i]["name"];
            const double loss = expected["loss"];
            EXPECT_NEAR(lines[i]["loss"].get<double>(), loss, 1e-11 * std::max(1.0, std::abs(loss)))
                << cases[i]["name"];
            ++compared;
        }
    }
    EXPECT_GT(compared, 20u);
    EXPECT_GT(refused, 0u);
}

TEST_F(Jobs, tokenize_gives_golden_ids_and_decodes_them_back) {
    std::vector<json> items, ids;
    for (const json& row : test::read_json_lines(data("tokenizer_golden/qwen2.jsonl"))) {
        if (row["source"] != "ikawrakow/ik_llama.cpp" || row["text"] == "") continue;
        items.push_back({{"text", row["text"]}, {"special", row["special"]}, {"expected", row["ids"]}});
        ids.push_back({{"ids", row["ids"]}, {"expected", row["text"]}});
    }
    ASSERT_GT(items.size(), 10u);
    const std::string model = data("tokenizers/qwen2.5").string();
    const auto encoded = run({"tokenize", model}, test::json_lines(items));
    ASSERT_EQ(encoded.status, 0) << encoded.err;
    for (const json& line : encoded.lines()) EXPECT_EQ(line["ids"], line["expected"]) << line["text"];
    const auto decoded = run({"tokenize", "--decode", model}, test::json_lines(ids));
    ASSERT_EQ(decoded.status, 0) << decoded.err;
    EXPECT_EQ(decoded.lines().size(), ids.size());
    for (const json& line : decoded.lines()) EXPECT_EQ(line["text"], line["expected"]);

    const auto bad = run({"tokenize", "--decode", model}, "{\"ids\": [99999999]}\n{\"ids\": [1]}\n");
    EXPECT_EQ(bad.status, 1);
    EXPECT_TRUE(bad.lines().at(0).contains("error"));
    EXPECT_EQ(bad.lines().at(1)["text"], "\"");
}

TEST_F(Jobs, render_gives_golden_renderings) {
    std::vector<json> items;
    for (const json& row : test::read_json_lines(data("tokenizer_golden/derived_chat.jsonl"))) {
        if (row["template"] != "qwen2.5" || !row.contains("rendered") || row.contains("tools")) continue;
        items.push_back({{"messages", row["messages"]},
                         {"add_generation_prompt", row["add_generation_prompt"]},
                         {"expected", row["rendered"]}});
    }
    ASSERT_GT(items.size(), 3u);
    const auto outcome = run({"render", data("tokenizers/qwen2.5").string()}, test::json_lines(items));
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const auto lines = outcome.lines();
    ASSERT_EQ(lines.size(), items.size());
    for (const json& line : lines) {
        EXPECT_EQ(line["text"], line["expected"]);
        EXPECT_FALSE(line["ids"].empty());
    }
}

TEST_F(Jobs, an_imported_model_continues_as_its_golden_file_says) {
    const json expected = test::read_json(golden("gguf/tiny-qwen3.expected.json"));
    const auto imported = run({"import", golden("gguf/tiny-qwen3.gguf").string(), path("hf")});
    ASSERT_EQ(imported.status, 0) << imported.err;
    const auto inspected = run({"inspect", path("hf"), "--json"});
    ASSERT_EQ(inspected.status, 0) << inspected.err;
    EXPECT_EQ(inspected.object()["architecture"]["family"], "qwen3");
    const auto outcome =
        run({"generate", path("hf"), "--temperature", "0", "--max-new", "1", "--device", "cpu"},
            json{{"messages", expected["messages"]}}.dump());
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.lines().at(0)["samples"][0]["ids"][0], expected["greedy_24"][0]);
}

TEST_F(Jobs, wrong_usage_ends_with_2_and_says_so_on_standard_error_alone) {
    const std::string model = golden("models/qwen2-tied").string();
    for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
             {},
             {"nonsense"},
             {"generate"},
             {"generate", model, "--nonsense"},
             {"generate", model, "--samples", "0"},
             {"generate", model, "--samples", "many"},
             {"generate", model, "--temperature", "-1"},
             {"generate", model, "--top-p", "1.5"},
             {"generate", model, "--dtype", "fp64"},
             {"evaluate", model},
             {"train"},
             {"train", "sample-opd", "--steps", "-3"},
             {"show", model, "--rollout", "0"},
             {"check-answers", "--rule", "none"},
         }) {
        const auto outcome = run(arguments);
        EXPECT_EQ(outcome.status, 2) << testing::PrintToString(arguments);
        EXPECT_EQ(outcome.out, "") << testing::PrintToString(arguments);
        EXPECT_NE(outcome.err, "") << testing::PrintToString(arguments);
    }
}

TEST_F(Jobs, a_misspelt_key_of_a_recipe_names_its_line_and_the_nearest_key) {
    const std::string recipe = write("mine.toml", "[run]\nname = \"mine\"\n\n[optimizer]\nmaxnorm = 1\n");
    const auto outcome = run({"train", recipe, "--out", path("run")});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_TRUE(test::is_one_line(outcome.err)) << outcome.err;
    EXPECT_NE(outcome.err.find("mine.toml:5"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("'max_norm'"), std::string::npos) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(path("run")));

    const auto setting =
        run({"train", "sample-opd", "--set", "optimizer.learning_rat=1", "--out", path("run")});
    EXPECT_EQ(setting.status, 1);
    EXPECT_NE(setting.err.find("optimizer.learning_rat"), std::string::npos) << setting.err;
    const auto name = run({"train", "sample-opt", "--out", path("run")});
    EXPECT_EQ(name.status, 1);
    EXPECT_NE(name.err.find("sample-opd"), std::string::npos) << name.err;
    EXPECT_FALSE(std::filesystem::exists(path("run")));
}

/// The subcommands that --help lists.
std::vector<std::string> subcommands(const std::string& help) {
    std::vector<std::string> names;
    std::istringstream stream(help.substr(help.find("Subcommands:")));
    std::string line;
    for (std::getline(stream, line); std::getline(stream, line);) {
        std::istringstream words(line);
        std::string name;
        if (line.starts_with("  ") && !line.starts_with("   ") && words >> name) names.push_back(name);
    }
    return names;
}

TEST_F(Jobs, the_example_of_every_help_runs_as_it_stands_from_the_repositorys_root) {
    const auto names = subcommands(run({"--help"}).out);
    ASSERT_GE(names.size(), 16u);
    for (const std::string& name : names) {
        const auto help = run({name, "--help"});
        EXPECT_EQ(help.status, 0) << name;
        const size_t at = help.out.find("Example:\n");
        ASSERT_NE(at, std::string::npos) << name;
        std::string script = help.out.substr(at + std::string("Example:\n").size());
        // The same program, wherever it was built.
        const std::string program = "build/bin/stillroom-cli";
        size_t calls = 0;
        for (size_t found = 0; (found = script.find(program, found)) != std::string::npos; ++calls) {
            script.replace(found, program.size(), "'" STILLROOM_CLI "'");
            found += std::string(STILLROOM_CLI).size();
        }
        EXPECT_GT(calls, 0u) << name << ": " << script;
        const std::string file =
            write("example.sh", "set -e\ncd '" + test::source_folder().string() + "'\nexport TMPDIR='" +
                                    folder().string() + "'\n" + script);
        const int status =
            std::system(("sh '" + file + "' >'" + path("out") + "' 2>'" + path("err") + "'").c_str());
        EXPECT_EQ(WEXITSTATUS(status), 0) << name << ":\n" << script << test::content_of(path("err"));
        EXPECT_NE(test::content_of(path("out")), "") << name;
    }
}

} // namespace
} // namespace stillroom
