// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plot/plot_widget.h"

#include "ui/plot/plot_legend.h"

#include <QChart>
#include <QChartView>
#include <QFile>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QHelpEvent>
#include <QLineSeries>
#include <QLogValueAxis>
#include <QMouseEvent>
#include <QToolTip>
#include <QVBoxLayout>
#include <QValueAxis>
#include <QWheelEvent>

namespace stillroom::ui {

/// The curves, and the scene painted around them. Axes are hidden: labels and grid are ours.
class PlotWidget::Canvas : public QChartView {
public:
    explicit Canvas(PlotWidget& plot) : plot_(plot) {
        auto* chart = new QChart;
        chart->setBackgroundVisible(false);
        chart->setPlotAreaBackgroundVisible(false);
        chart->setMargins({0, 0, 0, 0});
        chart->layout()->setContentsMargins(0, 0, 0, 0);
        chart->legend()->hide();
        chart->addAxis(&x_, Qt::AlignBottom);
        chart->addAxis(&y_, Qt::AlignLeft);
        x_.setVisible(false);
        y_.setVisible(false);
        log_y_.setVisible(false);
        log_y_.setBase(10);
        setChart(chart);
        setFrameShape(QFrame::NoFrame);
        setBackgroundBrush(Qt::NoBrush);
        setRenderHint(QPainter::Antialiasing);
        setFocusPolicy(Qt::NoFocus);
        setMouseTracking(true);
        setAttribute(Qt::WA_TranslucentBackground);
        viewport()->setAutoFillBackground(false);
        setMinimumHeight(60);
    }
    ~Canvas() override {
        for (auto& pool : pools_) {
            for (QLineSeries* curve : pool) chart()->removeSeries(curve), delete curve;
        }
        for (QAbstractAxis* axis : chart()->axes()) chart()->removeAxis(axis);
    }

    static constexpr size_t pool_size = 16; // segments a series drawn as curves; the painter draws more

    void set_series_count(size_t count) {
        while (pools_.size() > count) {
            for (QLineSeries* curve : pools_.back()) chart()->removeSeries(curve), delete curve;
            pools_.pop_back();
        }
        pools_.resize(count);
    }

    void replace(size_t series, const std::vector<Segment>& segments, const QPen& pen) {
        auto& pool = pools_[series];
        const size_t used = std::min(segments.size(), pool_size);
        while (pool.size() < used) {
            auto* curve = new QLineSeries;
            curve->setPen(pen);
            chart()->addSeries(curve);
            curve->attachAxis(&x_);
            curve->attachAxis(log_ ? static_cast<QAbstractAxis*>(&log_y_) : &y_);
            pool.push_back(curve);
        }
        for (size_t i = 0; i < pool.size(); ++i) {
            QList<QPointF> points;
            if (i < used) {
                points.reserve(qsizetype(segments[i].size()));
                for (const auto& point : segments[i]) points.append({point.x, point.y});
            }
            pool[i]->replace(points);
        }
    }

    void set_pen(size_t series, const QPen& pen) {
        for (QLineSeries* curve : pools_[series]) curve->setPen(pen);
    }

    void set_log(bool log) {
        if (log == log_) return;
        log_ = log;
        QAbstractAxis* before = log ? static_cast<QAbstractAxis*>(&y_) : &log_y_;
        QAbstractAxis* after = log ? static_cast<QAbstractAxis*>(&log_y_) : &y_;
        for (auto& pool : pools_) {
            for (QLineSeries* curve : pool) curve->replace(QList<QPointF>()), curve->detachAxis(before);
        }
        chart()->removeAxis(before);
        chart()->addAxis(after, Qt::AlignLeft);
        for (auto& pool : pools_) {
            for (QLineSeries* curve : pool) curve->attachAxis(after);
        }
    }

