// SPDX-License-Identifier: GPL-3.0-or-later
// What the window's views share: they show one run at a time, and know the actions and the step cursor.
#pragma once

#include "ui/models/step_cursor.h"
#include "ui/source/run_source.h"
#include "ui/window/actions.h"

#include <QPointer>
#include <QWidget>

namespace stillroom::ui {

/// What a view is given once.
struct ViewContext {
    Actions& actions;
    StepCursor& cursor;
};

class View : public QWidget {
    Q_OBJECT
public:
    View(ViewContext context, QWidget* parent) : QWidget(parent), context_(context) {}

    /// The run to show from now on; null: none. The source outlives the next call.
    virtual void show_run(RunSource* run) { run_ = run; }
    /// Edit > Find and the like, when this view is in front. A view without search does nothing.
    virtual void find() {}
    virtual void find_next(bool /*backwards*/) {}
    virtual void copy(bool /*as_json*/) {}
    virtual void select_all() {}
    /// View > Zoom: 1 in, -1 out, 0 reset.
    virtual void zoom(int /*direction*/) {}

Q_SIGNALS:
    /// Show the rollouts of the cursor's selection, or of its step.
    void rolloutsWanted();
    /// Something was done, or (`severe`) could not be.
    void said(const QString& text, bool severe);

protected:
    Actions& actions() const { return context_.actions; }
    StepCursor& cursor() const { return context_.cursor; }
    RunSource* run() const { return run_; }

private:
    ViewContext context_;
    QPointer<RunSource> run_;
};

} // namespace stillroom::ui
