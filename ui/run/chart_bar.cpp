// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/run/chart_bar.h"

#include "ui/plot/plot_scene.h"

#include <QButtonGroup>
#include <QHBoxLayout>
#include <QSignalBlocker>
#include <algorithm>

namespace stillroom::ui {

const std::vector<int>& ChartBar::half_lives() {
    static const std::vector<int> steps{0,  1,  2,  3,  4,  5,   6,   8,   10,  12,  15,  20,  25,
                                        30, 40, 50, 60, 80, 100, 120, 150, 200, 250, 300, 400, 500};
    return steps;
}

ChartBar::ChartBar(QWidget* parent) : QWidget(parent) {
    const auto named = [](auto* widget, const char* name, const char* spoken) {
        widget->setObjectName(name);
        widget->setAccessibleName(spoken);
        return widget;
    };
    axis_ = named(new QComboBox, "fld.charts.x", "X axis");
    for (const XAxis axis : {XAxis::Step, XAxis::WallTime, XAxis::ActiveTime, XAxis::Tokens}) {
        QString name = to_string(axis);
        name[0] = name[0].toUpper();
        axis_->addItem(name);
    }
    smooth_ = named(new QSlider(Qt::Horizontal), "fld.charts.smooth", "Smoothing, half-life in steps");
    smooth_->setRange(0, int(half_lives().size()) - 1);
    smooth_->setPageStep(3);
    smooth_->setFixedWidth(90);
    smooth_->setToolTip("Smoothing by half-life in steps (S). What is smoothed stays behind it.");
    half_life_ = named(new QLabel, "lbl.charts.smooth", "Half-life");
    half_life_->setFixedWidth(fontMetrics().horizontalAdvance("500 steps") + 4);
    raw_ = named(new QCheckBox("Raw"), "chk.charts.raw", "Show raw values behind smoothed ones");
    raw_->setToolTip("Show raw values behind smoothed ones (R)");
    zoom_ = named(new QToolButton, "btn.charts.zoom", "Drag zooms");
    zoom_->setText("Zoom");
    zoom_->setToolTip("A drag zooms X in all charts (Z switches; Backspace goes back)");
    select_ = named(new QToolButton, "btn.charts.select", "Drag selects steps");
    select_->setText("Select");
    select_->setToolTip("A drag selects steps, whose rollouts can be shown (Shift+drag does so always)");
    auto* modes = new QButtonGroup(this);
    for (QToolButton* button : {zoom_, select_}) {
        button->setCheckable(true);
        button->setAutoRaise(true); // flat, so that the pressed one stands out
        modes->addButton(button);
    }
    kinds_ = named(new QToolButton, "btn.charts.markers", "Markers");
    kinds_->setText("Markers");
    kinds_->setPopupMode(QToolButton::InstantPopup);
    auto* menu = new QMenu(kinds_);
    menu->setObjectName("menu.charts.markers");
    for (const MarkerKind kind : {MarkerKind::Checkpoint, MarkerKind::Evaluation, MarkerKind::Change,
                                  MarkerKind::Alarm, MarkerKind::Pause, MarkerKind::Resume}) {
        markers_.insert(kind);
        QString name = name_of(kind);
        name[0] = name[0].toUpper();
        auto* action = menu->addAction(name + "s");
        action->setData(int(kind));
        action->setCheckable(true);
        action->setChecked(true);
        connect(action, &QAction::toggled, this, [this, kind](bool on) {
            if (on) {
                markers_.insert(kind);
            } else {
                markers_.erase(kind);
            }
            Q_EMIT markersChanged();
        });
    }
    kinds_->setMenu(menu);
    paint_kinds();
    reset_ = named(new QToolButton, "btn.charts.reset", "Reset zoom");
    reset_->setText("Reset zoom");
    reset_->setToolTip("Show the whole run in all charts (0)");
    selection_ = named(new QLabel, "lbl.charts.selection", "Selected steps");
    show_ = named(new QPushButton("Show"), "btn.charts.show", "Show the rollouts of the selected steps");
    show_->setToolTip("Show the rollouts of the selected steps (Alt+Return)");
    clear_ = named(new QToolButton, "btn.charts.clear", "Clear the selection");
    clear_->setText("×");
    clear_->setToolTip("Clear the selection (Esc)");

    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(4, 3, 4, 3);
    layout->setSpacing(6);
    auto* x = new QLabel("X");
    x->setBuddy(axis_);
    auto* smooth = new QLabel("Smooth");
    smooth->setBuddy(smooth_);
    for (QWidget* widget : std::initializer_list<QWidget*>{x, axis_, smooth, smooth_, half_life_, raw_})
        layout->addWidget(widget);
    layout->addSpacing(4);
    auto* pair = new QHBoxLayout;
    pair->setSpacing(0);
    pair->addWidget(zoom_);
    pair->addWidget(select_);
    layout->addLayout(pair);
    layout->addWidget(kinds_);
    layout->addWidget(reset_);
    layout->addStretch(1);
    for (QWidget* widget : std::initializer_list<QWidget*>{selection_, show_, clear_})
        layout->addWidget(widget);

    connect(axis_, &QComboBox::activated, this, [this](int index) { Q_EMIT axisWanted(XAxis(index)); });
    connect(smooth_, &QSlider::valueChanged, this,
            [this](int place) { Q_EMIT halfLifeWanted(half_lives()[size_t(place)]); });
    connect(raw_, &QCheckBox::toggled, this, &ChartBar::rawWanted);
    connect(select_, &QToolButton::toggled, this, &ChartBar::selectingWanted);
    connect(show_, &QPushButton::clicked, this, &ChartBar::rolloutsWanted);
    connect(clear_, &QToolButton::clicked, this, &ChartBar::selectionCleared);
    connect(reset_, &QToolButton::clicked, this, &ChartBar::zoomResetWanted);
    set_axis(XAxis::Step);
    set_half_life(0);
    set_raw(true);
    set_selecting(false);
    set_selection({});
    set_zoomed(false);
}

void ChartBar::paint_kinds() {
    for (QAction* action : kinds_->menu()->actions()) {
        QPixmap picture(16, 16);
        picture.fill(Qt::transparent);
        QPainter painter(&picture);
        painter.setRenderHint(QPainter::Antialiasing);
        paint_marker(painter, MarkerKind(action->data().toInt()), {8, 8}, palette());
        painter.end();
        action->setIcon(QIcon(picture));
    }
}

void ChartBar::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange && kinds_->menu()) paint_kinds();
}

void ChartBar::set_axis(XAxis axis) { axis_->setCurrentIndex(int(axis)); }

void ChartBar::set_half_life(int steps) {
    const QSignalBlocker quiet(smooth_);
    const auto place = std::lower_bound(half_lives().begin(), half_lives().end(), steps);
    smooth_->setValue(int(place - half_lives().begin()));
    half_life_->setText(steps == 0 ? "off" : steps == 1 ? "1 step" : QString("%1 steps").arg(steps));
}

void ChartBar::set_raw(bool raw) {
    const QSignalBlocker quiet(raw_);
    raw_->setChecked(raw);
}

void ChartBar::set_selecting(bool selecting) {
    const QSignalBlocker quiet(select_);
    (selecting ? select_ : zoom_)->setChecked(true);
}

void ChartBar::set_selection(const QString& text) {
    selection_->setText(text);
    for (QWidget* widget : std::initializer_list<QWidget*>{selection_, show_, clear_})
        widget->setVisible(!text.isEmpty());
}

void ChartBar::set_zoomed(bool zoomed) { reset_->setVisible(zoomed); }

} // namespace stillroom::ui
