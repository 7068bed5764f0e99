// SPDX-License-Identifier: GPL-3.0-or-later
// The charts of the run view (ui.md 3.1): which recorded metrics each shows, under which names and formulas.
#pragma once

#include "ui/models/chart_types.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace stillroom::ui {

struct LineDefinition {
    std::string tag; // metrics.md
    SeriesStyle style;
    bool optional = false; // not shown, not even in the legend, where it wasn't recorded
    std::string used_if;   // a key of the recipe; where its value is "none" the line is "not used"
};

struct ChartDefinition {
    std::string id; // "kl": the chart's object is named chart.kl
    QString title, unit, about;
    std::vector<LineDefinition> lines;
    double scale = 1; // from the recorded unit to the chart's
    bool stacked = false, log = false, from_zero = false;
    std::optional<double> at_most; // what the quantity can't exceed
    bool evaluations = false;      // its points are evaluations, not steps
};

/// The twelve, in their order.
const std::vector<ChartDefinition>& chart_catalogue();

/// The learning rate a recipe plans for a step (optimizer.lr, schedule, warmup, min_lr; run.steps); none
/// where the settings don't say.
std::optional<double> planned_rate(const std::map<std::string, std::string>& settings, int64_t step);
/// Horizontal lines of a chart that come from the recipe: the cap of responses, the threshold of gradients.
std::vector<Level> recipe_levels(const std::string& chart,
                                 const std::map<std::string, std::string>& settings);

} // namespace stillroom::ui
