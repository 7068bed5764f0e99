// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/run/chart_grid.h"

#include <QScrollBar>

namespace stillroom::ui {

namespace {

constexpr int least_width = 380, least_height = 190, gap = 4;

} // namespace

ChartGrid::ChartGrid(QWidget* parent) : QScrollArea(parent) {
    setObjectName("list.charts");
    setAccessibleName("Charts");
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::NoFocus);
    setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOn); // or the width would change with the height
    setWidget(new QWidget);
    connect(verticalScrollBar(), &QScrollBar::valueChanged, this, &ChartGrid::arranged);
}

void ChartGrid::add(QWidget* chart) {
    chart->setParent(widget());
    chart->show();
    charts_.push_back(chart);
    arrange();
}

void ChartGrid::resizeEvent(QResizeEvent* event) {
    QScrollArea::resizeEvent(event);
    arrange();
}

void ChartGrid::arrange() {
    columns_ = width() < 1200 ? 2 : width() < 1800 ? 3 : 4;
    const QSize view = viewport()->size();
    const int chart_width = std::max(least_width, (view.width() - gap * (columns_ - 1)) / columns_);
    rows_in_view_ = std::max(1, (view.height() + gap) / (least_height + gap));
    const int chart_height = std::max(least_height, (view.height() + gap) / rows_in_view_ - gap);
    const int rows = (int(charts_.size()) + columns_ - 1) / columns_;
    widget()->resize(columns_ * (chart_width + gap) - gap, rows * (chart_height + gap) - gap);
    for (int i = 0; i < int(charts_.size()); ++i) {
        charts_[size_t(i)]->setGeometry((i % columns_) * (chart_width + gap),
                                        (i / columns_) * (chart_height + gap), chart_width, chart_height);
    }
    verticalScrollBar()->setSingleStep((chart_height + gap) / 4);
    Q_EMIT arranged();
}

} // namespace stillroom::ui
