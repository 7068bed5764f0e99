// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/rollouts/token_ramp.h"

#include "ui/rollouts/token_colours.h"

#include <QPainter>
#include <cmath>

namespace stillroom::ui {

TokenRamp::TokenRamp(QWidget* parent) : QWidget(parent) {
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    setMinimumWidth(120);
}

QSize TokenRamp::sizeHint() const { return {200, 22 + fontMetrics().height()}; }

void TokenRamp::show_histogram(const ColourChoice& choice, const Histogram& histogram, double scale) {
    choice_ = choice;
    histogram_ = histogram;
    scale_ = scale;
    update();
}

void TokenRamp::paintEvent(QPaintEvent*) {
    if (choice_.mode == ColourMode::None) return;
    QPainter painter(this);
    constexpr int bars = 12, ramp = 8;
    const int width = this->width();
    int most = 1;
    for (const int count : histogram_.count) most = std::max(most, count);
    const QColor quiet = quiet_text(palette());
    for (size_t bin = 0; bin < Histogram::bins; ++bin) {
        if (histogram_.count[bin] == 0) continue;
        // On a logarithmic scale, so that a few bad tokens are seen beside thousands of good ones.
        const double high = bars * std::log1p(histogram_.count[bin]) / std::log1p(most);
        const double left = double(width) * double(bin) / Histogram::bins,
                     right = double(width) * double(bin + 1) / Histogram::bins;
        painter.fillRect(QRectF(left, bars - std::max(1.0, high), right - left - 1, std::max(1.0, high)),
                         quiet);
    }
    const bool diverging = is_diverging(choice_);
    for (int x = 0; x < width; ++x) {
        const double share = (x + 0.5) / width;
        const auto place = float(diverging ? 2 * share - 1 : share);
        painter.fillRect(QRect(x, bars, 1, ramp), ramp_colour(place, choice_, palette()));
    }
    painter.setPen(palette().color(QPalette::Mid));
    painter.drawRect(QRectF(0.5, bars + 0.5, width - 1, ramp - 1));
    painter.setPen(palette().color(QPalette::WindowText));
    const QRect numbers(0, bars + ramp + 1, width, fontMetrics().height());
    painter.drawText(numbers, Qt::AlignLeft, scale_text(diverging ? -scale_ : 0, choice_));
    painter.drawText(numbers, Qt::AlignHCenter, scale_text(diverging ? 0 : scale_ / 2, choice_));
    painter.drawText(numbers, Qt::AlignRight, scale_text(scale_, choice_));
}

QString scale_text(double value, const ColourChoice& choice) {
    if (choice.mode == ColourMode::Clipped) return QString::number(100 * value, 'g', 3) + " %";
    return QString::number(value, 'g', 3);
}

} // namespace stillroom::ui
