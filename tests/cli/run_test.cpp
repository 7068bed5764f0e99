// SPDX-License-Identifier: GPL-3.0-or-later
// A small run of the sample from beginning to end, as a person makes it: train, runs, show, resume, export,
// and inspect of what was exported; and runs that are interrupted.
#include "base/files.h"
#include "base/hash.h"
#include "tests/cli/program.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <set>
#include <thread>

namespace stillroom {
namespace {

using nlohmann::json;

std::vector<std::string> train_arguments(const std::string& run, const std::string& steps) {
    std::vector<std::string> arguments{"train", "sample-opd", "--out", run,       "--device",
                                       "cpu",   "--threads",  "1",     "--steps", steps};
    for (const char* setting : {"rollout.prompts_per_step=4", "rollout.max_new=32", "evaluation.limit=5",
                                "evaluation.every=2", "checkpoint.every=2", "checkpoint.export_at_end=false"})
        arguments.insert(arguments.end(), {"--set", setting});
    return arguments;
}

class Run : public test::Program {
protected:
    std::string train(const std::string& name, const std::string& steps) const {
        const auto outcome = run(train_arguments(path(name), steps));
        EXPECT_EQ(outcome.status, 0) << outcome.err;
        return path(name);
    }
    json shown(const std::string& run_folder, std::vector<std::string> options) const {
        std::vector<std::string> arguments{"show", run_folder, "--json"};
        arguments.insert(arguments.end(), options.begin(), options.end());
        const auto outcome = run(arguments);
        EXPECT_EQ(outcome.status, 0) << outcome.err;
        return json::parse(outcome.out);
    }
    json series(const std::string& run_folder, const std::string& metric) const {
        return shown(run_folder, {"--metrics", metric})["series"][metric];
    }
};

std::vector<int64_t> steps_of(const json& series) {
    std::vector<int64_t> steps;
    for (const json& point : series) steps.push_back(point["step"]);
    return steps;
}

TEST_F(Run, is_trained_listed_shown_resumed_exported_and_inspected) {
    const std::string folder = train("three", "3");

    // runs and show agree on where it stands.
    const auto listed = run({"runs", this->folder().string(), "--json"});
    ASSERT_EQ(listed.status, 0) << listed.err;
    const json all = json::parse(listed.out)["runs"];
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0]["state"], "finished");
    EXPECT_EQ(all[0]["step"], 3);
    const auto table = run({"runs", this->folder().string()});
    EXPECT_NE(table.out.find("three"), std::string::npos) << table.out;
    EXPECT_NE(table.out.find("1 run in "), std::string::npos) << table.out;

    const json overview = shown(folder, {});
    EXPECT_EQ(overview["steps_planned"], 3);
    EXPECT_EQ(overview["metrics"]["loss"]["count"], 3);
    EXPECT_EQ(overview["metrics"]["loss"]["last_step"], 3);
    ASSERT_FALSE(overview["checkpoints"].empty());
    EXPECT_EQ(overview["checkpoints"].back()["step"], 3);
    ASSERT_FALSE(overview["evaluations"].empty());
    EXPECT_EQ(overview["evaluations"][0]["answers"], 5);
    EXPECT_FALSE(overview["events"].empty());
    EXPECT_EQ(steps_of(series(folder, "loss")), (std::vector<int64_t>{1, 2, 3}));

    // A longer run from its last checkpoint is the run that was long from the beginning.
    const auto resumed = run({"resume", folder, "--steps", "5", "--device", "cpu", "--threads", "1"});
    ASSERT_EQ(resumed.status, 0) << resumed.err;
    const std::string whole = train("five", "5");
    for (const std::string metric : {"loss", "kl_reverse_exact", "grad_norm"}) {
        const json found = series(folder, metric), expected = series(whole, metric);
        EXPECT_EQ(steps_of(found), (std::vector<int64_t>{1, 2, 3, 4, 5}));
        ASSERT_EQ(found.size(), expected.size());
        for (size_t i = 0; i < found.size(); ++i)
            EXPECT_EQ(found[i]["value"], expected[i]["value"]) << metric;
    }

