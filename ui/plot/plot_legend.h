// SPDX-License-Identifier: GPL-3.0-or-later
// The legend below a plot: a dash sample or mark, a name and the value at the cursor for each series, then
// the levels. Places don't move with the values.
#pragma once

#include "ui/plot/plot_scene.h"

#include <QWidget>

namespace stillroom::ui {

class PlotLegend : public QWidget {
    Q_OBJECT
public:
    explicit PlotLegend(QWidget* parent = nullptr);
    void show_series(const std::vector<PlotSeries>& series);
    /// "cap 64"; "capacity 23.5 ↑" where it lies above the plot.
    void show_levels(const QStringList& levels);
    QSize sizeHint() const override;
    QString text() const; // for tests and screen readers: "exact .118, k1 .121, cap 64"

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
    QStringList levels_;
    std::vector<QRect> level_places_;
};

} // namespace stillroom::ui
