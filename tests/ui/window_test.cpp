// SPDX-License-Identifier: GPL-3.0-or-later
// The whole window, driven by clicks and keys, with the real engine.
#include "record/store.h"
#include "tests/ui/window_fixture.h"
#include "ui/window/theme.h"

#include <QDialog>
#include <QDockWidget>
#include <QLabel>
#include <QListWidget>
#include <QPushButton>
#include <QToolButton>
#include <QTreeView>
#include <filesystem>
#include <fstream>
#include <sys/mount.h>

using namespace stillroom;
using namespace stillroom::ui;

namespace {

/// A finished run of three steps, written as the engine would.
void write_run(const std::filesystem::path& folder, const std::string& name, record::RunState state,
               int64_t steps = 3) {
    std::filesystem::create_directories(folder);
    record::RunDescription description;
    description.name = name;
    description.steps_planned = 10;
    description.settings = {{"objective.name", "kl_reverse"}, {"run.seed", "42"}};
    auto store = record::RunStore::create(folder, description).value();
    std::vector<record::Record> records;
    for (int64_t i = 1; i <= steps; ++i) {
        record::StepRecord step;
        step.step = i;
        step.wall_seconds = step.active_seconds = double(i);
        step.metrics = {{"kl_reverse_exact", 1.0 / double(i)}, {"time_step", 1.0}, {"lr", 1e-4}};
        records.emplace_back(step);
    }
    records.emplace_back(record::EventRecord{1, "warning", "something to know", 1.7e9});
    records.emplace_back(record::AlarmRecord{"Truncation", "warning", 2, 3, 2, "31 % of rollouts", true});
    records.emplace_back(record::StateRecord{state, steps, "after step 3"});
    store.append(records).value();
}

} // namespace

class WindowTest : public QObject {
    Q_OBJECT

    using Fixture = WindowFixture;

private Q_SLOTS:
    void a_first_start_shows_three_cards_and_names_the_device() {
        Fixture fixture(true);
        MainWindow& window = fixture.open();
        QVERIFY(find<QPushButton>(window, "btn.start.sample")->isVisible());
        QTRY_VERIFY_WITH_TIMEOUT(find<QLabel>(window, "lbl.start.device")->text().startsWith("GPU"), 60000);
        QVERIFY(find<QPushButton>(window, "btn.start.sample")->isEnabled());
    }

    void a_recorded_run_opens_from_the_list_and_its_facts_log_and_alarms_are_shown() {
        Fixture fixture;
        write_run(path_of(fixture.run("alpha")), "alpha", record::RunState::Finished);
        write_run(path_of(fixture.run("beta")), "beta", record::RunState::Failed);
        MainWindow& window = fixture.open();
        auto* list = find<QTreeView>(window, "list.runs");
        QTRY_COMPARE(list->model()->rowCount(), 2);
        find<QLineEdit>(window, "fld.runs.filter")->setFocus();
        QTest::keyClicks(find<QLineEdit>(window, "fld.runs.filter"), "state:finished");
        QCOMPARE(list->model()->rowCount(), 1);
        QCOMPARE(find<QLabel>(window, "lbl.runs.footer")->text(), "1 of 2 runs shown");
        QTest::mouseClick(list->viewport(), Qt::LeftButton, {},
                          list->visualRect(list->model()->index(0, 0)).center());
        QTRY_COMPARE(window.windowTitle(), "Stillroom - alpha - 30 % [recorded]");
        QTRY_COMPARE(find<QAbstractItemView>(window, "table.log")->model()->rowCount(), 2); // and the state
        QTRY_COMPARE(find<QAbstractItemView>(window, "list.alarms")->model()->rowCount(), 1);
        QVERIFY(find<QAbstractItemView>(window, "table.facts")->model()->rowCount() > 5);
        QCOMPARE(find<QToolButton>(window, "lbl.status.step")->text(), "step 3/10");
        QCOMPARE(find<QToolButton>(window, "lbl.status.alarms")->text(), "1 alarm");
        QVERIFY(window.run()->series().find("kl_reverse_exact"));
        QCOMPARE(window.run()->series().find("kl_reverse_exact")->value,
                 (std::vector<double>{1, 0.5, 1.0 / 3}));
        // A run that has ended can't be paused, and the action says why.
        QVERIFY(!window.actions()["act.run.pause"].isEnabled());
        QVERIFY(window.actions()["act.run.pause"].toolTip().contains("ended"));
    }

