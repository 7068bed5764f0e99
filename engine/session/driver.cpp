// SPDX-License-Identifier: GPL-3.0-or-later
// The course of a run: prepare, steps with what comes between them, the end.
#include "session/engine.h"

#include "base/files.h"
#include "kernels/nvml.h"
#include "record/liveness.h"
#include "record/store.h"
#include "record/top16_policy.h"
#include "session/launch_checks.h"

#include <algorithm>
#include <cmath>
#include <torch/torch.h>

namespace stillroom::session {

namespace fs = std::filesystem;
using enum record::RunState;

namespace {

int gpu_index(torch::Device device) { return device.has_index() ? device.index() : 0; }

Result<double> energy_of(torch::Device device) {
    if (!device.is_cuda()) return Error{"not a GPU"};
    return kernels::gpu_energy(gpu_index(device));
}

/// "NVIDIA H200, float32: 66.9 Tflop/s, 4800 GB/s by its data sheet", which mfu_* and mbu_* divide by.
std::string device_text(train::Trainer& trainer) {
    std::string text = kernels::device_name(trainer.student().device()) + ", " +
                       torch::toString(trainer.student().weights.flat.scalar_type());
    if (!trainer.peaks()) return text;
    char peaks[96];
    std::snprintf(peaks, sizeof peaks, ": %.1f Tflop/s, %.0f GB/s by its data sheet",
                  trainer.peaks()->flops / 1e12, trainer.peaks()->bandwidth / 1e9);
    return text + peaks;
}

} // namespace

void Session::Engine::begin(RunRequest request) {
    state = Preparing;
    outcome = {};
    channel.set_ended(false);
    thread = std::thread([this, request = std::move(request)]() mutable {
        RunDriver driver(std::move(request), channel, state);
        outcome = driver.execute();
        channel.set_ended(true);
    });
}

double RunDriver::now() const { return record::unix_time(); }

Result<void> RunDriver::execute() {
    started_ = now();
    try {
        if (auto prepared = prepare(); !prepared) return fail(prepared.error());
        if (auto trained = train(); !trained) return fail(trained.error());
        if (auto finished = finish_up(); !finished) return fail(finished.error());
    } catch (const ErrorException& error) {
        return fail(error.error());
    } catch (const c10::Error& error) {
        return fail(Error{error.what_without_backtrace(), "engine"});
    } catch (const std::exception& error) {
        return fail(Error{error.what(), "engine"});
    }
    return {};
}

Result<void> RunDriver::fail(const Error& error) {
    say(Notice::Kind::Failure, error.message());
    enter(Failed, error.message());
    if (recorder_) {
        if (auto closed = recorder_->close(std::chrono::seconds(10)); !closed)
            say(Notice::Kind::Warning, closed.error().message());
    }
    return error;
}

Result<void> RunDriver::prepare() {
    // The run's copy of the recipe lies in another folder: relative paths must go on meaning the same.
    request_.recipe = formats::with_absolute_paths(request_.recipe);
    const formats::Recipe& recipe = request_.recipe;
    if (request_.threads > 0) torch::set_num_threads(request_.threads);
    if (!recipe.run.deadline.empty()) {
        auto deadline = deadline_time(recipe.run.deadline, started_);
        if (!deadline) return deadline.error();
        deadline_ = *deadline;
    }
    std::vector<std::string> warnings;
    if (auto checked = formats::check_recipe(recipe, warnings); !checked) return checked;

    train::NewestCheckpoint newest;
    if (request_.resume) {
        newest = train::newest_checkpoint(request_.run);
        for (const auto& broken : newest.broken) warnings.push_back("checkpoint not used: " + broken);
    } else {
        std::error_code code;
        fs::create_directories(request_.run.parent_path().empty() ? "." : request_.run.parent_path(), code);
        if (!fs::create_directory(request_.run, code)) {
            return Error{code ? "cannot be created: " + code.message() : "exists already",
                         request_.run.string(), "choose another --out, or resume it"};
        }
    }
    if (auto written = write_file(request_.run / "recipe.toml", formats::to_toml(recipe)); !written)
        return written;
    log_.open(request_.run / "log.txt", std::ios::app);

    record::RunDescription description;
    description.name = recipe.run.name;
    description.recipe_hash = formats::recipe_hash(recipe);
    description.program = "stillroom " STILLROOM_VERSION;
    description.steps_planned = recipe.run.steps;
    description.settings = formats::flattened(recipe);
    const bool has_store = fs::exists(request_.run / "run.sqlite");
    auto store = has_store ? record::RunStore::open(request_.run)
                           : record::RunStore::create(request_.run, description);
    if (!store) return store.error();
    store->set_byte_budget(recipe.record.byte_budget);
    if (has_store) {
        if (auto described = store->describe(description); !described) return described;
        int64_t step = 0;
        if (!newest.folder.empty()) {
            auto note = train::verify_checkpoint(newest.folder);
            if (!note) return note.error();
            step = note->step;
        }
        if (auto truncated = store->truncate_after(step); !truncated) return truncated;
    }
    recorder_ = std::make_unique<record::Recorder>(std::make_unique<record::RunStore>(std::move(*store)));
    enter(Preparing, "Loading");
    for (const auto& warning : warnings) say(Notice::Kind::Warning, warning);

    auto trainer =
        train::Trainer::create(recipe, request_.device, request_.dtype,
                               [&](const std::string& text) { say(Notice::Kind::Information, text); });
    if (!trainer) return trainer.error();
    trainer_ = std::move(*trainer);
    alarms_ = std::make_unique<Alarms>(trainer_->real_vocab());
    say(Notice::Kind::Information, device_text(*trainer_));
    if (!newest.folder.empty()) {
        auto note = train::restore_checkpoint(*trainer_, newest.folder);
        if (!note) return note.error();
        step_ = saved_step_ = note->step;
        wall_before_ = note->wall_seconds;
        active_before_ = note->active_seconds;
        if (note->scores.contains(recipe.checkpoint.metric)) {
            evaluated_step_ = step_;
            scores_[step_] = note->scores.at(recipe.checkpoint.metric);
        }
        for (const auto& [step, folder] : train::checkpoints_of(request_.run)) {
            checkpoints_[step] = {step, fs::relative(folder, request_.run).string()};
        }
        say(Notice::Kind::Information,
            "Resumed after step " + std::to_string(step_) + " from " + newest.folder.string());
    }
    if (!recipe.evaluation.data.empty()) {
        formats::DataSection section = recipe.data;
        section.limit = recipe.evaluation.limit;
        auto questions = data::load_dataset({formats::resolve_path(recipe, recipe.evaluation.data)}, section);
        if (!questions) return questions.error();
        questions_ = std::move(*questions);
    }
    return check_launch();
}

Result<void> RunDriver::check_launch() {
    constexpr int64_t answers = 4;
    const auto go_on = [&] { return !channel_.has_stop_now(); };
    const auto findings = launch_checks(*trainer_, answers, go_on);
    if (auto kept = keep_findings(request_.run, step_, findings); !kept)
        say(Notice::Kind::Warning, "the launch checks could not be kept: " + kept.error().message());
    for (const Finding& finding : findings) {
        const std::string text = finding.id + " " + finding.title + ": " + finding.evidence;
        if (finding.verdict == Verdict::Fail) {
            return Error{text, "launch check",
                         finding.remedies.empty() ? finding.why : finding.remedies[0].text};
        }
        say(finding.verdict == Verdict::Warn ? Notice::Kind::Warning : Notice::Kind::Information,
            to_string(finding.verdict) + " " + text);
    }
    return {};
}

Result<void> RunDriver::train() {
    const formats::Recipe& recipe = request_.recipe;
    enter(Running, "");
    if (step_ > 0) read_first_evaluation();
    if (step_ == 0 && recipe.evaluation.at_start) evaluate();
    while (step_ < recipe.run.steps) {
        take_commands();
        if (stop_wanted_ || stop_now_) break;
        if (pause_wanted_) {
            if (auto paused = pause(); !paused) return paused;
            continue;
        }
        if (deadline_reached()) {
            end_reason_ = "the deadline leaves no time for another step";
            break;
        }
        if (auto done = run_step(); !done) return done;
        if (stop_now_) break;
        // The first save of a run with a deadline measures what the last one will need.
        const bool measure = deadline_ > 0 && longest_save_ == 0 && recipe.run.save_reserve == 0;
        if (due(recipe.evaluation.every) || evaluation_wanted_) evaluate();
        if (due(recipe.checkpoint.every) || save_wanted_ || measure) save();
    }
    return {};
}

Result<void> RunDriver::run_step() {
    const data::OrderCursor before = trainer_->order().cursor();
    const auto energy = energy_of(trainer_->student().device());
    auto report = trainer_->step(step_ + 1, [&](train::Phase phase, double done, const std::string& text) {
        return report_progress(phase, done, text);
    });
    if (!report) return report.error();
    if (report->cancelled) {
        trainer_->order().set_cursor(before); // the step is taken anew on resuming
        stop_now_ = true;
        return {};
    }
    ++step_;
    if (const auto after = energy_of(trainer_->student().device()); energy && after)
        report->metrics["energy"] = *after - *energy;
    longest_step_ = std::max(longest_step_, report->metrics["time_step"]);
    for (const auto& warning : report->warnings)
        say(Notice::Kind::Warning, "step " + std::to_string(step_) + ": " + warning);
    record_step(*report);
    return {};
}

void RunDriver::record_step(train::StepReport& report) {
    auto step = std::make_shared<record::StepRecord>();
    step->step = report.step;
    step->wall_seconds = wall_before_ + now() - started_;
    step->active_seconds = active_before_ + now() - started_ - paused_seconds_;
    step->tokens_trained = trainer_->counters().tokens_trained;
    step->phase_seconds = std::move(report.phase_seconds);
    step->metrics = std::move(report.metrics);
    // Where every row is finite a NaN is a quotient of nothing by nothing: undefined, which the store keeps
    // apart.
    const auto broken = step->metrics.find("nonfinite_rows");
    if (broken == step->metrics.end() || broken->second == 0) {
        for (auto& [name, value] : step->metrics) value = std::isnan(value) ? record::Undefined : value;
    }
    const auto status = recorder_->status();
    step->metrics["recorder_backlog"] = double(status.backlog_bytes);
    step->metrics["recorder_dropped"] =
        double(status.dropped.top16 + status.dropped.tokens + status.dropped.texts);
    std::error_code code;
    if (const auto space = fs::space(request_.run, code); !code)
        step->metrics["disk_free"] = double(space.available);
    if (const auto device = trainer_->student().device(); device.is_cuda()) {
        if (const auto others = kernels::other_gpu_processes(gpu_index(device)))
            step->metrics["gpu_shared"] = others->empty() ? 0 : 1;
    }

    if (request_.recipe.record.top16) {
        record::choose_top16(report.rollouts, request_.recipe.run.seed);
    } else {
        for (auto& rollout : report.rollouts) rollout.top16.reset();
    }
    if (!checkpoints_.empty() && checkpoints_.rbegin()->second.bytes > 0) {
        step->metrics["checkpoint_bytes"] = double(checkpoints_.rbegin()->second.bytes);
        step->metrics["time_checkpoint"] = checkpoints_.rbegin()->second.seconds;
    }
    std::vector<record::Record> group{*step};
    for (auto& alarm : alarms_->after_step(*step)) group.emplace_back(std::move(alarm));
    if (request_.recipe.record.rollouts) {
        for (const auto& rollout : report.rollouts) group.emplace_back(rollout);
    }
    recorder_->post(std::move(group));
    watch_recorder();
    channel_.post_event(StepDone{
        step, std::make_shared<const std::vector<record::RolloutRecord>>(std::move(report.rollouts))});
}

Result<void> RunDriver::pause() {
    const double since = now();
    enter(Paused, "Paused after step " + std::to_string(step_));
    while (pause_wanted_ && !stop_wanted_ && !stop_now_) {
        if (save_wanted_) save();
        if (evaluation_wanted_) evaluate();
        if (state_ != Paused) enter(Paused, "");
        obey(channel_.wait_for_command());
    }
    paused_seconds_ += now() - since;
    if (!stop_wanted_ && !stop_now_) enter(Running, "Resumed");
    return {};
}

bool RunDriver::deadline_reached() const {
    if (deadline_ == 0) return false;
    const double save = std::max(longest_save_, request_.recipe.run.save_reserve);
    // An export copies what a save writes; half as much again, since disks are not steady.
    const double ending = 1.5 * save * (request_.recipe.checkpoint.export_at_end ? 2 : 1) +
                          (questions_.examples.empty() ? 0 : longest_evaluation_);
    return now() + 1.2 * longest_step_ + ending >= deadline_;
}

Result<void> RunDriver::finish_up() {
    const bool stopped = stop_wanted_ || stop_now_;
    if (stopped) enter(Stopping, "Stopping after step " + std::to_string(step_));
    if (!stopped && !questions_.examples.empty() && evaluated_step_ != step_) evaluate();
    if (saved_step_ != step_ && !save()) {
        return Error{"the last checkpoint could not be saved; the newest one is of step " +
                         std::to_string(std::max<int64_t>(0, saved_step_)),
                     request_.run.string(), "make room and resume the run"};
    }
    if (request_.recipe.checkpoint.export_at_end && !stopped) {
        if (auto exported = export_model(); !exported) return exported;
    }
    if (!stopped) confirm_best();
    std::string text = end_reason_.empty() ? "after step " + std::to_string(step_) : end_reason_;
    if (auto flushed = recorder_->flush(std::chrono::seconds(30)); !flushed) {
        say(Notice::Kind::Warning, "recording: " + flushed.error().message());
    }
    enter(Saving, "");
    enter(stopped ? Stopped : Finished, text);
    if (auto closed = recorder_->close(std::chrono::seconds(30)); !closed) {
        say(Notice::Kind::Warning, "recording: " + closed.error().message());
    }
    return {};
}

void RunDriver::take_commands() {
    while (auto command = channel_.take_command()) obey(*command);
}

void RunDriver::obey(const Command& command) {
    const auto is = [&](auto kind) { return std::holds_alternative<decltype(kind)>(command); };
    if (is(Pause{})) pause_wanted_ = true;
    if (is(Resume{})) pause_wanted_ = false;
    if (is(StopAfterStep{})) stop_wanted_ = true;
    if (is(StopNow{})) stop_now_ = true;
    if (is(KeepRunning{})) pause_wanted_ = stop_wanted_ = false;
    if (is(SaveNow{})) save_wanted_ = true;
    if (is(EvaluateNow{})) evaluation_wanted_ = true;
    if (pause_wanted_ && state_ == Running) enter(Pausing, "Pausing after step " + std::to_string(step_ + 1));
    if (!pause_wanted_ && state_ == Pausing) enter(Running, "");
}

bool RunDriver::report_progress(train::Phase phase, double done, const std::string& text) {
    recorder_->progress(++activity_);
    if (channel_.has_stop_now()) return false;
    take_commands();
    if (const double time = now(); time - last_progress_ > 0.1) {
        last_progress_ = time;
        channel_.post_event(PhaseProgress{step_ + 1, train::to_string(phase), done, text});
    }
    return !stop_now_;
}

void RunDriver::enter(record::RunState next, const std::string& text) {
    const record::RunState from = state_;
    if (from != next && !may_follow(from, next)) {
        // An illegal transition is a fault of this program; the run itself need not suffer for it.
        say(Notice::Kind::Warning,
            "state " + record::to_string(from) + " should not be followed by " + record::to_string(next));
    }
    state_ = next;
    if (recorder_) recorder_->post(record::StateRecord{next, step_, text});
    channel_.post_event(StateChanged{from, next, step_, text});
    if (log_)
        log_ << record::clock_text(now()) << "  " << record::to_string(next) << (text.empty() ? "" : ": ")
             << text << std::endl;
}

void RunDriver::say(Notice::Kind kind, const std::string& text) {
    channel_.post_event(Notice{kind, step_, text});
    const char* word = kind == Notice::Kind::Warning   ? "warning"
                       : kind == Notice::Kind::Failure ? "failure"
                                                       : "info";
    if (recorder_) recorder_->post(record::EventRecord{step_, word, text, now()});
    if (log_) log_ << record::clock_text(now()) << "  " << word << ": " << text << std::endl;
}

void RunDriver::watch_recorder() {
    const auto status = recorder_->status();
    if (status.writing == recording_) return;
    recording_ = status.writing;
    channel_.post_event(RecordingChanged{
        recording_, recording_ ? "recording again" : "recording fails, training goes on: " + status.fault});
}

} // namespace stillroom::session
