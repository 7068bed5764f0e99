// SPDX-License-Identifier: GPL-3.0-or-later
#include "formats/recipe.h"
#include "formats/recipe_keys.h"
#include "tests/support/golden.h"

#include <gtest/gtest.h>

namespace stillroom::formats {

namespace {

std::string fault_of(const std::string& toml) {
    const auto recipe = parse_recipe(toml, "r.toml");
    return recipe ? "" : recipe.error().message();
}

std::string fault_of_setting(const std::string& setting) {
    const auto recipe = with_settings(Recipe{}, {setting});
    return recipe ? "" : recipe.error().message();
}

/// The smallest recipe that check_recipe accepts without a warning.
Recipe acceptable() {
    Recipe recipe;
    recipe.run.name = "test";
    recipe.student.model = "student";
    recipe.teacher.model = "teacher";
    recipe.data.files = {"train.jsonl"};
    return recipe;
}

struct Judged {
    std::string refusal;
    std::vector<std::string> warnings;
    bool warns(const std::string& part) const {
        return std::any_of(warnings.begin(), warnings.end(),
                           [&](const std::string& text) { return text.find(part) != std::string::npos; });
    }
};

Judged judged(const Recipe& recipe) {
    Judged result;
    const auto checked = check_recipe(recipe, result.warnings);
    if (!checked) result.refusal = checked.error().message();
    return result;
}

Judged judged(const std::vector<std::string>& settings) {
    const auto recipe = with_settings(acceptable(), settings);
    if (!recipe) return {"setting: " + recipe.error().message(), {}};
    return judged(*recipe);
}

} // namespace

TEST(Recipe, an_unknown_key_names_its_line_and_the_nearest_key) {
    EXPECT_EQ(fault_of("[run]\nname = \"x\"\n\n[optimizer]\nlearning_rate = 1e-5\n"),
              "r.toml:5: unknown key 'optimizer.learning_rate', nearest is 'lr'");
    EXPECT_EQ(fault_of("[optimizer]\nmaxnorm = 1\n"),
              "r.toml:2: unknown key 'optimizer.maxnorm', nearest is 'max_norm'");
    EXPECT_EQ(fault_of("[run]\ntemperature = 1\n"),
              "r.toml:2: unknown key 'run.temperature', nearest is 'rollout.temperature'");
    EXPECT_EQ(fault_of("[run]\nmax_new_tokens = 1\n"),
              "r.toml:2: unknown key 'run.max_new_tokens', nearest is 'rollout.max_new'");
    EXPECT_EQ(fault_of("[objective.clamp]\nzzzzzz = 1\n"),
              "r.toml:2: unknown key 'objective.clamp.zzzzzz', known here are kind, c");
    EXPECT_EQ(fault_of("[optimiser]\nlr = 1e-5\n"),
              "r.toml:1: unknown section [optimiser], nearest is [optimizer]");
}

TEST(Recipe, the_first_fault_of_a_file_is_the_one_reported) {
    EXPECT_EQ(fault_of("[run]\nsteps = 0\n[data]\nfiels = []\n"),
              "r.toml:2: run.steps: found 0, expected a whole number of at least 1");
}

TEST(Recipe, a_wrong_type_says_what_was_found_and_what_is_expected) {
    EXPECT_EQ(fault_of("[optimizer]\nlr = \"1e-5\"\n"),
              "r.toml:2: optimizer.lr: found the text \"1e-5\", expected a number above 0");
    EXPECT_EQ(fault_of("[run]\nsteps = 2.0\n"),
              "r.toml:2: run.steps: found the number 2, expected a whole number of at least 1");
    EXPECT_EQ(fault_of("[run]\nseed = -1\n"),
              "r.toml:2: run.seed: found the whole number -1, expected a whole number from 0 to 2^63-1");
    EXPECT_EQ(fault_of("[run]\nname = 3\n"),
              "r.toml:2: run.name: found the whole number 3, expected a text in quotes");
    EXPECT_EQ(fault_of("[checkpoint]\nexport_at_end = 1\n"),
              "r.toml:2: checkpoint.export_at_end: found the whole number 1, expected true or false");
    EXPECT_EQ(fault_of("[data]\nfiles = [1]\n"),
              "r.toml:2: data.files: found the whole number 1 in the list, expected a list of texts");
    EXPECT_EQ(fault_of("[objective]\nclamp = \"none\"\n"),
              "r.toml:2: objective.clamp: found the text \"none\", expected a table [objective.clamp]");
    EXPECT_EQ(fault_of("[[run]]\nname = \"x\"\n"), "r.toml:1: run: found a list, expected a table [run]");
}

TEST(Recipe, a_value_out_of_range_or_not_allowed_says_what_is) {
    EXPECT_EQ(fault_of("[optimizer]\nlr = 0\n"),
              "r.toml:2: optimizer.lr: found 0, expected a number above 0");
    EXPECT_EQ(fault_of("[rollout]\ntop_p = 1.5\n"),
              "r.toml:2: rollout.top_p: found 1.5, expected a number above 0 and at most 1");
    EXPECT_EQ(fault_of("[teacher]\nema_decay = 1\n"),
              "r.toml:2: teacher.ema_decay: found 1, expected a number of at least 0 and below 1");
    EXPECT_EQ(fault_of("[optimizer]\nlr = inf\n"),
              "r.toml:2: optimizer.lr: found inf, expected a number above 0");
    EXPECT_EQ(fault_of("[optimizer]\nlr = nan\n"),
              "r.toml:2: optimizer.lr: found nan, expected a number above 0");
    EXPECT_EQ(fault_of("[optimizer]\nschedule = \"linaer\"\n"),
              "r.toml:2: optimizer.schedule: found \"linaer\", expected one of constant, linear, cosine "
              "(nearest is 'linear')");
    EXPECT_EQ(fault_of("[student.lora]\ntargets = [\"q\", \"router\"]\n"),
              "r.toml:2: student.lora.targets: found \"router\", expected a list of any of q, k, v, o, gate, "
              "up, down");
    EXPECT_EQ(fault_of("[run]\ndeadline = \"soon\"\n"),
              "r.toml:2: run.deadline: found \"soon\", expected a time like \"11h35m\" or a date like "
              "\"2026-12-24 18:00\"");
}

TEST(Recipe, faults_of_toml_itself_name_line_and_column) {
    EXPECT_TRUE(fault_of("[run]\nname = \n").starts_with("r.toml:2:")) << fault_of("[run]\nname = \n");
    EXPECT_TRUE(fault_of("[run]\nsteps = 1\nsteps = 2\n").starts_with("r.toml:3:"));
    EXPECT_TRUE(fault_of("[run]\nname = \"\xff\"\n").starts_with("r.toml:2:"));
    EXPECT_FALSE(fault_of(std::string(2000, '[')).empty());
    EXPECT_FALSE(fault_of("a = " + std::string(5000, '[')).empty());
}

TEST(Recipe, an_empty_file_is_all_defaults) {
    const auto recipe = parse_recipe("", "r.toml");
    ASSERT_TRUE(recipe) << recipe.error().message();
    EXPECT_EQ(flattened(*recipe), flattened(Recipe{}));
    EXPECT_EQ(recipe->optimizer.lr, 1e-6);
    EXPECT_EQ(recipe->student.lora.alpha, 128);
}

TEST(Recipe, whole_numbers_are_numbers_and_one_text_is_a_list_of_one) {
    const auto recipe = parse_recipe("[rollout]\ntemperature = 2\n[data]\nfiles = \"a.jsonl\"\n", "r.toml");
    ASSERT_TRUE(recipe) << recipe.error().message();
    EXPECT_EQ(recipe->rollout.temperature, 2);
    EXPECT_EQ(recipe->data.files, std::vector<std::string>{"a.jsonl"});
}

// Gives every key a value other than its default, one within its limits; so a key that is not written, or
// written in a form that reads back otherwise, shows.
TEST(Recipe, every_key_survives_writing_and_reading) {
    Recipe recipe;
    for (const Key& key : recipe_keys()) {
        const Value value = key.at(recipe);
        const auto& allowed = key.limits.allowed;
        if (auto* const* text = std::get_if<std::string*>(&value)) {
            const std::string awkward = "\"quoted\" \\back\n\ttab {problem} é \x01 " + key.path();
            const bool is_last = !allowed.empty() && **text == allowed.back();
            **text = !allowed.empty()         ? (is_last ? allowed.front() : allowed.back())
                     : key.limits.is_deadline ? "2h"
                                              : awkward;
        } else if (auto* const* flag = std::get_if<bool*>(&value)) {
            **flag = !**flag;
        } else if (auto* const* whole = std::get_if<int64_t*>(&value)) {
            **whole += 1;
        } else if (auto* const* seed = std::get_if<uint64_t*>(&value)) {
            **seed = uint64_t(std::numeric_limits<int64_t>::max());
        } else if (auto* const* real = std::get_if<double*>(&value)) {
            **real = key.limits.high <= 0 ? -1.0 / 3 : 1.0 / 3;
        } else {
            *std::get<std::vector<std::string>*>(value) =
                allowed.empty() ? std::vector<std::string>{"a, b", std::string(100, 'x'), ""}
                                : std::vector<std::string>{allowed.back()};
        }
    }
    const auto changed = flattened(recipe), defaults = flattened(Recipe{});
    for (const auto& [path, value] : changed) EXPECT_NE(value, defaults.at(path)) << path;
    const auto again = parse_recipe(to_toml(recipe), "again.toml");
    ASSERT_TRUE(again) << again.error().message() << "\n" << to_toml(recipe);
    EXPECT_EQ(flattened(*again), changed);
    EXPECT_EQ(to_toml(*again), to_toml(recipe));
    EXPECT_EQ(again->data.files, recipe.data.files);
}

TEST(Recipe, numbers_are_written_shortest_and_exact) {
    Recipe recipe;
    recipe.optimizer.lr = 1e-6;
    recipe.rollout.temperature = 1.1;
    EXPECT_EQ(flattened(recipe).at("optimizer.lr"), "1e-06");
    EXPECT_EQ(flattened(recipe).at("rollout.temperature"), "1.1");
    EXPECT_NE(to_toml(recipe).find("\nlr = 1e-06\n"), std::string::npos);
    EXPECT_NE(to_toml(recipe).find("\nmax_norm = 1.0\n"), std::string::npos);
}

TEST(Recipe, the_hash_sees_what_is_computed_and_nothing_else) {
    const Recipe recipe = acceptable();
    Recipe renamed = recipe;
    renamed.run.name = "other";
    renamed.provenance.source = "elsewhere";
    renamed.preset = "sample-opd";
    EXPECT_EQ(recipe_hash(renamed), recipe_hash(recipe));
    EXPECT_EQ(recipe_hash(recipe).size(), 64u);
    const auto seeded = with_settings(recipe, {"run.seed=43"});
    EXPECT_NE(recipe_hash(*seeded), recipe_hash(recipe));
}

TEST(Recipe, settings_are_read_as_toml_and_bare_words_as_text) {
    const auto recipe = with_settings(
        acceptable(), {"optimizer.lr=5e-6", "teacher.kind=self_ema", "run.name=2026", "run.deadline=2h30m",
                       "data.files=[\"a\", \"b\"]", "objective.clamp.kind = \"per_token\"",
                       "evaluation.greedy_too=true", "teacher.model=~/models/a b", "data.system="});
    ASSERT_TRUE(recipe) << recipe.error().message();
    EXPECT_EQ(recipe->optimizer.lr, 5e-6);
    EXPECT_EQ(recipe->teacher.kind, "self_ema");
    EXPECT_EQ(recipe->run.name, "2026");
    EXPECT_EQ(recipe->run.deadline, "2h30m");
    EXPECT_EQ(recipe->data.files, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(recipe->objective.clamp.kind, "per_token");
    EXPECT_TRUE(recipe->evaluation.greedy_too);
    EXPECT_EQ(recipe->teacher.model, "~/models/a b");
    EXPECT_EQ(recipe->data.system, "");
    EXPECT_EQ(recipe->student.model, "student");
}

TEST(Recipe, a_bad_setting_is_refused_as_the_file_would_be) {
    EXPECT_EQ(fault_of_setting("optimizer.learning_rate=1"),
              "--set optimizer.learning_rate=1: unknown key 'optimizer.learning_rate', nearest is 'lr'");
    EXPECT_EQ(fault_of_setting("optimzer.lr=1"),
              "--set optimzer.lr=1: unknown key 'optimzer.lr', nearest is 'optimizer.lr'");
    EXPECT_EQ(fault_of_setting("optimizer.lr=fast"),
              "--set optimizer.lr=fast: optimizer.lr: found the text \"fast\", expected a number above 0");
    EXPECT_EQ(fault_of_setting("run.steps=0"),
              "--set run.steps=0: run.steps: found 0, expected a whole number of at least 1");
    EXPECT_EQ(fault_of_setting("run.steps"), "--set run.steps: expected section.key=value");
    EXPECT_FALSE(fault_of_setting("run.steps=1\nlr=3").empty());
}

TEST(Recipe, an_ordinary_recipe_is_accepted_without_warnings) {
    const Judged result = judged(acceptable());
    EXPECT_EQ(result.refusal, "");
    EXPECT_TRUE(result.warnings.empty()) << result.warnings.front();
}

TEST(Recipe, limits_hold_for_recipes_made_in_code_too) {
    Recipe recipe = acceptable();
    recipe.optimizer.lr = 0;
    EXPECT_EQ(judged(recipe).refusal, "recipe test: optimizer.lr: found 0, expected a number above 0");
}

TEST(Recipe, combinations_that_make_no_sense_are_refused) {
    using Settings = std::vector<std::string>;
    const Settings sft{"objective.name=sft", "teacher.kind=none", "teacher.model="};
    const auto with = [](Settings settings, const Settings& more) {
        settings.insert(settings.end(), more.begin(), more.end());
        return settings;
    };
    const std::vector<std::pair<Settings, std::string>> cases{
        {{"objective.name=sft"}, "asks no teacher"},
        {{"teacher.kind=none"}, "needs a teacher"},
        {{"teacher.model="}, "without teacher.model"},
        {{"student.model="}, "student.model is empty"},
        {{"data.files=[]"}, "data.files is empty"},
        {{"data.user=hello"}, "has no {problem}"},
        {{"data.problem=", "data.messages="}, "no prompt"},
        {{"student.trainable=lora", "student.init=random"}, "random, frozen weights"},
        {{"student.trainable=lora", "student.lora.targets=[]"}, "lora.targets is empty"},
        {{"teacher.context=solution", "data.solution="}, "needs solutions"},
        {{"teacher.context=answer-twice", "data.solution="}, "needs solutions"},
        {{"teacher.context=hint", "data.solution="}, "needs solutions"},
        {{"teacher.context=answer-only", "data.solution=", "data.answer="}, "needs answers"},
        {{"teacher.context=wrong-answer", "data.solution=", "data.answer="}, "needs answers"},
        {{"teacher.context=custom"}, "needs teacher.template"},
        {{"teacher.context=custom", "teacher.template=look: {solution}"}, "needs teacher.template"},
        {{"data.context_share=0.5"}, "for objective sft alone"},
        {with(sft, {"data.context_share=0.5"}), "no context to show"},
        {with(sft, {"rollout.samples_per_prompt=4"}), "samples nothing"},
        {with(sft, {"objective.student_temperature=2"}), "student_temperature"},
        {with(sft, {"objective.clamp.kind=per_token", "objective.clamp.c=1"}), "for divergences"},
        {with(sft, {"objective.t2_factor=true"}), "t2_factor"},
        {{"objective.clamp.kind=per_token"}, "expected c above 0"},
        {{"objective.clamp.c=0.05"}, "without objective.clamp.kind"},
        {{"objective.name=topk_uniform_tail", "objective.clamp.kind=per_entry", "objective.clamp.c=0.05"},
         "per_entry\" is for kl_reverse"},
        {{"objective.name=k1_pg", "objective.clamp.kind=per_entry", "objective.clamp.c=0.05"},
         "per_entry\" is for"},
        {{"objective.name=k1_pg", "objective.clamp.kind=trust_region", "objective.clamp.c=0.05"},
         "for divergences"},
        {{"objective.name=topk_unnorm_forward"}, "not normalised"},
        {{"objective.name=topk_unnorm_reverse"}, "1/e"},
        {{"objective.name=topk_const_tail"}, "flat tail"},
        {{"objective.name=topk_const_tail", "objective.allow_unnormalised=true"},
         "needs objective.allow_reason"},
        {{"objective.name=topk_const_tail", "objective.allow_unnormalised=true", "objective.allow_reason=  "},
         "needs objective.allow_reason"},
        {{"objective.ratio=is"}, "objective.ratio"},
        {{"objective.name=k2_loss", "objective.ratio=ppo_clip"}, "objective.ratio"},
        {{"objective.name=k1_pg", "objective.dual_clip=3"}, "needs objective.ratio"},
        {{"objective.name=k1_pg", "objective.ratio=ppo_clip", "objective.dual_clip=0.5"}, "expected above 1"},
        {{"objective.reward_clip=5"}, "reward_clip"},
        {{"objective.name=k1_pg", "optimizer.updates_per_batch=2"}, "second update"},
        {{"objective.name=k2_loss", "optimizer.updates_per_batch=2"}, "second update"},
        {{"objective.name=topk_token_pg", "optimizer.updates_per_batch=2"}, "second update"},
        {{"objective.name=k1_pg", "optimizer.updates_per_batch=2", "objective.allow_stale_updates=true"},
         "second update"},
        {{"optimizer.updates_per_batch=3"}, "does not divide"},
        {{"objective.direction=forward"}, "objective.direction"},
        {{"objective.name=topk_renorm", "objective.direction=mixed"}, "not offered yet"},
        {{"objective.rescale=true"}, "objective.rescale"},
        {{"objective.name=topk_renorm", "objective.top_k=1"}, "is 0 whatever"},
        {{"objective.name=k1_pg", "objective.t2_factor=true"}, "t2_factor"},
        {{"objective.t2_factor=true", "objective.student_temperature=2"}, "equal student and teacher"},
        {{"objective.name=gopd_pg", "objective.lambda=1.25"}, "needs objective.base_model"},
        {{"rollout.cache_tokens=1000"}, "not a multiple"},
        {{"optimizer.warmup=101"}, "longer than run.steps"},
        {{"optimizer.min_lr=1", "optimizer.schedule=linear"}, "above optimizer.lr"},
        {{"evaluation.every=10"}, "without evaluation.data"},
    };
    for (const auto& [settings, part] : cases) {
        const Judged result = judged(settings);
        EXPECT_NE(result.refusal.find(part), std::string::npos) << settings.back() << ": " << result.refusal;
        EXPECT_TRUE(result.refusal.starts_with("recipe test: ")) << result.refusal;
    }
}

TEST(Recipe, overrides_and_completions_lift_the_refusals) {
    const std::vector<std::vector<std::string>> accepted{
        {"objective.name=sft", "teacher.kind=none", "teacher.model="},
        {"objective.name=sft", "teacher.kind=none", "data.context_share=0.3", "teacher.context=solution"},
        {"objective.name=topk_const_tail", "objective.allow_unnormalised=true",
         "objective.allow_reason=to show the bug"},
        {"objective.name=k1_pg", "optimizer.updates_per_batch=2", "objective.ratio=is"},
        {"objective.name=k1_pg", "optimizer.updates_per_batch=2", "objective.allow_stale_updates=true",
         "objective.allow_reason=as published"},
        {"objective.name=topk_uniform_tail", "optimizer.updates_per_batch=8"},
        {"objective.name=gopd_pg", "objective.lambda=1.25", "objective.base_model=base"},
        {"objective.name=gopd_pg"},
        {"objective.name=k1_pg", "objective.ratio=ppo_clip", "objective.dual_clip=3"},
        {"objective.t2_factor=true", "objective.student_temperature=2", "objective.teacher_temperature=2"},
        {"teacher.context=answer-only", "data.answer="},
        {"teacher.context=custom", "teacher.template={problem} {answer}", "data.solution="},
        {"objective.clamp.kind=per_token", "objective.clamp.c=1", "objective.name=topk_tail_bucket"},
    };
    for (const auto& settings : accepted) EXPECT_EQ(judged(settings).refusal, "") << settings.back();
}

TEST(Recipe, what_is_allowed_but_should_be_known_is_a_warning) {
    const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
        {{"objective.teacher_temperature=2"}, "another sharpness"},
        {{"objective.name=k1_pg", "rollout.top_p=0.9"}, "top_p = 0.9"},
        {{"objective.name=k1_pg", "rollout.top_k=20"}, "top_k = 20"},
        {{"objective.name=gopd_pg", "rollout.temperature=0.6"}, "own temperature"},
        {{"objective.clamp.kind=per_entry", "objective.clamp.c=0.05", "objective.name=kl_forward"},
         "separate teacher"},
        {{"objective.clamp.kind=per_entry", "objective.clamp.c=0.05", "teacher.kind=self_frozen",
          "teacher.context=solution"},
         "would correct"},
        {{"objective.name=topk_renorm"}, "student_mass_on_teacher_top16"},
        {{"teacher.kind=self_live", "teacher.context=solution"}, "self_live"},
        {{"teacher.kind=self_frozen"}, "no signal"},
        {{"teacher.kind=self_frozen", "teacher.context=solution"}, "teacher.model is not used"},
        {{"rollout.truncated_rows=drop"}, "drop"},
        {{"objective.skip_first=3"}, "skip_first"},
        {{"objective.reduction=seq_mean_token_mean"}, "weigh differently"},
        {{"objective.t2_factor=true"}, "square of the temperature"},
        {{"objective.name=jsd", "objective.beta=0.01"}, "0.0099"},
        {{"data.thinking=true"}, "unless teacher.allow_prefix_difference"},
        {{"data.thinking=true", "teacher.allow_prefix_difference=true"}, "accepts"},
        {{"teacher.context=wrong-answer"}, "control"},
        {{"objective.base_model=x"}, "base_model is not used"},
        {{"rollout.temperature=0", "rollout.samples_per_prompt=2"}, "the same"},
    };
    for (const auto& [settings, part] : cases) {
        const Judged result = judged(settings);
        EXPECT_EQ(result.refusal, "") << settings.back();
        EXPECT_TRUE(result.warns(part)) << settings.back() << " gives no warning with: " << part;
    }
}

TEST(Recipe, deadlines_are_spans_or_dates) {
    EXPECT_EQ(*deadline_at("", 5), std::nullopt);
    EXPECT_EQ(*deadline_at("11h35m", 1000), 1000 + 11 * 3600 + 35 * 60);
    EXPECT_EQ(*deadline_at("90s", 0), 90);
    EXPECT_EQ(*deadline_at("1d2h", 0), 26 * 3600);
    setenv("TZ", "UTC", 1);
    tzset();
    EXPECT_EQ(*deadline_at("2026-12-24 18:00", 0), 1798135200);
    for (const char* wrong :
         {"h", "3", "-1h", "2026-13-01 10:00", "2026-02-30 10:00", "24h later", "2026-12-24"}) {
        EXPECT_FALSE(deadline_at(wrong, 0)) << wrong;
    }
}

TEST(Recipe, paths_are_relative_to_the_recipe_unless_they_say_otherwise) {
    Recipe recipe = acceptable();
    recipe.file = "/somewhere/recipes/r.toml";
    setenv("HOME", "/home/someone", 1);
    EXPECT_EQ(resolve_path(recipe, "models/a"), "/somewhere/recipes/models/a");
    EXPECT_EQ(resolve_path(recipe, "../a"), "/somewhere/a");
    EXPECT_EQ(resolve_path(recipe, "/a/b"), "/a/b");
    EXPECT_EQ(resolve_path(recipe, "~/a"), "/home/someone/a");
    EXPECT_EQ(resolve_path(recipe, "{resources}/sample/student"),
              test::source_folder() / "resources/sample/student");
    EXPECT_EQ(resolve_path(recipe, ""), "");
    recipe.teacher.model = "~/t";
    recipe.evaluation.data = "{resources}/x";
    const Recipe moved = with_absolute_paths(recipe);
    EXPECT_EQ(moved.student.model, "/somewhere/recipes/student");
    EXPECT_EQ(moved.data.files, std::vector<std::string>{"/somewhere/recipes/train.jsonl"});
    EXPECT_EQ(moved.teacher.model, "~/t");
    EXPECT_EQ(moved.evaluation.data, "{resources}/x");
    EXPECT_EQ(moved.objective.base_model, "");
}

TEST(Recipe, resources_can_be_named_by_the_environment) {
    const test::TemporaryFolder folder;
    std::filesystem::create_directories(folder / "recipes");
    std::ofstream(folder / "recipes/mine.toml") << "[run]\nname = \"mine\"\n[optimizer]\nlr = 1e-3\n";
    setenv("STILLROOM_RESOURCES", folder.path().c_str(), 1);
    const auto found = find_recipe("mine");
    const auto missing = find_recipe("mime");
    ASSERT_TRUE(found) << found.error().message();
    const auto read = read_recipe(*found);
    auto changed = acceptable();
    changed.preset = "mine";
    const Judged result = judged(changed);
    unsetenv("STILLROOM_RESOURCES");
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->preset, "mine");
    ASSERT_FALSE(missing);
    EXPECT_NE(missing.error().message().find("nearest is 'mine'"), std::string::npos)
        << missing.error().message();
    EXPECT_TRUE(result.warns("optimizer.lr = 1e-06, where mine has 0.001"));
}

TEST(Recipe, a_missing_file_is_an_error_that_names_it) {
    const auto read = read_recipe("/nowhere/r.toml");
    ASSERT_FALSE(read);
    EXPECT_NE(read.error().message().find("/nowhere/r.toml"), std::string::npos);
}

} // namespace stillroom::formats