    void an_alarm_shows_its_rollouts_and_can_be_muted() {
        Fixture fixture;
        write_run(path_of(fixture.run("alpha")), "alpha", record::RunState::Finished);
        MainWindow& window = fixture.open();
        window.open_run(fixture.run("alpha"));
        auto* alarms = find<QListWidget>(window, "list.alarms");
        QTRY_COMPARE(alarms->count(), 1);
        QVERIFY(alarms->item(0)->text().startsWith("Truncation, steps 2-3\n31 % of rollouts"));
        press(window, "btn.alarms.mute");
        QVERIFY(alarms->item(0)->text().contains("(muted to step 53)"));
        press(window, "btn.alarms.show");
        QVERIFY(find<QWidget>(window, "view.rollouts")->isVisible());
        QTest::keyClick(&window, Qt::Key_1, Qt::ControlModifier);
        QTRY_VERIFY(find<QLabel>(window, "lbl.charts.selection")->text().startsWith("Steps 2-3"));
        QCOMPARE(find<QToolButton>(window, "lbl.status.alarms")->text(), "1 alarm"); // still counted
    }

    void a_run_whose_process_is_gone_is_interrupted_and_can_be_resumed() {
        Fixture fixture;
        QProcess child;
        child.start("true", QStringList());
        child.waitForFinished();
        write_run(path_of(fixture.run("gone")), "gone", record::RunState::Running);
        // The store now claims that this very process runs it; one that no longer exists must be seen as
        // such.
        QProcess sqlite;
        sqlite.start("python3", {"-c",
                                 "import sqlite3,sys\nc=sqlite3.connect(sys.argv[1])\n"
                                 "c.execute('update run set pid=999999, process_start=1')\nc.commit()",
                                 fixture.run("gone") + "/run.sqlite"});
        QVERIFY(sqlite.waitForFinished());
        MainWindow& window = fixture.open();
        auto* panel = find<QWidget>(window, "panel.start.interrupted");
        QTRY_VERIFY(panel->isVisible());
        QVERIFY(find<QLabel>(window, "lbl.start.interrupted")->text().contains("step 3 of 10"));
        press(window, "btn.start.look");
        QTRY_VERIFY(find<QToolButton>(window, "lbl.status.state")->text() == "Interrupted");
    }

    void a_damaged_store_is_said_and_loses_nothing() {
        Fixture fixture;
        write_run(path_of(fixture.run("broken")), "broken", record::RunState::Finished);
        std::filesystem::resize_file(path_of(fixture.run("broken")) / "run.sqlite", 5000);
        MainWindow& window = fixture.open();
        window.open_run(fixture.run("broken"));
        QTRY_VERIFY(find<QLabel>(window, "lbl.banner.text")->text().contains("can't be read"));
        QVERIFY(window.windowTitle().contains("[damaged]"));
        window.open_run(fixture.run("nowhere"));
        QVERIFY(find<QLabel>(window, "lbl.banner.text")->text().contains("is not there"));
    }

