// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/run/run_view.h"

#include "ui/run/chart_bar.h"
#include "ui/run/chart_grid.h"

#include <QVBoxLayout>

namespace stillroom::ui {

namespace {

constexpr int tick_interval = 17, redraw_interval = 50; // milliseconds

const std::map<std::string, std::string> no_settings;

} // namespace

RunView::RunView(ViewContext context, QWidget* parent) : View(context, parent) {
    setObjectName("view.run");
    setAccessibleName("Charts of the run");
    timer_.setInterval(tick_interval);
    timer_.setTimerType(Qt::PreciseTimer);
    connect(&timer_, &QTimer::timeout, this, &RunView::tick);
    build();
    connect(&cursor(), &StepCursor::stepChanged, this, &RunView::show_cursor);
    connect(&cursor(), &StepCursor::selectionChanged, this, &RunView::show_selection);
    connect_actions();
    set_current(0);
    update_actions();
}

RunView::~RunView() = default;

void RunView::build() {
    bar_ = new ChartBar;
    grid_ = new ChartGrid;
    for (const ChartDefinition& definition : chart_catalogue()) {
        auto* plot = new PlotWidget(QString::fromStdString(definition.id), definition.title, definition.unit);
        plot->setToolTip(definition.about);
        plot->set_y_limits({definition.from_zero, definition.at_most});
        plot->set_log(definition.log);
        plot->installEventFilter(this);
        panes_.push_back(
            std::make_unique<Pane>(Pane{plot, ChartModel(definition), definition.log, true, nullptr, {}}));
        connect_plot(*panes_.back(), panes_.size() - 1);
        grid_->add(plot);
    }
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(bar_);
    layout->addWidget(grid_, 1);
    connect(grid_, &ChartGrid::arranged, this, &RunView::mark_dirty);
}

PlotWidget* RunView::chart(const QString& id) const {
    for (const auto& pane : panes_) {
        if (QString::fromStdString(pane->model.definition().id) == id) return pane->plot;
    }
    return nullptr;
}

void RunView::show_run(RunSource* source) {
    if (run()) run()->disconnect(this);
    View::show_run(source);
    zoom_.reset();
    history_.clear();
    probe_.reset();
    anchor_.reset();
    for (auto& pane : panes_) {
        set_table(*pane, false);
        pane->model = ChartModel(pane->model.definition());
        pane->plot->clear_series();
        pane->plot->set_levels({});
        pane->plot->set_y_auto();
    }
    if (source) {
        connect(source, &RunSource::seriesChanged, this, [this] {
            follow();
            mark_dirty();
        });
        connect(source, &RunSource::listsChanged, this, &RunView::update_lists);
        connect(source, &RunSource::settingsChanged, this, &RunView::mark_dirty);
        connect(source, &RunSource::statusChanged, this, &RunView::update_actions);
    }
    bar_->set_zoomed(false);
    update_lists();
    update_actions();
}

void RunView::showEvent(QShowEvent* event) {
    View::showEvent(event);
    timer_.start();
}

void RunView::hideEvent(QHideEvent* event) {
    View::hideEvent(event);
    timer_.stop();
}

void RunView::mark_dirty() {
    for (auto& pane : panes_) pane->dirty = true;
    if (isVisible() && !timer_.isActive()) timer_.start();
}

bool RunView::in_view(const Pane& pane) const {
    return pane.plot->isVisible() && !window()->isMinimized() && !pane.plot->visibleRegion().isEmpty();
}

/// One chart a turn: what is replaced is painted before the next turn, and painting costs more than
/// replacing.
void RunView::tick() {
    bool more = false;
    for (size_t i = 0; i < panes_.size(); ++i) {
        Pane& pane = *panes_[(next_ + i) % panes_.size()];
        if (!pane.dirty || !in_view(pane)) continue;
        more = true;
        if (pane.drawn.isValid() && pane.drawn.elapsed() < redraw_interval) continue;
        next_ = (next_ + i + 1) % panes_.size();
        pane.drawn.start();
        return refresh(pane);
    }
    if (!more) timer_.stop();
}

XRange RunView::whole_range() const {
    if (!run() || run()->series().last_step() <= 0) return {0, 10};
    const double last = run()->series().x_of(run()->series().last_step(), options_.window.axis);
    return {-0.01 * last, last * 1.02};
}

void RunView::refresh(Pane& pane) {
    static const SeriesStore nothing;
    static const std::vector<record::EvaluationSummary> no_evaluations;
    const SeriesStore& store = run() ? run()->series() : nothing;
    const auto& settings = run() ? run()->settings() : no_settings;
    PlotWidget& plot = *pane.plot;
    const XRange range = shown_range();
    plot.set_x_range(range.first, range.second, options_.window.axis);
    ChartOptions options = options_;
    options.window.first = range.first;
    options.window.last = range.second;
    options.window.columns = plot.columns();
    options.window.log = pane.log;
    pane.dirty = !pane.model.prepare(store, settings, run() ? run()->evaluations() : no_evaluations, options);
    const auto& styles = pane.model.styles();
    const auto& shown = plot.series();
    const bool same = styles.size() == shown.size() && std::equal(styles.begin(), styles.end(), shown.begin(),
                                                                  [](const auto& style, const auto& one) {
                                                                      return style.name == one.style.name;
                                                                  });
    if (!same) {
        plot.clear_series();
        for (const auto& style : styles) plot.add_series(style);
    }
    auto drawn = pane.model.draw(store, options);
    plot.set_message(message_of(pane, drawn));
    plot.set_levels(pane.model.levels(store, settings));
    for (size_t i = 0; i < drawn.size(); ++i) {
        plot.set_error_bars(SeriesId(i), std::move(drawn[i].bars));
        plot.set_data(SeriesId(i), std::move(drawn[i].data));
    }
    plot.set_markers(markers_);
    plot.set_bands(bands_);
    plot.set_remark(remark_of(pane));
    update_values(pane);
    if (pane.table) pane.table->refresh(options_.window.axis);
}

QString RunView::message_of(const Pane& pane, const std::vector<DrawnLine>& drawn) const {
    if (!run()) return {};
    int64_t points = 0, total = 0, not_positive = 0, recorded = 0;
    for (size_t i = 0; i < drawn.size(); ++i) {
        for (const auto& segment : drawn[i].data.segments) points += int64_t(segment.size());
        total += drawn[i].data.total;
        not_positive += drawn[i].data.not_positive_count;
        recorded += pane.model.points(i) != nullptr;
    }
    if (points > 0) return {};
    if (run()->series().last_step() <= 0 && recorded == 0) return "No steps yet.";
    if (pane.model.definition().evaluations && recorded == 0) {
        const auto data = run()->settings().find("evaluation.data");
        return data != run()->settings().end() && data->second.empty() ? "This run has no evaluation data."
                                                                       : "No evaluation yet.";
    }
    if (recorded == 0) return "Not recorded by this run.";
    if (not_positive > 0 && not_positive == total) return "Nothing positive to draw on a log axis.";
    return total > 0 ? "No value here can be drawn." : "Nothing was recorded in this range.";
}

QString RunView::remark_of(const Pane& pane) const {
    const auto& definition = pane.model.definition();
    if (definition.id == "answers") return "not part of the loss";
    if (definition.evaluations)
        return pane.model.styles().empty() ? QString() : "± 1 SE by question; protocols not joined";
    if (options_.half_life == 0) return {};
    return QString(pane.log ? "half-life %1 steps, of logs" : "half-life %1 steps").arg(options_.half_life);
}

void RunView::update_values(Pane& pane) {
    const int64_t last = run() ? run()->series().last_step() : -1;
    const int64_t step = probe_ ? *probe_ : cursor().step().value_or(last);
    QStringList values;
    for (size_t i = 0; i < pane.model.styles().size(); ++i) values.push_back(pane.model.value_text(i, step));
    pane.plot->set_values(values, step < 0 || values.isEmpty() ? QString() : QString("@%1").arg(step));
}

void RunView::update_lists() {
    markers_.clear();
    bands_.clear();
    options_.breaks = {};
    if (run()) {
        const RunLists lists{run()->checkpoints(), run()->evaluations(), run()->alarms(), run()->events()};
        markers_ = markers_of(lists, run()->series(), options_.window.axis, bar_->markers());
        bands_ = bands_of(lists, run()->series(), options_.window.axis);
        options_.breaks = breaks_of(run()->events());
    }
    show_cursor();
    show_selection();
    mark_dirty();
}

} // namespace stillroom::ui
