// SPDX-License-Identifier: GPL-3.0-or-later
// The run's steps on one line: where each step's time went, and what happened when. A click sets the step
// cursor, a drag selects steps.
#pragma once

#include "ui/models/step_cursor.h"
#include "ui/source/run_source.h"

#include <QPointer>
#include <QWidget>

namespace stillroom::ui {

class TimelineDock : public QWidget {
    Q_OBJECT
public:
    explicit TimelineDock(StepCursor& cursor, QWidget* parent = nullptr);
    void show_run(RunSource* run);
    QSize sizeHint() const override { return {600, 96}; }

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    QRect lane() const;
    int64_t last_step() const;
    double x_of(double step) const;
    int64_t step_at(double x) const;
    void paint_phases(QPainter& painter) const;
    void paint_markers(QPainter& painter) const;

    StepCursor& cursor_;
    QPointer<RunSource> run_;
    std::optional<int64_t> pressed_;
};

} // namespace stillroom::ui
