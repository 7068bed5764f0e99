// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/rollouts/token_minimap.h"

#include "ui/rollouts/token_colours.h"
#include "ui/window/theme.h"

#include <QMouseEvent>
#include <QPainter>
#include <cmath>
#include <limits>

namespace stillroom::ui {

std::vector<float> block_maxima(const std::vector<float>& values, size_t lines) {
    std::vector<float> maxima(lines, std::numeric_limits<float>::quiet_NaN());
    for (size_t i = 0; i < values.size() && lines > 0; ++i) {
        float& best = maxima[i * lines / values.size()];
        if (!std::isnan(values[i]) && !(std::abs(values[i]) <= std::abs(best))) best = values[i];
    }
    return maxima;
}

TokenMinimap::TokenMinimap(QWidget* parent) : QWidget(parent) {
    setFixedWidth(48);
    setCursor(Qt::PointingHandCursor);
}

void TokenMinimap::set_values(const ColourChoice& choice, std::vector<float> values, double scale,
                              size_t tokens) {
    choice_ = choice;
    values_ = std::move(values);
    scale_ = scale;
    tokens_ = tokens;
    describe();
    update();
}

void TokenMinimap::set_marks(std::vector<size_t> worst, std::vector<TokenRange> hits,
                             std::vector<size_t> pins, std::vector<size_t> clipped) {
    worst_ = std::move(worst);
    hits_ = std::move(hits);
    pins_ = std::move(pins);
    clipped_ = std::move(clipped);
    update();
}

void TokenMinimap::set_visible(std::optional<TokenRange> tokens) {
    visible_ = tokens;
    update();
}

void TokenMinimap::describe() {
    const size_t lines = size_t(std::max(1, height()));
    const size_t block = (tokens_ + lines - 1) / lines;
    const QString text = tokens_ == 0 ? QStringLiteral("no rollout")
                         : block <= 1
                             ? QStringLiteral("%1 tokens, top to bottom").arg(tokens_)
                             : QStringLiteral("%1 tokens, max of %2 tokens a line").arg(tokens_).arg(block);
    setToolTip(text + "\nleft: worst tokens and pins; right: search hits and clipped tokens");
    setAccessibleDescription(text);
}

void TokenMinimap::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    describe();
}

double TokenMinimap::y_of(size_t token) const {
    return tokens_ ? double(token) * double(std::min<size_t>(tokens_ * 6, size_t(height()))) / double(tokens_)
                   : 0;
}

void TokenMinimap::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.fillRect(rect(), palette().color(QPalette::Base));
    if (tokens_ == 0) return;
    constexpr double left = 8, right = 40;
    // A short rollout is not stretched over the whole strip: six pixels a token are enough.
    const size_t lines = std::min<size_t>(tokens_ * 6, size_t(height()));
    const auto maxima = block_maxima(values_, std::min(lines, values_.size()));
    for (size_t i = 0; i < maxima.size(); ++i) {
        const float place = place_of(maxima[i], choice_, scale_);
        if (std::isnan(place)) continue;
        const double top = double(i) * double(lines) / double(maxima.size()),
                     bottom = double(i + 1) * double(lines) / double(maxima.size());
        painter.fillRect(QRectF(left, top, right - left, bottom - top),
                         ramp_colour(place, choice_, palette()));
    }
    const auto tick = [&](size_t token, double from, double to, const QColor& colour) {
        painter.fillRect(QRectF(from, std::floor(y_of(token)), to - from, 2), colour);
    };
    for (const size_t token : clipped_) tick(token, right - 3, right, quiet_text(palette()));
    for (const size_t token : worst_) tick(token, 1, 6, palette().color(QPalette::Text));
    for (const TokenRange& hit : hits_) tick(hit.first, right + 1, right + 7, colour(Role::Wait, palette()));
    for (const size_t token : pins_)
        painter.fillRect(QRectF(0, y_of(token) - 2, 7, 6), colour(Role::Info, palette()));
    if (visible_) {
        const double top = y_of(visible_->first), bottom = y_of(visible_->second + 1);
        painter.setPen(QPen(palette().color(QPalette::Highlight), 1.5));
        painter.drawRect(QRectF(1, top + 0.5, width() - 2, std::max(4.0, bottom - top - 1)));
    }
}

void TokenMinimap::want(double y) {
    const double high = y_of(tokens_);
    if (tokens_ == 0 || high <= 0) return;
    Q_EMIT tokenWanted(size_t(std::clamp(y / high, 0.0, 1.0) * double(tokens_ - 1)));
}

void TokenMinimap::mousePressEvent(QMouseEvent* event) { want(event->position().y()); }

void TokenMinimap::mouseMoveEvent(QMouseEvent* event) {
    if (event->buttons() & Qt::LeftButton) want(event->position().y());
}

} // namespace stillroom::ui
