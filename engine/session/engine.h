// SPDX-License-Identifier: GPL-3.0-or-later
// What runs on the engine thread: one run from its request to its end. Internal to session/.
#pragma once

#include "eval/evaluate.h"
#include "eval/plan.h"
#include "record/recorder.h"
#include "session/alarms.h"
#include "session/channel.h"
#include "session/session.h"
#include "session/state.h"
#include "train/checkpoint.h"
#include "train/trainer.h"

#include <atomic>
#include <fstream>
#include <thread>

namespace stillroom::session {

struct Session::Engine {
    Channel channel;
    std::thread thread;
    std::atomic<record::RunState> state{record::RunState::Preparing};
    Result<void> outcome;

    void begin(RunRequest request);
};

/// One run. Made on the engine thread; everything happens in execute().
class RunDriver {
public:
    RunDriver(RunRequest request, Channel& channel, std::atomic<record::RunState>& state)
        : request_(std::move(request)), channel_(channel), state_(state) {}

    /// Runs to the end. An error is what ended the run; it is recorded already.
    Result<void> execute();

private:
    Result<void> prepare();
    /// The short checks on the run's own models; one that fails ends the run.
    Result<void> check_launch();
    Result<void> train();
    Result<void> finish_up();
    Result<void> fail(const Error& error);

    // Between steps.
    void take_commands();
    void obey(const Command& command);
    Result<void> pause();
    bool deadline_reached() const;
    bool due(int64_t every) const { return every > 0 && step_ % every == 0; }

    // What a step may be followed by. A failed save or evaluation is said, and the run goes on.
    Result<void> run_step();
    void evaluate();
    Result<eval::Protocol> proxy_protocol() const;
    void read_first_evaluation();
    std::optional<stats::Paired> since_first(const std::vector<record::EvaluationAnswer>& answers) const;
    Result<record::EvaluationRecord> evaluate_once(const std::string& tag, double temperature);
    void confirm_best();
    bool save();
    void retain();
    Result<void> export_model();

    void enter(record::RunState state, const std::string& text);
    void say(Notice::Kind kind, const std::string& text);
    void record_step(train::StepReport& report);
    void watch_recorder();
    bool report_progress(train::Phase phase, double done, const std::string& text);
    double now() const;

    RunRequest request_;
    Channel& channel_;
    std::atomic<record::RunState>& state_;

    std::unique_ptr<train::Trainer> trainer_;
    std::unique_ptr<Alarms> alarms_;
    std::unique_ptr<record::Recorder> recorder_;
    std::ofstream log_;
    data::Dataset questions_;                                 // of the evaluation
    std::vector<record::EvaluationAnswer> first_answers_;     // of the run's first evaluation by its proxy
    std::map<int64_t, double> scores_;                        // of evaluated steps, by the recipe's metric
    std::map<int64_t, record::CheckpointRecord> checkpoints_; // that stand on disk

    int64_t step_ = 0; // the last finished step
    int64_t saved_step_ = -1, evaluated_step_ = -1;
    double started_ = 0; // unix seconds of this session's start
    double wall_before_ = 0, active_before_ = 0,
           paused_seconds_ = 0; // of earlier sessions; of this one's pauses
    double deadline_ = 0;       // unix seconds; 0: none
    double longest_step_ = 0, longest_save_ = 0, longest_evaluation_ = 0;
    double last_progress_ = 0;
    int64_t activity_ = 0;
    bool pause_wanted_ = false, stop_wanted_ = false, stop_now_ = false, save_wanted_ = false,
         evaluation_wanted_ = false;
    bool recording_ = true;
    std::string end_reason_;
};

} // namespace stillroom::session