    void every_action_has_a_text_and_no_two_share_a_key_where_both_work() {
        Fixture fixture;
        MainWindow& window = fixture.open();
        QMap<QString, QString> global, in_view;
        QSet<QString> names;
        for (const QAction* action : window.actions().all()) {
            QVERIFY2(!action->text().isEmpty(), qPrintable(action->objectName()));
            QVERIFY2(!names.contains(action->objectName()), qPrintable(action->objectName()));
            names.insert(action->objectName());
            const QString key = action->shortcut().toString();
            if (key.isEmpty()) continue;
            const bool view = action->property("inView").toBool();
            const QString scope = action->objectName().startsWith("act.roll") ? "rollouts " : "charts ";
            auto& map = view ? in_view : global;
            const QString place = view ? scope + key : key;
            QVERIFY2(!map.contains(place),
                     qPrintable(action->objectName() + " and " + map[place] + ": " + place));
            map[place] = action->objectName();
        }
    }

    void every_interactive_widget_is_named_once() {
        Fixture fixture;
        write_run(path_of(fixture.run("alpha")), "alpha", record::RunState::Finished);
        MainWindow& window = fixture.open();
        window.open_run(fixture.run("alpha"));
        QSet<QString> names;
        for (const QWidget* widget : window.findChildren<QWidget*>()) {
            const bool interactive = qobject_cast<const QAbstractButton*>(widget) ||
                                     qobject_cast<const QLineEdit*>(widget) ||
                                     qobject_cast<const QAbstractItemView*>(widget);
            const QString name = widget->objectName();
            // Qt's own parts of larger widgets carry its names (qt_...) or belong to a named dock or header.
            const bool qts = name.startsWith("qt_") || widget->inherits("QHeaderView") ||
                             widget->inherits("QDockWidgetTitleButton") ||
                             widget->inherits("QTableCornerButton") ||
                             widget->inherits("QComboBoxListView") ||
                             (widget->parentWidget() && (widget->parentWidget()->inherits("QTabBar") ||
                                                         widget->parentWidget()->inherits("QToolBar") ||
                                                         widget->parentWidget()->inherits("QLineEdit") ||
                                                         widget->parentWidget()->inherits("QTableView") ||
                                                         widget->parentWidget()->inherits("QComboBox")));
            if (interactive && !qts)
                QVERIFY2(!name.isEmpty(), qPrintable(QString(widget->metaObject()->className()) + " in " +
                                                     widget->parentWidget()->objectName()));
            if (name.isEmpty() || name.startsWith("qt_")) continue;
            if (name.contains('.')) QVERIFY2(!names.contains(name), qPrintable(name));
            names.insert(name);
        }
    }

    void the_theme_switches_live_and_is_remembered() {
        Fixture fixture;
        MainWindow& window = fixture.open();
        window.actions()["act.view.themeDark"].trigger();
        QVERIFY(is_dark(QApplication::palette()));
        window.close();
        MainWindow& again = fixture.open();
        QVERIFY(is_dark(QApplication::palette()));
        again.actions()["act.view.themeLight"].trigger();
        QVERIFY(!is_dark(QApplication::palette()));
    }

    void the_layout_is_restored_and_a_broken_one_gives_defaults() {
        Fixture fixture;
        MainWindow* window = &fixture.open();
        QTest::qWait(50);
        auto* dock = find<QDockWidget>(*window, "dock.alarms");
        window->actions()["act.view.alarms"].trigger();
        QVERIFY(!dock->isVisible());
        window->close();
        window = &fixture.open();
        QTRY_VERIFY(!find<QDockWidget>(*window, "dock.alarms")->isVisible());
        window->close();

        const auto file = path_of(fixture.folder.path()) / "config/layout.json";
        std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
        window = &fixture.open();
        QTRY_VERIFY(find<QLabel>(*window, "lbl.banner.text")->text().contains("layout.json"));
        QVERIFY(find<QDockWidget>(*window, "dock.alarms")->isVisible());
        window->actions()["act.view.alarms"].trigger();
        window->actions()["act.view.layoutReset"].trigger();
        QVERIFY(find<QDockWidget>(*window, "dock.alarms")->isVisible());
    }