    // The exported folder holds what the checkpoint says.
    const auto exported = run({"export", folder, path("exported"), "--step", "3"});
    ASSERT_EQ(exported.status, 0) << exported.err;
    EXPECT_NE(exported.out.find("step 3"), std::string::npos) << exported.out;
    const auto inspected = run({"inspect", path("exported"), "--json"});
    ASSERT_EQ(inspected.status, 0) << inspected.err;
    const auto student =
        run({"inspect", (test::source_folder() / "resources/sample/student").string(), "--json"});
    json report = json::parse(inspected.out), original = json::parse(student.out);
    EXPECT_EQ(report["kind"], "model folder");
    for (const char* key :
         {"family", "vocabulary", "hidden", "layers", "heads", "kv_heads", "tied_head", "eos_ids"})
        EXPECT_EQ(report["architecture"][key], original["architecture"][key]) << key;
    EXPECT_EQ(report["vocabulary"]["fingerprint"], original["vocabulary"]["fingerprint"]);
    EXPECT_EQ(report["elements"], original["elements"]);
    const auto checkpoint = run({"inspect", folder + "/checkpoints/step-000005", "--json"});
    ASSERT_EQ(checkpoint.status, 0) << checkpoint.err;
    EXPECT_EQ(json::parse(checkpoint.out)["kind"], "checkpoint");

    // Its README tells where it comes from.
    const std::string card = read_file(path("exported") + "/README.md").value();
    const auto data = sha256_of_file(test::source_folder() / "resources/sample/train.jsonl").value();
    for (const std::string& told :
         {std::string("- steps: 3 of 5\n"), std::string("- seed: 42\n"),
          "train.jsonl (SHA-256 " + data.substr(0, 16), std::string("- licence of the base model: unknown\n"),
          std::string("| `run.steps` | ")})
        EXPECT_NE(card.find(told), std::string::npos) << told << "\n" << card;

    const auto again = run({"export", folder, path("exported")});
    EXPECT_EQ(again.status, 1);
    EXPECT_TRUE(test::is_one_line(again.err)) << again.err;
    const auto none = run({"export", folder, path("other"), "--step", "77"});
    EXPECT_EQ(none.status, 1);
    EXPECT_NE(none.err.find("77"), std::string::npos) << none.err;
    EXPECT_FALSE(std::filesystem::exists(path("other")));
}

TEST_F(Run, its_rollouts_are_shown_with_their_token_records) {
    const std::string folder = train("two", "2");
    const json list = shown(folder, {"--rollouts", "3"})["rollout_list"];
    ASSERT_EQ(list.size(), 3u); // of 8, the newest first
    EXPECT_EQ(list[0]["step"], 2);
    EXPECT_GT(list[0]["id"].get<int64_t>(), list[1]["id"].get<int64_t>());

    const json everything = shown(folder, {"--rollouts", "100"})["rollout_list"];
    ASSERT_EQ(everything.size(), 8u);
    size_t with_top16 = 0;
    for (const json& summary : everything) {
        const std::string id = std::to_string(summary["id"].get<int64_t>());
        const json rollout = shown(folder, {"--rollout", id})["rollout"];
        ASSERT_EQ(rollout["tokens"].size(), summary["length"].get<size_t>());
        double kl = 0;
        std::string text;
        for (const json& token : rollout["tokens"]) {
            const double student = token["student_logprob"], teacher = token["teacher_logprob"];
            EXPECT_LE(student, 0);
            EXPECT_LE(teacher, 0);
            EXPECT_NEAR(token["gap"].get<double>(), student - teacher, 1e-12);
            EXPECT_TRUE(token["gain"].is_null()); // this teacher sees nothing that the student doesn't
            EXPECT_GE(token["kl"].get<double>(), -1e-3);
            kl += token["kl"].get<double>();
            if (token["id"] != 2) text += token["text"].get<std::string>();
            if (!token.contains("student_top16")) continue;
            ASSERT_EQ(token["student_top16"].size(), 16u);
            ASSERT_EQ(token["teacher_top16"].size(), 16u);
            std::set<int64_t> of_student;
            int overlap = 0;
            double mass = std::exp(token["student_log_tail"].get<double>());
            for (const json& candidate : token["student_top16"]) {
                of_student.insert(candidate["id"].get<int64_t>());
                mass += std::exp(candidate["student_logprob"].get<double>());
                if (candidate["id"] == token["id"])
                    EXPECT_NEAR(candidate["student_logprob"].get<double>(), student,
                                2e-2); // of 16-bit floats
            }
            EXPECT_NEAR(mass, 1, 5e-3);
            for (const json& candidate : token["teacher_top16"])
                overlap += int(of_student.contains(candidate["id"].get<int64_t>()));
            EXPECT_EQ(token["overlap"], overlap);
        }
        EXPECT_EQ(rollout["text"], text);
        EXPECT_NEAR(kl / double(rollout["tokens"].size()), summary["kl_mean"].get<double>(), 2e-3);
        const bool kept = rollout["tokens"][0].contains("student_top16");
        EXPECT_EQ(kept, !rollout["kept_because"].get<std::string>().empty());
        with_top16 += kept;
    }
    EXPECT_GT(with_top16, 0u);

    // For people: one line a token under a heading that names what is asked for.
    const std::string id = std::to_string(everything[0]["id"].get<int64_t>());
    const auto table = run({"show", folder, "--rollout", id});
    ASSERT_EQ(table.status, 0) << table.err;
    for (const char* heading : {"log pS", "log pT", "gap", "gain", "H(S)", "H(T)", "KL", "overlap"})
        EXPECT_NE(table.out.find(heading), std::string::npos) << heading;
    EXPECT_NE(table.out.find(everything[0]["gold"].get<std::string>()), std::string::npos);
    const auto metrics = run({"show", folder, "--metrics", "loss,grad_norm"});
    ASSERT_EQ(metrics.status, 0) << metrics.err;
    EXPECT_EQ(std::ranges::count(metrics.out, '\n'), 1 + 1 + 1 + 2)
        << metrics.out; // state, blank, heading, steps

    const auto misspelt = run({"show", folder, "--metrics", "los"});
    EXPECT_EQ(misspelt.status, 1);
    EXPECT_NE(misspelt.err.find("\"loss\""), std::string::npos) << misspelt.err;
    EXPECT_EQ(run({"show", folder, "--rollout", "999999"}).status, 1);
    EXPECT_EQ(run({"show", this->folder().string()}).status, 1);
}

