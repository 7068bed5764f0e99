// SPDX-License-Identifier: GPL-3.0-or-later
// A recipe: everything that decides a run. TOML on disk, strict: an unknown key or a value out of range is an
// error with the line and the nearest known key. What a recipe leaves out has the default stated here. A
// member's name is its key's (`teacher.template_text` is the key `template`); [student.lora] and
// [objective.clamp] are tables of their own.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace stillroom::formats {

struct RunSection {
    std::string name;        // of the run and its folder
    uint64_t seed = 42;      // of every random stream; 0 to 2^63-1
    int64_t steps = 100;     // optimizer steps
    std::string deadline;    // "11h35m" after the start, or a date "2026-12-24 18:00"; empty: none
    double save_reserve = 0; // seconds kept for the last save and export; 0: measured at the first save
};

struct LoraSection {
    int64_t rank = 64;
    double alpha = 128;
    std::vector<std::string> targets{"q", "k", "v", "o", "gate", "up", "down"};
};

struct StudentSection {
    std::string
        model; // Hugging Face folder, checkpoint folder or .gguf; relative to the recipe, or $HOME-expanded
    std::string trainable = "full";  // full, lora
    std::string init = "pretrained"; // pretrained, or random: fresh weights for the config.json in `model`
    std::string dtype = "auto";      // auto, fp32, bf16
    LoraSection lora;
};

struct TeacherSection {
    std::string kind = "separate"; // none (sft), separate, self_frozen, self_ema, self_live (objectives.md 9)
    std::string model;             // for separate
    std::string context = "none";  // none, solution, answer-twice, answer-only, hint, wrong-answer, custom
    std::string template_text;     // for custom: {problem} {solution} {answer} {instruction}
    double ema_decay = 0.999;      // rho of self_ema
    bool thinking = false;         // enable_thinking of the teacher's prompt
    double score_without_answer =
        0.125;              // share of rollouts that are also scored without the answer-aware part (gain)
    int64_t max_prompt = 0; // teacher prompt limit in tokens; 0: its context less max_new
    bool allow_prefix_difference =
        false; // the two prompts may end in different generation prefixes (objectives.md 1)
};

struct DataSection {
    std::vector<std::string> files; // JSON lines
    std::string problem = "problem", solution = "solution", answer = "answer",
                messages = "messages"; // columns
    std::string id;                    // column of a question's name; empty: its line number
    std::string target;                // sft: column of the text to learn; empty: `solution`
    std::string system;                // system message; empty: what the template does by itself
    std::string instruction;           // answer format instruction, appended to the user turn
    std::string user =
        "{problem}{instruction}";   // user turn; `instruction` brings its own leading line breaks
    std::string order = "shuffled"; // shuffled (seeded, anew each epoch), file
    int64_t limit = 0;              // first so many rows; 0: all
    int64_t max_prompt =
        0; // student prompt limit in tokens; longer ones are dropped and counted; 0: context less max_new
    bool strip_calculator = false;   // remove GSM8K's <<...>> marks from solutions
    bool thinking = false;           // enable_thinking of the student's prompt
    double context_share = 0;        // sft: share of prompts that show teacher.context
    std::string rule = "boxed_last"; // answer extraction of training rollouts: boxed_last, gsm8k_hash,
                                     // answer_line, whole, last_number
    std::string format_rule;         // what counts as an answer in the asked form; empty: what `rule` finds
};

struct RolloutSection {
    int64_t prompts_per_step = 32;
    int64_t samples_per_prompt = 1;
    int64_t max_new = 1024; // response cap in tokens
    double temperature = 1;
    double top_p = 1;                    // 1: off
    int64_t top_k = 0;                   // 0: off
    int64_t batch_rows = 0;              // rows decoded at once; 0: chosen by memory
    int64_t page_tokens = 64;            // tokens a cache page
    int64_t cache_tokens = 0;            // pages x page_tokens; 0: chosen by memory
    std::string truncated_rows = "keep"; // keep, drop
};

struct ClampSection {
    std::string kind = "none"; // none, per_entry, per_token, trust_region
    double c = 0;
};

struct ObjectiveSection {
    std::string name = "kl_reverse";                         // ids of objectives.md 0; sft
    double student_temperature = 1, teacher_temperature = 1; // T_S, T_T
    double beta = 0.5;                                       // jsd
    bool rescale = false;                                    // jsd
    std::string direction =
        "reverse";      // topk_tail_bucket, topk_renorm: reverse, forward, jsd (mixed: read, not offered yet)
    int64_t top_k = 16; // K of the top-k family and of topk_token_pg
    double tau_min = 1e-10; // topk_uniform_tail
    double log_floor = -10; // topk_const_tail
    bool t2_factor = false;
    ClampSection clamp;
    std::string ratio = "none"; // none, is, truncated, ppo_clip
    double ratio_cap = 2, clip_low = 0.2, clip_high = 0.2;
    double dual_clip = 0;                        // 0: off
    double coef = 1;                             // k1_pg
    double reward_clip = 0;                      // symmetric; 0: off
    double lambda = 1;                           // gopd_pg
    std::string base_model;                      // gopd_pg, for lambda != 1
    std::string token_weights = "student_p";     // topk_token_pg: student_p, teacher_p, none
    std::string reduction = "token_mean_global"; // objectives.md 7
    int64_t skip_first = 0;                      // response tokens at the start that are not rows
    bool allow_unnormalised = false;
    bool allow_stale_updates = false; // several updates a batch although no ratio corrects for them
    std::string allow_reason;         // written by the person who allows either
};

