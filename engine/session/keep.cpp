// SPDX-License-Identifier: GPL-3.0-or-later
// What a run keeps between its steps: evaluations, checkpoints, the export at its end.
#include "session/engine.h"

#include "base/files.h"
#include "base/hash.h"

#include <algorithm>
#include <cmath>

namespace stillroom::session {

namespace fs = std::filesystem;
using enum record::RunState;

Result<record::EvaluationRecord> RunDriver::evaluate_once(const std::string& tag, double temperature) {
    const formats::Recipe& recipe = request_.recipe;
    const auto& evaluation = recipe.evaluation;
    const model::Model& student = trainer_->student();
    auto stated = eval::protocol_of(recipe, formats::resolve_path(recipe, evaluation.data), questions_);
    if (!stated) return stated.error();
    eval::Protocol& protocol = *stated;
    if (temperature == 0) { // the greedy pass
        protocol.samples = 1;
        protocol.temperature = 0;
        protocol.top_p = 1;
        protocol.top_k = 0;
    }
    protocol.eos_ids = student.eos_ids();
    protocol.template_sha256 = sha256(student.tokenizer->chat_template());
    protocol.dtype = student.dtype() == torch::kBFloat16 ? "bf16" : "fp32";
    auto evaluated = eval::evaluate(
        trainer_->generator(), student, trainer_->prompts(), questions_.examples, protocol,
        [&](int64_t finished, int64_t total, int64_t tokens) {
            return report_progress(train::Phase::Evaluate, double(finished) / double(total),
                                   std::to_string(finished) + " of " + std::to_string(total) + " samples");
        });
    trainer_->release_generation();
    if (!evaluated) return evaluated;
    for (auto& [name, value] : evaluated->metrics) value = std::isnan(value) ? record::Undefined : value;
    evaluated->step = step_;
    evaluated->tag = tag;
    return evaluated;
}

void RunDriver::evaluate() {
    evaluation_wanted_ = false;
    if (questions_.examples.empty()) return;
    const record::RunState before = state_;
    const double since = now();
    enter(Evaluating, "Evaluating step " + std::to_string(step_));
    std::vector<std::pair<std::string, double>> passes{{"proxy", request_.recipe.evaluation.temperature}};
    if (request_.recipe.evaluation.greedy_too) passes.emplace_back("proxy_greedy", 0.0);
    for (const auto& [tag, temperature] : passes) {
        auto evaluated = evaluate_once(tag, temperature);
        if (!evaluated) {
            say(Notice::Kind::Warning, "evaluation failed: " + evaluated.error().message());
            break;
        }
        if (tag == "proxy") {
            evaluated->metrics["proxy_score"] = evaluated->metrics["eval_avg_at_n"];
            evaluated->metrics["proxy_se"] = evaluated->metrics["se_clustered"];
            if (!stop_now_) {
                evaluated_step_ = step_;
                if (const auto score = evaluated->metrics.find(request_.recipe.checkpoint.metric);
                    score != evaluated->metrics.end()) {
                    scores_[step_] = score->second;
                }
            }
        }
        recorder_->post(*evaluated);
        channel_.post_event(
            EvaluationDone{std::make_shared<const record::EvaluationRecord>(std::move(*evaluated))});
        if (stop_now_) break;
    }
    longest_evaluation_ = std::max(longest_evaluation_, now() - since);
    enter(before, "");
}

bool RunDriver::save() {
    save_wanted_ = false;
    const record::RunState before = state_;
    enter(Saving, "Saving checkpoint " + std::to_string(step_));
    train::CheckpointNote note;
    note.step = step_;
    note.run = request_.recipe.run.name;
    note.recipe_hash = formats::recipe_hash(request_.recipe);
    note.base_sha256 = trainer_->student().weights_sha256;
    note.wall_seconds = wall_before_ + now() - started_;
    note.active_seconds = active_before_ + now() - started_ - paused_seconds_;
    note.scores = nlohmann::json::object();
    std::optional<double> score;
    if (const auto known = scores_.find(step_); known != scores_.end()) {
        score = known->second;
        note.scores[request_.recipe.checkpoint.metric] = *score;
    }
    const auto saved = train::save_checkpoint(*trainer_, request_.run, note);
    if (!saved) {
        say(Notice::Kind::Warning,
            "checkpoint of step " + std::to_string(step_) + " not saved: " + saved.error().message());
        enter(before, "");
        return false;
    }
    longest_save_ = std::max(longest_save_, saved->seconds);
    saved_step_ = step_;
    record::CheckpointRecord entry;
    entry.step = step_;
    entry.folder = fs::relative(saved->folder, request_.run).string();
    entry.bytes = saved->bytes;
    entry.seconds = saved->seconds;
    entry.score = score;
    entry.sha256 = saved->sha256;
    checkpoints_[step_] = entry;
    retain();
    enter(before, "");
    return true;
}

void RunDriver::retain() {
    std::vector<std::pair<int64_t, std::optional<double>>> candidates;
    std::vector<int64_t> pinned;
    for (const auto& [step, checkpoint] : checkpoints_) {
        const auto score = scores_.find(step);
        candidates.emplace_back(step, score == scores_.end() ? std::nullopt : std::optional(score->second));
        if (train::is_pinned(request_.run / checkpoint.folder)) pinned.push_back(step);
    }
    const auto& rule = request_.recipe.checkpoint;
    const auto kept = train::kept_checkpoints(candidates, pinned, rule.keep_last, rule.keep_best);
    for (auto it = checkpoints_.begin(); it != checkpoints_.end();) {
        auto& [step, checkpoint] = *it;
        const auto why = kept.find(step);
        const bool changed = why == kept.end() || why->second != checkpoint.kept_because;
        checkpoint.kept_because = why == kept.end() ? "" : why->second;
        checkpoint.removed = why == kept.end();
        if (checkpoint.removed) {
            // Renamed first: a crash in the middle of removing never leaves half a checkpoint under its name.
            const fs::path folder = request_.run / checkpoint.folder, doomed = folder.string() + ".removed";
            std::error_code code;
            fs::rename(folder, doomed, code);
            fs::remove_all(code ? folder : doomed, code);
            if (code)
                say(Notice::Kind::Warning,
                    "old checkpoint not removed: " + folder.string() + ": " + code.message());
        }
        if (changed) {
            recorder_->post(checkpoint);
            channel_.post_event(CheckpointSaved{checkpoint});
        }
        it = checkpoint.removed ? checkpoints_.erase(it) : std::next(it);
    }
}

Result<void> RunDriver::export_model() {
    const fs::path to = request_.run / "export";
    std::error_code code;
    fs::remove_all(to, code); // of an earlier end of this run
    const auto written = write_folder(to, [&](const fs::path& partial) {
        return model::save_model(trainer_->student(), partial, trainer_->student().dtype());
    });
    if (written) say(Notice::Kind::Information, "Exported to " + to.string());
    return written;
}

} // namespace stillroom::session
