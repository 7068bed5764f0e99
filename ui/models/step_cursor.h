// SPDX-License-Identifier: GPL-3.0-or-later
// The one step cursor and the one selection of steps that charts, timeline, log and rollouts share.
#pragma once

#include <QObject>
#include <optional>
#include <utility>

namespace stillroom::ui {

class StepCursor : public QObject {
    Q_OBJECT
public:
    using Range = std::pair<int64_t, int64_t>; // first and last step, both included

    using QObject::QObject;
    std::optional<int64_t> step() const { return step_; }
    std::optional<Range> selection() const { return selection_; }

    void set_step(std::optional<int64_t> step) {
        if (step == step_) return;
        step_ = step;
        Q_EMIT stepChanged();
    }
    /// The ends in any order.
    void select(std::optional<Range> range) {
        if (range && range->second < range->first) std::swap(range->first, range->second);
        if (range == selection_) return;
        selection_ = range;
        Q_EMIT selectionChanged();
    }

Q_SIGNALS:
    void stepChanged();
    void selectionChanged();

private:
    std::optional<int64_t> step_;
    std::optional<Range> selection_;
};

} // namespace stillroom::ui
