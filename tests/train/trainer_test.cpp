// SPDX-License-Identifier: GPL-3.0-or-later
// Whole steps on the sample's tiny models: which weights the teacher scores with, what a bf16 student starts
// from, how later updates of a batch compare with its first, what is skipped, what is refused.
#include "base/files.h"
#include "tests/support/golden.h"
#include "train/trainer.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

namespace stillroom::train {
namespace {

formats::Recipe sample_recipe(const std::vector<std::string>& settings) {
    const auto file = test::source_folder() / "resources/recipes/sample-opsd.toml";
    std::vector<std::string> all{"run.steps=3", "rollout.prompts_per_step=4", "rollout.max_new=24"};
    const std::string resources = (test::source_folder() / "resources").string();
    all.push_back("student.model=\"" + resources + "/sample/student\"");
    all.push_back("data.files=[\"" + resources + "/sample/train.jsonl\"]");
    all.insert(all.end(), settings.begin(), settings.end());
    return formats::with_settings(formats::read_recipe(file).value(), all).value();
}

Result<std::unique_ptr<Trainer>> sample_trainer(const std::vector<std::string>& settings) {
    torch::set_num_threads(1);
    return Trainer::create(sample_recipe(settings), "cpu", "auto", [](const std::string&) {});
}

double largest(const torch::Tensor& values) { return values.abs().max().item<double>(); }

// log q(y) of every response token of `rollout` under `weights`, after the teacher's prompt.
torch::Tensor teacher_logprobs(const model::Model& weights, const record::RolloutRecord& rollout) {
    std::vector<int32_t> ids = rollout.teacher_prompt_ids;
    const int64_t prompt = int64_t(ids.size()), length = int64_t(rollout.tokens.ids.size());
    ids.insert(ids.end(), rollout.tokens.ids.begin(), rollout.tokens.ids.end());
    const std::vector<std::vector<int32_t>> sequences{ids};
    const auto pack = model::Pack::of(sequences, torch::kCPU);
    const torch::NoGradGuard no_grad;
    const auto hidden =
        model::forward(weights, pack.ids, pack.positions, model::causal_attention(pack, weights.config));
    const auto log_probs = model::logits(hidden.narrow(0, prompt - 1, length), weights.head())
                               .narrow(1, 0, weights.real_vocab())
                               .log_softmax(-1);
    return log_probs.gather(1, pack.ids.narrow(0, prompt, length).unsqueeze(1)).squeeze(1);
}

TEST(EmaTeacher, scores_a_step_with_the_average_from_before_its_update_and_follows_the_masters_after) {
    constexpr double rho = 0.75;
    auto trainer = sample_trainer({"teacher.kind=self_ema", "teacher.ema_decay=0.75", "optimizer.lr=0.01"});
    ASSERT_TRUE(trainer) << trainer.error().message();
    EXPECT_TRUE(
        (*trainer)->teacher()->average().equal((*trainer)->optimizer().masters())); // theta_E = theta_0
    model::Model scorer = (*trainer)->student().clone();
    for (int64_t step = 1; step <= 3; ++step) {
        const auto before = (*trainer)->teacher()->average().clone();
        const auto report = (*trainer)->step(step).value();
        ASSERT_TRUE(report.applied);
        const auto& masters = (*trainer)->optimizer().masters();
        const auto expected = before.to(torch::kFloat64) * rho + masters.to(torch::kFloat64) * (1 - rho);
        const auto after = (*trainer)->teacher()->average();
        EXPECT_LT(largest(after - expected), 1e-6);
        EXPECT_GT(largest(after - before), 1e-3);
        const double distance = ((masters - after).norm() / masters.norm()).item<double>();
        EXPECT_NEAR(report.metrics.at("ema_distance"), distance, 1e-6);

        double differs = 0;
        for (const auto& rollout : report.rollouts) {
            const auto scored = torch::tensor(rollout.tokens.teacher_logprob);
            scorer.weights.flat.copy_(before);
            EXPECT_LT(largest(scored - teacher_logprobs(scorer, rollout)), 2e-4); // other packing, fp32
            scorer.weights.flat.copy_(after);
            differs = std::max(differs, largest(scored - teacher_logprobs(scorer, rollout)));
        }
        EXPECT_GT(differs, 1e-2);
    }
}

TEST(FrozenTeacher, stays_what_the_student_was) {
    auto trainer = sample_trainer({"optimizer.lr=0.01"}).value();
    const auto start = trainer->student().weights.flat.clone();
    ASSERT_TRUE(trainer->step(1).value().applied);
    EXPECT_TRUE(trainer->teacher()->weights().weights.flat.equal(start));
    EXPECT_FALSE(trainer->student().weights.flat.equal(start));
}

TEST(GoldenTexts, tell_that_a_frozen_teacher_stays_and_how_the_student_moves) {
    auto trainer = sample_trainer({"teacher.kind=self_frozen", "optimizer.lr=0.01"});
    ASSERT_TRUE(trainer) << trainer.error().message();
    // Each text by itself, in the plainest way.
    const auto by_hand = [](const model::Model& model) {
        const torch::NoGradGuard no_grad;
        double sum = 0, count = 0;
        for (const char* text :
             {"The quick brown fox jumps over the lazy dog.",
              "If 3x + 5 = 20, then x = 5, since 3 * 5 + 5 = 20.", "def add(a, b):\n    return a + b\n",
              "Water boils at 100 degrees Celsius at sea level."}) {
            const auto ids = model.tokenizer->encode(text);
            const std::vector<std::vector<int32_t>> one{{ids.begin(), ids.end()}};
            const auto pack = model::Pack::of(one, torch::kCPU);
            const auto hidden =
                model::forward(model, pack.ids, pack.positions, model::causal_attention(pack, model.config));
            const auto log_probs = model::logits(hidden, model.head())
                                       .to(torch::kFloat64)
                                       .narrow(1, 0, model.real_vocab())
                                       .log_softmax(-1);
            for (size_t i = 0; i + 1 < ids.size(); ++i) {
                sum -= log_probs[int64_t(i)][ids[i + 1]].item<double>();
                count += 1;
            }
        }
        return sum / count;
    };
    const double at_start = by_hand((*trainer)->student());
    double before = at_start;
    for (int64_t step = 1; step <= 2; ++step) {
        auto report = (*trainer)->step(step).value();
        EXPECT_NEAR(report.metrics["golden_nll_teacher"], at_start, 1e-5);
        EXPECT_NEAR(report.metrics["golden_nll_student"], by_hand((*trainer)->student()), 1e-5);
        EXPECT_GT(std::abs(report.metrics["golden_nll_student"] - before), 1e-3);
        before = report.metrics["golden_nll_student"];
    }
}

TEST(TokenFlags, mark_the_very_tokens_whose_divergence_the_clamp_has_changed) {
    for (const char* kind : {"per_entry", "per_token", "trust_region"}) {
        auto trainer = sample_trainer({"objective.clamp.kind=" + std::string(kind), "objective.clamp.c=0.05",
                                       "rollout.prompts_per_step=12"});
        ASSERT_TRUE(trainer) << trainer.error().message();
        const auto report = (*trainer)->step(1).value();
        int64_t clamped = 0, ends = 0, tokens = 0;
        for (const auto& rollout : report.rollouts) {
            ASSERT_EQ(rollout.tokens.flags.size(), rollout.tokens.ids.size());
            for (size_t t = 0; t < rollout.tokens.ids.size(); ++t) {
                const bool flag = rollout.tokens.flags[t] & Clamped;
                EXPECT_EQ(flag, std::abs(rollout.tokens.clipped[t]) > 1e-9)
                    << kind << ": " << rollout.tokens.clipped[t];
                // A row whose divergence is small has no entry beyond c.
                if (rollout.tokens.kl[t] < 1e-4) EXPECT_FALSE(flag) << rollout.tokens.kl[t];
                clamped += flag;
                ends += (rollout.tokens.flags[t] & EndToken) != 0;
                ++tokens;
            }
        }
        EXPECT_GT(clamped, 0) << kind;
        EXPECT_LT(clamped, tokens / 2) << kind;
        EXPECT_DOUBLE_EQ(report.metrics.at("clip_fraction_token"), double(clamped) / double(tokens)) << kind;
        EXPECT_DOUBLE_EQ(double(ends), report.metrics.at("eos_rate") * double(report.rollouts.size()));
    }
}

// Log-probs [L V] fp64 of every response position of `rollout` after `prompt` under `weights`.
torch::Tensor response_logprobs(const model::Model& weights, std::vector<int32_t> prompt,
                                const record::RolloutRecord& rollout, double temperature) {
    const torch::NoGradGuard no_grad;
    const int64_t P = int64_t(prompt.size()), L = int64_t(rollout.tokens.ids.size());
    prompt.insert(prompt.end(), rollout.tokens.ids.begin(), rollout.tokens.ids.end());
    const std::vector<std::vector<int32_t>> one{prompt};
    const auto pack = model::Pack::of(one, torch::kCPU);
    const auto hidden =
        model::forward(weights, pack.ids, pack.positions, model::causal_attention(pack, weights.config));
    return (model::logits(hidden.narrow(0, P - 1, L), weights.head())
                .narrow(1, 0, weights.real_vocab())
                .to(torch::kFloat64) /
            temperature)
        .log_softmax(-1);
}

TEST(TokenRecords, hold_what_each_model_says_of_each_token_by_itself) {
    auto trainer = sample_trainer({"rollout.prompts_per_step=6", "teacher.score_without_answer=1",
                                   "objective.student_temperature=1.1", "objective.teacher_temperature=0.9"});
    ASSERT_TRUE(trainer) << trainer.error().message();
    const model::Model before = (*trainer)->student().clone(); // the step moves the student
    const auto report = (*trainer)->step(1).value();
    const model::Model& teacher = (*trainer)->teacher()->weights();
    int64_t compared = 0;
    for (const auto& rollout : report.rollouts) {
        const auto& tokens = rollout.tokens;
        ASSERT_TRUE(rollout.top16);
        const auto& top = *rollout.top16;
        const auto p = response_logprobs(before, rollout.prompt_ids, rollout, 1.1),
                   q = response_logprobs(teacher, rollout.teacher_prompt_ids, rollout, 0.9),
                   plain = response_logprobs(teacher, rollout.prompt_ids, rollout, 0.9);
        for (size_t t = 0; t < tokens.ids.size(); ++t) {
            const auto row = int64_t(t);
            const int32_t y = tokens.ids[t];
            const auto log_p = p[row], log_q = q[row];
            const auto near = [&](double found, const torch::Tensor& expected, const char* what) {
                EXPECT_NEAR(found, expected.item<double>(), 2e-4) << what << " at " << t;
                ++compared;
            };
            near(tokens.student_logprob[t], log_p[y], "student");
            near(tokens.teacher_logprob[t], log_q[y], "teacher");
            near(tokens.teacher_plain_logprob[t], plain[row][y], "teacher without the answer");
            near(tokens.student_entropy[t], -(log_p.exp() * log_p).sum(), "student entropy");
            near(tokens.teacher_entropy[t], -(log_q.exp() * log_q).sum(), "teacher entropy");
            near(tokens.kl[t], (log_p.exp() * (log_p - log_q)).sum(), "reverse KL");
            EXPECT_EQ(tokens.flags[t] & Clamped, 0);
            std::set<int32_t> both[2];
            for (size_t k = 0; k < 16; ++k) {
                const size_t at = t * 16 + k;
                const int32_t s = top.student_ids[at], o = top.teacher_ids[at];
                both[0].insert(s);
                both[1].insert(o);
                near(top.student_ids_student[at], log_p[s], "student's own top-16");
                near(top.student_ids_teacher[at], log_q[s], "teacher on the student's");
                near(top.teacher_ids_student[at], log_p[o], "student on the teacher's");
                near(top.teacher_ids_teacher[at], log_q[o], "teacher's own top-16");
            }
            // No id outside a top-16 is likelier than one within.
            for (const auto& [ids, log_probs] : {std::pair(both[0], log_p), std::pair(both[1], log_q)}) {
                ASSERT_EQ(ids.size(), 16u);
                double least = 0, best_outside = -INFINITY;
                for (int32_t v = 0; v < log_probs.size(0); ++v) {
                    const double value = log_probs[v].item<double>();
                    if (ids.contains(v)) {
                        least = std::min(least, value);
                    } else {
                        best_outside = std::max(best_outside, value);
                    }
                }
                EXPECT_GE(least, best_outside - 1e-4);
            }
            std::vector<int32_t> shared;
            std::set_intersection(both[0].begin(), both[0].end(), both[1].begin(), both[1].end(),
                                  std::back_inserter(shared));
            EXPECT_EQ(tokens.overlap[t], shared.size());
            const auto outside = [&](const std::set<int32_t>& ids, const torch::Tensor& log_probs) {
                auto mass = log_probs.exp();
                for (const int32_t v : ids) mass[v] = 0;
                return mass.sum().item<double>();
            };
            EXPECT_NEAR(std::exp(top.student_tail[t]), outside(both[0], log_p), 1e-6);
            EXPECT_NEAR(std::exp(top.teacher_tail[t]), outside(both[1], log_q), 1e-6);
        }
    }
    EXPECT_GT(compared, 6000);
}

TEST(SkippedStep, moves_nothing_and_is_counted) {
    auto trainer = sample_trainer({}).value();
    const auto start = trainer->student().weights.flat.clone();
    torch::Tensor teacher = trainer->teacher()->weights().weights.flat;
    const auto sound = teacher.clone();
    teacher.fill_(std::numeric_limits<float>::quiet_NaN());
    for (int64_t step = 1; step <= 2; ++step) {
        const auto report = trainer->step(step).value();
        EXPECT_FALSE(report.applied);
        EXPECT_EQ(report.metrics.at("skipped_steps"), double(step));
        EXPECT_GT(report.metrics.at("nonfinite_rows"), 0);
        EXPECT_FALSE(report.metrics.contains("grad_norm"));
        EXPECT_EQ(report.metrics.at("tokens_trained"), 0);
    }
    EXPECT_TRUE(trainer->student().weights.flat.equal(start));
    EXPECT_EQ(trainer->optimizer().updates(), 0);
    teacher.copy_(sound);
    EXPECT_TRUE(trainer->step(3).value().applied);
    EXPECT_EQ(trainer->optimizer().updates(), 1);
    EXPECT_EQ(trainer->counters().skipped_steps, 2);
}

TEST(Bf16Student, has_masters_of_the_unrounded_values_of_an_fp32_source) {
    const test::TemporaryFolder folder;
    auto source =
        model::load_model(test::source_folder() / "resources/sample/student", {torch::kCPU, torch::kFloat32})
            .value();
    torch::manual_seed(5);
    source.weights.flat.add_(torch::randn_like(source.weights.flat), 1e-3); // off bf16's grid
    const auto saved = folder / "student";
    std::filesystem::create_directory(saved);
    ASSERT_TRUE(model::save_model(source, saved, torch::kFloat32));
    const auto exact = model::load_model(saved, {torch::kCPU, torch::kFloat32}).value().weights.flat;
    const std::string model = "student.model=\"" + saved.string() + "\"";

    auto full =
        sample_trainer({model, "student.dtype=bf16", "teacher.kind=self_ema", "optimizer.lr=1e-7"}).value();
    EXPECT_EQ(full->student().dtype(), torch::kBFloat16);
    EXPECT_TRUE(full->student().weights.flat.equal(exact.to(torch::kBFloat16)));
    EXPECT_FALSE(exact.to(torch::kBFloat16).to(torch::kFloat32).equal(exact));
    EXPECT_TRUE(full->optimizer().masters().equal(exact));
    EXPECT_TRUE(full->teacher()->average().equal(exact));
    ASSERT_TRUE(full->step(1).value().applied);
    EXPECT_LT(largest(full->optimizer().masters() - exact), 2e-7); // one update of at most about lr
    EXPECT_TRUE(full->student().weights.flat.equal(full->optimizer().masters().to(torch::kBFloat16)));

    auto lora = sample_trainer({model, "student.dtype=bf16", "student.trainable=lora", "student.lora.rank=4"})
                    .value();
    EXPECT_TRUE(lora->student().weights.flat.equal(exact.to(torch::kBFloat16)));
    EXPECT_EQ(lora->optimizer().masters().data_ptr(), lora->student().adapters.flat.data_ptr());
}

std::vector<Sequence> golden_sequences(const nlohmann::json& expected) {
    std::vector<Sequence> sequences;
    for (size_t b = 0; b < expected.at("responses").size(); ++b) {
        auto prompt = std::make_shared<teacher::PreparedPrompt>();
        prompt->student_ids = expected.at("student_prompts")[b].get<std::vector<int32_t>>();
        prompt->teacher_ids = prompt->teacher_plain_ids =
            expected.at("teacher_prompts")[b].get<std::vector<int32_t>>();
        Sequence sequence{prompt, {}};
        sequence.rollout.ids = expected.at("responses")[b].get<std::vector<int32_t>>();
        sequence.rollout.logprobs.assign(sequence.rollout.ids.size(), 0.0f);
        sequences.push_back(std::move(sequence));
    }
    return sequences;
}

// log-probs [N, V] of all rows of `sequences` in turn.
torch::Tensor row_logprobs(const model::Model& weights, const std::vector<Sequence>& sequences, Side side) {
    std::vector<int64_t> all(sequences.size());
    for (size_t b = 0; b < all.size(); ++b) all[b] = int64_t(b);
    const auto packed = packed_rows(sequences, all, side, torch::kCPU);
    const torch::NoGradGuard no_grad;
    const auto hidden = model::forward(weights, packed.pack.ids, packed.pack.positions,
                                       model::causal_attention(packed.pack, weights.config))
                            .index_select(0, packed.rows);
    return model::logits(hidden, weights.head()).to(torch::kFloat64).log_softmax(-1);
}

TEST(TopkTokenPg, later_updates_compare_with_the_first_on_its_own_k_tokens) {
    const auto folder = test::golden("models/opd-qwen2");
    const auto sequences = golden_sequences(test::read_json(folder / "expected.json"));
    for (const int64_t K : {1, 4, 16, 40}) {
        formats::Recipe recipe;
        recipe.objective.name = "topk_token_pg";
        recipe.objective.top_k = K;
        recipe.objective.ratio = "is";
        const model::LoadOptions options{torch::kCPU, torch::kFloat32};
        auto trainer = Trainer::of_models(recipe, model::load_model(folder / "student", options).value(),
                                          model::load_model(folder / "teacher", options).value())
                           .value();
        const auto rows = ResponseRows::of(sequences, recipe.rollout, recipe.objective);
        PhaseClock clock(torch::kCPU);
        const auto first =
            trainer->loss_and_gradients(sequences, rows, trainer->gradients(), 1, clock, {}, {false, 60})
                .value();
        const auto old = row_logprobs(trainer->student(), sequences, Side::Student);
        const auto teacher = row_logprobs(trainer->teacher()->weights(), sequences, Side::Teacher);

        torch::manual_seed(3);
        trainer->student().weights.flat.add_(torch::randn_like(trainer->student().weights.flat), 0.01);
        OldPolicy policy;
        for (const auto& tokens : first.tokens) policy.logprob.push_back(tokens.student_logprob);
        policy.rewarded = first.rewarded;
        Trainer::Variant variant{false, 60, &policy};
        const auto second =
            trainer->loss_and_gradients(sequences, rows, trainer->gradients(), 1, clock, {}, variant).value();
        const auto now = row_logprobs(trainer->student(), sequences, Side::Student);

        // Equation 5.4 with the ratio of importance sampling, in fp64.
        const auto [old_best, ids] = old.topk(K, -1);
        const auto omega = old_best.softmax(-1);
        const auto advantage = omega * (teacher.gather(-1, ids) - old_best);
        const auto ratio = (now.gather(-1, ids) - old_best).exp();
        const double before = (-advantage).sum(-1).mean().item<double>();
        const double after = (-advantage * ratio).sum(-1).mean().item<double>();
        EXPECT_NEAR(first.loss, before, 1e-4 * std::max(1.0, std::abs(before))) << "K " << K;
        EXPECT_NEAR(second.loss, after, 1e-4 * std::max(1.0, std::abs(after))) << "K " << K;
        EXPECT_GT(std::abs(after - before), 1e-3);
        EXPECT_NEAR(second.metrics.at("pg_ratio_mean"), ratio.mean().item<double>(), 1e-4);
        EXPECT_NEAR(first.metrics.at("pg_ratio_mean"), 1, 1e-6);
    }
}

TEST(TopkTokenPg, takes_several_updates_on_one_batch) {
    auto trainer = sample_trainer({"objective.name=topk_token_pg", "objective.top_k=4",
                                   "objective.ratio=ppo_clip", "optimizer.updates_per_batch=2"});
    ASSERT_TRUE(trainer) << trainer.error().message();
    const auto report = (*trainer)->step(1);
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_TRUE(report->applied);
    EXPECT_EQ((*trainer)->optimizer().updates(), 2);
    EXPECT_EQ(report->rollouts.size(), 4u);
    EXPECT_EQ(report->metrics.at("policy_lag"), 1);
}

// The sample's student with a template that ends the prompt by whether thinking is on.
void make_thinking_student(const std::filesystem::path& folder) {
    std::filesystem::copy(test::source_folder() / "resources/sample/student", folder);
    auto config = test::read_json(folder / "tokenizer_config.json");
    config["chat_template"] = config["chat_template"].get<std::string>() +
                              "{% if add_generation_prompt and enable_thinking %}hm {% endif %}";
    std::filesystem::remove(folder / "tokenizer_config.json");
    ASSERT_TRUE(write_file(folder / "tokenizer_config.json", config.dump()));
}

TEST(GenerationPrefix, that_differs_between_student_and_teacher_is_refused_unless_allowed) {
    const test::TemporaryFolder folder;
    make_thinking_student(folder / "student");
    const std::string model = "student.model=\"" + (folder / "student").string() + "\"";
    const auto refused = sample_trainer({model, "teacher.thinking=true"});
    ASSERT_FALSE(refused);
    const std::string message = refused.error().message();
    EXPECT_NE(message.find("\"<|im_start|>assistant\\n\""), std::string::npos) << message;
    EXPECT_NE(message.find("\"<|im_start|>assistant\\nhm \""), std::string::npos) << message;
    EXPECT_NE(message.find("teacher.allow_prefix_difference"), std::string::npos) << message;

    EXPECT_TRUE(sample_trainer({model, "teacher.thinking=true", "teacher.allow_prefix_difference=true"}));
    EXPECT_TRUE(sample_trainer({model, "teacher.thinking=true", "data.thinking=true"}));
    EXPECT_TRUE(sample_trainer({model}));
    // A template that does not look at thinking ends both prompts alike.
    EXPECT_TRUE(sample_trainer({"teacher.thinking=true"}));
}

} // namespace
} // namespace stillroom::train
