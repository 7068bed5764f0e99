// SPDX-License-Identifier: GPL-3.0-or-later
// What the colours of the tokens mean: the ramp with its numbers, how many tokens lie where, and which scale.
#pragma once

#include "ui/models/token_values.h"

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QLabel>
#include <QWidget>

namespace stillroom::ui {

class TokenRamp;

class TokenLegend : public QWidget {
    Q_OBJECT
public:
    enum Scale { Fixed, Percentile, Own };

    explicit TokenLegend(QWidget* parent = nullptr);

    /// The values of the rollout at hand in this mode.
    void show_values(const ColourChoice& choice, const std::vector<float>& values);
    /// The end of the scale that is chosen.
    double scale() const { return scale_; }

Q_SIGNALS:
    void scaleChanged();

private:
    void update_scale();

    TokenRamp* ramp_;
    QLabel* text_;
    QComboBox* kind_;
    QDoubleSpinBox* own_;
    ColourChoice choice_;
    std::vector<float> values_;
    double scale_ = 1;
};

} // namespace stillroom::ui
