// SPDX-License-Identifier: GPL-3.0-or-later
// What a preflight and a launch must not let pass, and that both leave a run as it would have been.
#include "base/files.h"
#include "session/launch_checks.h"
#include "tests/session/support.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <sys/wait.h>

namespace stillroom::session {

namespace {

namespace fs = std::filesystem;

std::unique_ptr<train::Trainer> trainer_of(const std::string& name,
                                           const std::vector<std::string>& settings = {}) {
    torch::set_num_threads(1);
    return train::Trainer::create(test::small_recipe(name, settings), "cpu", "fp32",
                                  [](const std::string&) {})
        .value();
}

PreflightRequest request_of(const std::vector<std::string>& settings, const fs::path& run = {}) {
    PreflightRequest request;
    request.recipe = test::small_recipe("sample-opd", settings);
    request.run = run;
    request.device = "cpu";
    request.threads = 1;
    return request;
}

/// The findings up to `last`.
std::vector<Finding> findings_up_to(const std::string& last, const PreflightRequest& request) {
    return preflight(request, [&](const Finding& finding) { return finding.id != last; }).value();
}

Finding finding(const std::string& id, const std::vector<std::string>& settings = {},
                const fs::path& run = {}) {
    return findings_up_to(id, request_of(settings, run)).back();
}

void expect(const Finding& finding, Verdict verdict, const std::string& mentions) {
    EXPECT_EQ(finding.verdict, verdict) << finding.id << ": " << finding.evidence;
    EXPECT_NE(finding.evidence.find(mentions), std::string::npos) << finding.id << ": " << finding.evidence;
}

/// The sample's model `name` in `folder`, its chat template opening a thought where thinking is asked for.
fs::path thinking_model(const test::TemporaryFolder& folder, const std::string& name) {
    fs::copy(test::source_folder() / "resources/sample" / name, folder / name, fs::copy_options::recursive);
    const fs::path file = folder / name / "tokenizer_config.json";
    auto config = nlohmann::json::parse(read_file(file).value());
    std::string text = config["chat_template"];
    const std::string before = "<|im_start|>assistant\n",
                      after = "{% if enable_thinking %}<think>{% endif %}";
    text.insert(text.rfind(before) + before.size(), after);
    config["chat_template"] = text;
    EXPECT_TRUE(write_file(file, config.dump()));
    return folder / name;
}

} // namespace

TEST(LaunchChecks, they_change_nothing) {
    for (const std::string name : {"sample-opd", "sample-opsd"}) {
        const auto plain = trainer_of(name), checked = trainer_of(name);
        const auto before = checked->order().cursor();
        const auto findings = launch_checks(*checked, 4, {});
        for (const auto& found : findings) EXPECT_EQ(found.verdict, Verdict::Pass) << found.evidence;
        EXPECT_EQ(checked->gradients().flat.abs().max().item<float>(), 0);
        EXPECT_EQ(checked->order().cursor(), before);
        for (int64_t step = 1; step <= 2; ++step) {
            const auto one = plain->step(step).value(), other = checked->step(step).value();
            EXPECT_EQ(one.metrics.at("loss"), other.metrics.at("loss"));
            EXPECT_EQ(one.metrics.at("grad_norm"), other.metrics.at("grad_norm"));
        }
        EXPECT_TRUE(plain->student().weights.flat.equal(checked->student().weights.flat));
    }
}

TEST(LaunchChecks, a_run_that_fails_one_ends_as_failed_says_which_and_keeps_it) {
    // An untrained student and a trained teacher agree nowhere, in place or shifted.
    const test::TemporaryFolder folder;
    const auto outcome = test::run(test::small_recipe("sample-opd", {"student.init=random"}), folder / "run");
    ASSERT_FALSE(outcome.result);
    EXPECT_NE(outcome.result.error().message().find("PF09"), std::string::npos)
        << outcome.result.error().message();
    EXPECT_TRUE(outcome.all<StepDone>().empty());
    const auto summary = record::RunReader::open(folder / "run").value().summary().value();
    EXPECT_EQ(summary.state, record::RunState::Failed);
    const auto kept = nlohmann::json::parse(read_file(folder / "run/preflight.json").value());
    EXPECT_EQ(kept["sessions"][0]["findings"][0]["verdict"], "FAIL");
}

TEST(LaunchChecks, weights_that_are_not_finite_fail) {
    const auto trainer = trainer_of("sample-opd");
    auto batch = drawn(*trainer, {}, {}).value();
    trainer->student().weights.view("final_norm").fill_(std::numeric_limits<float>::quiet_NaN());
    EXPECT_GT(evaluated(*trainer, batch).value().nonfinite_rows, 0);
    EXPECT_EQ(check_micro_batches(*trainer, batch).verdict, Verdict::Fail);
    EXPECT_EQ(check_zero(*trainer, batch).verdict, Verdict::Fail);
}

TEST(LaunchChecks, averages_of_each_micro_batch_would_move_the_gradient_far_beyond_what_is_allowed) {
    // With every sequence alone, its rows would be averaged over it: token_mean_global made
    // seq_mean_token_mean.
    const auto trainer = trainer_of("sample-opd");
    auto batch = drawn(*trainer, {}, {}).value();
    const auto whole = evaluated(*trainer, batch).value();
    const auto global = trainer->gradients().flat.clone();
    for (size_t b = 0; b < batch.rows.scale.size(); ++b) {
        const float local = 1.0f / float(batch.sequences.size() * batch.rows.scale[b].size());
        batch.rows.scale[b].assign(batch.rows.scale[b].size(), local);
    }
    const auto local = evaluated(*trainer, batch).value();
    const double change = (trainer->gradients().flat - global).norm().item<double>();
    constexpr double allowed = 1e-4; // of the norm, in fp32
    EXPECT_GT(change, 100 * allowed * global.norm().item<double>());
    EXPECT_NE(whole.loss, local.loss);
}

TEST(LaunchChecks, different_temperatures_are_named_by_the_zero_test) {
    const auto trainer =
        trainer_of("sample-opd", {"objective.name=kl_reverse", "objective.student_temperature=1.3"});
    const auto batch = drawn(*trainer, {}, {}).value();
    const auto found = check_zero(*trainer, batch);
    EXPECT_EQ(found.verdict, Verdict::Warn);
    EXPECT_NE(found.evidence.find("T_S = 1.3"), std::string::npos) << found.evidence;
    EXPECT_EQ(check_sampler(batch, evaluated(*trainer, batch).value().tokens, false).verdict, Verdict::Fail)
        << "answers drawn at T 1 are not those of T 1.3";
}

TEST(Preflight, prompts_that_end_differently_fail_unless_allowed) {
    const test::TemporaryFolder folder;
    const std::vector<std::string> models{"student.model=" + thinking_model(folder, "student").string(),
                                          "teacher.model=" + thinking_model(folder, "teacher").string()};
    const auto with = [&](std::vector<std::string> settings) {
        settings.insert(settings.end(), models.begin(), models.end());
        return settings;
    };
    const auto failed = finding("PF06", with({"data.thinking=true"}));
    expect(failed, Verdict::Fail, "think");
    ASSERT_FALSE(failed.remedies.empty());
    EXPECT_EQ(
        finding("PF06", with({"data.thinking=true", failed.remedies[0].key + "=" + failed.remedies[0].value}))
            .verdict,
        Verdict::Pass);
    expect(finding("PF06", with({"data.thinking=true", "teacher.allow_prefix_difference=true"})),
           Verdict::Warn, "allowed");
}

TEST(Preflight, missing_models_are_said_once) {
    std::vector<std::string> failed;
    const auto request = request_of({"student.model=/no/such/model"});
    const auto findings = preflight(request, {}).value();
    for (const auto& found : findings) {
        if (found.verdict == Verdict::Fail) failed.push_back(found.id);
    }
    EXPECT_EQ(failed, std::vector<std::string>{"PF03"});
    EXPECT_EQ(findings.size(), preflight_checks().size());
}

TEST(Preflight, a_need_beyond_the_disk_fails) {
    const test::TemporaryFolder folder;
    expect(finding("PF01",
                   {"run.steps=1000000000", "rollout.prompts_per_step=1024",
                    "record.byte_budget=1000000000000000"},
                   folder / "run"),
           Verdict::Fail, "Needs");
}

TEST(Preflight, a_device_that_is_not_there_fails) {
    if (torch::cuda::is_available()) GTEST_SKIP() << "this machine has a CUDA device";
    auto request = request_of({});
    request.device = "cuda";
    EXPECT_EQ(findings_up_to("PF02", request).back().verdict, Verdict::Fail);
    EXPECT_EQ(finding("PF02").verdict, Verdict::Skip);
}

TEST(Preflight, a_recorder_that_cannot_write_fails) {
    const test::TemporaryFolder folder;
    expect(finding("PF23", {}, "/proc/nothing/run"), Verdict::Fail, "/proc");
    expect(finding("PF23", {}, folder / "run"), Verdict::Pass, "/s");
}

TEST(Preflight, few_questions_resolve_little_and_ungraded_ones_nothing) {
    expect(finding("PF22"), Verdict::Warn, "5 questions"); // the small recipe's limit
    expect(finding("PF22", {"evaluation.limit=0"}), Verdict::Pass, "200 questions");
    const test::TemporaryFolder folder;
    ASSERT_TRUE(write_file(folder / "x.jsonl", R"({"problem": "1+1"})"));
    expect(finding("PF18", {"evaluation.data=" + (folder / "x.jsonl").string()}), Verdict::Fail,
           "1 question without an answer");
    expect(finding("PF18"), Verdict::Pass, "20 known cases");
}

TEST(Preflight, answers_that_the_data_lack_leave_a_teacher_with_nothing_to_be_told) {
    const test::TemporaryFolder folder;
    ASSERT_TRUE(write_file(folder / "x.jsonl", "{\"problem\": \"1+1\"}\n{\"problem\": \"1+2\"}\n"));
    expect(finding("PF07", {"data.files=[\"" + (folder / "x.jsonl").string() + "\"]",
                            "teacher.context=answer-twice"}),
           Verdict::Fail, "2 dropped: no solution");
}

TEST(Preflight, a_rate_outside_the_published_range_warns_without_a_preset) {
    auto request = request_of({"optimizer.lr=0.5"});
    request.recipe.preset.clear();
    const auto findings = findings_up_to("PF19", request);
    expect(findings.back(), Verdict::Warn, "outside the published range");
}

TEST(Preflight, greedy_answers_repeat_with_every_seed) {
    expect(finding("PF15"), Verdict::Pass, "repeats 4 of 4 rollouts, the next seed 0");
    expect(finding("PF15", {"rollout.temperature=0"}), Verdict::Pass, "greedy");
}

TEST(Preflight, is_cancelled_between_findings_and_within_them) {
    EXPECT_EQ(findings_up_to("PF03", request_of({})).size(), 3u);
    std::atomic<bool> cancel = false;
    auto request = request_of({});
    request.cancel = &cancel;
    const auto findings = preflight(request, [&](const Finding& finding) {
                              cancel = finding.id == "PF12";
                              return true;
                          }).value();
    EXPECT_EQ(findings.back().id, "PF12");
}

TEST(Preflight, a_remedy_with_a_value_is_a_setting_that_the_recipe_takes) {
    const std::vector<std::vector<std::string>> faults{
        {"optimizer.lr=0.5", "optimizer.schedule=linear"},
        {"rollout.max_new=8"},
        {"rollout.cache_tokens=8"},
        {"optimizer.micro_tokens=100000000", "rollout.prompts_per_step=2000000"},
        {"objective.name=topk_const_tail"},
    };
    int64_t tried = 0;
    for (const auto& settings : faults) {
        const auto request = request_of(settings);
        const auto findings = findings_up_to(settings == faults[1] ? "PF16" : "PF22", request);
        for (const auto& found : findings) {
            for (const auto& remedy : found.remedies) {
                if (remedy.value.empty()) continue;
                ++tried;
                const auto changed =
                    formats::with_settings(request.recipe, {remedy.key + "=" + remedy.value});
                EXPECT_TRUE(changed) << found.id << " " << remedy.key << "=" << remedy.value;
            }
        }
    }
    EXPECT_GE(tried, 8);
}

TEST(Doctor, exits_with_1_where_something_fails_and_shows_the_same_as_json) {
    setenv("STILLROOM_RESOURCES", (test::source_folder() / "resources").c_str(), 1);
    const test::TemporaryFolder folder;
    const auto output = [&](const std::string& arguments, int& status) {
        const std::string command = std::string(STILLROOM_CLI) +
                                    " doctor sample-opd --device cpu --threads 1 " + "--out " +
                                    (folder / "run").string() + " " + arguments + " 2>/dev/null";
        std::string text;
        FILE* pipe = popen(command.c_str(), "r");
        for (char part[4096]; const size_t count = fread(part, 1, sizeof part, pipe);)
            text.append(part, count);
        const int ended = pclose(pipe);
        status = WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
        return text;
    };
    int status = 0;
    const std::string text = output("--set student.model=/no/such/model", status);
    EXPECT_EQ(status, 1);
    EXPECT_NE(text.find("FAIL  PF03"), std::string::npos) << text;
    const auto report =
        nlohmann::json::parse(output("--json --set data.limit=50 --set rollout.max_new=48", status));
    EXPECT_EQ(status, 0);
    EXPECT_EQ(report["findings"].size(), preflight_checks().size());
    EXPECT_EQ(report["fail"], 0);
}

} // namespace stillroom::session
