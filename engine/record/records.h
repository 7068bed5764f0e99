// SPDX-License-Identifier: GPL-3.0-or-later
// What a run tells its store: plain structs of numbers, strings and vectors. metrics.md names every metric;
// ui.md 4.1 says what is kept of a rollout.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace stillroom::record {

enum class RunState {
    Preparing,
    Running,
    Pausing,
    Paused,
    Evaluating,
    Saving,
    Stopping,
    Finished,
    Stopped,
    Failed,
    Interrupted
};
std::string to_string(RunState state); // "preparing", ...
std::optional<RunState> run_state(const std::string& name);
/// Whether a run in this state claims that a process works on it.
bool is_live(RunState state);

/// A metric that is undefined by its formula (0/0): one NaN of its own, null in the store. Any other NaN is
/// what a computation gave, and is stored as NaN. A metric that was not computed is absent.
inline constexpr double Undefined = std::bit_cast<double>(uint64_t{0x7ff80000'756e6466});
constexpr bool is_undefined(double value) { return std::bit_cast<uint64_t>(value) == 0x7ff80000'756e6466; }
using Metrics = std::map<std::string, double>;

struct StepRecord {
    int64_t step = 0;          // 1 is the first optimizer step
    double wall_seconds = 0;   // since the run's start, all sessions
    double active_seconds = 0; // without pauses and interruptions
    int64_t tokens_trained = 0;
    Metrics metrics;       // by_decile metrics as name_0 .. name_9
    Metrics phase_seconds; // rollout, teacher, learn, optimise, save, evaluate, other; stored as time_<phase>
};

/// Per response token; all vectors have the response's length, or are empty: not computed. NaN: not computed
/// here.
struct TokenRecord {
    std::vector<int32_t> ids;
    std::vector<float> student_logprob, teacher_logprob,
        teacher_plain_logprob;          // log pS(y), log pT(y), log pT°(y)
    std::vector<float> sampler_logprob; // not stored: what it shows is in the mismatch metrics
    std::vector<float> student_entropy, teacher_entropy; // nats
    std::vector<float> kl;                               // exact reverse KL at the position, nats
    std::vector<float> clipped;                          // nats removed by the clamp
    std::vector<uint8_t> overlap;                        // |S16 and T16|; 255: not computed
    std::vector<uint8_t> flags; // bit 0: clamped, bit 1: end token, bit 2: not a row of the loss
};

/// The 16 best ids of each model at each position with the log-probs of both, best first; L x 16, row-major.
struct Top16Record {
    std::vector<int32_t> student_ids, teacher_ids;
    std::vector<float> student_ids_student, student_ids_teacher, teacher_ids_student,
        teacher_ids_teacher;                       // log p
    std::vector<float> student_tail, teacher_tail; // log of the mass outside the own top-16; L
};

struct RolloutRecord {
    int64_t step = 0;
    std::string prompt_id;
    int64_t prompt = 0; // index in the data, the sampler's counter
    int64_t sample = 0;
    std::string problem, gold;
    std::vector<int32_t> prompt_ids, teacher_prompt_ids;
    std::string text;                    // the response, decoded (may hold invalid UTF-8)
    std::string finish_reason;           // eos, length
    std::string verdict, why, extracted; // equal, different, unknown
    bool format_ok = false;
    Metrics means; // kl_reverse_exact, entropy_student, ..., per rollout
    TokenRecord tokens;
    std::optional<Top16Record> top16;
    std::string kept_because; // why the top-16 record is kept; empty: it isn't
    bool pinned = false;
    int64_t length = 0; // in tokens; 0: that of `tokens`
};

struct EvaluationAnswer {
    std::string question;
    int64_t sample = 0, length = 0;
    std::string finish_reason, text, extracted, gold, verdict, why;
    bool format_ok = false;
    double mean_logprob = 0;
    std::vector<int32_t> ids;
};
struct EvaluationRecord {
    int64_t step = 0;
    std::string tag;                     // "proxy", "proxy_greedy"
    std::string protocol, protocol_hash; // canonical JSON and its SHA-256 (metrics.md 7)
    Metrics metrics;                     // eval_avg_at_n, se_clustered, ...
    std::vector<EvaluationAnswer> answers;
};

struct CheckpointRecord {
    int64_t step = 0;
    std::string folder; // relative to the run's
    int64_t bytes = 0;
    double seconds = 0;
    std::optional<double> score;
    std::string sha256;       // of the weights
    std::string kept_because; // last, best, pinned
    bool removed = false;
};

struct EventRecord {
    int64_t step = 0;
    std::string kind; // state, warning, skipped_step, checkpoint, gap, thinning, ...
    std::string text;
    double time = 0; // Unix seconds; 0: when it is written
};

struct StateRecord {
    RunState state = RunState::Running;
    int64_t step = 0; // the last finished one
    std::string text; // "deadline reached", the error of a failed run
};

/// One alarm of ui.md 3.6; written again as it goes on (same name and first step), it replaces itself.
struct AlarmRecord {
    std::string name, level; // level: info, warning, severe
    int64_t first_step = 0, last_step = 0, count = 0;
    std::string evidence;
    bool active = true;
};

using Record = std::variant<StepRecord, RolloutRecord, EvaluationRecord, CheckpointRecord, EventRecord,
                            StateRecord, AlarmRecord>;

} // namespace stillroom::record