struct OptimizerSection {
    double lr = 1e-6;
    std::string schedule = "constant"; // constant, linear (to min_lr over the run), cosine
    int64_t warmup = 0;                // steps
    double min_lr = 0;
    double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
    double max_norm = 1;             // 0: no clipping
    int64_t micro_tokens = 16384;    // prompt and response tokens a micro-batch
    int64_t head_rows = 1024;        // rows a chunk of the head
    int64_t updates_per_batch = 1;   // optimizer steps on one batch of rollouts (mini-batches)
    std::string recompute = "layer"; // none, layer
};

struct EvaluationSection {
    std::string data;  // JSON lines; empty: no evaluation
    int64_t every = 0; // steps; 0: only at start and end
    bool at_start = true;
    int64_t samples = 1, max_new = 1024, limit = 0;
    double temperature = 1, top_p = 1;
    int64_t top_k = 0;
    bool greedy_too = false;  // a second evaluation at temperature 0
    bool until_clear = false; // ends an evaluation where its difference from the first is clear
    bool confirm = false;     // time left before run.deadline goes to the best checkpoint, with another seed
    std::string rule = "boxed_last";
    std::string format_rule; // as data.format_rule
    // Where graders disagree (maths::Policy):
    std::string percent = "written"; // written: 10% is 10; value: 10% is 0.1
    std::string order = "tuples";    // whose order counts: tuples, all (lists too), none
    std::string units = "optional";  // optional; required: a unit that one side leaves out is a difference
    int64_t decimals = -1;           // accept a decimal rounded to so many places; -1: decimals are exact
};

struct CheckpointSection {
    int64_t every = 0; // steps; 0: only at the end
    int64_t keep_last = 1, keep_best = 1;
    std::string metric = "proxy_score";
    bool export_at_end = false; // a Hugging Face folder beside the run
};

struct RecordSection {
    bool rollouts = true; // token records of every rollout
    bool top16 = true;    // top-16 records by the policy of ui.md 4.1
    int64_t byte_budget = 50'000'000'000;
};

struct ProvenanceSection {
    std::string source, reported; // where the recipe comes from; the result stated there
    std::vector<std::string> stated, assumed, disagreements;
    std::string warning; // shown wherever the recipe is offered
};

struct Recipe {
    RunSection run;
    StudentSection student;
    TeacherSection teacher;
    DataSection data;
    RolloutSection rollout;
    ObjectiveSection objective;
    OptimizerSection optimizer;
    EvaluationSection evaluation;
    CheckpointSection checkpoint;
    RecordSection record;
    ProvenanceSection provenance;
    std::string preset;         // name of the shipped recipe this comes from; empty: a person's own file
    std::filesystem::path file; // where it was read; relative paths in it are relative to its folder
};

/// Parses, and checks every value by itself; every error names file, line, what was found and what was
/// expected. Combinations of values are check_recipe's business. A shipped recipe's `preset` is its own name.
Result<Recipe> read_recipe(const std::filesystem::path& file);
Result<Recipe> parse_recipe(std::string_view toml, const std::string& where);

/// `--set section.key=value`, value in TOML's spelling (bare words are taken as strings). Checked as the file
/// is.
Result<Recipe> with_settings(const Recipe& recipe, const std::vector<std::string>& settings);

/// What no single value shows: the combinations that objectives.md 13 refuses, a context without data and the
/// like (and every value's own limits again, for a recipe made in code). `warnings` gets what is allowed but
/// should be known.
Result<void> check_recipe(const Recipe& recipe, std::vector<std::string>& warnings);

/// The recipe with every default written out, in the order above; reading it back gives the same recipe.
std::string to_toml(const Recipe& recipe);
/// SHA-256 of to_toml without run.name, preset and provenance: the same for two runs that compute the same.
std::string recipe_hash(const Recipe& recipe);
/// Every key with its value as text, "optimizer.lr" -> "1e-06"; for tables, differences and the store.
std::map<std::string, std::string> flattened(const Recipe& recipe);

/// When a run that started at `start` (seconds since 1970) has to end, by run.deadline's text ("11h35m",
/// "90m", or a local date "2026-12-24 18:00"); nothing for an empty text.
Result<std::optional<int64_t>> deadline_at(const std::string& deadline, int64_t start);

/// The folder resources/: $STILLROOM_RESOURCES, or beside or above this program (share/stillroom where it is
/// installed, resources in a source tree), or of the source tree it was built from.
std::filesystem::path resources_folder();
/// A shipped recipe's file: `name`.toml in resources/recipes. A path to an existing file is taken as it is.
Result<std::filesystem::path> find_recipe(const std::string& name_or_file);
std::vector<std::filesystem::path> shipped_recipes();
/// A path of a recipe, made absolute: "~" expanded, relative to the recipe's folder, "{resources}" replaced.
std::filesystem::path resolve_path(const Recipe& recipe, const std::string& path);
/// The recipe with every relative path made absolute ("~" and "{resources}" stay), so that it may be written
/// elsewhere.
Recipe with_absolute_paths(const Recipe& recipe);

} // namespace stillroom::formats
