// SPDX-License-Identifier: GPL-3.0-or-later
// What a newcomer may try next, one line at a time, while the sample run goes on (ui.md 11.1).
#pragma once

#include "ui/source/run_source.h"

#include <QElapsedTimer>
#include <QFrame>
#include <QLabel>
#include <QToolButton>

namespace stillroom::ui {

class HintLine : public QFrame {
    Q_OBJECT
public:
    explicit HintLine(QWidget* parent = nullptr);

    /// Shows the hints of this run if it is a sample that this window trains or has trained; null or `wanted`
    /// false: none.
    void show_run(const RunSource* run, bool wanted);

Q_SIGNALS:
    /// Never again.
    void hideWanted();

private:
    void show_hint(size_t hint);

    QLabel* text_;
    QToolButton* next_;
    const RunSource* run_ = nullptr;
    size_t hint_ = 0;
    QElapsedTimer since_; // this hint was shown
};

} // namespace stillroom::ui
