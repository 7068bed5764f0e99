// SPDX-License-Identifier: GPL-3.0-or-later
// Every finding of a preflight both ways: on the sample as it is, and on a recipe, model or data made wrong;
// and the checks at each launch, which are recorded and change nothing.
#include "base/files.h"
#include "session/launch_checks.h"
#include "session/preflight.h"
#include "tests/session/support.h"
#include "tests/support/golden.h"

#include <fstream>
#include <nlohmann/json.hpp>

namespace stillroom::session {

namespace {

using Findings = std::map<std::string, Finding>;

/// All findings, or those up to `last`.
Findings findings_of(const formats::Recipe& recipe, const std::string& last = "",
                     const std::filesystem::path& run = {}) {
    PreflightRequest request;
    request.recipe = recipe;
    request.run = run;
    request.device = "cpu";
    request.threads = 1;
    Findings found;
    const auto all = preflight(request, [&](const Finding& finding) { return finding.id != last; });
    for (const auto& finding : all.value()) found[finding.id] = finding;
    return found;
}

/// The finding `id` of the small sample-opd with these settings.
Finding finding(const std::string& id, const std::vector<std::string>& settings = {},
                const std::string& recipe = "sample-opd") {
    return findings_of(test::small_recipe(recipe, settings), id).at(id);
}

/// The sample's student with `change` made to its folder.
std::filesystem::path changed_student(const test::TemporaryFolder& folder,
                                      const std::function<void(const std::filesystem::path&)>& change) {
    std::filesystem::copy(test::source_folder() / "resources/sample/student", folder / "model",
                          std::filesystem::copy_options::recursive);
    change(folder / "model");
    return folder / "model";
}

void expect(const Finding& finding, Verdict verdict, const std::string& mentions) {
    EXPECT_EQ(finding.verdict, verdict) << finding.id << ": " << finding.evidence;
    EXPECT_NE(finding.evidence.find(mentions), std::string::npos) << finding.id << ": " << finding.evidence;
}

} // namespace

TEST(Preflight, the_samples_pass_and_every_check_is_made_in_the_listed_order) {
    for (const std::string name : {"sample-opd", "sample-opsd"}) {
        PreflightRequest request;
        const test::TemporaryFolder folder;
        request.recipe = test::small_recipe(name);
        request.run = folder / "run";
        request.device = "cpu";
        const auto found = preflight(request, {}).value();
        const auto listed = preflight_checks();
        ASSERT_EQ(found.size(), listed.size());
        for (size_t i = 0; i < found.size(); ++i) {
            EXPECT_EQ(found[i].id, listed[i].first);
            EXPECT_EQ(found[i].title, listed[i].second);
            EXPECT_NE(found[i].verdict, Verdict::Fail) << found[i].id << ": " << found[i].evidence;
            EXPECT_FALSE(found[i].evidence.empty()) << found[i].id;
        }
        EXPECT_FALSE(blocks_start(found));
        EXPECT_TRUE(std::filesystem::is_empty(folder / "")) << "a preflight leaves nothing behind";
    }
}

TEST(Preflight, a_folder_that_exists_or_cannot_be_written_fails) {
    const test::TemporaryFolder folder;
    std::filesystem::create_directories(folder / "run/something");
    const auto recipe = test::small_recipe("sample-opd");
    expect(findings_of(recipe, "PF01", folder / "run").at("PF01"), Verdict::Fail, "not empty");
    expect(findings_of(recipe, "PF01", "/proc/nothing/run").at("PF01"), Verdict::Fail, "/proc");
    expect(findings_of(recipe, "PF01", folder / "new").at("PF01"), Verdict::Pass, "writable");
}

TEST(Preflight, model_files_that_do_not_fit_their_config_fail) {
    const test::TemporaryFolder folder;
    const auto model = changed_student(folder, [](const auto& path) {
        std::filesystem::resize_file(path / "model.safetensors",
                                     std::filesystem::file_size(path / "model.safetensors") - 100);
    });
    expect(finding("PF03", {"student.model=" + model.string()}), Verdict::Fail, "model.safetensors");
    expect(finding("PF03", {"student.model=/nowhere"}), Verdict::Fail, "/nowhere");
    expect(finding("PF03"), Verdict::Pass, "sha256");
}

TEST(Preflight, tokenizers_that_differ_fail_and_name_what_differs) {
    const test::TemporaryFolder folder;
    const auto model = changed_student(folder, [](const auto& path) {
        auto tokenizer = nlohmann::json::parse(read_file(path / "tokenizer.json").value());
        auto& vocabulary = tokenizer["model"]["vocab"];
        // Two ordinary tokens change places.
        std::vector<std::string> letters{"a", "b"};
        std::swap(vocabulary[letters[0]], vocabulary[letters[1]]);
        ASSERT_TRUE(write_file(path / "tokenizer.json", tokenizer.dump()));
    });
    expect(finding("PF04", {"student.model=" + model.string()}), Verdict::Fail, "a");
    expect(finding("PF04"), Verdict::Pass, "214 probe strings");
}

TEST(Preflight, end_tokens_that_differ_are_found) {
    const test::TemporaryFolder folder;
    const auto model = changed_student(folder, [](const auto& path) {
        auto config = nlohmann::json::parse(read_file(path / "config.json").value());
        config["eos_token_id"] = 5;
        ASSERT_TRUE(write_file(path / "config.json", config.dump()));
        if (std::filesystem::exists(path / "generation_config.json")) {
            auto generation = nlohmann::json::parse(read_file(path / "generation_config.json").value());
            generation["eos_token_id"] = 5;
            ASSERT_TRUE(write_file(path / "generation_config.json", generation.dump()));
        }
    });
    const auto found = finding("PF05", {"student.model=" + model.string()});
    EXPECT_NE(found.verdict, Verdict::Pass) << found.evidence;
    expect(finding("PF05"), Verdict::Pass, "end token");
}

TEST(Preflight, prompts_that_do_not_fit_are_counted) {
    expect(finding("PF07", {"data.max_prompt=8"}), Verdict::Fail, "none can be used");
    expect(finding("PF07", {}, "sample-opsd"), Verdict::Pass, "problem");
}

TEST(Preflight, the_student_as_its_own_separate_teacher_fails) {
    const auto student = (test::source_folder() / "resources/sample/student").string();
    expect(finding("PF08", {"teacher.model=" + student}), Verdict::Fail, "same weights");
}

TEST(Preflight, data_twice_or_also_evaluated_warns) {
    const auto heldout = (test::source_folder() / "resources/sample/heldout.jsonl").string();
    const auto found = finding("PF17", {"data.files=[\"" + heldout + "\",\"" + heldout + "\"]"});
    expect(found, Verdict::Warn, "200");
    const test::TemporaryFolder folder;
    std::ofstream(folder / "x.jsonl") << R"({"problem": "1+1", "solution": "2", "answer": ""})" << '\n';
    const auto unanswered = finding("PF18", {"data.files=[\"" + (folder / "x.jsonl").string() + "\"]"});
    EXPECT_NE(unanswered.verdict, Verdict::Pass) << unanswered.evidence;
}

TEST(Preflight, an_objective_that_is_no_distribution_is_refused_and_may_be_overridden) {
    const auto refused = finding("PF12", {"objective.name=topk_const_tail"});
    expect(refused, Verdict::Fail, "not normalised");
    EXPECT_TRUE(refused.may_be_overridden);
    EXPECT_FALSE(blocks_start(std::vector{refused}));
    ASSERT_FALSE(refused.remedies.empty());
    expect(finding("PF12", {"objective.name=topk_const_tail", "objective.allow_unnormalised=true",
                            "objective.allow_reason=a test"}),
           Verdict::Warn, "a test");
    for (const std::string name :
         {"kl_reverse", "kl_forward", "jsd", "topk_tail_bucket", "topk_renorm", "k1_pg"})
        expect(finding("PF12", {"objective.name=" + name}), Verdict::Pass, "central differences");
}

TEST(Preflight, a_rate_unlike_the_presets_warns_with_the_remedy) {
    const auto found = finding("PF19", {"optimizer.lr=0.02"});
    expect(found, Verdict::Warn, "100x the preset");
    ASSERT_EQ(found.remedies.size(), 1u);
    EXPECT_EQ(found.remedies[0].key, "optimizer.lr");
    EXPECT_EQ(finding("PF19", {"optimizer.lr=" + found.remedies[0].value}).verdict, Verdict::Pass);
}

TEST(Preflight, a_run_that_does_not_fit_into_memory_fails) {
    expect(finding("PF20", {"optimizer.micro_tokens=100000000", "rollout.prompts_per_step=2000000"}),
           Verdict::Fail, "forecast peak");
    expect(finding("PF20", {"rollout.cache_tokens=8"}), Verdict::Fail, "does not hold one answer");
}

TEST(Preflight, a_cap_too_low_warns) {
    expect(finding("PF16", {"rollout.max_new=8"}), Verdict::Warn, "8 of 8 dry rollouts reach the cap");
    expect(finding("PF16", {"rollout.max_new=64"}), Verdict::Pass, "0 of 8");
}

TEST(Preflight, a_deadline_too_early_warns) {
    expect(finding("PF21", {"run.steps=100000", "run.deadline=2s"}), Verdict::Warn, "until the deadline");
    expect(finding("PF21", {"run.deadline=9h"}), Verdict::Pass, "until the deadline");
    expect(finding("PF21", {}), Verdict::Pass, "no deadline set");
    EXPECT_GT(finding("PF21", {}).step_seconds, 0);
}

TEST(Preflight, nothing_to_learn_fails) {
    expect(finding("PF11", {"teacher.context=none", "teacher.template="}, "sample-opsd"), Verdict::Fail,
           "nothing to learn");
}

TEST(LaunchChecks, a_teacher_whose_rows_are_shifted_fails_the_alignment) {
    const auto trainer =
        train::Trainer::create(test::small_recipe("sample-opd"), "cpu", "fp32", [](const std::string&) {
        }).value();
    const auto batch = drawn(*trainer, {}, {}).value();
    const auto tokens = evaluated(*trainer, batch).value().tokens;
    EXPECT_EQ(check_alignment(*trainer, batch, tokens).verdict, Verdict::Pass);
    for (const int64_t shift : {-1, 1}) {
        // What a step would record if it paired its rows one off.
        auto shifted = tokens;
        const auto wrong = teacher_logprobs(*trainer, batch, shift);
        for (size_t b = 0; b < shifted.size(); ++b) shifted[b].teacher_logprob = wrong[b];
        EXPECT_EQ(check_alignment(*trainer, batch, shifted).verdict, Verdict::Fail) << shift;
    }
}

TEST(LaunchChecks, a_sampler_of_other_weights_fails) {
    const auto trainer =
        train::Trainer::create(test::small_recipe("sample-opd"), "cpu", "fp32", [](const std::string&) {
        }).value();
    auto batch = drawn(*trainer, {}, {}).value();
    const auto tokens = evaluated(*trainer, batch).value().tokens;
    EXPECT_EQ(check_sampler(batch, tokens, false).verdict, Verdict::Pass);
    for (auto& sequence : batch.sequences) {
        for (float& logprob : sequence.rollout.logprobs) logprob -= 0.03f;
    }
    EXPECT_EQ(check_sampler(batch, tokens, false).verdict, Verdict::Fail);
    EXPECT_EQ(check_sampler(batch, tokens, true).verdict, Verdict::Warn);
    for (auto& sequence : batch.sequences) {
        for (float& logprob : sequence.rollout.logprobs) logprob -= 0.08f;
    }
    EXPECT_EQ(check_sampler(batch, tokens, true).verdict, Verdict::Fail);
}

TEST(LaunchChecks, without_a_teacher_only_the_micro_batches_are_compared) {
    const auto trainer = train::Trainer::create(test::small_recipe("sample-make-student"), "cpu", "fp32",
                                                [](const std::string&) {})
                             .value();
    std::map<std::string, Verdict> verdicts;
    for (const auto& finding : launch_checks(*trainer, 4, {})) verdicts[finding.id] = finding.verdict;
    EXPECT_EQ(verdicts, (std::map<std::string, Verdict>{{"PF09", Verdict::Skip},
                                                        {"PF10", Verdict::Skip},
                                                        {"PF13", Verdict::Pass},
                                                        {"PF14", Verdict::Skip}}));
}

TEST(LaunchChecks, every_session_of_a_run_keeps_its_findings) {
    const test::TemporaryFolder folder;
    ASSERT_TRUE(test::run(test::small_recipe("sample-opsd"), folder / "run").result);
    ASSERT_TRUE(test::run(test::small_recipe("sample-opsd", {"run.steps=5"}), folder / "run", true).result);
    const auto kept = nlohmann::json::parse(read_file(folder / "run/preflight.json").value());
    ASSERT_EQ(kept["sessions"].size(), 2u);
    EXPECT_EQ(kept["sessions"][1]["step"], 4);
    std::vector<std::string> ids;
    for (const auto& finding : kept["sessions"][0]["findings"]) {
        ids.push_back(finding["id"]);
        EXPECT_EQ(finding["verdict"], "PASS") << finding;
    }
    EXPECT_EQ(ids, (std::vector<std::string>{"PF09", "PF10", "PF13", "PF14"}));
    int64_t recorded = 0;
    const auto events = record::RunReader::open(folder / "run").value().events().value();
    for (const auto& stored : events) recorded += stored.event.text.find("PASS PF") == 0;
    EXPECT_EQ(recorded, 8);
}

} // namespace stillroom::session
