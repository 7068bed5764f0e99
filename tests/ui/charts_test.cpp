// SPDX-License-Identifier: GPL-3.0-or-later
// The charts in the window, driven by keys and mouse, on recorded runs whose every number the test knows.
#include "base/files.h"
#include "record/store.h"
#include "tests/ui/window_fixture.h"
#include "ui/models/chart_csv.h"
#include "ui/plot/plot_widget.h"
#include "ui/run/chart_grid.h"
#include "ui/run/run_view.h"

#include <QApplication>
#include <QClipboard>
#include <QComboBox>
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
                    {"time_rollout", 1.0},
                    {"time_learn", 1.5}};
    step.metrics["grad_norm"] = i % 10 == 0 ? 0.0 : i % 10 == 5 ? not_a_number : double(i);
    return step;
}

/// 60 steps with two rollouts each, an evaluation at 0 and 30, a checkpoint at 40, an alarm at 10 to 12.
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
    record::CheckpointRecord checkpoint;
    checkpoint.step = 40;
    checkpoint.folder = "checkpoints/step-000040";
    records.emplace_back(checkpoint);
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
            return total("kl") == 60 && total("entropy") == 60 && total("grad") == 60 &&
                   total("time") == 60 && total("clip") >= 0 && total("lr") == 60 &&
                   !shot("speed").message.isEmpty() && total("answers") >= 0;
        };
        const bool small = size.height() < 1200; // not all charts are in view
        if (!QTest::qWaitFor([&] { return small ? total("kl") == 60 : filled(); }))
            qFatal("the charts were not filled");
        view->setFocus();
        key(Qt::Key_Escape);
    }
    PlotWidget& chart(const char* id) { return *view->chart(id); }
    PlotSnapshot shot(const char* id) { return chart(id).snapshot(); }
    int64_t total(const char* id) {
        const auto shown = shot(id);
        return shown.series.empty() ? -1 : shown.series[0].data.total;
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
        QCOMPARE(find<QSlider>(*w.main, "fld.charts.smooth")->value(), 0);

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
        const auto range = [&](const char* id) { return std::pair(w.shot(id).x_first, w.shot(id).x_last); };
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
        auto reader = record::RunReader::open(path_of(w.run("charted"))).value();
        QCOMPARE(QString::fromStdString(read_file(path_of(folder + "/kl.csv")).value()),
                 QString::fromStdString(
                     metrics_csv(reader, {{"kl_reverse_exact", "kl_reverse_k1", "loss"}, 0, {}}).value()));

        w.main->actions()["act.exp.metrics"].trigger();
        choose("dlg.exportMetrics", folder + "/all.csv");
        QTRY_VERIFY(std::filesystem::exists(path_of(folder + "/all.csv")) &&
                    banner->text().contains("all.csv"));
        QVERIFY(read_file(path_of(folder + "/all.csv")).value().find("grad_norm") != std::string::npos);

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
        ChartsWindow w;
        auto store = record::RunStore::open(path_of(w.run("charted"))).value();
        const auto replaced = [&](const char* id) { return w.shot(id).series[0].replaced; };
        const auto stream = [&](int64_t from, int64_t count) {
            QElapsedTimer timer;
            timer.start();
            for (int64_t i = from; i < from + count; ++i) {
                store.append(record::Record(step_record(i))).value();
                w.main->run()->refresh();
                QCoreApplication::processEvents();
            }
            return timer.elapsed();
        };
        const int before = replaced("kl");
        const qint64 took = stream(61, 400);
        QTRY_COMPARE(w.main->run()->series().last_step(), int64_t(460));
        QVERIFY(w.settles([&] { return w.total("kl") == 460; }));
        QVERIFY2(replaced("kl") - before <= took / 50 + 20,
                 qPrintable(QString::number(replaced("kl") - before)));
        QTest::keyClick(w.main, Qt::Key_2, Qt::ControlModifier);
        const int hidden = replaced("kl");
        stream(461, 100);
        QTRY_COMPARE(w.main->run()->series().last_step(), int64_t(560));
        QTest::qWait(300);
        QCOMPARE(replaced("kl"), hidden);
        QTest::keyClick(w.main, Qt::Key_1, Qt::ControlModifier);
        QVERIFY(w.settles([&] { return w.total("kl") == 560; }));
        QCOMPARE(w.shot("kl").series[0].data.segments.back().back().y, 1.0 / 560);
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
                    if (!label->isVisible() || label->text().isEmpty() || label->wordWrap()) continue;
                    QVERIFY2(label->fontMetrics().horizontalAdvance(label->text()) <= label->width() + 1,
                             qPrintable(label->objectName() + ": " + label->text()));
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
