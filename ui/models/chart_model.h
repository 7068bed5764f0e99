// SPDX-License-Identifier: GPL-3.0-or-later
// One chart of one run, without a widget: its series with their pyramids, stacks and smoothed copies kept up
// to date in slices, and what of them is drawn in a window.
#pragma once

#include "ui/models/chart_catalogue.h"
#include "ui/models/smoothing.h"

#include <memory>

namespace stillroom::ui {

/// What all charts of a view share.
struct ChartOptions {
    PlotWindow window; // .log is the chart's own
    int half_life = 0; // of smoothing, in steps; 0: none
    bool raw = true;   // what was smoothed stays visible
    Breaks breaks;
};

/// One line as it is drawn now.
struct DrawnLine {
    DrawnData data;
    std::vector<ErrorBar> bars;
    QString note; // in place of a value: "not used", "not recorded"
};

class ChartModel {
public:
    explicit ChartModel(const ChartDefinition& definition) : definition_(definition) {}

    const ChartDefinition& definition() const { return definition_; }
    /// Of the lines that are shown, in order. The last may be what the recipe plans.
    const std::vector<SeriesStyle>& styles() const { return styles_; }
    /// What a line's own values are (of a stacked one, not the sums), before scaling; null where nothing was
    /// recorded, and for what is only planned.
    const Series* points(size_t line) const;
    const Series* smoothed(size_t line) const;
    const std::string& tag(size_t line) const { return lines_[line].tag; }

    /// Takes in what is new, 10^5 points a series at most; false: call again. The styles may have changed.
    bool prepare(const SeriesStore& store, const std::map<std::string, std::string>& settings,
                 const std::vector<record::EvaluationSummary>& evaluations, const ChartOptions& options);
    std::vector<DrawnLine> draw(const SeriesStore& store, const ChartOptions& options) const;

    /// The value of a line at a step, or at the last one before that has one, in the chart's unit; none
    /// before the first. Of the smoothed line where it is smoothed and `smoothed`.
    std::optional<double> value_at(size_t line, int64_t step, bool smoothed = false) const;
    /// The same, but none where the line has no point at this very step.
    std::optional<double> recorded_at(size_t line, int64_t step, bool smoothed = false) const;
    /// That value as the legend writes it, with its standard error where it has one.
    QString value_text(size_t line, int64_t step) const;

    /// The next step after `step` (direction 1) or before it (-1) at which some line has a point.
    std::optional<int64_t> neighbour(int64_t step, int direction) const;

    std::vector<Level> levels(const SeriesStore& store,
                              const std::map<std::string, std::string>& settings) const;

private:
    struct Line {
        enum class Kind { Recorded, Stacked, Planned, Evaluations };

        std::string tag;
        Kind kind = Kind::Recorded;
        const Series* source = nullptr; // as recorded
        Series own;                     // Stacked: sums; Planned, Evaluations: all
        Pyramid pyramid;                // of drawn()
        std::unique_ptr<Smoothing> smoothing;
        Pyramid smooth_pyramid;
        QString note;
        std::vector<double> errors;         // Evaluations: one standard error each
        std::vector<std::string> protocols; // their hashes
        std::vector<QString> texts;         // as the legend writes them
        const Series* drawn() const { return kind == Kind::Recorded ? source : &own; }
    };

    std::vector<std::pair<LineDefinition, const Series*>>
    wanted_lines(const SeriesStore& store, const std::map<std::string, std::string>& settings) const;
    void set_lines(const SeriesStore& store, const std::map<std::string, std::string>& settings);
    void add_planned_rate(const std::map<std::string, std::string>& settings);
    void set_evaluations(const std::vector<record::EvaluationSummary>& evaluations);
    bool extend_stack(size_t budget);
    DrawnLine draw_evaluations(const Line& line, const SeriesStore& store, const ChartOptions& options) const;
    void trim_planned(DrawnData& data, const SeriesStore& store, const ChartOptions& options) const;

    ChartDefinition definition_;
    std::vector<SeriesStyle> styles_;
    std::vector<Line> lines_;
    std::vector<std::pair<std::string, const Series*>> known_; // what the lines were made for
    size_t settings_known_ = 0, evaluations_known_ = 0;
    Breaks breaks_;
};

} // namespace stillroom::ui
