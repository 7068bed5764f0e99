// SPDX-License-Identifier: GPL-3.0-or-later
// The charts in the window, driven by keys and mouse, on recorded runs whose every number the test knows.
#include "base/files.h"
#include "record/store.h"
#include "tests/ui/window_fixture.h"
#include "ui/plot/plot_widget.h"
#include "ui/run/chart_grid.h"
#include "ui/run/run_view.h"

#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QContextMenuEvent>
#include <QElapsedTimer>
#include <QFileDialog>
#include <QImageReader>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QMenu>
#include <QPushButton>
#include <QSlider>
#include <QTableView>
#include <QWheelEvent>
#include <cmath>
#include <limits>

using namespace stillroom;
using namespace stillroom::ui;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

record::StepRecord step_record(int64_t i) {
    record::StepRecord step;
    step.step = i;
    step.wall_seconds = 3.0 * double(i);
    step.active_seconds = 2.0 * double(i);
    step.tokens_trained = 1000 * i;
    step.metrics = {{"kl_reverse_exact", 1.0 / double(i)},
                    {"kl_reverse_k1", 1.1 / double(i)},
                    {"loss", 2.0 / double(i)},
                    {"entropy_student", 0.5 + 0.25 * std::sin(double(i))},
                    {"entropy_teacher", 0.4},
                    {"overlap_top16", 0.8},
                    {"truncated_fraction", 0.25},
                    {"lr", 1e-4},
                    {"response_length_mean", 20.0},
                    {"undecided_fraction", 0.0},
                    {"time_rollout", 1.0},
                    {"time_learn", 1.5}};
    if (i == 7) step.metrics["entropy_teacher"] = record::Undefined;
    if (i % 2 == 0) step.metrics["every_other_step"] = double(i) / 7;
    step.metrics["grad_norm"] = i % 10 == 0 ? 0.0 : i % 10 == 5 ? not_a_number : double(i);
    return step;
}

/// 60 steps with two rollouts each, an evaluation at 0 and 30, a checkpoint at 30 and 40, an alarm at 10
/// to 12.
void write_charted_run(const std::filesystem::path& folder, int64_t steps = 60) {
    std::filesystem::create_directories(folder);
    record::RunDescription description;
    description.name = folder.filename().string();
    description.steps_planned = steps;
    description.settings = {{"objective.name", "kl_reverse"},   {"objective.clamp.kind", "none"},
                            {"objective.ratio", "none"},        {"optimizer.lr", "1e-4"},
                            {"optimizer.schedule", "constant"}, {"run.steps", std::to_string(steps)},
                            {"rollout.max_new", "64"}};
    auto store = record::RunStore::create(folder, description).value();
    std::vector<record::Record> records;
    for (int64_t i = 1; i <= steps; ++i) {
        records.emplace_back(step_record(i));
        for (int64_t sample = 0; sample < 2; ++sample) {
            record::RolloutRecord rollout;
            rollout.step = i;
            rollout.prompt = i;
            rollout.prompt_id = std::to_string(i);
            rollout.sample = sample;
            rollout.text = "12";
            rollout.tokens.ids = {1, 2};
            records.emplace_back(rollout);
        }
    }
    for (const int64_t step : {0, 30}) {
        if (step > steps) continue;
        record::EvaluationRecord evaluation;
        evaluation.step = step;
        evaluation.tag = "proxy";
        evaluation.protocol_hash = "abc";
        evaluation.metrics = {{"eval_avg_at_n", 0.4 + double(step) / 100}, {"se_clustered", 0.03}};
        records.emplace_back(evaluation);
    }
    for (const int64_t step : {30, 40}) {
        if (step > steps) continue;
        record::CheckpointRecord checkpoint;
        checkpoint.step = step;
        checkpoint.folder = "checkpoints/step-0000" + std::to_string(step);
        records.emplace_back(checkpoint);
    }
    records.emplace_back(record::AlarmRecord{"Truncation", "warning", 10, 12, 3, "31 % of rollouts", true});
    records.emplace_back(record::StateRecord{record::RunState::Finished, steps, "after the last step"});
    store.append(records).value();
}

struct ChartsWindow : WindowFixture {
    MainWindow* main = nullptr;
    RunView* view = nullptr;

