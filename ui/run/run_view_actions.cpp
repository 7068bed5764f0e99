// SPDX-License-Identifier: GPL-3.0-or-later
// What menus, the bar and letters change in the charts, and what leaves the view: copies and files.
#include "ui/run/chart_bar.h"
#include "ui/run/chart_export.h"
#include "ui/run/chart_grid.h"
#include "ui/run/run_view.h"
#include "ui/window/ask.h"

#include <QApplication>
#include <QClipboard>
#include <QDateTime>
#include <QDir>
#include <QMenu>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

namespace stillroom::ui {

namespace {

struct AxisAction {
    XAxis axis;
    const char* name;
};
constexpr AxisAction axis_actions[]{{XAxis::Step, "act.chart.xStep"},
                                    {XAxis::WallTime, "act.chart.xWall"},
                                    {XAxis::ActiveTime, "act.chart.xActive"},
                                    {XAxis::Tokens, "act.chart.xTokens"}};

} // namespace

void RunView::connect_actions() {
    const auto on = [&](const char* name, auto act) {
        connect(&actions()[name], &QAction::triggered, this, act);
    };
    for (const auto& [axis, name] : axis_actions) on(name, [this, axis = axis] { set_axis(axis); });
    on("act.chart.nextX", [this] { set_axis(XAxis((int(options_.window.axis) + 1) % 4)); });
    on("act.chart.logY", [this] { set_log(current_pane(), !current_pane().log); });
    on("act.chart.logAll", [this](bool on) {
        for (auto& pane : panes_) set_log(*pane, on || pane->model.definition().log);
    });
    on("act.chart.smooth", [this] { set_half_life(options_.half_life == 0 ? last_half_life_ : 0); });
    on("act.chart.raw", [this](bool on) { set_raw(on); });
    on("act.chart.table", [this] { set_table(current_pane(), !current_pane().table); });
    on("act.chart.follow", [this](bool on) {
        if (on) cursor().set_step(std::nullopt);
        follow();
    });
    on("act.chart.resetAll", [this] { zoom(0); });
    on("act.chart.modeZoom", [this] { set_selecting(false); });
    on("act.chart.modeSelect", [this] { set_selecting(true); });
    on("act.chart.toggleMode", [this] { set_selecting(!actions()["act.chart.modeSelect"].isChecked()); });
    on("act.chart.showRollouts", [this] { want_rollouts(); });
    on("act.exp.charts", [this] { show_export(); });
    on("act.exp.chartImage", [this] { copy_image(); });
    on("act.exp.metrics", [this] { export_values(); });

    connect(bar_, &ChartBar::axisWanted, this, &RunView::set_axis);
    connect(bar_, &ChartBar::halfLifeWanted, this, &RunView::set_half_life);
    connect(bar_, &ChartBar::rawWanted, this, &RunView::set_raw);
    connect(bar_, &ChartBar::selectingWanted, this, &RunView::set_selecting);
    connect(bar_, &ChartBar::markersChanged, this, &RunView::update_lists);
    connect(bar_, &ChartBar::rolloutsWanted, this, &RunView::want_rollouts);
    connect(bar_, &ChartBar::selectionCleared, this, [this] { cursor().select(std::nullopt); });
    connect(bar_, &ChartBar::zoomResetWanted, this, [this] { zoom(0); });
    actions()["act.chart.xStep"].setChecked(true);
    actions()["act.chart.raw"].setChecked(true);
    actions()["act.chart.follow"].setChecked(true);
    actions()["act.chart.modeZoom"].setChecked(true);
}

void RunView::update_actions() {
    const QString no_run = run() ? QString() : "no run is open";
    for (const char* name : {"act.chart.logY", "act.chart.logAll", "act.chart.table", "act.chart.follow"})
        actions().allow(name, no_run);
    const bool zoomed = zoom_ || std::any_of(panes_.begin(), panes_.end(),
                                             [](const auto& pane) { return pane->plot->is_y_frozen(); });
    bar_->set_zoomed(zoomed);
    actions().allow("act.chart.resetAll", zoomed ? QString() : "the whole run is shown");
    actions().allow("act.chart.showRollouts", !run() ? no_run
                                              : cursor().selection() || cursor().step()
                                                  ? QString()
                                                  : "no step is selected");
    actions()["act.chart.logY"].setText(current_pane().log ? "&Linear Y" : "&Logarithmic Y");
    actions()["act.chart.table"].setText(current_pane().table ? "Show as &Curves" : "Show as &Table");
}

void RunView::set_axis(XAxis axis) {
    if (axis == options_.window.axis) return;
    options_.window.axis = axis;
    zoom_.reset(); // its ends are places on the other axis
    history_.clear();
    bar_->set_axis(axis);
    actions()[axis_actions[int(axis)].name].setChecked(true);
    update_lists();
}

void RunView::set_half_life(int steps) {
    options_.half_life = steps;
    if (steps > 0) last_half_life_ = steps;
    bar_->set_half_life(steps);
    mark_dirty();
}

void RunView::set_raw(bool raw) {
    options_.raw = raw;
    bar_->set_raw(raw);
    actions()["act.chart.raw"].setChecked(raw);
    mark_dirty();
}

void RunView::set_selecting(bool selecting) {
    bar_->set_selecting(selecting);
    actions()[selecting ? "act.chart.modeSelect" : "act.chart.modeZoom"].setChecked(true);
    for (auto& pane : panes_)
        pane->plot->set_mode(selecting ? PlotWidget::Mode::Select : PlotWidget::Mode::Zoom);
}

void RunView::set_log(Pane& pane, bool log) {
    pane.log = log;
    pane.plot->set_log(log);
    mark_dirty();
    update_actions();
}

void RunView::set_table(Pane& pane, bool table) {
    if (table == (pane.table != nullptr)) return;
    if (table && run()) {
        pane.table = std::make_unique<ChartTableModel>(pane.model, run()->series());
        pane.table->refresh(options_.window.axis);
    }
    pane.plot->show_table(table ? pane.table.get() : nullptr);
    if (!table) pane.table.reset();
    update_actions();
}

void RunView::show_menu(size_t index, QPoint at) {
    set_current(index); // the focus alone would not do in a window that isn't active
    panes_[index]->plot->setFocus(Qt::OtherFocusReason);
    auto* menu = new QMenu(this);
    menu->setObjectName("menu.chart.this");
    menu->setAttribute(Qt::WA_DeleteOnClose);
    for (const char* name :
         {"act.chart.logY", "act.chart.table", "act.chart.resetAll", "act.exp.chartImage", "act.exp.charts"})
        menu->addAction(&actions()[name]);
    menu->popup(at);
}

QString RunView::caption_of(const Pane& pane) const {
    const auto shown = pane.plot->snapshot();
    QStringList formulas;
    for (const auto& style : pane.model.styles()) formulas.push_back(style.name + ": " + style.what);
    return QString("%1 · %2 · %3 · X: %4, %5 to %6 · %7 · %8")
        .arg(QString::fromStdString(run()->folder().filename().string()),
             shown.title + (shown.unit.isEmpty() ? "" : " (" + shown.unit + ")"), formulas.join("; "),
             to_string(options_.window.axis), short_number(shown.x_first), short_number(shown.x_last),
             shown.caption, QDateTime::currentDateTime().toString("yyyy-MM-dd hh:mm"));
}

void RunView::copy_image() {
    if (!run()) return;
    const Pane& pane = current_pane();
    QApplication::clipboard()->setImage(pane.plot->picture(2, caption_of(pane)));
    Q_EMIT said("The picture of " + pane.model.definition().title + " was copied.", false);
}

void RunView::copy(bool as_json) {
    if (!run()) return;
    const Pane& pane = current_pane();
    std::set<int64_t> steps; // those whose points are drawn
    int64_t drawn = 0, total = 0;
    for (const auto& series : pane.plot->series()) {
        drawn += series.data.drawn;
        total += series.data.total;
        for (const auto& segment : series.data.segments)
            for (const auto& point : segment) steps.insert(point.step);
    }
    const auto& styles = pane.model.styles();
    auto rows = nlohmann::ordered_json::array();
    QStringList names{"step"};
    for (const auto& style : styles) names.push_back(style.name);
    QString table = names.join('\t') + '\n';
    for (const int64_t step : steps) {
        nlohmann::ordered_json row{{"step", step}};
        QStringList cells{QString::number(step)};
        for (size_t line = 0; line < styles.size(); ++line) {
            auto value = pane.model.recorded_at(line, step);
            if (value && record::is_undefined(*value)) value.reset();
            if (value) row[styles[line].name.toStdString()] = *value;
            cells.push_back(value ? QString::number(*value, 'g', QLocale::FloatingPointShortest) : QString());
        }
        table += cells.join('\t') + '\n';
        rows.push_back(std::move(row));
    }
    QApplication::clipboard()->setText(as_json ? QString::fromStdString(rows.dump(1)) : table);
    Q_EMIT said(QString("%1 rows of %2 were copied: drawn %3 of %4 points. Export > Charts writes all.")
                    .arg(rows.size())
                    .arg(pane.model.definition().title, count_text(drawn), count_text(total)),
                false);
}

std::vector<std::string> RunView::tags_of(const Pane& pane) const {
    std::vector<std::string> tags;
    if (pane.model.definition().evaluations) return tags; // kept as evaluations, not as metrics of steps
    for (size_t line = 0; line < pane.model.styles().size(); ++line)
        if (pane.model.points(line)) tags.push_back(pane.model.tag(line));
    return tags;
}

void RunView::show_export() {
    if (!run()) return;
    const Pane& pane = current_pane();
    const QString file =
        QString::fromStdString(run()->folder().filename().string() + "-" + pane.model.definition().id);
    ask_chart_export(*this, pane.model.definition().title, file, options_.half_life,
                     [this, &pane](const ChartExport& choice) {
                         if (!run()) return;
                         if (choice.format == ChartExport::Format::Png) return export_pictures(pane, choice);
                         CsvRequest request;
                         for (const auto& each : panes_) {
                             if (!choice.all && each.get() != &pane) continue;
                             for (auto& tag : tags_of(*each)) request.tags.push_back(std::move(tag));
                         }
                         if (request.tags.empty())
                             return said("This chart has no values of steps to export.", true);
                         request.half_life = choice.smoothed ? options_.half_life : 0;
                         request.breaks = options_.breaks;
                         write_values(std::move(request), choice.path);
                     });
}

void RunView::export_pictures(const Pane& pane, const ChartExport& choice) {
    int written = 0;
    QString why;
    for (auto& each : panes_) {
        if (!choice.all && each.get() != &pane) continue;
        if (!in_view(*each)) refresh(*each);
        const QString file =
            choice.all ? QDir(choice.path)
                             .filePath(QString::fromStdString(run()->folder().filename().string() + "-" +
                                                              each->model.definition().id + ".png"))
                       : choice.path;
        if (!each->plot->export_to({file, double(choice.scale), caption_of(*each)}, &why))
            return said(QString("%1 of the pictures were written. %2").arg(written).arg(why), true);
        ++written;
    }
    Q_EMIT said(written == 1
                    ? "Written and read back: " + choice.path
                    : QString("%1 pictures written and read back in %2").arg(written).arg(choice.path),
                false);
}

void RunView::export_values() {
    if (!run()) return;
    const QString name = QString::fromStdString(run()->folder().filename().string()) + "-metrics.csv";
    ask_path(*this, {"dlg.exportMetrics", "Export metrics", Pick::NewFile, "csv", name},
             [this](const QString& file) { write_values({}, file); });
}

void RunView::write_values(CsvRequest request, const QString& file) {
    if (!run()) return;
    run()->reader().ask(
        this,
        [request = std::move(request), file](record::RunReader& reader) {
            return write_metrics_csv(reader, request, file.toStdString());
        },
        [this, file](const Result<int64_t>& rows) {
            if (!rows) return said(QString::fromStdString(rows.error().message()), true);
            Q_EMIT said(QString("%1 steps written to %2").arg(count_text(*rows), file), false);
        });
}

} // namespace stillroom::ui
