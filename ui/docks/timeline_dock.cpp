// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/docks/timeline_dock.h"

#include "ui/window/theme.h"

#include <QImage>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <array>

namespace stillroom::ui {

namespace {

struct Phase {
    const char *tag, *name;
    Role role;
};
constexpr std::array phases{
    Phase{"time_rollout", "rollout", Role::Student}, Phase{"time_teacher", "teacher", Role::Teacher},
    Phase{"time_learn", "learn", Role::Go},          Phase{"time_optimise", "optimise", Role::Wait},
    Phase{"time_evaluate", "evaluate", Role::Idle},  Phase{"time_save", "save", Role::WithoutAnswer}};

double value_at(const Series* series, int64_t step) {
    if (!series) return 0;
    const auto found = std::lower_bound(series->step.begin(), series->step.end(), step);
    if (found == series->step.end() || *found != step) return 0;
    const double value = series->value[size_t(found - series->step.begin())];
    return value > 0 ? value : 0;
}

} // namespace

TimelineDock::TimelineDock(StepCursor& cursor, QWidget* parent) : QWidget(parent), cursor_(cursor) {
    setObjectName("view.timeline");
    setAccessibleName("Timeline of the run's steps");
    setFocusPolicy(Qt::StrongFocus);
    setMinimumHeight(78);
    setToolTip("Click: step cursor. Drag: select steps.");
    connect(&cursor_, &StepCursor::stepChanged, this, qOverload<>(&QWidget::update));
    connect(&cursor_, &StepCursor::selectionChanged, this, qOverload<>(&QWidget::update));
}

void TimelineDock::show_run(RunSource* run) {
    if (run_) run_->disconnect(this);
    run_ = run;
    if (run_) {
        connect(run_, &RunSource::seriesChanged, this, qOverload<>(&QWidget::update));
        connect(run_, &RunSource::listsChanged, this, qOverload<>(&QWidget::update));
    }
    update();
}

QRect TimelineDock::lane() const { return rect().adjusted(70, 4, -16, -4); }

int64_t TimelineDock::last_step() const {
    if (!run_) return 1;
    return std::max<int64_t>({1, run_->status().steps_planned, run_->series().last_step()});
}

double TimelineDock::x_of(double step) const {
    return lane().left() + lane().width() * step / double(last_step());
}

int64_t TimelineDock::step_at(double x) const {
    const double step = (x - lane().left()) / std::max(1, lane().width()) * double(last_step());
    return std::clamp<int64_t>(int64_t(std::ceil(step)), 0,
                               std::max<int64_t>(0, run_ ? run_->series().last_step() : 0));
}

void TimelineDock::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.fillRect(rect(), palette().base());
    const QFontMetrics metrics = fontMetrics();
    const QRect area = lane();
    if (!run_ || run_->series().last_step() < 0) {
        painter.setPen(palette().color(QPalette::PlaceholderText));
        painter.drawText(rect(), Qt::AlignCenter, run_ ? "No steps yet." : "No run is open.");
        return;
    }
    if (const auto range = cursor_.selection()) {
        QColor shade = palette().color(QPalette::Highlight);
        shade.setAlpha(60);
        const double left = x_of(double(range->first) - 1), right = x_of(double(range->second));
        painter.fillRect(QRectF(left, area.top(), std::max(2.0, right - left), area.height()), shade);
    }
    // Steps: a tick at round numbers, as many as have room.
    painter.setPen(palette().color(QPalette::Text));
    const int line = metrics.height();
    int64_t stride = 1;
    for (int64_t i = 0; double(stride) / double(last_step()) * area.width() < 64; ++i)
        stride = i % 3 == 1 ? stride / 2 * 5 : stride * 2;
    for (int64_t step = 0; step <= last_step(); step += stride) {
        const double x = x_of(double(step));
        painter.drawText(QRectF(x - 40, area.top(), 80, line), Qt::AlignCenter, QString::number(step));
        painter.drawLine(QPointF(x, area.top() + line), QPointF(x, area.top() + line + 3));
    }
    painter.drawText(QRect(4, area.top(), 62, line), Qt::AlignLeft | Qt::AlignVCenter, "step");
    painter.drawText(QRect(4, area.top() + line + 6, 62, line), Qt::AlignLeft | Qt::AlignVCenter, "phases");
    painter.drawText(QRect(4, area.top() + 2 * line + 12, 62, line), Qt::AlignLeft | Qt::AlignVCenter,
                     "events");
    paint_phases(painter);
    paint_markers(painter);
    if (const auto step = cursor_.step()) {
        painter.setPen(QPen(palette().color(QPalette::Text), 1));
        const double x = x_of(double(*step));
        painter.drawLine(QPointF(x, area.top() + line), QPointF(x, area.bottom()));
    }
}