    explicit ChartsWindow(QSize size = {1920, 1600}) {
        write_charted_run(path_of(run("charted")));
        main = &open();
        main->resize(size);
        main->open_run(run("charted"));
        view = find<RunView>(*main, "view.run");
        const auto filled = [&] {
            const auto plots = view->findChildren<PlotWidget*>();
            return total("kl") == 60 && std::all_of(plots.begin(), plots.end(), [](const auto* plot) {
                       return plot->visibleRegion().isEmpty() || plot->snapshot().x_last > 60;
                   });
        };
        if (!QTest::qWaitFor(filled)) qFatal("the charts were not filled");
        view->setFocus();
        key(Qt::Key_Escape);
    }
    PlotWidget& chart(const char* id) { return *view->chart(id); }
    PlotSnapshot shot(const char* id) { return chart(id).snapshot(); }
    int64_t total(const char* id, size_t line = 0) {
        const auto shown = shot(id);
        return shown.series.size() <= line ? -1 : shown.series[line].data.total;
    }
    void key(int key, Qt::KeyboardModifiers modifiers = {}) {
        QTest::keyClick(&chart_in_focus(), Qt::Key(key), modifiers);
    }
    QWidget& chart_in_focus() { return *view->current_chart(); }
    QWidget& canvas(const char* id) {
        auto* found = chart(id).findChild<QAbstractScrollArea*>(QString("chart.") + id + ".canvas");
        if (!found) qFatal("no canvas");
        return *found->viewport();
    }
    /// The pixel of a place on the X axis, half-way up.
    QPoint pixel(const char* id, double x, double up = 0.5) {
        const auto shown = shot(id);
        return QPointF(shown.area.left() +
                           (x - shown.x_first) / (shown.x_last - shown.x_first) * shown.area.width(),
                       shown.area.bottom() - up * shown.area.height())
            .toPoint();
    }
    void drag(const char* id, double from, double to, Qt::KeyboardModifiers modifiers = {}) {
        QWidget& target = canvas(id);
        const QPoint a = pixel(id, from), b = pixel(id, to);
        QTest::mousePress(&target, Qt::LeftButton, modifiers, a);
        for (int i = 1; i <= 4; ++i) {
            const QPointF at = QPointF(a) + (QPointF(b - a) * i / 4);
            QMouseEvent move(QEvent::MouseMove, at, target.mapToGlobal(at), Qt::NoButton, Qt::LeftButton,
                             modifiers);
            QApplication::sendEvent(&target, &move);
        }
        QTest::mouseRelease(&target, Qt::LeftButton, modifiers, b);
    }
    void wheel(const char* id, double x, int turns, Qt::KeyboardModifiers modifiers = {}) {
        QWidget& target = canvas(id);
        const QPointF at = pixel(id, x);
        QWheelEvent event(at, target.mapToGlobal(at), {}, {0, 120 * turns}, Qt::NoButton, modifiers,
                          Qt::NoScrollPhase, false);
        QApplication::sendEvent(&target, &event);
    }
    XRange range(const char* id) { return {shot(id).x_first, shot(id).x_last}; }
    int replaced(const char* id) {
        int count = 0;
        for (const auto& series : shot(id).series) count = std::max(count, series.replaced);
        return count;
    }
    /// Records a thousand steps a second, as they become due, and has the window read them each time.
    void stream(int64_t from, int64_t to) {
        auto store = record::RunStore::open(path_of(run("charted"))).value();
        QElapsedTimer timer;
        timer.start();
        for (int64_t next = from; next <= to;) {
            const int64_t due = std::min(to, from + int64_t(timer.elapsed()));
            std::vector<record::Record> records;
            while (next <= due) records.emplace_back(step_record(next++));
            if (!records.empty()) {
                store.append(records).value();
                main->run()->refresh();
            }
            QCoreApplication::processEvents();
        }
        if (!QTest::qWaitFor([&] { return main->run()->series().last_step() == to; }))
            qFatal("what was recorded was not read");
    }
    bool settles(const std::function<bool()>& condition) { return QTest::qWaitFor(condition, 5000); }
};

} // namespace

class ChartsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void all_twelve_are_there_and_draw_what_was_recorded() {
        ChartsWindow w;
        for (const char* id : {"kl", "entropy", "overlap", "clip", "proxy", "length", "grad", "lr", "speed",
                               "memory", "time", "answers"})
            QVERIFY2(w.view->chart(id), id);
        const auto kl = w.shot("kl");
        QCOMPARE(kl.series[0].data.segments.size(), size_t(1));
        const auto& points = kl.series[0].data.segments[0];
        QCOMPARE(points.size(), size_t(60));
        for (const auto& point : points) QCOMPARE(point.y, 1.0 / double(point.step));
        QVERIFY(kl.caption.contains("drawn 60 of 60"));
        QCOMPARE(w.shot("speed").message, QString("Not recorded by this run."));
        QVERIFY(w.shot("clip").legend.contains("entry not used"));
        // Stacked phases stand on each other.
        const auto time = w.shot("time");
        QCOMPARE(time.series[0].data.segments[0][0].y, 1.0);
        QCOMPARE(time.series[1].data.segments[0][0].y, 2.5);
        // The proxy's points carry one standard error up and down.
        QVERIFY(w.settles([&] { return w.total("proxy") == 2; }));
        const auto proxy = w.shot("proxy");
        QVERIFY(std::abs(proxy.series[0].bars[1].low - 0.67) < 1e-12 &&
                std::abs(proxy.series[0].bars[1].high - 0.73) < 1e-12);
    }

    void zeros_and_nan_on_a_log_axis_are_counted_in_rails_and_the_rest_is_drawn() {
        ChartsWindow w;
        const auto grad = w.shot("grad");
        QVERIFY(grad.log);
        QCOMPARE(grad.series[0].data.not_positive_count, int64_t(6));
        QCOMPARE(grad.series[0].data.not_finite_count, int64_t(6));
        QCOMPARE(grad.series[0].data.not_positive, (std::vector<double>{10, 20, 30, 40, 50, 60}));
        QCOMPARE(grad.series[0].data.not_finite, (std::vector<double>{5, 15, 25, 35, 45, 55}));
        size_t drawn = 0;
        for (const auto& segment : grad.series[0].data.segments) {
            for (const auto& point : segment) QCOMPARE(point.y, double(point.step));
            drawn += segment.size();
        }
        QCOMPARE(drawn, size_t(48));
        w.chart("grad").setFocus();
        w.key(Qt::Key_Y); // linear: zeros are points again, NaN stays a mark
        QVERIFY(w.settles([&] { return w.shot("grad").series[0].data.drawn == 54; }));
        QCOMPARE(w.shot("grad").series[0].data.not_positive_count, int64_t(0));
        QCOMPARE(w.shot("grad").series[0].data.not_finite_count, int64_t(6));
        QCOMPARE(w.shot("grad").unit, QString());
        w.key(Qt::Key_Y);
        QCOMPARE(w.shot("grad").unit, QString("log scale"));
    }

    void nothing_but_zeros_on_a_log_axis_is_said_and_linear_is_offered() {
        ChartsWindow w;
        w.chart("answers").setFocus();
        w.key(Qt::Key_Y);
        QTRY_COMPARE(w.shot("answers").message, QString("Nothing positive to draw on a log axis."));
        QCOMPARE(w.shot("answers").unit, QString("share, log scale"));
        press(*w.main, "btn.answers.linear");
        QVERIFY(w.settles([&] { return w.shot("answers").message.isEmpty(); }));
        QCOMPARE(w.shot("answers").series[1].data.drawn, int64_t(60));
        QCOMPARE(w.shot("answers").unit, QString("share"));
        QVERIFY(find<QWidget>(*w.main, "btn.answers.linear")->isHidden());
    }

    void points_off_the_scale_are_counted_and_levels_say_where_they_lie() {
        ChartsWindow w;
        w.wheel("kl", 30, 3, Qt::ControlModifier);
        const auto kl = w.shot("kl");
        int above = 0, below = 0;
        for (int i = 1; i <= 60; ++i)
            for (const double value : {1.0 / i, 1.1 / i, 2.0 / i}) {
                above += value > kl.y_high;
                below += value < kl.y_low;
            }
        QVERIFY(above > 0 && below > 0);
        QCOMPARE(kl.above, above);
        QCOMPARE(kl.below, below);
        // Lengths of 20 stand far below the cap.
        QVERIFY2(w.shot("length").legend.contains("cap 64 ↑"), qPrintable(w.shot("length").legend));
        w.wheel("length", 30, -8, Qt::ControlModifier);
        QVERIFY(w.shot("length").y_high > 64);
        QVERIFY(w.shot("length").legend.contains("cap 64,"));
        QVERIFY(find<QWidget>(*w.main, "btn.charts.reset")->isVisible());
        w.key(Qt::Key_0);
        QVERIFY(!w.shot("length").y_frozen);
        QVERIFY(find<QWidget>(*w.main, "btn.charts.reset")->isHidden());
    }

    void letters_change_axis_smoothing_raw_table_and_zoom() {
        ChartsWindow w;
        auto* axis = find<QComboBox>(*w.main, "fld.charts.x");
        w.key(Qt::Key_X);
        QCOMPARE(axis->currentText(), QString("Wall time"));
        QVERIFY(w.settles([&] { return w.shot("kl").series[0].data.segments[0].back().x == 180; }));
        w.key(Qt::Key_X);
        QVERIFY(w.settles([&] { return w.shot("kl").series[0].data.segments[0].back().x == 120; }));
        w.key(Qt::Key_X);
        QVERIFY(w.settles([&] { return w.shot("kl").series[0].data.segments[0].back().x == 60000; }));
        w.key(Qt::Key_X);
        QCOMPARE(axis->currentText(), QString("Step"));
        QVERIFY(w.settles([&] { return w.shot("kl").series[0].data.segments[0].back().x == 60; }));

        w.key(Qt::Key_S); // half-life 8; the second value is that mean of two
        QVERIFY(w.settles([&] { return !w.shot("kl").series[0].data.raw.empty(); }));
        const double weight = std::pow(2.0, -1.0 / 8), expected = (0.5 + weight) / (1 + weight);
        QVERIFY(std::abs(w.shot("kl").series[0].data.segments[0][1].y - expected) < 1e-12);
        QCOMPARE(w.shot("kl").series[0].data.raw[0][1].y, 0.5);
        QVERIFY(w.shot("kl").caption.contains("half-life 8"));
        w.key(Qt::Key_R);
        QVERIFY(w.settles([&] { return w.shot("kl").series[0].data.raw.empty(); }));
        w.key(Qt::Key_R);
        w.key(Qt::Key_S);
        QVERIFY(w.settles([&] { return w.shot("kl").series[0].data.segments[0][1].y == 0.5; }));
        auto* slider = find<QSlider>(*w.main, "fld.charts.smooth");
        QCOMPARE(slider->value(), 0);
        slider->setFocus();
        QTest::keyClick(slider, Qt::Key_Right); // half-life 1: the first value counts half
        QCOMPARE(find<QLabel>(*w.main, "lbl.charts.smooth")->text(), QString("1 step"));
        QVERIFY(w.settles([&] {
            return std::abs(w.shot("kl").series[0].data.segments[0][1].y - (0.5 + 0.5) / 1.5) < 1e-12;
        }));
        QTest::keyClick(slider, Qt::Key_Home);
        QVERIFY(w.settles([&] { return w.shot("kl").series[0].data.segments[0][1].y == 0.5; }));
        w.chart("kl").setFocus();

        w.key(Qt::Key_T);
        QVERIFY(w.shot("kl").table);
        const auto* table = find<QTableView>(*w.main, "table.chart.kl");
        QCOMPARE(table->model()->rowCount(), 60);
        QCOMPARE(table->model()->index(3, 1).data().toString().toDouble(), 0.25);
        w.key(Qt::Key_T);
        QVERIFY(!w.shot("kl").table);

        w.drag("kl", 20, 40);
        QVERIFY(w.settles([&] { return w.total("entropy") < 30; }));
        w.key(Qt::Key_0);
        QVERIFY(w.settles([&] { return w.total("entropy") == 60; }));
    }

    void a_drag_zooms_every_chart_and_backspace_goes_back() {
        ChartsWindow w;
        const auto range = [&](const char* id) { return w.range(id); };
        const auto whole = range("kl");
        w.drag("kl", 10, 30);
        QVERIFY(std::abs(range("kl").first - 10) < 0.2 && std::abs(range("kl").second - 30) < 0.2);
        QCOMPARE(range("answers"), range("kl"));
        QVERIFY(w.settles([&] { return w.total("kl") == 21 || w.total("kl") == 20; }));
        QTest::qWait(500); // a second zoom, not the same gesture
        const auto zoomed = range("kl");
        w.wheel("kl", 20, 2);
        QVERIFY(range("kl").second - range("kl").first < zoomed.second - zoomed.first);
        w.key(Qt::Key_Backspace);
        QCOMPARE(range("kl"), zoomed);
        w.key(Qt::Key_Backspace);
        QCOMPARE(range("kl"), whole);
        w.wheel("kl", 20, 1, Qt::ControlModifier); // of Y, of this chart alone
        QVERIFY(w.shot("kl").y_frozen);
        QVERIFY(!w.shot("entropy").y_frozen);
        QTest::mouseDClick(&w.canvas("kl"), Qt::LeftButton, {}, w.pixel("kl", 30));
        QVERIFY(!w.shot("kl").y_frozen);
        QVERIFY(find<QWidget>(*w.main, "btn.charts.reset")->isHidden());
        // The middle button pulls a zoomed window along: 5 steps to the left.
        w.drag("kl", 30, 50);
        const auto pulled = range("kl");
        QWidget& target = w.canvas("kl");
        const QPoint from = w.pixel("kl", 40), to = w.pixel("kl", 45);
        QTest::mousePress(&target, Qt::MiddleButton, {}, from);
        QMouseEvent move(QEvent::MouseMove, to, target.mapToGlobal(to), Qt::NoButton, Qt::MiddleButton, {});
        QApplication::sendEvent(&target, &move);
        QTest::mouseRelease(&target, Qt::MiddleButton, {}, to);
        QVERIFY(std::abs(range("kl").first - (pulled.first - 5)) < 0.2);
        QVERIFY(std::abs(range("kl").second - (pulled.second - 5)) < 0.2);
        w.key(Qt::Key_Home);
        w.key(Qt::Key_Right, Qt::ShiftModifier);
        w.key(Qt::Key_Escape); // the selection, then the zoom, then the cursor
        QVERIFY(!w.shot("kl").selection);
        QVERIFY(range("kl") != whole);
        w.key(Qt::Key_Escape);
        QCOMPARE(range("kl"), whole);
        QVERIFY(w.shot("kl").cursor);
    }

    void a_zoom_follows_the_newest_step_unless_it_shows_the_past() {
        ChartsWindow w;
        const auto& follow = w.main->actions()["act.chart.follow"];
        w.key(Qt::Key_F);
        if (!follow.isChecked()) w.key(Qt::Key_F);
        w.drag("kl", 40, 61);
        const XRange end = w.range("kl");
        QVERIFY(end.second >= 60);
        w.stream(61, 80);
        QVERIFY(w.settles([&] { return w.range("kl").second >= 80; }));
        QVERIFY(std::abs((w.range("kl").second - w.range("kl").first) - (end.second - end.first)) < 1e-9);
        w.drag("kl", 65, 70);
        const XRange past = w.range("kl");
        QVERIFY(!follow.isChecked());
        w.stream(81, 100);
        QTest::qWait(200);
        QCOMPARE(w.range("kl"), past);
        w.key(Qt::Key_F);
        QVERIFY(w.range("kl").second >= 100);
        QVERIFY(w.settles([&] { return w.shot("kl").series[0].data.segments.back().back().step == 100; }));
        QVERIFY(std::abs((w.range("kl").second - w.range("kl").first) - (past.second - past.first)) < 1e-9);
    }

    void a_chart_s_menu_acts_on_that_chart() {
        ChartsWindow w;
        const auto choose = [&](const QString& text) {
            auto* menu = w.main->findChild<QMenu*>("menu.chart.this");
            QVERIFY(menu && menu->isVisible());
            for (QAction* action : menu->actions())
                if (action->text().remove('&') == text)
                    QTest::mouseClick(menu, Qt::LeftButton, {}, menu->actionGeometry(action).center());
            QTRY_VERIFY(!w.main->findChild<QMenu*>("menu.chart.this"));
        };
        QWidget& target = w.canvas("entropy");
        const QPoint at = w.pixel("entropy", 30);
        QContextMenuEvent event(QContextMenuEvent::Mouse, at, target.mapToGlobal(at));
        QApplication::sendEvent(&target, &event);
        choose("Logarithmic Y");
        QVERIFY(w.shot("entropy").log);
        QVERIFY(!w.shot("kl").log);
        press(*w.main, "btn.lr.menu");
        choose("Show as Table");
        QVERIFY(w.shot("lr").table);
        QVERIFY(!w.shot("entropy").table);
    }

    void selected_steps_are_shaded_everywhere_and_filter_the_rollouts() {
        ChartsWindow w;
        w.drag("entropy", 19.6, 24.4, Qt::ShiftModifier);
        const auto* chip = find<QLabel>(*w.main, "lbl.charts.selection");
        QTRY_COMPARE(chip->text(), QString("Steps 20-24, 10 rollouts"));
        for (const char* id : {"kl", "answers"}) QCOMPARE(w.shot(id).selection, (XRange{19.5, 24.5}));
        QTest::keyClick(w.main, Qt::Key_Return, Qt::AltModifier);
        auto* list = find<QTableView>(*w.main, "list.rollouts");
        QVERIFY(list->isVisible());
        QTRY_COMPARE(list->model()->rowCount(), 10);
        std::set<QString> steps;
        for (int row = 0; row < 10; ++row)
            for (int column = 0; column < list->model()->columnCount(); ++column)
                if (list->model()->headerData(column, Qt::Horizontal).toString() == "step")
                    steps.insert(list->model()->index(row, column).data().toString());
        QCOMPARE(steps, (std::set<QString>{"20", "21", "22", "23", "24"}));
        QTest::keyClick(w.main, Qt::Key_1, Qt::ControlModifier);
        QCOMPARE(chip->text(), QString("Steps 20-24, 10 rollouts")); // survives a change of view
        press(*w.main, "btn.charts.clear");
        QVERIFY(!w.shot("kl").selection);

        w.key(Qt::Key_Z); // a plain drag selects now
        w.drag("kl", 29.6, 30.4);
        QTRY_COMPARE(chip->text(), QString("Step 30, 2 rollouts"));
        w.key(Qt::Key_Escape);
        QVERIFY(!w.shot("kl").selection);
        w.key(Qt::Key_Z);
    }

    void arrows_move_one_cursor_through_all_charts_and_the_legends_follow() {
        ChartsWindow w;
        w.key(Qt::Key_Home);
        QCOMPARE(w.shot("entropy").cursor, std::optional(1.0));
        QVERIFY(w.shot("kl").legend.contains("exact 1,"));
        QVERIFY(w.shot("kl").legend.contains("@1"));
        w.key(Qt::Key_Right);
        w.key(Qt::Key_Right);
        w.key(Qt::Key_Right);
        QVERIFY(w.shot("kl").legend.contains("exact .25"));
        QCOMPARE(w.shot("answers").cursor, std::optional(4.0));
        w.key(Qt::Key_Right, Qt::ShiftModifier);
        w.key(Qt::Key_Right, Qt::ShiftModifier);
        QTRY_COMPARE(find<QLabel>(*w.main, "lbl.charts.selection")->text(), QString("Steps 4-6, 6 rollouts"));
        w.key(Qt::Key_End);
        QCOMPARE(w.shot("kl").cursor, std::optional(60.0));
        w.key(Qt::Key_Left);
        QCOMPARE(w.shot("kl").cursor, std::optional(59.0));
        w.key(Qt::Key_Down); // the chart below, of three columns or four
        QVERIFY(w.view->current_chart() != &w.chart("kl"));
        w.key(Qt::Key_Up);
        QCOMPARE(w.view->current_chart(), &w.chart("kl"));
        w.key(Qt::Key_Escape); // selection
        w.key(Qt::Key_Escape); // cursor
        QVERIFY(!w.shot("kl").cursor);
        // A click sets the cursor at the nearest step.
        QTest::mouseClick(&w.canvas("kl"), Qt::LeftButton, {}, w.pixel("kl", 33.2));
        QCOMPARE(w.shot("entropy").cursor, std::optional(33.0));
    }

    void markers_open_what_they_mark() {
        ChartsWindow w;
        const auto markers = w.shot("kl").markers;
        QCOMPARE(std::count_if(markers.begin(), markers.end(),
                               [](const Marker& marker) { return marker.kind == MarkerKind::Evaluation; }),
                 2);
        const auto click = [&](double x) {
            QPoint at = w.pixel("kl", x);
            at.setY(5);
            QTest::mouseClick(&w.canvas("kl"), Qt::LeftButton, {}, at);
        };
        click(12); // the alarm's last step
        QCOMPARE(w.shot("kl").cursor, std::optional(12.0));
        QTRY_COMPARE(find<QLabel>(*w.main, "lbl.charts.selection")->text(),
                     QString("Steps 10-12, 6 rollouts"));
        // Two of one step stand side by side: the checkpoint at the left, the evaluation at the right.
        const auto click_beside = [&](int pixels) {
            QTest::mouseClick(&w.canvas("kl"), Qt::LeftButton, {}, QPoint(w.pixel("kl", 30).x() + pixels, 5));
        };
        click_beside(5);
        QCOMPARE(w.shot("kl").cursor, std::optional(30.0));
        QVERIFY(!w.main->findChild<QDialog*>("dlg.checkpoints"));
        click_beside(-5);
        find<QDialog>(*w.main, "dlg.checkpoints")->close();
        QTRY_VERIFY(!w.main->findChild<QDialog*>("dlg.checkpoints"));
        click(40);
        auto* dialog = find<QDialog>(*w.main, "dlg.checkpoints");
        QVERIFY(dialog->isVisible());
        dialog->close();
        auto* menu = find<QMenu>(*w.main, "menu.charts.markers");
        for (QAction* action : menu->actions())
            if (action->text().startsWith("Alarm")) action->trigger();
        QVERIFY(w.settles([&] {
            const auto left = w.shot("kl").markers;
            return std::none_of(left.begin(), left.end(),
                                [](const Marker& marker) { return marker.kind == MarkerKind::Alarm; });
        }));
    }

    void copies_are_the_numbers_that_are_drawn() {
        ChartsWindow w;
        QTest::keyClick(w.main, Qt::Key_C, Qt::ControlModifier);
        const QStringList lines = QApplication::clipboard()->text().trimmed().split('\n');
        QCOMPARE(lines.size(), 61);
        QCOMPARE(lines[0], QString("step\texact\tk1\tloss"));
        QCOMPARE(lines[4].split('\t')[1].toDouble(), 0.25);
        w.main->actions()["act.edit.copyJson"].trigger();
        const auto rows = QJsonDocument::fromJson(QApplication::clipboard()->text().toUtf8()).array();
        QCOMPARE(rows.size(), 60);
        QCOMPARE(rows[2].toObject()["exact"].toDouble(), 1.0 / 3);
        w.main->actions()["act.exp.chartImage"].trigger();
        QVERIFY(QApplication::clipboard()->image().width() >= w.chart("kl").width());
        // A value that is undefined is no number.
        w.chart("entropy").setFocus();
        QTest::keyClick(w.main, Qt::Key_C, Qt::ControlModifier);
        QCOMPARE(QApplication::clipboard()->text().split('\n')[7].split('\t')[2], QString());
        QTest::keyClick(w.main, Qt::Key_C, Qt::ControlModifier | Qt::ShiftModifier);
        const auto entropies = QJsonDocument::fromJson(QApplication::clipboard()->text().toUtf8()).array();
        QCOMPARE(entropies[5].toObject().value("teacher"), QJsonValue(0.4));
        QVERIFY(!entropies[6].toObject().contains("teacher"));
    }

    void exports_write_every_recorded_point_and_pictures_that_can_be_read() {
        ChartsWindow w;
        const auto choose = [&](const char* dialog, const QString& path) {
            auto* files = find<QFileDialog>(*w.main, dialog);
            find<QLineEdit>(*files, "fileNameEdit")->setText(path);
            for (auto* button : files->findChildren<QPushButton*>()) {
                if (!button->text().contains("Save")) continue;
                QTest::mouseClick(button, Qt::LeftButton);
                break;
            }
            QApplication::setActiveWindow(w.main); // as a window manager does when a dialog goes
        };
        const auto* banner = find<QLabel>(*w.main, "lbl.banner.text");
        const QString folder = w.folder.path();
        w.key(Qt::Key_E);
        auto* dialog = find<QDialog>(*w.main, "dlg.exportCharts");
        find<QComboBox>(*dialog, "fld.exportCharts.format")->setCurrentIndex(1);
        press(*dialog, "btn.exportCharts.export");
        choose("dlg.exportCharts.file", folder + "/kl.csv");
        QTRY_VERIFY(banner->text().contains("60 steps written"));
        const auto rows_of = [&](const char* file) {
            std::vector<QStringList> rows;
            const QString text = QString::fromStdString(read_file(path_of(folder + file)).value());
            for (const auto& line : text.split('\n', Qt::SkipEmptyParts)) rows.push_back(line.split(','));
            return rows;
        };
        const auto kl = rows_of("/kl.csv");
        QCOMPARE(kl[0].join(','),
                 QString("run,step,wall_s,active_s,tokens,kl_reverse_exact,kl_reverse_k1,loss"));
        QCOMPARE(kl.size(), size_t(61));
        for (int i = 1; i <= 60; ++i) {
            const QStringList& row = kl[size_t(i)];
            QCOMPARE(row.mid(0, 2), (QStringList{"charted", QString::number(i)}));
            const double numbers[]{3.0 * i, 2.0 * i, 1000.0 * i, 1.0 / i, 1.1 / i, 2.0 / i};
            for (int n = 0; n < 6; ++n) QCOMPARE(row[n + 2].toDouble(), numbers[n]);
        }

        w.main->actions()["act.exp.metrics"].trigger();
        choose("dlg.exportMetrics", folder + "/all.csv");
        QTRY_VERIFY(std::filesystem::exists(path_of(folder + "/all.csv")) &&
                    banner->text().contains("all.csv"));
        const auto all = rows_of("/all.csv");
        const auto norm = all[0].indexOf("grad_norm"), other = all[0].indexOf("every_other_step"),
                   teacher = all[0].indexOf("entropy_teacher");
        QVERIFY(norm > 0 && other > 0 && teacher > 0);
        QCOMPARE(all.size(), size_t(62)); // an evaluation at step 0 too
        QCOMPARE(all[1][1], QString("0"));
        QCOMPARE(all[16][norm], QString("nan"));
        QCOMPARE(all[21][norm], QString("0"));
        QCOMPARE(all[8][teacher], QString());
        QCOMPARE(all[22][other], QString());
        QCOMPARE(all[23][1], QString("22"));
        QCOMPARE(all[23][other].toDouble(), 22.0 / 7);

        w.view->setFocus();
        w.key(Qt::Key_E);
        dialog = find<QDialog>(*w.main, "dlg.exportCharts");
        QTRY_VERIFY(dialog->isVisible());
        press(*dialog, "btn.exportCharts.export");
        choose("dlg.exportCharts.file", folder + "/kl.png");
        QTRY_VERIFY(banner->text().contains("kl.png"));
        QImage picture(folder + "/kl.png");
        QVERIFY(picture.width() >= 2 * w.chart("kl").width() &&
                picture.height() > 2 * w.chart("kl").height());
        QSet<QRgb> colours;
        for (int y = 0; y < picture.height(); y += 2)
            for (int x = 0; x < picture.width(); x += 2) colours.insert(picture.pixel(x, y));
        QVERIFY(colours.size() > 50);
    }

    void what_streams_in_is_drawn_twenty_times_a_second_at_most_and_not_where_nobody_looks() {
        ChartsWindow w({1280, 800});
        QVERIFY(w.chart("overlap").visibleRegion().boundingRect().height() > 0);
        QVERIFY(w.chart("answers").visibleRegion().isEmpty()); // further down
        const int kl = w.replaced("kl"), overlap = w.replaced("overlap"), answers = w.replaced("answers");
        QElapsedTimer timer;
        timer.start();
        w.stream(61, 3060);
        QVERIFY(w.settles([&] { return w.total("kl") == 3060 && w.total("overlap") == 3060; }));
        const auto most = timer.elapsed() / 50 + 2; // one a tick of 50 ms, and what was due at both ends
        QVERIFY(w.replaced("kl") > kl);
        QVERIFY2(w.replaced("kl") - kl <= most, qPrintable(QString::number(w.replaced("kl") - kl)));
        QVERIFY(w.replaced("overlap") - overlap <= most);
        QCOMPARE(w.replaced("answers"), answers);
        // Scrolled into view, it shows what came meanwhile.
        for (int i = 0; i < 6; ++i) QTest::keyClick(&w.chart_in_focus(), Qt::Key_Down);
        QVERIFY(w.settles([&] { return w.total("answers", 1) == 3060; }));

        QTest::keyClick(w.main, Qt::Key_2, Qt::ControlModifier);
        const int hidden_answers = w.replaced("answers"), hidden_kl = w.replaced("kl");
        w.stream(3061, 3160);
        QTest::qWait(300);
        QCOMPARE(w.replaced("answers"), hidden_answers);
        QCOMPARE(w.replaced("kl"), hidden_kl);
        QTest::keyClick(w.main, Qt::Key_1, Qt::ControlModifier);
        w.chart("kl").setFocus();
        QVERIFY(w.settles([&] { return w.total("kl") == 3160; }));
        QCOMPARE(w.shot("kl").series[0].data.segments.back().back().y, 1.0 / 3160);
        w.key(Qt::Key_End);
        QVERIFY2(w.shot("kl").legend.contains("exact 3.2e-4,"), qPrintable(w.shot("kl").legend));
    }

    void another_run_starts_afresh() {
        ChartsWindow w;
        write_charted_run(path_of(w.run("short")), 7);
        w.key(Qt::Key_T);
        w.drag("entropy", 10, 30);
        w.main->open_run(w.run("short"));
        QVERIFY(w.settles([&] { return w.total("kl") == 7; }));
        QVERIFY(w.settles([&] { return w.total("entropy") == 7; }));
        QVERIFY(!w.shot("kl").table);
        QVERIFY(w.shot("kl").x_last < 10);
        QCOMPARE(w.shot("entropy").series[0].data.segments[0].size(), size_t(7));
    }

    void nothing_is_cut_off_at_both_sizes_and_in_both_themes() {
        for (const QSize size : {QSize(1280, 800), QSize(1920, 1080)}) {
            ChartsWindow w(size);
            for (const char* theme : {"Light", "Dark"}) {
                w.main->actions()[QString("act.view.theme") + theme].trigger();
                QTest::qWait(200);
                const QImage picture = w.view->grab().toImage();
                QSet<QRgb> colours;
                for (int y = 0; y < picture.height(); y += 3)
                    for (int x = 0; x < picture.width(); x += 3) colours.insert(picture.pixel(x, y));
                QVERIFY(colours.size() > 50);
                for (const auto* label : w.view->findChildren<QLabel*>()) {
                    if (!label->isVisible() || label->text().isEmpty()) continue;
                    const bool whole =
                        label->wordWrap()
                            ? label->heightForWidth(label->width()) <= label->height()
                            : label->fontMetrics().horizontalAdvance(label->text()) <= label->width() + 1;
                    QVERIFY2(whole, qPrintable(label->objectName() + ": " + label->text()));
                }
                for (const auto* plot : w.view->findChildren<PlotWidget*>()) {
                    const PlotSnapshot shown = plot->snapshot();
                    const QFontMetrics small(small_font(plot->font()));
                    const int room = plot->width() - 20; // of the legend: margins of 10 at both sides
                    for (const auto& series : shown.series) {
                        const QString text = series.style.name + series.value;
                        QVERIFY2(28 + small.horizontalAdvance(text) <= room, qPrintable(text));
                    }
                    for (const auto& tick : shown.y_ticks)
                        QVERIFY2(small.horizontalAdvance(tick.label) <= label_column - 6,
                                 qPrintable(tick.label));
                    for (const char* text : {"NaN, inf", "<= 0", "tokens", "active"})
                        QVERIFY2(small.horizontalAdvance(text) <= label_column - 6, text);
                }
                // The curves of all charts begin in one column, so that they align.
                for (const char* id : {"kl", "entropy", "grad", "time"})
                    QCOMPARE(w.shot(id).area.left(), w.shot("answers").area.left());
            }
            const auto* grid = find<ChartGrid>(*w.main, "list.charts");
            QCOMPARE(grid->columns(), grid->width() < 1200 ? 2 : grid->width() < 1800 ? 3 : 4);
        }
    }
};

QTEST_MAIN(ChartsTest)
#include "charts_test.moc"