    void set_ranges(const PlotScene& scene) {
        x_.setRange(scene.x_first, scene.x_last);
        if (log_) {
            log_y_.setRange(scene.y_low, scene.y_high);
        } else {
            y_.setRange(scene.y_low, scene.y_high);
        }
        chart()->setPlotArea(scene.area);
    }

protected:
    void drawBackground(QPainter* painter, const QRectF&) override {
        paint_behind(*painter, plot_.scene_, palette(), small_font(plot_.font()));
    }
    void drawForeground(QPainter* painter, const QRectF&) override {
        paint_before(*painter, plot_.scene_, palette(), small_font(plot_.font()));
    }
    void resizeEvent(QResizeEvent* event) override {
        QChartView::resizeEvent(event);
        plot_.place();
    }
    void mousePressEvent(QMouseEvent* event) override { plot_.press(event); }
    void mouseMoveEvent(QMouseEvent* event) override { plot_.move(event); }
    void mouseReleaseEvent(QMouseEvent* event) override { plot_.release(event); }
    void mouseDoubleClickEvent(QMouseEvent* event) override {
        event->accept();
        Q_EMIT plot_.resetWanted();
    }
    void wheelEvent(QWheelEvent* event) override { plot_.turn(event); }
    void contextMenuEvent(QContextMenuEvent* event) override { event->ignore(); }
    void leaveEvent(QEvent*) override { plot_.leave(); }
    bool viewportEvent(QEvent* event) override {
        if (event->type() == QEvent::ToolTip) {
            const auto* help = static_cast<QHelpEvent*>(event);
            QToolTip::showText(help->globalPos(), plot_.tip_at(help->pos()), this);
            return true;
        }
        return QChartView::viewportEvent(event);
    }

private:
    PlotWidget& plot_;
    QValueAxis x_, y_;
    QLogValueAxis log_y_;
    bool log_ = false;
    std::vector<std::vector<QLineSeries*>> pools_;
};

PlotWidget::PlotWidget(const QString& id, const QString& title, const QString& unit, QWidget* parent)
    : QWidget(parent), title_(title), unit_(unit) {
    scene_.curves_elsewhere = Canvas::pool_size;
    setObjectName("chart." + id);
    setFocusPolicy(Qt::StrongFocus);
    setMinimumSize(380, 190);
    build(id, title);
    update_unit();
    place();
}

PlotWidget::~PlotWidget() = default;

void PlotWidget::build(const QString& id, const QString& title) {
    title_label_ = new QLabel(title);
    QFont bold = font();
    bold.setBold(true);
    title_label_->setFont(bold);
    unit_label_ = new QLabel;
    unit_label_->setForegroundRole(QPalette::PlaceholderText);
    at_ = new QLabel;
    at_->setObjectName("chart." + id + ".at");
    at_->setForegroundRole(QPalette::PlaceholderText);
    at_->setFont(small_font(font()));
    at_->setToolTip("The step whose values the legend shows");
    menu_ = new QToolButton;
    menu_->setObjectName("btn." + id + ".menu");
    menu_->setAccessibleName(title + ": menu");
    menu_->setText("⋮");
    menu_->setAutoRaise(true);
    menu_->setFocusPolicy(Qt::NoFocus);
    menu_->setFixedSize(22, 18);
    connect(menu_, &QToolButton::clicked, this,
            [this] { Q_EMIT menuWanted(menu_->mapToGlobal(QPoint(0, menu_->height()))); });
    linear_ = new QToolButton;
    linear_->setObjectName("btn." + id + ".linear");
    linear_->setAccessibleName(title + ": linear axis");
    linear_->setText("Use a linear axis");
    linear_->setFocusPolicy(Qt::NoFocus);
    linear_->hide();
    connect(linear_, &QToolButton::clicked, this, &PlotWidget::linearWanted);
    canvas_ = new Canvas(*this);
    canvas_->setObjectName("chart." + id + ".canvas");
    legend_ = new PlotLegend;
    legend_->setObjectName("chart." + id + ".legend");
    legend_->setAccessibleName(title + ": legend");
    legend_->setFont(small_font(font()));
    caption_ = new QLabel;
    caption_->setObjectName("chart." + id + ".caption");
    caption_->setFont(small_font(font()));
    caption_->setForegroundRole(QPalette::PlaceholderText);
    caption_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    caption_->setWordWrap(true);

    auto* header = new QHBoxLayout;
    header->setContentsMargins(8, 0, 0, 0);
    header->setSpacing(8);
    header->addWidget(title_label_);
    header->addWidget(unit_label_, 1);
    header->addWidget(linear_);
    header->addWidget(at_);
    header->addWidget(menu_);
    auto* foot = new QVBoxLayout;
    foot->setContentsMargins(8, 0, 8, 0);
    foot->setSpacing(0);
    foot->addWidget(legend_);
    foot->addWidget(caption_);
    pages_ = new QStackedLayout;
    pages_->addWidget(canvas_);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(2, 3, 2, 3);
    layout->setSpacing(1);
    layout->addLayout(header);
    layout->addLayout(pages_, 1);
    layout->addLayout(foot);
}

SeriesId PlotWidget::add_series(const SeriesStyle& style) {
    scene_.series.push_back({style, {}, {}, {}, 0});
    canvas_->set_series_count(scene_.series.size());
    legend_->show_series(scene_.series);
    return SeriesId(scene_.series.size()) - 1;
}

void PlotWidget::clear_series() {
    scene_.series.clear();
    canvas_->set_series_count(0);
    place();
}

void PlotWidget::set_data(SeriesId series, DrawnData data) {
    PlotSeries& one = scene_.series[size_t(series)];
    one.data = std::move(data);
    ++one.replaced;
    canvas_->replace(size_t(series), one.data.segments, pen_of(one.style, palette()));
    place();
}

void PlotWidget::place() {
    if (!y_frozen_) scene_.fit_y(limits_);
    scene_.area = plot_area(canvas_->size(), scene_, small_font(font()));
    canvas_->set_ranges(scene_);
    legend_->show_levels(scene_.level_names());
    update_caption();
    redraw();
}

void PlotWidget::redraw() { canvas_->viewport()->update(); }

void PlotWidget::set_log(bool log) {
    if (log == scene_.log) return;
    scene_.log = log;
    y_frozen_ = false;
    update_unit();
    for (auto& one : scene_.series) one.data.segments.clear(); // they were made for the other axis
    canvas_->set_log(log);
    place();
}

void PlotWidget::update_unit() {
    QStringList parts;
    if (!unit_.isEmpty()) parts.push_back(unit_);
    if (scene_.log) parts.push_back("log scale");
    unit_label_->setText(parts.join(", "));
    setAccessibleName((QStringList(title_) + parts).join(", "));
}

void PlotWidget::restyle() {
    for (size_t i = 0; i < scene_.series.size(); ++i)
        canvas_->set_pen(i, pen_of(scene_.series[i].style, palette()));
    redraw();
}

int PlotWidget::columns() const { return std::max(10, int(scene_.area.width())); }

void PlotWidget::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::StyleChange) restyle();
}

