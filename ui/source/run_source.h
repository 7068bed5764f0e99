// SPDX-License-Identifier: GPL-3.0-or-later
// One run as the views see it, whoever drives it: its status, its lists and its series, kept up to date from
// the run's store (read on another thread) and, where this process trains, from the engine's own events,
// which go on when recording fails.
#pragma once

#include "record/queries.h"
#include "session/session.h"
#include "text/tokenizer.h"
#include "ui/models/series_store.h"
#include "ui/source/store_reader.h"

#include <QObject>
#include <QTimer>
#include <memory>

namespace stillroom::ui {

class Engine;

/// Who drives the run.
enum class Driver {
    Here,        // this window's engine
    Elsewhere,   // another process, heard of lately
    Unreachable, // another process, silent
    Nobody       // it has ended
};

struct RunStatus {
    QString name;
    record::RunState state = record::RunState::Preparing;
    Driver driver = Driver::Nobody;
    QString text; // what the state says of itself: "Loading teacher", an error
    int64_t step = 0, steps_planned = 0;
    QString phase;         // rollout, learn, ... while this process trains
    double phase_done = 0; // 0..1
    bool recording = true; // false: the recorder retries
    QString recording_text;
    QString fault;              // not empty: the store can't be read, and why
    record::RunSummary summary; // as last read from the store
};

/// The bytes of tokens, for a view that paints them.
struct Vocabulary {
    std::shared_ptr<const text::Tokenizer> tokenizer; // null: not found
    QString fault;
};

class RunSource : public QObject {
    Q_OBJECT
public:
    /// `engine`: where this process drives the run, else null.
    RunSource(std::filesystem::path folder, Engine* engine, QObject* parent = nullptr);
    ~RunSource() override;

    const std::filesystem::path& folder() const { return folder_; }
    const RunStatus& status() const { return status_; }
    /// Every key of the recipe in force, with its value as text.
    const std::map<std::string, std::string>& settings() const { return settings_; }
    const SeriesStore& series() const { return series_; }
    const std::vector<record::EvaluationSummary>& evaluations() const { return evaluations_; }
    const std::vector<record::CheckpointRecord>& checkpoints() const { return checkpoints_; }
    /// The newest 20,000 at most, oldest of them first.
    const std::vector<record::StoredEvent>& events() const { return events_; }
    const std::vector<record::AlarmRecord>& alarms() const { return alarms_; }
    const Vocabulary& vocabulary() const { return vocabulary_; }

    /// For queries of a view's own, on the reader's thread.
    StoreReader& reader() { return reader_; }

    /// Whether this window drives the run.
    bool takes_commands() const { return status_.driver == Driver::Here; }
    void send(session::Command command);

public Q_SLOTS:
    /// Reads what is new in the store.
    void refresh();

Q_SIGNALS:
    void statusChanged();
    void seriesChanged();
    /// Evaluations, checkpoints, events or alarms.
    void listsChanged();
    /// Rollouts of a step were recorded.
    void rolloutsChanged();
    void settingsChanged();
    void vocabularyChanged();

private:
    struct News;
    void take(const session::Event& event);
    void take(News news);
    void load_vocabulary();

    std::filesystem::path folder_;
    Engine* engine_;
    RunStatus status_;
    std::map<std::string, std::string> settings_;
    SeriesStore series_;
    std::vector<record::EvaluationSummary> evaluations_;
    std::vector<record::CheckpointRecord> checkpoints_;
    std::vector<record::StoredEvent> events_;
    std::vector<record::AlarmRecord> alarms_;
    Vocabulary vocabulary_;
    QTimer timer_;
    bool reading_ = false, again_ = false, vocabulary_asked_ = false;
    StoreReader reader_; // last: ends first
};

} // namespace stillroom::ui
