// SPDX-License-Identifier: GPL-3.0-or-later
// Rollouts made from two distributions that the test knows in full, and a run to keep them in.
#pragma once

#include "record/queries.h"
#include "record/store.h"
#include "tests/support/golden.h"
#include "text/tokenizer.h"
#include "ui/models/token_rollout.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace stillroom::ui {

inline std::shared_ptr<const text::Tokenizer> sample_tokenizer() {
    return std::make_shared<const text::Tokenizer>(
        text::Tokenizer::load(test::source_folder() / "resources/sample/student").value());
}

/// Log-probabilities of both models over a whole vocabulary at one position.
struct Distributions {
    std::vector<double> student, teacher;

    double kl() const {
        double sum = 0;
        for (size_t v = 0; v < student.size(); ++v) sum += std::exp(student[v]) * (student[v] - teacher[v]);
        return sum;
    }
};

inline std::vector<double> log_softmax(std::vector<double> logits) {
    double sum = 0;
    for (const double logit : logits) sum += std::exp(logit);
    for (double& logit : logits) logit -= std::log(sum);
    return logits;
}

inline Distributions random_distributions(std::mt19937& random, size_t vocabulary, double distance) {
    std::normal_distribution<double> normal;
    std::vector<double> student(vocabulary), teacher(vocabulary);
    for (size_t v = 0; v < vocabulary; ++v) {
        student[v] = 2 * normal(random);
        teacher[v] = student[v] + distance * normal(random);
    }
    return {log_softmax(student), log_softmax(teacher)};
}

inline double entropy_of(const std::vector<double>& log_probs) {
    double sum = 0;
    for (const double log_p : log_probs) sum -= std::exp(log_p) * log_p;
    return sum;
}

inline std::vector<int32_t> best_ids(const std::vector<double>& log_probs) {
    std::vector<int32_t> ids(log_probs.size());
    std::iota(ids.begin(), ids.end(), 0);
    std::partial_sort(ids.begin(), ids.begin() + 16, ids.end(),
                      [&](int32_t a, int32_t b) { return log_probs[size_t(a)] > log_probs[size_t(b)]; });
    ids.resize(16);
    return ids;
}

struct ExampleRollout {
    record::RolloutRecord record;
    std::vector<Distributions> at; // of each token
};

/// A rollout of these ids; the two models are far apart at some tokens and close at others.
inline ExampleRollout example_rollout(const std::vector<int32_t>& ids, unsigned seed, bool with_top16 = true,
                                      bool with_plain = true) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> distance(0.05, 1.5);
    ExampleRollout made;
    record::RolloutRecord& rollout = made.record;
    rollout.prompt_id = "p" + std::to_string(seed);
    rollout.problem = "Count.";
    rollout.finish_reason = "eos";
    rollout.verdict = "equal";
    rollout.why = "equal as integers";
    rollout.format_ok = true;
    rollout.gold = rollout.extracted = "5";
    record::TokenRecord& tokens = rollout.tokens;
    tokens.ids = ids;
    if (with_top16) rollout.top16.emplace();
    for (size_t t = 0; t < ids.size(); ++t) {
        const Distributions both = random_distributions(random, 320, distance(random));
        const auto y = size_t(ids[t]) % 320;
        const auto of_student = best_ids(both.student), of_teacher = best_ids(both.teacher);
        tokens.student_logprob.push_back(float(both.student[y]));
        tokens.teacher_logprob.push_back(float(both.teacher[y]));
        if (with_plain)
            tokens.teacher_plain_logprob.push_back(float(both.teacher[y] - 0.5 + double(t % 3) / 2));
        tokens.student_entropy.push_back(float(entropy_of(both.student)));
        tokens.teacher_entropy.push_back(float(entropy_of(both.teacher)));
        tokens.kl.push_back(float(both.kl()));
        tokens.overlap.push_back(uint8_t(std::count_if(of_student.begin(), of_student.end(), [&](int32_t id) {
            return std::find(of_teacher.begin(), of_teacher.end(), id) != of_teacher.end();
        })));
        tokens.flags.push_back(t + 1 == ids.size() ? end_flag : 0);
        if (with_top16) {
            record::Top16Record& lists = *rollout.top16;
            double student_mass = 0, teacher_mass = 0;
            for (const int32_t id : of_student) {
                lists.student_ids.push_back(id);
                lists.student_ids_student.push_back(float(both.student[size_t(id)]));
                lists.student_ids_teacher.push_back(float(both.teacher[size_t(id)]));
                student_mass += std::exp(both.student[size_t(id)]);
            }
            for (const int32_t id : of_teacher) {
                lists.teacher_ids.push_back(id);
                lists.teacher_ids_student.push_back(float(both.student[size_t(id)]));
                lists.teacher_ids_teacher.push_back(float(both.teacher[size_t(id)]));
                teacher_mass += std::exp(both.teacher[size_t(id)]);
            }
            lists.student_tail.push_back(float(std::log1p(-student_mass)));
            lists.teacher_tail.push_back(float(std::log1p(-teacher_mass)));
        }
        made.at.push_back(both);
    }
    if (with_top16) rollout.kept_because = "random";
    return made;
}

/// A run's folder with a store and the sample's tokenizer as its newest checkpoint's.
class RolloutRun {
public:
    RolloutRun() : store_(make_store(folder_.path())) {
        const auto checkpoint = folder_.path() / "checkpoints/step-000001";
        std::filesystem::create_directories(checkpoint);
        std::ofstream(checkpoint / "stillroom.json") << "{}";
        for (const char* name : {"tokenizer.json", "tokenizer_config.json", "config.json"})
            std::filesystem::copy_file(test::source_folder() / "resources/sample/student" / name,
                                       checkpoint / name);
    }

    void add(const record::RolloutRecord& rollout) { store_.append(rollout).value(); }
    void finish(int64_t step) {
        store_.append(record::StateRecord{record::RunState::Finished, step, "done"}).value();
    }
    void run(int64_t step) {
        store_.append(record::StateRecord{record::RunState::Running, step, ""}).value();
    }
    const std::filesystem::path& folder() const { return folder_.path(); }
    record::RunReader read() const { return std::move(record::RunReader::open(folder_.path())).value(); }

private:
    static record::RunStore make_store(const std::filesystem::path& folder) {
        record::RunDescription description;
        description.name = "inspected";
        description.program = "stillroom test";
        description.steps_planned = 100;
        description.settings = {{"run.seed", "42"}, {"rollout.samples_per_prompt", "4"}};
        return std::move(record::RunStore::create(folder, description)).value();
    }
    test::TemporaryFolder folder_;
    record::RunStore store_;
};

} // namespace stillroom::ui