void PlotWidget::show_table(QAbstractItemModel* model) {
    if (!model) {
        if (table_) pages_->setCurrentWidget(canvas_), table_->setModel(nullptr);
        return;
    }
    if (!table_) {
        table_ = new QTableView;
        table_->setObjectName("table." + objectName());
        table_->setAccessibleName(title_ + ": table");
        table_->setFont(small_font(font()));
        table_->verticalHeader()->hide();
        table_->verticalHeader()->setDefaultSectionSize(QFontMetrics(table_->font()).height() + 4);
        table_->setAlternatingRowColors(true);
        table_->setFrameShape(QFrame::NoFrame);
        pages_->addWidget(table_);
    }
    if (table_->model() != model) {
        table_->setModel(model);
        table_->resizeColumnsToContents();
        table_->scrollToBottom();
    }
    pages_->setCurrentWidget(table_);
}

QImage PlotWidget::picture(double scale, const QString& caption) {
    const QFont small = small_font(font());
    const QRect text_place(8, height() + 2, width() - 16, 400);
    const int text_height =
        caption.isEmpty()
            ? 0
            : QFontMetrics(small).boundingRect(text_place, Qt::TextWordWrap, caption).height() + 8;
    QImage image((QSizeF(width(), height() + text_height) * scale).toSize(),
                 QImage::Format_ARGB32_Premultiplied);
    image.setDevicePixelRatio(scale);
    image.fill(palette().color(QPalette::Base));
    const bool framed = std::exchange(current_, false);
    const auto cursor = std::exchange(scene_.cursor, std::nullopt);
    menu_->hide();
    QPainter painter(&image);
    render(&painter, QPoint(), QRegion(), QWidget::DrawChildren);
    painter.setFont(small);
    painter.setPen(palette().color(QPalette::Text));
    painter.drawText(text_place, Qt::TextWordWrap, caption);
    menu_->show();
    current_ = framed;
    scene_.cursor = cursor;
    return image;
}

bool PlotWidget::export_to(const ExportSpec& spec, QString* why) {
    const bool written = picture(spec.scale, spec.caption).save(spec.file, "PNG");
    if (written && !QImage(spec.file).isNull()) return true;
    *why = spec.file + ": " + (written ? "holds no picture after writing" : "can't be written");
    return false;
}

} // namespace stillroom::ui