void TimelineDock::paint_phases(QPainter& painter) const {
    const QRect area = lane();
    const int line = fontMetrics().height(), top = area.top() + line + 6;
    std::array<const Series*, phases.size()> series{};
    for (size_t i = 0; i < phases.size(); ++i) series[i] = run_->series().find(phases[i].tag);
    // One line of pixels, each with the phase that its place within its step falls into: the cost is that of
    // the width, however many steps there are.
    std::array<QRgb, phases.size()> colours{};
    for (size_t i = 0; i < phases.size(); ++i) colours[i] = colour(phases[i].role, palette()).rgb();
    QImage pixels(std::max(1, area.width()), 1, QImage::Format_ARGB32_Premultiplied);
    pixels.fill(Qt::transparent);
    auto* row = reinterpret_cast<QRgb*>(pixels.scanLine(0));
    const int64_t last = run_->series().last_step();
    const double step_width = area.width() / double(last_step()), gap = step_width > 6 ? 1 : 0;
    int64_t known = 0; // the step whose phases are in `until`
    std::array<double, phases.size()> until{};
    for (int x = 0; x < area.width(); ++x) {
        const double place = (x + 0.5) / step_width;
        const int64_t step = int64_t(place) + 1;
        if (step > last) break;
        if (step != known) {
            known = step;
            double total = 0;
            for (size_t i = 0; i < phases.size(); ++i) until[i] = total += value_at(series[i], step);
        }
        const double within = (place - double(step - 1)) * step_width / (step_width - gap) * until.back();
        const auto phase = std::upper_bound(until.begin(), until.end(), within) - until.begin();
        if (size_t(phase) < phases.size()) row[x] = colours[size_t(phase)];
    }
    painter.drawImage(QRect(area.left(), top, area.width(), line), pixels);
    // The key of colours, at the right of the bottom.
    const int bottom = top + 2 * line + 12;
    if (bottom + line > height()) return;
    int x = area.left();
    for (size_t i = 0; i < phases.size(); ++i) {
        if (!series[i]) continue;
        const QString name = QString::fromUtf8(phases[i].name);
        painter.fillRect(QRect(x, bottom + line / 2 - 4, 8, 8), colour(phases[i].role, palette()));
        painter.setPen(palette().color(QPalette::Text));
        painter.drawText(x + 12, bottom + line - fontMetrics().descent(), name);
        x += 26 + fontMetrics().horizontalAdvance(name);
    }
}

void TimelineDock::paint_markers(QPainter& painter) const {
    const int line = fontMetrics().height(), middle = lane().top() + 2 * line + 12 + line / 2;
    painter.setRenderHint(QPainter::Antialiasing);
    for (const auto& alarm : run_->alarms()) {
        painter.setPen(QPen(colour(alarm.level == "severe" ? Role::Stop : Role::Wait, palette()), 2));
        painter.drawLine(QPointF(x_of(double(alarm.first_step) - 1), middle + 6),
                         QPointF(x_of(double(alarm.last_step)), middle + 6));
    }
    for (const auto& evaluation : run_->evaluations()) {
        painter.setPen(Qt::NoPen);
        painter.setBrush(colour(Role::Info, palette()));
        painter.drawEllipse(QPointF(x_of(double(evaluation.step)), middle), 4, 4);
    }
    for (const auto& checkpoint : run_->checkpoints()) {
        const QPointF at(x_of(double(checkpoint.step)), middle);
        QPainterPath diamond(at + QPointF(0, -6));
        diamond.lineTo(at + QPointF(6, 0));
        diamond.lineTo(at + QPointF(0, 6));
        diamond.lineTo(at + QPointF(-6, 0));
        diamond.closeSubpath();
        painter.setPen(QPen(colour(checkpoint.removed ? Role::Idle : Role::Go, palette()), 1.4));
        painter.setBrush(Qt::NoBrush);
        painter.drawPath(diamond);
    }
    painter.setRenderHint(QPainter::Antialiasing, false);
}

void TimelineDock::mousePressEvent(QMouseEvent* event) {
    if (!run_ || event->button() != Qt::LeftButton) return;
    pressed_ = step_at(event->position().x());
    cursor_.set_step(pressed_);
}

void TimelineDock::mouseMoveEvent(QMouseEvent* event) {
    if (!pressed_) return;
    const int64_t step = step_at(event->position().x());
    if (step != *pressed_)
        cursor_.select(StepCursor::Range{std::max<int64_t>(1, *pressed_), std::max<int64_t>(1, step)});
}

void TimelineDock::mouseReleaseEvent(QMouseEvent* event) {
    if (pressed_ && step_at(event->position().x()) == *pressed_) cursor_.select(std::nullopt);
    pressed_.reset();
}

void TimelineDock::keyPressEvent(QKeyEvent* event) {
    const int direction = event->key() == Qt::Key_Left ? -1 : event->key() == Qt::Key_Right ? 1 : 0;
    if (direction == 0 || !run_) return QWidget::keyPressEvent(event);
    const int64_t last = std::max<int64_t>(0, run_->series().last_step());
    cursor_.set_step(std::clamp<int64_t>(cursor_.step().value_or(last) + direction, 0, last));
}

} // namespace stillroom::ui
