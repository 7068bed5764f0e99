// SPDX-License-Identifier: GPL-3.0-or-later
// What can be known to be wrong before a run starts: the findings PF01 to PF23 of the launch dialog and of
// `stillroom-cli doctor`. Neither torch nor Qt is needed to include this.
#pragma once

#include "base/result.h"
#include "formats/recipe.h"

#include <atomic>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

namespace stillroom::session {

enum class Verdict { Pass, Warn, Fail, Skip };
std::string to_string(Verdict verdict); // "PASS", "WARN", "FAIL", "SKIP"

/// Something to do about a finding. Where it is a setting, `key` and `value` are what with_settings() takes.
struct Remedy {
    std::string text;
    std::string key, value;
    bool operator==(const Remedy&) const = default;
};

struct Finding {
    std::string id, title; // "PF04", "Tokenizers agree"
    Verdict verdict = Verdict::Pass;
    std::string evidence; // what was found, with its numbers
    std::string why;      // why it matters
    std::vector<Remedy> remedies;
    double seconds = 0;
    bool may_be_overridden = false; // a FAIL may be started anyway, with a reason
    double step_seconds = 0;        // PF21: what a step takes at most, measured; 0: not measured
};
nlohmann::json to_json(const Finding& finding);
/// FAIL, and not one that may be overridden.
bool blocks_start(std::span<const Finding> findings);

struct PreflightRequest {
    formats::Recipe recipe;
    std::filesystem::path run; // the folder that the run would make; empty: its folder is not checked
    std::string device = "auto", dtype = "auto";
    int threads = 0;
    const std::atomic<bool>* cancel = nullptr; // set from another thread: ends within a token or a finding
};

/// Runs every check one after the other on the caller's thread: files, tokenizers, prompts and data first,
/// then those on the loaded models, which share one trainer. `each` gets a finding as it is made; false
/// cancels. A cancelled preflight returns what it found so far. Nothing is written but a probe beside `run`,
/// which is removed. A fault of a check itself is a FAIL of that check, never an error of all.
Result<std::vector<Finding>> preflight(const PreflightRequest& request,
                                       const std::function<bool(const Finding&)>& each);

/// Ids and titles in the order in which preflight() makes them, so that a list can be shown beforehand.
std::vector<std::pair<std::string, std::string>> preflight_checks();

/// Memory of a run in bytes, by class, from shapes alone. P parameters of the student, Q those trained
/// (P, or LoRA's), b bytes an element of the weights, T tokens of a micro-batch, N rows of it, L layers, d
/// hidden size, i inner size, H and G heads of queries and of keys, h head size, V vocabulary:
///
///   weights      b P, and b Q for LoRA's pairs
///   optimiser    8 Q for the moments, and 4 Q for fp32 masters where b < 4
///   gradients    4 Q
///   teacher      b P of a separate one; self_frozen b P (nothing with LoRA), self_ema (4 + b) Q, self_live
///   0;
///                gopd's base is added
///   activations  T (k a + L d b), a = (24 + 6 b) d + (8 + 6 b) (H + 2 G) h + 6 b i what one recorded layer
///                keeps in a token, k = L where optimizer.recompute is "none", else 1
///   head         16 fp32 matrices [min(head_rows, N), V] (logits, log-probs, probabilities, entries of
///   both),
///                and 4 V d for the head's own gradient of a chunk unless LoRA leaves it alone
///   cache        2 b L G h for each token that it holds: rollout.cache_tokens, else a longest prompt and
///                answer and a page for each row decoded at once, within 60 % of what the rest leaves
///
/// The peak is weights + optimiser + gradients + teacher + the larger of activations + head, and cache.
struct MemoryForecast {
    double weights = 0, optimiser = 0, gradients = 0, teacher = 0, activations = 0, head = 0, cache = 0;
    double peak = 0;
    std::string peak_phase;     // "learn" or "rollout"
    int64_t rows_at_once = 0;   // full rows that the cache holds, at most those of a step
    int64_t rows_of_a_step = 0; // prompts x samples
    double available = 0;       // on the device (free) or in this machine's memory
};
/// Reads the models' configs, no weights.
Result<MemoryForecast> memory_forecast(const PreflightRequest& request);

} // namespace stillroom::session
