// SPDX-License-Identifier: GPL-3.0-or-later
// What the window says of the run all the time: the toolbar's state and progress, the status bar's fields,
// and the banner for what must not be missed.
#pragma once

#include "ui/source/engine.h"
#include "ui/source/run_source.h"
#include "ui/window/actions.h"

#include <QFrame>
#include <QLabel>
#include <QMenu>
#include <QProgressBar>
#include <QStatusBar>
#include <QToolBar>
#include <QToolButton>

namespace stillroom::ui {

/// "Running: rollout", "Paused after step 4": the state of the run in words.
QString state_text(const RunStatus& status);
/// When the run ends at its present pace; empty where nothing tells.
QString end_text(const RunSource& run);

class RunBar : public QToolBar {
    Q_OBJECT
public:
    RunBar(Actions& actions, QWidget* parent);
    void show_status(const RunSource* run, const QString& engine_text);
    void paint_icons(Actions& actions);

private:
    QLabel *icon_, *state_, *step_;
    QProgressBar* progress_;
};

class StatusFields : public QObject {
    Q_OBJECT
public:
    StatusFields(QStatusBar& bar, QObject* parent);
    void show_status(const RunSource* run, const Engine& engine, std::optional<int64_t> cursor);

Q_SIGNALS:
    /// A field was pressed: "state", "step", "speed", "end", "memory", "recording", "alarms", "cursor".
    void pressed(const QString& field);

private:
    QToolButton* field(QStatusBar& bar, const QString& name, const QString& widest, const QString& meaning);
    QToolButton *state_, *step_, *speed_, *end_, *memory_, *recording_, *alarms_, *cursor_;
};

class Banner : public QFrame {
    Q_OBJECT
public:
    explicit Banner(QWidget* parent = nullptr);
    /// Empty hides it.
    void show_text(const QString& text, bool severe);
    QString text() const { return text_->text(); }

private:
    QLabel *icon_, *text_;
    QToolButton* close_;
    QString dismissed_;
};

} // namespace stillroom::ui