    void the_sample_runs_pauses_resumes_stops_and_closing_asks() {
        Fixture fixture(true);
        MainWindow& window = fixture.open();
        auto* sample = find<QPushButton>(window, "btn.start.sample");
        QTRY_VERIFY_WITH_TIMEOUT(sample->isEnabled(), 60000);
        QTest::mouseClick(sample, Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(window.run() && window.run()->status().step >= 2, 120000);
        QTest::keyClick(&window, Qt::Key_F8);
        QTRY_COMPARE_WITH_TIMEOUT(window.run()->status().state, record::RunState::Paused, 30000);
        const int64_t paused_at = window.run()->status().step;
        QCOMPARE(find<QLabel>(window, "lbl.bar.state")->text(), "Paused");
        QTest::qWait(1500);
        QCOMPARE(window.run()->status().step, paused_at);
        QTest::keyClick(&window, Qt::Key_F8);
        QTRY_VERIFY_WITH_TIMEOUT(window.run()->status().step > paused_at, 30000);
        const auto* series = window.run()->series().find("kl_reverse_exact");
        QVERIFY(series);
        for (size_t i = 0; i < series->step.size(); ++i) QCOMPARE(series->step[i], int64_t(i) + 1);

        window.close(); // asks, and the run goes on
        auto* dialog = window.findChild<QDialog*>("dlg.close");
        QVERIFY(dialog && window.isVisible());
        press(*dialog, "btn.close.keep");
        QVERIFY(fixture.engine.busy());

        QTest::keyClick(&window, Qt::Key_F8, Qt::ShiftModifier);
        dialog = window.findChild<QDialog*>("dlg.stop");
        QVERIFY(dialog);
        press(*dialog, "btn.stop.step");
        QTRY_VERIFY_WITH_TIMEOUT(!fixture.engine.busy(), 60000);
        QTRY_COMPARE_WITH_TIMEOUT(window.run()->status().state, record::RunState::Stopped, 10000);
        QVERIFY(window.run()->status().step < window.run()->status().steps_planned);
        QTRY_VERIFY_WITH_TIMEOUT(window.actions()["act.exp.hf"].isEnabled(), 15000);
        window.close();
        QVERIFY(!window.isVisible());
    }

    void a_sample_run_comes_with_hints_until_they_are_hidden_for_good() {
        Fixture fixture(true);
        write_run(path_of(fixture.run("alpha")), "alpha", record::RunState::Finished);
        MainWindow* window = &fixture.open();
        window->open_run(fixture.run("alpha"));
        QTRY_COMPARE(window->run()->series().last_step(), int64_t(3));
        QVERIFY(!find<QWidget>(*window, "panel.hints")->isVisible());
        window->actions()["act.file.close"].trigger();
        auto* sample = find<QPushButton>(*window, "btn.start.sample");
        QTRY_VERIFY_WITH_TIMEOUT(sample->isVisible() && sample->isEnabled(), 60000);
        QTest::mouseClick(sample, Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(find<QWidget>(*window, "panel.hints")->isVisible(), 60000);
        QVERIFY(find<QLabel>(*window, "lbl.hints.text")->text().contains("Alt+Return"));
        press(*window, "btn.hints.next");
        QVERIFY(find<QLabel>(*window, "lbl.hints.text")->text().contains("Ctrl+2"));
        press(*window, "btn.hints.hide");
        QVERIFY(!find<QWidget>(*window, "panel.hints")->isVisible());
        const int64_t step = window->run()->status().step;
        QTRY_VERIFY_WITH_TIMEOUT(window->run()->status().step > step, 30000);
        QVERIFY(!find<QWidget>(*window, "panel.hints")->isVisible());
        window->run()->send(session::StopAfterStep{});
        QTRY_VERIFY_WITH_TIMEOUT(!fixture.engine.busy(), 60000);
        QVERIFY(!SettingsFile(fixture.folder.path() + "/config").load().hints);
    }

    void a_full_disk_shows_a_banner_and_training_goes_on_until_there_is_room_again() {
        Fixture fixture(true);
        const QString runs = fixture.folder.path() + "/runs";
        std::filesystem::create_directories(path_of(runs));
        if (mount("tmpfs", qPrintable(runs), "tmpfs", 0, "size=40m") != 0)
            QSKIP("a small tmpfs can only be mounted as root");
        const auto unmount = qScopeGuard([&] {
            fixture.window.reset();
            umount2(qPrintable(runs), MNT_DETACH);
        });
        MainWindow& window = fixture.open();
        QTRY_VERIFY_WITH_TIMEOUT(find<QPushButton>(window, "btn.start.sample")->isEnabled(), 60000);
        press(window, "btn.start.sample");
        QTRY_VERIFY_WITH_TIMEOUT(window.run() && window.run()->status().step >= 1, 60000);
        const auto filler = path_of(runs) / "filler";
        {
            std::ofstream file(filler);
            const std::string block(1 << 16, 'x');
            while (file.write(block.data(), std::streamsize(block.size())).flush()) {
            }
        }
        const auto* banner = find<QLabel>(window, "lbl.banner.text");
        QTRY_VERIFY_WITH_TIMEOUT(banner->isVisible() && banner->text().contains("Recording paused"), 30000);
        const int64_t step = window.run()->status().step;
        QTRY_VERIFY_WITH_TIMEOUT(window.run()->status().step >= step + 2, 30000);
        std::filesystem::remove(filler);
        QTRY_VERIFY_WITH_TIMEOUT(!banner->isVisible(), 30000);
        window.run()->send(session::StopAfterStep{});
        QTRY_VERIFY_WITH_TIMEOUT(!fixture.engine.busy(), 60000);
        auto reader = record::RunReader::open(window.run()->folder()).value();
        QCOMPARE(int64_t(reader.series("loss").value().size()), window.run()->status().step);
    }

    void a_store_locked_by_another_process_shows_a_banner_and_training_goes_on() {
        Fixture fixture(true);
        MainWindow& window = fixture.open();
        QTRY_VERIFY_WITH_TIMEOUT(find<QPushButton>(window, "btn.start.sample")->isEnabled(), 60000);
        press(window, "btn.start.sample");
        QTRY_VERIFY_WITH_TIMEOUT(window.run() && window.run()->status().step >= 1, 60000);
        QProcess other;
        other.start("python3",
                    {"-c",
                     "import sqlite3,sys\n"
                     "c=sqlite3.connect(sys.argv[1],isolation_level=None,timeout=60)\n"
                     "c.execute('begin immediate')\nprint('locked',flush=True)\nsys.stdin.readline()\n",
                     QString::fromStdString((window.run()->folder() / "run.sqlite").string())});
        QVERIFY(other.waitForReadyRead(60000));
        const auto* banner = find<QLabel>(window, "lbl.banner.text");
        QTRY_VERIFY_WITH_TIMEOUT(banner->isVisible() && banner->text().contains("Recording paused"), 30000);
        QCOMPARE(find<QToolButton>(window, "lbl.status.recording")->text(), "recording paused");
        const int64_t step = window.run()->status().step;
        QTRY_VERIFY_WITH_TIMEOUT(window.run()->status().step >= step + 2, 30000);
        QCOMPARE(window.run()->series().find("loss")->step.back(), window.run()->status().step);
        other.write("\n");
        QVERIFY(other.waitForFinished());
        QTRY_VERIFY_WITH_TIMEOUT(!banner->isVisible(), 30000);
        QCOMPARE(find<QToolButton>(window, "lbl.status.recording")->text(), "recording ok");
        window.run()->send(session::StopAfterStep{});
        QTRY_VERIFY_WITH_TIMEOUT(!fixture.engine.busy(), 60000);
        // Nothing was lost.
        auto reader = record::RunReader::open(window.run()->folder()).value();
        const auto loss = reader.series("loss").value();
        QCOMPARE(int64_t(loss.size()), window.run()->status().step);
    }
};

QTEST_MAIN(WindowTest)
#include "window_test.moc"
