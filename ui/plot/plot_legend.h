// SPDX-License-Identifier: GPL-3.0-or-later
// The legend below a plot: a dash sample or mark, a name and the value at the cursor for each series. Places
// don't move with the values.
#pragma once

#include "ui/plot/plot_scene.h"

#include <QWidget>

namespace stillroom::ui {

class PlotLegend : public QWidget {
    Q_OBJECT
public:
    explicit PlotLegend(QWidget* parent = nullptr);
    /// `at`: the step of the values, at the end.
    void show_series(const std::vector<PlotSeries>& series, const QString& at);
    QSize sizeHint() const override;
    QString text() const; // for tests and screen readers: "exact .118, k1 .121, @437"

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    bool event(QEvent* event) override;

private:
    struct Entry {
        SeriesStyle style;
        QString value;
        QRect place;
    };
    void arrange();

    std::vector<Entry> entries_;
    QString at_;
    QRect at_place_;
};

} // namespace stillroom::ui
