// SPDX-License-Identifier: GPL-3.0-or-later
// What a run keeps between its steps: evaluations, checkpoints, the export at its end.
#include "session/engine.h"

#include "base/files.h"
#include "base/hash.h"
#include "eval/stored.h"
#include "record/queries.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

namespace stillroom::session {

namespace fs = std::filesystem;
using enum record::RunState;

/// The proxy's protocol on the run's own student.
Result<eval::Protocol> RunDriver::proxy_protocol() const {
    const formats::Recipe& recipe = request_.recipe;
    const model::Model& student = trainer_->student();
    auto protocol =
        eval::protocol_of(recipe, formats::resolve_path(recipe, recipe.evaluation.data), questions_);
    if (!protocol) return protocol;
    protocol->eos_ids = student.eos_ids();
    protocol->template_sha256 = sha256(student.tokenizer->chat_template());
    protocol->dtype = student.dtype() == torch::kBFloat16 ? "bf16" : "fp32";
    return protocol;
}

/// Of a run that goes on: its first evaluation is in its store.
void RunDriver::read_first_evaluation() {
    const auto reader = record::RunReader::open(request_.run);
    if (!reader) return;
    const auto known = reader->evaluations();
    if (!known) return;
    for (const auto& evaluation : *known) {
        if (evaluation.tag != "proxy") continue;
        if (auto first = reader->evaluation(evaluation.id)) first_answers_ = std::move(first->answers);
        return;
    }
}

std::optional<stats::Paired>
RunDriver::since_first(const std::vector<record::EvaluationAnswer>& answers) const {
    return eval::paired_difference(first_answers_, answers);
}

Result<record::EvaluationRecord> RunDriver::evaluate_once(const std::string& tag, double temperature) {
    const model::Model& student = trainer_->student();
    auto stated = proxy_protocol();
    if (!stated) return stated.error();
    eval::Protocol& protocol = *stated;
    if (temperature == 0) { // the greedy pass
        protocol.samples = 1;
        protocol.temperature = 0;
        protocol.top_p = 1;
        protocol.top_k = 0;
    }
    const double since = now();
    const bool stops = tag == "proxy" && request_.recipe.evaluation.until_clear && !first_answers_.empty();
    const auto go_on = [&](const std::vector<record::EvaluationAnswer>& answers) {
        const auto difference = since_first(answers);
        return !difference ||
               !eval::is_clear(*difference, int64_t(answers.size() / questions_.examples.size()));
    };
    auto evaluated = eval::evaluate(
        trainer_->generator(), student, trainer_->prompts(), questions_.examples, protocol,
        [&](int64_t finished, int64_t total, int64_t tokens) {
            return report_progress(train::Phase::Evaluate, double(finished) / double(total),
                                   std::to_string(finished) + " of " + std::to_string(total) + " samples");
        },
        stops ? eval::AfterRound(go_on) : eval::AfterRound());
    trainer_->release_generation();
    if (!evaluated) return evaluated;
    if (tag == "proxy" && !stop_now_) {
        const auto counts = stats::counts_of(eval::questions_of(evaluated->answers));
        const int64_t rounds = counts.empty() ? 0 : int64_t(evaluated->answers.size() / counts.size());
        const double spent = now() - since, left = deadline_ > 0 ? deadline_ - now() : 0;
        const auto plan =
            eval::plan(counts, since_first(evaluated->answers), rounds, protocol.samples, spent, left);
        say(Notice::Kind::Information, "evaluation: " + eval::to_text(plan, protocol.samples, spent, left));
        if (first_answers_.empty()) first_answers_ = evaluated->answers;
    }
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

/// The best of several checkpoints was chosen by its own luck too (metrics.md 6.4): what time is left before
/// the deadline goes to asking it again with another seed, round by round.
void RunDriver::confirm_best() {
    const formats::Recipe& recipe = request_.recipe;
    if (!recipe.evaluation.confirm || deadline_ == 0 || questions_.examples.empty()) return;
    std::optional<int64_t> best;
    for (const auto& [step, checkpoint] : checkpoints_) {
        const auto score = scores_.find(step);
        if (score != scores_.end() && (!best || score->second > scores_.at(*best))) best = step;
    }
    const double margin = 1; // seconds for the end of the run
    double round = longest_evaluation_ / double(recipe.evaluation.samples);
    if (!best || now() + 1.5 * round + margin > deadline_) return;

    const record::RunState before = state_;
    enter(Evaluating, "Asking the best checkpoint, step " + std::to_string(*best) + ", with another seed");
    const auto failed = [&](const Error& error) {
        say(Notice::Kind::Warning, "the best checkpoint was not confirmed: " + error.message());
        enter(before, "");
    };
    auto protocol = proxy_protocol();
    if (!protocol) return failed(protocol.error());
    constexpr int64_t most_rounds = 1024;
    protocol->seed = recipe.run.seed + 1;
    protocol->samples = most_rounds;
    const model::Model& student = trainer_->student();
    std::optional<model::Model> loaded;
    if (*best != step_) {
        auto model = model::load_model(request_.run / checkpoints_.at(*best).folder,
                                       {student.device(), student.dtype()});
        if (!model) return failed(model.error());
        loaded = std::move(*model);
    }
    const model::Model& model = loaded ? *loaded : student;
    rollout::Generator generator(model, {});
    double since = now();
    const auto progress = [&](int64_t finished, int64_t, int64_t) {
        return report_progress(train::Phase::Evaluate, 0,
                               std::to_string(finished) + " samples, another seed");
    };
    const auto after_round = [&](const std::vector<record::EvaluationAnswer>&) {
        round = std::max(round, now() - std::exchange(since, now()));
        return !stop_wanted_ && !stop_now_ && now() + 1.5 * round + margin < deadline_;
    };
    auto evaluated = eval::evaluate(generator, model, trainer_->prompts(), questions_.examples, *protocol,
                                    progress, after_round);
    if (!evaluated) return failed(evaluated.error());
    evaluated->step = *best;
    evaluated->tag = "confirm";
    const auto shown = [](double value) {
        char text[32];
        std::snprintf(text, sizeof text, "%.4f", value);
        return std::string(text);
    };
    say(Notice::Kind::Information,
        "step " + std::to_string(*best) + ", the best of " + std::to_string(scores_.size()) + " at " +
            shown(scores_.at(*best)) + ", has " + shown(evaluated->metrics.at("eval_avg_at_n")) + " +- " +
            shown(evaluated->metrics.at("se_clustered")) + " SE with another seed, over " +
            std::to_string(evaluated->answers.size()) + " answers");
    for (auto& [name, value] : evaluated->metrics) value = std::isnan(value) ? record::Undefined : value;
    recorder_->post(*evaluated);
    channel_.post_event(
        EvaluationDone{std::make_shared<const record::EvaluationRecord>(std::move(*evaluated))});
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
