// SPDX-License-Identifier: GPL-3.0-or-later
// `stillroom-cli statistics` and `check-answers` as people run them: what goes in, what comes out, exit
// statuses.
#include "tests/stats/comparison.h"
#include "tests/support/golden.h"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <sys/wait.h>

namespace stillroom::stats {
namespace {

using nlohmann::json;

class CommandLine : public testing::Test {
protected:
    void SetUp() override {
        if (!std::filesystem::exists(STILLROOM_CLI)) GTEST_SKIP() << "stillroom-cli is not built";
    }

    struct Outcome {
        int status;
        std::string out, err;
    };
    Outcome run(const std::string& arguments, const std::string& input) {
        write("in", input);
        const auto path = [&](const char* name) { return "'" + (folder_ / name).string() + "'"; };
        const std::string command = std::string("'") + STILLROOM_CLI + "' " + arguments + " < " + path("in") +
                                    " > " + path("out") + " 2> " + path("err");
        const int status = std::system(command.c_str());
        return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read("out"), read("err")};
    }
    std::string write(const std::string& name, const std::string& content) {
        std::ofstream(folder_ / name) << content;
        return (folder_ / name).string();
    }

private:
    std::string read(const std::string& name) {
        std::ostringstream content;
        content << std::ifstream(folder_ / name).rdbuf();
        return content.str();
    }
    stillroom::test::TemporaryFolder folder_;
};

/// One line a sample; the questions are interleaved, as a partial evaluation leaves them.
std::string sample_lines(const json& correct) {
    std::string lines;
    for (size_t i = 0; i < correct[0].size(); ++i) {
        for (size_t q = 0; q < correct.size(); ++q) {
            lines += json{{"question", "q" + std::to_string(q)}, {"correct", correct[q][i]}}.dump() + "\n";
        }
    }
    return lines;
}

TEST_F(CommandLine, statistics_reports_the_golden_paired_case) {
    const json file = stillroom::test::read_json(stillroom::test::golden("statistics/statistics.json"));
    int compared = 0;
    for (const json& item : file.at("cases")) {
        if (item.at("id") != "paired-30x12") continue;
        const json &input = item.at("input"), &expected = item.at("expected");
        const std::string baseline = write("baseline", sample_lines(input.at("baseline")));
        const Outcome outcome =
            run("statistics --json --against '" + baseline + "'", sample_lines(input.at("checkpoint")));
        ASSERT_EQ(outcome.status, 0) << outcome.err;
        const json against = json::parse(outcome.out).at("against");
        compared += test::compare({{"paired_difference", expected.at("difference")},
                                   {"se_paired", expected.at("se_paired")},
                                   {"se_unpaired", expected.at("se_unpaired")},
                                   {"interval_t95", expected.at("interval_t95")},
                                   {"t", expected.at("t")},
                                   {"p_two_sided", expected.at("p_two_sided")},
                                   {"correlation", expected.at("correlation")},
                                   {"questions_factor", expected.at("questions_factor")},
                                   {"questions_gained", expected.at("questions_better")},
                                   {"questions_lost", expected.at("questions_worse")},
                                   {"difference_variance", expected.at("difference_variance")}},
                                  against, "against");
    }
    EXPECT_EQ(compared, 15);
}

TEST_F(CommandLine, statistics_leaves_out_what_has_no_input_and_writes_null_for_undefined) {
    const Outcome outcome = run("statistics --json", "{\"question\": 1, \"correct\": 1}\n");
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const json report = json::parse(outcome.out);
    EXPECT_TRUE(report.at("se_clustered").is_null());
    for (const char* key :
         {"maj_at_k", "eval_format_rate", "eval_truncated_fraction", "eval_length_mean", "against"}) {
        EXPECT_FALSE(report.contains(key)) << key;
    }
}

TEST_F(CommandLine, statistics_names_the_line_at_fault_and_fails) {
    const Outcome outcome =
        run("statistics", "{\"question\": 1, \"correct\": 1}\n\n{\"question\": 1, \"correct\": 2}\n");
    EXPECT_EQ(outcome.status, 1);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err, "error: standard input:3: \"correct\" is 2, expected 0 or 1\n");
    EXPECT_EQ(run("statistics", "").status, 1);
    EXPECT_EQ(run("statistics --k none", "").status, 2);
}

TEST_F(CommandLine, check_answers_takes_its_policy_from_options) {
    const auto verdict = [&](const std::string& answer, const std::string& gold, const std::string& options) {
        const Outcome outcome = run("check-answers --rule whole " + options,
                                    json{{"gold", gold}, {"prediction", answer}}.dump() + "\n");
        return json::parse(outcome.out).at("verdict").get<std::string>();
    };
    EXPECT_EQ(verdict("10%", "10", ""), "equal");
    EXPECT_EQ(verdict("10%", "10", "--percent value"), "different");
    EXPECT_EQ(verdict("2,1", "1,2", ""), "equal");
    EXPECT_EQ(verdict("2,1", "1,2", "--order all"), "different");
    EXPECT_EQ(verdict("5", "5 cm", ""), "equal");
    EXPECT_EQ(verdict("5", "5 cm", "--units required"), "different");
    EXPECT_EQ(verdict("0.33", "1/3", ""), "different");
    EXPECT_EQ(verdict("0.33", "1/3", "--decimals 2"), "equal");
}

TEST_F(CommandLine, check_answers_answers_in_order_and_goes_on_after_a_bad_line) {
    const Outcome outcome = run("check-answers", R"({"gold": "1/2", "prediction": "so \\boxed{0.5}", "id": 7}
{"gold": 3, "prediction": "x"}
{"gold": "3", "prediction": "none"}
{"gold": "\\int_0^2 1 dx", "prediction": "\\boxed{2}"}
)");
    EXPECT_EQ(outcome.status, 1);
    std::istringstream lines(outcome.out);
    std::vector<json> answers;
    for (std::string line; std::getline(lines, line);) answers.push_back(json::parse(line));
    ASSERT_EQ(answers.size(), 4u);
    EXPECT_EQ(answers[0].at("verdict"), "equal");
    EXPECT_EQ(answers[0].at("extracted"), "0.5");
    EXPECT_EQ(answers[0].at("id"), 7);
    EXPECT_EQ(answers[1].at("line"), 2);
    EXPECT_TRUE(answers[1].contains("error"));
    EXPECT_EQ(answers[2].at("verdict"), "different");
    EXPECT_TRUE(answers[2].at("extracted").is_null());
    EXPECT_EQ(answers[3].at("verdict"), "unknown");
}

} // namespace
} // namespace stillroom::stats
