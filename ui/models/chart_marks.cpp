// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/chart_marks.h"

#include "ui/models/chart_numbers.h"

#include <QRegularExpression>
#include <algorithm>

namespace stillroom::ui {

namespace {

/// "lost in steps 431 to 437: 7 records refused" (record/recorder.cpp).
std::optional<std::pair<int64_t, int64_t>> lost_steps(const record::StoredEvent& stored) {
    if (stored.event.kind != "gap") return std::nullopt;
    static const QRegularExpression pattern("lost in steps (\\d+) to (\\d+)");
    const auto match = pattern.match(QString::fromStdString(stored.event.text));
    if (!match.hasMatch()) return std::nullopt;
    return std::pair(match.captured(1).toLongLong(), match.captured(2).toLongLong());
}

QString score_text(const record::EvaluationSummary& evaluation) {
    const auto score = evaluation.metrics.find("eval_avg_at_n"),
               error = evaluation.metrics.find("se_clustered");
    if (score == evaluation.metrics.end()) return {};
    QString text = ": " + short_number(score->second);
    if (error != evaluation.metrics.end() && error->second > 0)
        text += " ± " + short_number(error->second) + " SE";
    return text;
}

} // namespace

std::vector<Marker> markers_of(const RunLists& lists, const SeriesStore& clocks, XAxis axis,
                               const std::set<MarkerKind>& kinds) {
    std::vector<Marker> markers;
    const auto add = [&](MarkerKind kind, int64_t step, const QString& text, int64_t first_step) {
        if (kinds.count(kind)) markers.push_back({kind, clocks.x_of(step, axis), first_step, text, step});
    };
    for (const auto& checkpoint : lists.checkpoints) {
        QString text = QString("checkpoint %1").arg(checkpoint.step);
        if (checkpoint.removed) text += " (removed)";
        if (checkpoint.score) text += ", score " + short_number(*checkpoint.score);
        add(MarkerKind::Checkpoint, checkpoint.step, text, checkpoint.step);
    }
    for (const auto& evaluation : lists.evaluations) {
        add(MarkerKind::Evaluation, evaluation.step,
            QString("evaluation %1 at step %2")
                    .arg(QString::fromStdString(evaluation.tag))
                    .arg(evaluation.step) +
                score_text(evaluation),
            evaluation.step);
    }
    for (const auto& alarm : lists.alarms) {
        add(MarkerKind::Alarm, alarm.last_step,
            QString("%1 (%2), steps %3-%4: %5")
                .arg(QString::fromStdString(alarm.name), QString::fromStdString(alarm.level))
                .arg(alarm.first_step)
                .arg(alarm.last_step)
                .arg(QString::fromStdString(alarm.evidence)),
            alarm.first_step);
    }
    int64_t session = 0;
    for (const auto& stored : lists.events) {
        const auto& event = stored.event;
        if (stored.session > session) {
            if (session > 0)
                add(MarkerKind::Resume, event.step, QString("resumed at step %1").arg(event.step),
                    event.step);
            session = stored.session;
        }
        if (event.kind == "state" && event.text.starts_with("paused"))
            add(MarkerKind::Pause, event.step, QString("paused after step %1").arg(event.step), event.step);
        if (event.kind == "change")
            add(MarkerKind::Change, event.step, QString::fromStdString(event.text), event.step);
    }
    std::stable_sort(markers.begin(), markers.end(),
                     [](const Marker& a, const Marker& b) { return a.x < b.x; });
    return markers;
}

std::vector<Band> bands_of(const RunLists& lists, const SeriesStore& clocks, XAxis axis) {
    std::vector<Band> bands;
    for (const auto& stored : lists.events) {
        if (const auto lost = lost_steps(stored))
            bands.push_back({clocks.x_of(lost->first - 1, axis), clocks.x_of(lost->second, axis),
                             "recording gap: " + QString::fromStdString(stored.event.text)});
    }
    for (const auto& [first, last] : clocks.pauses(axis))
        bands.push_back({first, last, "paused " + duration_text(last - first)});
    return bands;
}

Breaks breaks_of(const std::vector<record::StoredEvent>& events) {
    Breaks breaks;
    int64_t session = 0;
    for (const auto& stored : events) {
        if (const auto lost = lost_steps(stored)) breaks.gaps.push_back(*lost);
        if (stored.session > session) {
            if (session > 0) breaks.resumes.push_back(stored.event.step);
            session = stored.session;
        }
    }
    return breaks;
}

} // namespace stillroom::ui
