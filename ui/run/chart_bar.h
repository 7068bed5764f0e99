// SPDX-License-Identifier: GPL-3.0-or-later
// The bar above the charts: X axis, smoothing, raw values, what a drag does, which markers are shown, and the
// selected steps.
#pragma once

#include "ui/models/chart_types.h"
#include "ui/models/series_store.h"

#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QMenu>
#include <QPushButton>
#include <QSlider>
#include <QToolButton>
#include <set>

namespace stillroom::ui {

class ChartBar : public QWidget {
    Q_OBJECT
public:
    explicit ChartBar(QWidget* parent = nullptr);

    void set_axis(XAxis axis);
    void set_half_life(int steps);
    void set_raw(bool raw);
    void set_selecting(bool selecting);
    /// "Steps 430-437, 512 rollouts"; empty: nothing is selected.
    void set_selection(const QString& text);
    void set_zoomed(bool zoomed);
    const std::set<MarkerKind>& markers() const { return markers_; }
    QSlider* slider() const { return smooth_; }

    /// Half-lives that the slider offers.
    static const std::vector<int>& half_lives();

Q_SIGNALS:
    void axisWanted(stillroom::ui::XAxis axis);
    void halfLifeWanted(int steps);
    void rawWanted(bool raw);
    void selectingWanted(bool selecting);
    void markersChanged();
    void rolloutsWanted();
    void selectionCleared();
    void zoomResetWanted();

protected:
    void changeEvent(QEvent* event) override;

private:
    void paint_kinds(); // the shapes in the menu of markers

    QComboBox* axis_;
    QSlider* smooth_;
    QLabel *half_life_, *selection_;
    QCheckBox* raw_;
    QToolButton *zoom_, *select_, *kinds_ = nullptr, *reset_, *clear_;
    QPushButton* show_;
    std::set<MarkerKind> markers_;
};

} // namespace stillroom::ui
