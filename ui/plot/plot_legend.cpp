// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plot/plot_legend.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>
#include <cmath>

namespace stillroom::ui {

namespace {

constexpr int sample_width = 20, gap = 4, between = 12;

} // namespace

PlotLegend::PlotLegend(QWidget* parent) : QWidget(parent) {
    setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
}

void PlotLegend::show_series(const std::vector<PlotSeries>& series) {
    entries_.clear();
    for (const auto& one : series) entries_.push_back({one.style, one.value, {}});
    setAccessibleDescription(text());
    arrange();
    update();
}

void PlotLegend::show_levels(const QStringList& levels) {
    if (levels == levels_) return;
    levels_ = levels;
    setAccessibleDescription(text());
    arrange();
    update();
}

QString PlotLegend::text() const {
    QStringList parts;
    for (const auto& entry : entries_) parts.push_back((entry.style.name + " " + entry.value).trimmed());
    return (parts + levels_).join(", ");
}

QSize PlotLegend::sizeHint() const { return {100, minimumHeight()}; }

void PlotLegend::arrange() {
    const QFontMetrics metrics = fontMetrics();
    const int line = metrics.height() + 1, reserved = metrics.horizontalAdvance("0.00e-0");
    int x = 0, y = 0;
    const auto place = [&](int width) {
        if (x > 0 && x + width > this->width()) {
            x = 0;
            y += line;
        }
        const QRect rect(x, y, std::min(width, this->width()), line);
        x += width + between;
        return rect;
    };
    for (Entry& entry : entries_) {
        entry.place = place(sample_width + gap + metrics.horizontalAdvance(entry.style.name) + gap +
                            std::max(reserved, metrics.horizontalAdvance(entry.value) + 2));
    }
    level_places_.clear();
    for (const QString& level : levels_) {
        const QString name = QString(level).remove(" ↑").remove(" ↓") + " ↑"; // as wide without its arrow
        level_places_.push_back(place(sample_width + gap + metrics.horizontalAdvance(name)));
    }
    const int height = y + line;
    if (height != minimumHeight()) {
        setFixedHeight(height);
        updateGeometry();
    }
}

void PlotLegend::resizeEvent(QResizeEvent*) { arrange(); }

void PlotLegend::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QFontMetrics metrics = fontMetrics();
    for (const Entry& entry : entries_) {
        const double middle = entry.place.top() + entry.place.height() / 2.0;
        const QColor colour = colour_of(entry.style.tone, palette());
        const QRectF sample(entry.place.left(), middle - 4, sample_width, 8);
        if (entry.style.form == Form::Area) {
            QColor fill = colour;
            fill.setAlpha(120);
            painter.setPen(QPen(colour, 1));
            painter.setBrush(fill);
            painter.drawRect(sample.adjusted(0.5, 0.5, -0.5, -0.5));
        } else {
            painter.setPen(pen_of(entry.style, palette()));
            painter.drawLine(QPointF(sample.left(), middle), QPointF(sample.right(), middle));
            if (entry.style.shape != Shape::None)
                paint_shape(painter, entry.style.shape, sample.center(), 3, colour,
                            palette().color(QPalette::Base));
        }
        painter.setBrush(Qt::NoBrush);
        QRect text = entry.place.adjusted(sample_width + gap, 0, 0, 0);
        QColor weak = palette().color(QPalette::Text);
        weak.setAlpha(190);
        painter.setPen(weak);
        painter.drawText(text, Qt::AlignLeft | Qt::AlignVCenter,
                         metrics.elidedText(entry.style.name, Qt::ElideRight, text.width()));
        text.setLeft(text.left() + metrics.horizontalAdvance(entry.style.name) + gap);
        painter.setPen(palette().color(QPalette::Text));
        painter.drawText(text, Qt::AlignLeft | Qt::AlignVCenter,
                         metrics.elidedText(entry.value, Qt::ElideRight, text.width()));
    }
    const QColor faint = palette().color(QPalette::PlaceholderText);
    for (size_t i = 0; i < level_places_.size(); ++i) {
        const QRect& at = level_places_[i];
        const double middle = std::floor(at.top() + at.height() / 2.0) + 0.5;
        painter.setPen(QPen(faint, 1, Qt::DashLine));
        painter.drawLine(QPointF(at.left(), middle), QPointF(at.left() + sample_width, middle));
        painter.setPen(faint);
        painter.drawText(at.adjusted(sample_width + gap, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter,
                         levels_[qsizetype(i)]);
    }
}

bool PlotLegend::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        for (const Entry& entry : entries_) {
            if (!entry.place.contains(help->pos())) continue;
            QToolTip::showText(help->globalPos(), entry.style.name + ": " + entry.style.what, this,
                               entry.place);
            return true;
        }
        QToolTip::hideText();
    }
    return QWidget::event(event);
}

} // namespace stillroom::ui
