// SPDX-License-Identifier: GPL-3.0-or-later
// One chart: header, curves with rails and markers, legend, caption, and the same as a table. The curves are
// drawn by Qt Charts, which only plot_widget.cpp knows: another implementation may take its place behind this
// header.
#pragma once

#include "ui/plot/plot_scene.h"

#include <QAbstractItemModel>
#include <QImage>
#include <QLabel>
#include <QPointer>
#include <QStackedLayout>
#include <QTableView>
#include <QToolButton>
#include <QWidget>
#include <memory>

class QMouseEvent;
class QWheelEvent;

namespace stillroom::ui {

class PlotLegend;

using SeriesId = int;

/// What is drawn, for tests and for who can't see it.
struct PlotSnapshot {
    QString title, unit, caption, message, legend;
    double x_first = 0, x_last = 0, y_low = 0, y_high = 0;
    bool log = false, y_frozen = false, table = false;
    std::vector<PlotSeries> series;
    std::vector<Level> levels;
    std::vector<Marker> markers;
    std::vector<Band> bands;
    std::optional<double> cursor, probe;
    std::optional<XRange> selection;
    std::vector<Tick> x_ticks, y_ticks;
    QRectF area;
    int above = 0, below = 0; // points off the scale
};

struct ExportSpec {
    QString file; // PNG
    double scale = 1;
    QString caption; // below the picture
};

class PlotWidget : public QWidget {
    Q_OBJECT
public:
    enum class Mode { Zoom, Select };

    /// Object names are chart.<id>, chart.<id>.legend and so on.
    PlotWidget(const QString& id, const QString& title, const QString& unit, QWidget* parent = nullptr);
    ~PlotWidget() override;

    SeriesId add_series(const SeriesStyle& style);
    void clear_series();
    /// Decimated, split at gaps, with counts.
    void set_data(SeriesId series, DrawnData data);
    void set_error_bars(SeriesId series, std::vector<ErrorBar> bars);
    void set_levels(std::vector<Level> levels);
    void set_markers(std::vector<Marker> markers);
    void set_bands(std::vector<Band> bands);
    void set_x_range(double first, double last, XAxis axis);
    /// Frozen there until set_y_auto().
    void set_y_range(double low, double high);
    void set_y_auto();
    bool is_y_frozen() const { return y_frozen_; }
    void set_y_limits(const YLimits& limits) { limits_ = limits; }
    void set_log(bool log);
    bool is_log() const { return scene_.log; }
    void set_cursor(std::optional<double> x);
    /// A second, weaker cursor: where the pointer is in some chart.
    void set_probe(std::optional<double> x);
    void set_selection(std::optional<XRange> range);
    /// In the legend, one a series; `at`: the step they belong to, beside the title.
    void set_values(const QStringList& values, const QString& at);
    /// Added to "drawn N of M".
    void set_remark(const QString& remark);
    void set_message(const QString& message);
    void set_mode(Mode mode);
    void set_current(bool current); // a frame: the chart that keys act on

    /// Shows a table in place of the curves; null: curves.
    void show_table(QAbstractItemModel* model);
    bool has_table() const { return table_ && table_->isVisibleTo(this); }

    /// Pixels across the curves.
    int columns() const;
    const std::vector<PlotSeries>& series() const { return scene_.series; }
    PlotSnapshot snapshot() const;
    /// The chart as it is, with a caption below.
    QImage picture(double scale, const QString& caption);
    /// Writes picture() and reads it back; false: nothing good is there, and why.
    bool export_to(const ExportSpec& spec, QString* why);

Q_SIGNALS:
    /// A hand zoomed or panned.
    void xRangeChanged(double first, double last);
    void yRangeChanged();
    /// Under the pointer; NaN: it has left.
    void cursorMoved(double x);
    void selected(double first, double last);
    /// A click. `series`: of the drawn point near the pointer, -1 without one; `step`: that point's, else of
    /// the drawn point nearest in X; -1 where nothing is drawn.
    void activated(int series, qint64 step);
    void markerActivated(const stillroom::ui::Marker& marker);
    void resetWanted();
    void linearWanted();
    void menuWanted(QPoint at);

protected:
    void changeEvent(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;

private:
    class Canvas; // Qt Charts' view
    friend class Canvas;

    void build(const QString& id, const QString& title);
    void place();   // area and axes
    void redraw();  // repaints the canvas
    void restyle(); // pens from the palette
    void update_caption();
    void update_unit();
    QString legend_text() const;
    void press(QMouseEvent* event);
    void move(QMouseEvent* event);
    void release(QMouseEvent* event);
    void leave();
    void turn(QWheelEvent* event);
    void click(QPointF at);
    const Marker* marker_at(QPointF at) const;
    QString tip_at(QPointF at) const;

    PlotScene scene_;
    YLimits limits_;
    bool y_frozen_ = false, current_ = false;
    Mode mode_ = Mode::Zoom;
    QString title_, unit_, remark_;
    std::optional<QPointF> pressed_;
    bool panning_ = false;
    XRange pan_from_;

    QLabel *title_label_, *unit_label_, *at_, *caption_;
    QToolButton *menu_, *linear_;
    PlotLegend* legend_;
    Canvas* canvas_;
    QStackedLayout* pages_;
    QTableView* table_ = nullptr;
};

} // namespace stillroom::ui
