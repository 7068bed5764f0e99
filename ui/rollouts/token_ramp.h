// SPDX-License-Identifier: GPL-3.0-or-later
// The painted part of the legend: histogram over ramp over numbers.
#pragma once

#include "ui/models/token_values.h"

#include <QWidget>

namespace stillroom::ui {

class TokenRamp : public QWidget {
    Q_OBJECT
public:
    explicit TokenRamp(QWidget* parent = nullptr);
    void show_histogram(const ColourChoice& choice, const Histogram& histogram, double scale);
    QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    ColourChoice choice_;
    Histogram histogram_;
    double scale_ = 1;
};

/// "2", "0.5", "-4", "100 %": a place on a mode's scale.
QString scale_text(double value, const ColourChoice& choice);

} // namespace stillroom::ui
