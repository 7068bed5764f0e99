// SPDX-License-Identifier: GPL-3.0-or-later
// What a plot is told to show beside its curves, and what it says of itself.
#include "ui/plot/plot_legend.h"
#include "ui/plot/plot_widget.h"

#include <QContextMenuEvent>
#include <QPainter>

namespace stillroom::ui {

void PlotWidget::set_error_bars(SeriesId series, std::vector<ErrorBar> bars) {
    scene_.series[size_t(series)].bars = std::move(bars);
    place();
}

void PlotWidget::set_levels(std::vector<Level> levels) {
    scene_.levels = std::move(levels);
    place();
}

void PlotWidget::set_markers(std::vector<Marker> markers) {
    if (markers == scene_.markers) return;
    scene_.markers = std::move(markers);
    redraw();
}

void PlotWidget::set_bands(std::vector<Band> bands) {
    if (bands == scene_.bands) return;
    scene_.bands = std::move(bands);
    redraw();
}

void PlotWidget::set_x_range(double first, double last, XAxis axis) {
    if (!(last > first)) last = first + 1;
    if (first == scene_.x_first && last == scene_.x_last && axis == scene_.axis) return;
    scene_.x_first = first;
    scene_.x_last = last;
    scene_.axis = axis;
    place();
}

void PlotWidget::set_y_range(double low, double high) {
    if (!(high > low) || (scene_.log && !(low > 0))) return;
    y_frozen_ = true;
    scene_.y_low = low;
    scene_.y_high = high;
    place();
}

void PlotWidget::set_y_auto() {
    if (!y_frozen_) return;
    y_frozen_ = false;
    place();
}

void PlotWidget::set_cursor(std::optional<double> x) {
    if (x == scene_.cursor) return;
    scene_.cursor = x;
    redraw();
}

void PlotWidget::set_probe(std::optional<double> x) {
    if (x == scene_.probe) return;
    scene_.probe = x;
    redraw();
}

void PlotWidget::set_selection(std::optional<XRange> range) {
    if (range == scene_.selection) return;
    scene_.selection = range;
    redraw();
}

void PlotWidget::set_values(const QStringList& values, const QString& at) {
    for (size_t i = 0; i < scene_.series.size() && qsizetype(i) < values.size(); ++i)
        scene_.series[i].value = values[qsizetype(i)];
    at_->setText(at);
    legend_->show_series(scene_.series);
    setAccessibleDescription(legend_text() + ". " + caption_->text());
}

QString PlotWidget::legend_text() const {
    return at_->text().isEmpty() ? legend_->text() : legend_->text() + ", " + at_->text();
}

void PlotWidget::set_remark(const QString& remark) {
    remark_ = remark;
    update_caption();
}

void PlotWidget::set_message(const QString& message) {
    linear_->setVisible(scene_.log && message.contains("log axis"));
    if (message == scene_.message) return;
    scene_.message = message;
    redraw();
}

void PlotWidget::set_mode(Mode mode) { mode_ = mode; }

void PlotWidget::set_current(bool current) {
    if (current == current_) return;
    current_ = current;
    update();
}

void PlotWidget::update_caption() {
    // Of the series that shows least of what it has.
    const DrawnData* least = nullptr;
    for (const auto& one : scene_.series) {
        if (one.data.total == 0) continue;
        const auto share = [](const DrawnData& data) { return double(data.drawn) / double(data.total); };
        if (!least || share(one.data) < share(*least) ||
            (share(one.data) == share(*least) && one.data.total > least->total))
            least = &one.data;
    }
    QStringList parts;
    if (least) {
        const int64_t drawable = least->total - least->not_positive_count - least->not_finite_count;
        QString text = QString("drawn %1 of %2").arg(count_text(least->drawn), count_text(least->total));
        if (least->drawn < drawable && least->total > 4 * int64_t(columns()))
            text += ", min and max of every pixel kept";
        parts.push_back(text);
    }
    const auto counted = [](int64_t count, const QString& what) {
        return count_text(count) + (count == 1 ? " value " : " values ") + what;
    };
    if (scene_.not_positive() > 0) parts.push_back(counted(scene_.not_positive(), "<= 0"));
    if (scene_.not_finite() > 0) parts.push_back(counted(scene_.not_finite(), "NaN or infinite"));
    if (!remark_.isEmpty()) parts.push_back(remark_);
    const QString text = parts.join(" · ");
    if (text != caption_->text()) caption_->setText(text);
}

PlotSnapshot PlotWidget::snapshot() const {
    PlotSnapshot shot;
    shot.title = title_;
    shot.unit = unit_label_->text();
    shot.caption = caption_->text();
    shot.message = scene_.message;
    shot.legend = legend_text();
    shot.x_first = scene_.x_first;
    shot.x_last = scene_.x_last;
    shot.y_low = scene_.y_low;
    shot.y_high = scene_.y_high;
    shot.log = scene_.log;
    shot.y_frozen = y_frozen_;
    shot.table = has_table();
    shot.series = scene_.series;
    shot.levels = scene_.levels;
    shot.markers = scene_.markers;
    shot.bands = scene_.bands;
    shot.cursor = scene_.cursor;
    shot.probe = scene_.probe;
    shot.selection = scene_.selection;
    shot.y_ticks = scene_.y_ticks();
    shot.x_ticks = scene_.x_axis_ticks(small_font(font()));
    shot.area = scene_.area;
    std::tie(shot.above, shot.below) = scene_.off_scale();
    return shot;
}

void PlotWidget::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.fillRect(rect(), palette().base());
    const QColor edge = current_ ? palette().color(QPalette::Highlight) : palette().color(QPalette::Mid);
    painter.setRenderHint(QPainter::Antialiasing, current_);
    painter.setPen(QPen(edge, current_ ? 2 : 1));
    painter.drawRect(current_ ? QRectF(rect()).adjusted(1, 1, -1, -1)
                              : QRectF(rect().adjusted(0, 0, -1, -1)));
}

void PlotWidget::contextMenuEvent(QContextMenuEvent* event) { Q_EMIT menuWanted(event->globalPos()); }

} // namespace stillroom::ui