TEST_F(Run, that_is_interrupted_saves_ends_with_130_and_goes_on_as_if_nothing_had_happened) {
    const std::string folder = path("cut");
    const pid_t process = start(train_arguments(folder, "400"));
    // The first line of a step on standard output: it is training.
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes(3);
    while (test::content_of(path("out")).find("/400  loss") == std::string::npos &&
           std::chrono::steady_clock::now() < give_up)
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ASSERT_EQ(kill(process, SIGINT), 0);
    const auto outcome = wait(process);
    ASSERT_EQ(outcome.status, 130) << outcome.out << outcome.err;
    EXPECT_NE(outcome.err.find("interrupted"), std::string::npos) << outcome.err;

    const json stopped = shown(folder, {});
    EXPECT_EQ(stopped["state"], "stopped");
    const int64_t step = stopped["step"];
    ASSERT_GE(step, 1);
    ASSERT_LT(step, 400);
    EXPECT_EQ(stopped["resumable_from"], step);
    const std::string more = std::to_string(step + 1);
    const auto resumed = run({"resume", folder, "--steps", more, "--device", "cpu", "--threads", "1"});
    ASSERT_EQ(resumed.status, 0) << resumed.err;

    const std::string whole = train("whole", more);
    const json found = series(folder, "loss"), expected = series(whole, "loss");
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i]["value"], expected[i]["value"]) << i;
}

TEST_F(Run, never_begins_in_a_folder_that_exists_and_never_resumes_what_is_none) {
    std::filesystem::create_directory(path("taken"));
    write("taken/mine", "mine");
    const auto taken = run(train_arguments(path("taken"), "1"));
    EXPECT_EQ(taken.status, 1);
    EXPECT_NE(taken.err.find("taken"), std::string::npos) << taken.err;
    EXPECT_EQ(test::content_of(path("taken/mine")), "mine");
    const auto none = run({"resume", path("nowhere")});
    EXPECT_EQ(none.status, 1);
    EXPECT_TRUE(test::is_one_line(none.err)) << none.err;
    EXPECT_FALSE(std::filesystem::exists(path("nowhere")));
    EXPECT_EQ(run({"runs", path("nowhere")}).status, 1);
}

} // namespace
} // namespace stillroom
