// SPDX-License-Identifier: GPL-3.0-or-later
// Beside the launch dialog's fields: what differs from the preset, and what the run is going to need.
#pragma once

#include "session/preflight.h"
#include "ui/models/recipe_differences_model.h"

#include <QLabel>
#include <QTreeView>

namespace stillroom::ui {

class LaunchSide : public QWidget {
    Q_OBJECT
public:
    explicit LaunchSide(RecipeDraft& draft, QWidget* parent = nullptr);

    /// Differences, and what the recipe alone says of the end.
    void update_draft();
    /// Memory and disk by the shapes of the models.
    void show_forecast(const formats::Recipe& recipe, const session::MemoryForecast& forecast);
    /// What a step takes at most, as a preflight measured it for this recipe; 0: it was not measured.
    void show_time(const formats::Recipe& recipe, double step_seconds);
    /// What keeps the forecast from being made: "no model yet".
    void show_no_forecast(const QString& why);

private:
    void add_buttons();
    void update_end();

    RecipeDraft& draft_;
    RecipeDifferencesModel differences_;
    QLabel *title_, *none_, *time_, *memory_, *disk_, *end_;
    QTreeView* table_;
    double measured_ = 0; // seconds of the whole run; 0: not measured
};

} // namespace stillroom::ui
