// SPDX-License-Identifier: GPL-3.0-or-later
// Every shipped recipe, against the numbers of its source as the project's recipe page states them.
#include "formats/recipe.h"
#include "tests/support/golden.h"

#include <gtest/gtest.h>
#include <set>

namespace stillroom::formats {

namespace {

using Numbers = std::map<std::string, std::string>;

// Typed from the page's tables, not from the files.
const std::map<std::string, Numbers>& page() {
    static const Numbers make{
        {"rollout.prompts_per_step", "48"}, {"objective.name", "sft"}, {"teacher.kind", "none"}};
    static const Numbers opsd{{"student.model", "Qwen/Qwen3-1.7B"},
                              {"teacher.kind", "self_frozen"},
                              {"teacher.thinking", "true"},
                              {"rollout.prompts_per_step", "32"},
                              {"rollout.samples_per_prompt", "1"},
                              {"rollout.temperature", "1.1"},
                              {"rollout.top_p", "0.95"},
                              {"rollout.top_k", "20"},
                              {"objective.student_temperature", "1.1"},
                              {"objective.teacher_temperature", "1.1"},
                              {"optimizer.max_norm", "0.1"},
                              {"student.trainable", "lora"},
                              {"student.lora.rank", "64"},
                              {"student.lora.alpha", "128"},
                              {"student.lora.targets", "q, k, v, o, gate, up, down"},
                              {"run.steps", "100"}};
    static const Numbers clamped{{"rollout.max_new", "1024"},
                                 {"objective.name", "kl_forward"},
                                 {"objective.clamp.kind", "per_entry"},
                                 {"objective.clamp.c", "0.05"},
                                 {"optimizer.lr", "5e-06"},
                                 {"optimizer.schedule", "linear"}};
    static const Numbers pair{{"student.model", "deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B"},
                              {"teacher.model", "JustRL-DeepSeek-1.5B"},
                              {"teacher.kind", "separate"},
                              {"student.trainable", "full"},
                              {"rollout.samples_per_prompt", "4"},
                              {"rollout.max_new", "7168"},
                              {"rollout.temperature", "1"},
                              {"optimizer.schedule", "constant"}};
    static const Numbers smollm2{
        {"data.strip_calculator", "true"},
        {"data.order", "file"},
        {"data.system", "You are a helpful AI assistant named SmolLM, trained by Hugging Face"},
        {"evaluation.limit", "512"},
        {"evaluation.max_new", "256"},
        {"evaluation.temperature", "1"},
        {"evaluation.greedy_too", "true"},
        {"evaluation.rule", "last_number"},
        {"optimizer.beta1", "0.9"},
        {"optimizer.beta2", "0.999"},
        {"optimizer.weight_decay", "0"},
        {"optimizer.max_norm", "1"},
        {"optimizer.schedule", "constant"}};
    const auto both = [](Numbers first, const Numbers& second) {
        for (const auto& [key, value] : second) first[key] = value;
        return first;
    };
    static const std::map<std::string, Numbers> numbers{
        {"sample-make-base", both(make, {{"run.steps", "500"},
                                         {"data.context_share", "0.8"},
                                         {"optimizer.lr", "0.002"},
                                         {"student.init", "random"}})},
        {"sample-make-middle",
         both(make, {{"run.steps", "400"}, {"data.context_share", "0.35"}, {"optimizer.lr", "0.002"}})},
        {"sample-make-teacher",
         both(make, {{"run.steps", "300"}, {"data.context_share", "0.25"}, {"optimizer.lr", "0.0015"}})},
        {"sample-make-student", both(make, {{"run.steps", "100"},
                                            {"data.context_share", "0.3"},
                                            {"optimizer.lr", "7e-04"},
                                            {"data.target", "spoiled"}})},
        {"sample-opd",
         {{"rollout.prompts_per_step", "32"},
          {"rollout.samples_per_prompt", "1"},
          {"optimizer.lr", "2e-04"},
          {"run.steps", "100"},
          {"objective.name", "topk_uniform_tail"},
          {"objective.top_k", "16"},
          {"teacher.kind", "separate"}}},
        {"sample-opsd",
         {{"rollout.prompts_per_step", "48"},
          {"optimizer.lr", "5e-04"},
          {"run.steps", "60"},
          {"objective.name", "kl_reverse"},
          {"teacher.kind", "self_frozen"},
          {"optimizer.schedule", "constant"}}},
        {"sample-opsd-clamped-reverse",
         {{"objective.name", "kl_reverse"},
          {"objective.clamp.kind", "per_entry"},
          {"objective.clamp.c", "0.05"},
          {"run.steps", "40"},
          {"teacher.kind", "self_frozen"}}},
        {"smollm2-gsm8k-teacher", both(smollm2, {{"objective.name", "sft"},
                                                 {"rollout.prompts_per_step", "32"},
                                                 {"run.steps", "187"},
                                                 {"optimizer.lr", "1e-04"}})},
        {"smollm2-gsm8k-opd", both(smollm2, {{"objective.name", "kl_reverse"},
                                             {"rollout.prompts_per_step", "128"},
                                             {"rollout.samples_per_prompt", "1"},
                                             {"rollout.max_new", "256"},
                                             {"rollout.temperature", "1"},
                                             {"run.steps", "40"},
                                             {"optimizer.lr", "1e-05"}})},
        {"opsd-paper", both(both(opsd, clamped), {{"teacher.context", "solution"}})},
        {"opsd-paper-older", both(opsd, {{"rollout.max_new", "2048"},
                                         {"objective.name", "jsd"},
                                         {"objective.beta", "0.5"},
                                         {"optimizer.lr", "2e-04"},
                                         {"teacher.context", "solution"}})},
        {"opsd-answer-twice",
         both(both(opsd, clamped), {{"teacher.context", "answer-twice"}, {"run.seed", "42"}})},
        {"opd-math-baseline", both(pair, {{"rollout.prompts_per_step", "2"},
                                          {"objective.name", "k1_pg"},
                                          {"optimizer.lr", "1e-06"},
                                          {"checkpoint.every", "20"},
                                          {"checkpoint.keep_last", "3"}})},
        {"opd-math-dense", both(pair, {{"rollout.prompts_per_step", "16"},
                                       {"optimizer.updates_per_batch", "8"},
                                       {"objective.name", "topk_uniform_tail"},
                                       {"objective.top_k", "16"},
                                       {"optimizer.lr", "3e-06"},
                                       {"run.seed", "42"},
                                       {"checkpoint.every", "200"},
                                       {"checkpoint.keep_last", "3"},
                                       {"run.deadline", "11h35m"},
                                       {"checkpoint.export_at_end", "true"}})},
        {"opd-math-forward", both(pair, {{"rollout.prompts_per_step", "2"},
                                         {"objective.top_k", "16"},
                                         {"objective.direction", "forward"},
                                         {"optimizer.lr", "3e-06"}})},
        {"thunlp-student-topk", both(pair, {{"rollout.prompts_per_step", "64"},
                                            {"objective.name", "topk_token_pg"},
                                            {"objective.top_k", "16"},
                                            {"objective.token_weights", "student_p"},
                                            {"objective.ratio", "ppo_clip"},
                                            {"objective.clip_low", "0.2"},
                                            {"objective.clip_high", "0.2"},
                                            {"objective.dual_clip", "3"},
                                            {"optimizer.lr", "1e-06"}})},
        {"tinker-opd",
         {{"rollout.prompts_per_step", "512"},
          {"rollout.samples_per_prompt", "4"},
          {"rollout.max_new", "4096"},
          {"rollout.temperature", "1"},
          {"objective.name", "k1_pg"},
          {"objective.ratio", "is"},
          {"optimizer.lr", "1e-04"},
          {"student.trainable", "lora"},
          {"student.lora.rank", "128"}}},
        {"nemo-mixed",
         {{"student.model", "Qwen/Qwen3-1.7B-Base"},
          {"teacher.model", "Qwen/Qwen3-4B"},
          {"rollout.prompts_per_step", "128"},
          {"rollout.samples_per_prompt", "1"},
          {"optimizer.updates_per_batch", "2"},
          {"rollout.max_new", "8192"},
          {"objective.direction", "mixed"},
          {"objective.beta", "0.5"},
          {"objective.top_k", "64"},
          {"optimizer.lr", "2e-05"},
          {"optimizer.weight_decay", "0.01"},
          {"optimizer.warmup", "10"},
          {"optimizer.schedule", "constant"}}},
        {"gopd-extrapolate",
         {{"student.model", "Qwen/Qwen3-1.7B"},
          {"rollout.prompts_per_step", "1024"},
          {"rollout.samples_per_prompt", "1"},
          {"rollout.max_new", "16384"},
          {"objective.name", "gopd_pg"},
          {"objective.lambda", "1.25"},
          {"optimizer.lr", "1e-05"},
          {"optimizer.schedule", "constant"}}},
        {"sdft",
         {{"rollout.samples_per_prompt", "8"},
          {"rollout.max_new", "256"},
          {"objective.name", "topk_renorm"},
          {"objective.top_k", "100"},
          {"objective.skip_first", "3"},
          {"teacher.kind", "self_ema"},
          {"teacher.ema_decay", "0.95"}}},
    };
    return numbers;
}

} // namespace

TEST(ShippedRecipes, are_exactly_those_of_the_page) {
    std::set<std::string> shipped, stated;
    for (const auto& file : shipped_recipes()) shipped.insert(file.stem().string());
    for (const auto& [name, numbers] : page()) stated.insert(name);
    EXPECT_EQ(shipped, stated);
}

TEST(ShippedRecipes, state_the_numbers_of_the_page) {
    for (const auto& [name, numbers] : page()) {
        const auto file = find_recipe(name);
        ASSERT_TRUE(file) << file.error().message();
        const auto recipe = read_recipe(*file);
        ASSERT_TRUE(recipe) << recipe.error().message();
        EXPECT_EQ(recipe->run.name, name);
        EXPECT_EQ(recipe->preset, name);
        const auto values = flattened(*recipe);
        for (const auto& [key, value] : numbers) {
            ASSERT_TRUE(values.contains(key)) << key;
            EXPECT_EQ(values.at(key), value) << name << ": " << key;
        }
    }
}

TEST(ShippedRecipes, pass_the_check_but_for_the_one_whose_objective_is_not_offered) {
    for (const auto& file : shipped_recipes()) {
        const auto recipe = read_recipe(file);
        ASSERT_TRUE(recipe) << recipe.error().message();
        std::vector<std::string> warnings;
        const auto checked = check_recipe(*recipe, warnings);
        if (file.stem() == "nemo-mixed") {
            ASSERT_FALSE(checked);
            EXPECT_NE(checked.error().message().find("objective.direction = \"mixed\""), std::string::npos);
            EXPECT_NE(checked.error().message().find("not offered yet"), std::string::npos);
        } else {
            EXPECT_TRUE(checked) << checked.error().message();
        }
    }
}

TEST(ShippedRecipes, come_back_from_their_full_form_and_do_not_differ_from_their_preset) {
    for (const auto& file : shipped_recipes()) {
        const auto recipe = read_recipe(file);
        ASSERT_TRUE(recipe);
        const auto again = parse_recipe(to_toml(*recipe), "again.toml");
        ASSERT_TRUE(again) << again.error().message();
        EXPECT_EQ(flattened(*again), flattened(*recipe));
        EXPECT_EQ(recipe_hash(*again), recipe_hash(*recipe));
        std::vector<std::string> warnings;
        (void)!check_recipe(*again, warnings); // nemo-mixed is refused; its warnings count all the same
        for (const auto& warning : warnings)
            EXPECT_EQ(warning.find(", where "), std::string::npos) << warning;
    }
}

TEST(ShippedRecipes, say_where_they_come_from) {
    for (const auto& file : shipped_recipes()) {
        const auto recipe = read_recipe(file);
        ASSERT_TRUE(recipe);
        EXPECT_FALSE(recipe->provenance.source.empty()) << file;
        EXPECT_FALSE(recipe->provenance.stated.empty()) << file;
    }
    for (const char* warned : {"sample-opsd-clamped-reverse", "opd-math-forward", "nemo-mixed"}) {
        EXPECT_FALSE(read_recipe(*find_recipe(warned))->provenance.warning.empty()) << warned;
    }
}

TEST(ShippedRecipes, have_their_data_in_the_repository_where_they_name_resources) {
    size_t checked = 0;
    for (const auto& file : shipped_recipes()) {
        const auto recipe = read_recipe(file);
        ASSERT_TRUE(recipe);
        auto paths = recipe->data.files;
        paths.push_back(recipe->evaluation.data);
        for (const auto& path : paths) {
            if (!path.starts_with("{resources}")) continue;
            EXPECT_TRUE(std::filesystem::exists(resolve_path(*recipe, path))) << path;
            ++checked;
        }
    }
    EXPECT_EQ(checked, 18u); // nine recipes of the sample and of SmolLM2, training and evaluation data each
}

// The prompts of the Hugging Face loop that the run is compared with.
TEST(ShippedRecipes, smollm2_asks_in_the_words_of_the_loop_it_is_compared_with) {
    for (const char* name : {"smollm2-gsm8k-teacher", "smollm2-gsm8k-opd"}) {
        const auto recipe = read_recipe(*find_recipe(name));
        ASSERT_TRUE(recipe);
        EXPECT_EQ(recipe->data.instruction,
                  "\n\nSolve the problem step by step. End with a line of the form #### ANSWER, "
                  "where ANSWER is the final number.");
        EXPECT_EQ(recipe->data.user, "{problem}{instruction}");
        EXPECT_EQ(resolve_path(*recipe, recipe->data.files.front()),
                  test::source_folder() / "resources/gsm8k/gsm8k_train_2000.jsonl");
    }
}

} // namespace stillroom::formats
