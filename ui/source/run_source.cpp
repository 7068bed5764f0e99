// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/source/run_source.h"

#include "formats/recipe.h"
#include "ui/source/engine.h"

namespace stillroom::ui {

namespace fs = std::filesystem;

namespace {

constexpr int live_interval = 1000, idle_interval = 10'000; // milliseconds
constexpr int64_t events_kept = 20'000;

/// Where the run's token ids can be read from: its newest checkpoint's own files, else the recipe's student.
Result<text::Tokenizer> tokenizer_of(const fs::path& run) {
    const auto steps = record::checkpoints_on_disk(run);
    if (!steps.empty()) {
        char name[32];
        std::snprintf(name, sizeof name, "step-%06lld", static_cast<long long>(steps.back()));
        if (auto found = text::Tokenizer::of_model(run / "checkpoints" / name)) return found;
    }
    auto recipe = formats::read_recipe(run / "recipe.toml");
    if (!recipe) return recipe.error();
    return text::Tokenizer::of_model(formats::resolve_path(*recipe, recipe->student.model));
}

Driver driver_of(record::Liveness liveness) {
    switch (liveness) {
    case record::Liveness::Here:
    case record::Liveness::Elsewhere:
        return Driver::Elsewhere;
    case record::Liveness::Unreachable:
        return Driver::Unreachable;
    case record::Liveness::Ended:
        break;
    }
    return Driver::Nobody;
}

} // namespace

/// What one look at the store brought.
struct RunSource::News {
    record::RunSummary summary;
    std::map<std::string, std::string> settings;
    std::vector<std::pair<std::string, std::vector<record::SeriesPoint>>> series;
    std::vector<record::EvaluationSummary> evaluations;
    std::vector<record::CheckpointRecord> checkpoints;
    std::vector<record::StoredEvent> events;
    std::vector<record::AlarmRecord> alarms;
};

RunSource::RunSource(fs::path folder, Engine* engine, QObject* parent)
    : QObject(parent), folder_(std::move(folder)), engine_(engine), reader_(folder_) {
    status_.name = QString::fromStdString(folder_.filename().string());
    if (engine_) {
        status_.driver = Driver::Here;
        connect(engine_, &Engine::event, this, qOverload<const session::Event&>(&RunSource::take));
        connect(engine_, &Engine::ended, this, [this](const QString& run) {
            if (run.toStdString() != folder_.string()) return;
            engine_ = nullptr;
            status_.driver = Driver::Nobody;
            Q_EMIT statusChanged();
            refresh();
        });
    }
    timer_.setInterval(live_interval);
    connect(&timer_, &QTimer::timeout, this, &RunSource::refresh);
    timer_.start();
    refresh();
}

RunSource::~RunSource() = default;

void RunSource::send(session::Command command) {
    if (engine_) engine_->send(std::move(command));
}

void RunSource::refresh() {
    if (reading_) {
        again_ = true;
        return;
    }
    reading_ = true;
    const bool wants_settings = settings_.empty();
    std::map<std::string, int64_t> known;
    for (const auto& tag : series_.tags()) known[tag] = series_.find(tag)->step.back();
    reader_.ask(
        this,
        [wants_settings, known](record::RunReader& reader) -> Result<News> {
            News news;
            auto summary = reader.summary();
            if (!summary) return summary.error();
            news.summary = std::move(*summary);
            if (wants_settings) {
                auto settings = reader.settings();
                if (!settings) return settings.error();
                news.settings = std::move(*settings);
            }
            auto metrics = reader.metrics();
            if (!metrics) return metrics.error();
            for (const auto& metric : *metrics) {
                const auto seen = known.find(metric.tag);
                if (seen != known.end() && seen->second >= metric.last_step) continue;
                auto points = reader.series(metric.tag, seen == known.end() ? -1 : seen->second);
                if (!points) return points.error();
                news.series.emplace_back(metric.tag, std::move(*points));
            }
            auto evaluations = reader.evaluations();
            if (!evaluations) return evaluations.error();
            auto checkpoints = reader.checkpoints();
            if (!checkpoints) return checkpoints.error();
            auto events = reader.events(events_kept);
            if (!events) return events.error();
            auto alarms = reader.alarms();
            if (!alarms) return alarms.error();
            news.evaluations = std::move(*evaluations);
            news.checkpoints = std::move(*checkpoints);
            news.events = std::move(*events);
            news.alarms = std::move(*alarms);
            return news;
        },
        [this](Result<News> news) {
            reading_ = false;
            if (news) {
                take(std::move(*news));
            } else if (!engine_) {
                // While this process prepares a run its store may not exist yet.
                status_.fault = QString::fromStdString(news.error().message());
                Q_EMIT statusChanged();
            }
            if (std::exchange(again_, false)) refresh();
        });
}

void RunSource::take(News news) {
    const bool had_rollouts = status_.summary.rollouts != news.summary.rollouts;
    status_.fault.clear();
    status_.summary = news.summary;
    status_.name = QString::fromStdString(news.summary.name);
    status_.steps_planned = news.summary.steps_planned;
    if (!engine_) {
        status_.driver = driver_of(news.summary.liveness);
        status_.state = news.summary.state;
        status_.text = QString::fromStdString(news.summary.state_text);
        status_.step = news.summary.step;
    }
    timer_.setInterval(status_.driver == Driver::Nobody ? idle_interval : live_interval);
    for (const auto& [tag, points] : news.series) series_.append(tag, points);
    const bool lists = news.evaluations.size() != evaluations_.size() ||
                       news.checkpoints.size() != checkpoints_.size() ||
                       news.events.size() != events_.size() || !news.alarms.empty() ||
                       (!news.events.empty() && news.events.back().id != events_.back().id);
    evaluations_ = std::move(news.evaluations);
    checkpoints_ = std::move(news.checkpoints);
    events_ = std::move(news.events);
    alarms_ = std::move(news.alarms);
    if (!news.settings.empty()) {
        settings_ = std::move(news.settings);
        Q_EMIT settingsChanged();
    }
    if (!news.series.empty()) Q_EMIT seriesChanged();
    if (lists) Q_EMIT listsChanged();
    if (had_rollouts) Q_EMIT rolloutsChanged();
    Q_EMIT statusChanged();
    if (!vocabulary_asked_ && !settings_.empty()) load_vocabulary();
}

void RunSource::load_vocabulary() {
    vocabulary_asked_ = true;
    reader_.ask(
        this,
        [folder = folder_](record::RunReader&) -> Result<std::shared_ptr<const text::Tokenizer>> {
            auto found = tokenizer_of(folder);
            if (!found) return found.error();
            return std::make_shared<const text::Tokenizer>(std::move(*found));
        },
        [this](Result<std::shared_ptr<const text::Tokenizer>> found) {
            if (found) {
                vocabulary_.tokenizer = *found;
            } else {
                vocabulary_.fault = QString::fromStdString(found.error().message());
            }
            Q_EMIT vocabularyChanged();
        });
}

void RunSource::take(const session::Event& event) {
    if (!engine_ || engine_->run() != folder_) return;
    if (const auto* changed = std::get_if<session::StateChanged>(&event)) {
        status_.state = changed->to;
        status_.step = changed->step;
        if (!changed->text.empty() || changed->from != changed->to)
            status_.text = QString::fromStdString(changed->text);
        status_.phase.clear();
        refresh();
    } else if (const auto* progress = std::get_if<session::PhaseProgress>(&event)) {
        status_.phase = QString::fromStdString(progress->phase);
        status_.phase_done = progress->done;
    } else if (const auto* done = std::get_if<session::StepDone>(&event)) {
        status_.step = done->step->step;
        series_.append(*done->step);
        Q_EMIT seriesChanged();
    } else if (const auto* recording = std::get_if<session::RecordingChanged>(&event)) {
        status_.recording = recording->working;
        status_.recording_text = QString::fromStdString(recording->text);
    } else {
        refresh(); // an evaluation, a checkpoint, a notice: their lists are read from the store
    }
    Q_EMIT statusChanged();
}

} // namespace stillroom::ui
