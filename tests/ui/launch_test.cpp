// SPDX-License-Identifier: GPL-3.0-or-later
// The launch dialog by keys and clicks: presets, fields with what is wrong with them, differences, preflight,
// drafts, files, and the command line that makes the same run.
#include "base/files.h"
#include "tests/ui/window_fixture.h"
#include "ui/launch/launch_dialog.h"
#include "ui/models/preflight_model.h"
#include "ui/models/recipe_differences_model.h"
#include "ui/models/recipe_pages.h"

#include <QAbstractItemModelTester>
#include <QClipboard>
#include <QComboBox>
#include <QFileDialog>
#include <QLabel>
#include <QListWidget>
#include <QMenu>
#include <QPushButton>
#include <QTreeView>
#include <set>

using namespace stillroom;
using namespace stillroom::ui;

namespace {

session::Finding finding(const char* id, session::Verdict verdict, bool may_be_overridden = false) {
    session::Finding made;
    made.id = id;
    made.title = "a check";
    made.verdict = verdict;
    made.evidence = "42 of 43";
    made.why = "because";
    made.may_be_overridden = may_be_overridden;
    return made;
}

struct Launch : WindowFixture {
    MainWindow* main;
    LaunchDialog* dialog = nullptr;

    explicit Launch(bool with_engine = false) : WindowFixture(with_engine), main(&open()) {
        QTest::keyClick(main, Qt::Key_N, Qt::ControlModifier);
        dialog = find<LaunchDialog>(*main, "dlg.launch");
        if (!QTest::qWaitForWindowActive(dialog)) qFatal("the dialog was not shown");
        if (!QTest::qWaitFor([&] { return preset().count() >= 15; })) qFatal("no presets were read");
        choose("sample-opd");
    }
    QComboBox& preset() { return *find<QComboBox>(*dialog, "fld.launch.preset"); }
    /// By the keyboard, as a person would.
    void choose(const QString& name) {
        preset().setFocus();
        const int wanted = preset().findText(name);
        for (int i = 0; i < 40 && preset().currentIndex() != wanted; ++i)
            QTest::keyClick(&preset(), preset().currentIndex() < wanted ? Qt::Key_Down : Qt::Key_Up);
        QCOMPARE(preset().currentText(), name);
    }
    void page(int number) { find<QListWidget>(*dialog, "list.launch.pages")->setCurrentRow(number - 1); }
    void set(const char* key, const QString& text) {
        type(*find<QLineEdit>(*dialog, QString("fld.launch.") + key), text);
    }
    QString text(const char* label) { return find<QLabel>(*dialog, label)->text(); }
    QString note(const char* key) { return text((std::string("lbl.launch.note.") + key).c_str()); }
    QAbstractItemModel& differences() { return *find<QTreeView>(*dialog, "table.diffPreset")->model(); }
    bool can_start() { return find<QPushButton>(*dialog, "btn.launch.start")->isEnabled(); }
};

} // namespace

class LaunchTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void every_key_of_a_recipe_stands_on_one_page() {
        std::multiset<std::string> shown;
        for (const auto& page : recipe_pages())
            for (const auto& field : page.fields) shown.insert(field.key);
        std::set<std::string> keys;
        for (const auto& [key, value] : formats::flattened({})) keys.insert(key);
        for (const auto& key : keys)
            if (key != "preset") QVERIFY2(shown.count(key) == 1, key.c_str());
        for (const auto& key : shown) QVERIFY2(keys.count(key) == 1, key.c_str());
    }

    void models_of_findings_and_differences_keep_to_the_rules_of_models() {
        PreflightModel findings;
        const QAbstractItemModelTester tester(&findings,
                                              QAbstractItemModelTester::FailureReportingMode::QtTest);
        findings.clear({{"PF01", "Folder"}, {"PF12", "Objective"}});
        QCOMPARE(findings.rowCount(), 2);
        findings.add(finding("PF01", session::Verdict::Pass));
        findings.add(finding("PF12", session::Verdict::Fail, true));
        findings.add(finding("PF99", session::Verdict::Warn)); // one that was not announced
        QCOMPARE(findings.rowCount(), 3);
        QCOMPARE(findings.blocking().size(), 1);
        findings.override_failure("PF12", "meant");
        QVERIFY(findings.blocking().isEmpty());
        QCOMPARE(findings.overridden().size(), size_t(1));
        findings.override_failure("PF12", "");
        QCOMPARE(findings.blocking().size(), 1);
        RecipeDifferencesModel differences;
        const QAbstractItemModelTester other(&differences,
                                             QAbstractItemModelTester::FailureReportingMode::QtTest);
        differences.show({{"optimizer.lr", "1e-4", "2e-4"}, {"run.steps", "1", "2"}});
        QCOMPARE(differences.rowCount(), 2);
        differences.show({});
        QCOMPARE(differences.rowCount(), 0);
    }

    void a_changed_field_is_a_row_of_differences_and_can_be_undone() {
        Launch launch;
        launch.page(7);
        launch.set("optimizer.lr", "5e-4");
        QTRY_COMPARE(launch.differences().rowCount(), 1);
        QCOMPARE(launch.text("lbl.diffPreset"), QString("DIFFERS FROM PRESET (1)"));
        QCOMPARE(launch.differences().index(0, RecipeDifferencesModel::Key).data().toString(),
                 QString("optimizer.lr"));
        QVERIFY(launch.note("optimizer.lr").contains("2.5 times"));
        press(*launch.dialog, "btn.launch.undo.optimizer.lr");
        QTRY_COMPARE(launch.differences().rowCount(), 0);
        QCOMPARE(find<QLineEdit>(*launch.dialog, "fld.launch.optimizer.lr")->text().toDouble(), 2e-4);
    }

    void wrong_values_say_what_was_expected_and_switch_start_off() {
        Launch launch(true);
        QTRY_VERIFY_WITH_TIMEOUT(launch.can_start(), 60000);
        launch.page(7);
        for (const char* wrong : {"-1", "fast", ""}) {
            launch.set("optimizer.lr", wrong);
            QTRY_VERIFY2(launch.note("optimizer.lr").contains("expected"), wrong);
            QTRY_VERIFY2(!launch.can_start(), wrong);
            QVERIFY(launch.text("lbl.launch.start").startsWith("Start is off"));
            QCOMPARE(find<QLineEdit>(*launch.dialog, "fld.launch.optimizer.lr")->text(), QString(wrong));
        }
        launch.set("optimizer.lr", "1e-4");
        QTRY_VERIFY(launch.can_start());
        launch.page(2);
        auto* student = find<QLineEdit>(*launch.dialog, "fld.launch.student.model");
        type(*student, "/no/such/model");
        QTRY_VERIFY_WITH_TIMEOUT(launch.note("student.model").contains("/no/such/model"), 5000);
        QTRY_VERIFY(!launch.can_start());
        // What two fields say together: nothing that needs the answer without data that has one.
        launch.choose("sample-opsd");
        QTRY_VERIFY(launch.can_start());
    }

    void a_failed_check_blocks_the_start_until_it_is_overridden_with_a_reason() {
        Launch launch(true);
        QTRY_VERIFY_WITH_TIMEOUT(launch.can_start(), 60000);
        std::vector<session::Finding> script{finding("PF01", session::Verdict::Pass),
                                             finding("PF12", session::Verdict::Fail, true),
                                             finding("PF19", session::Verdict::Warn)};
        launch.dialog->set_preflight([&](const session::PreflightRequest&, const auto& each) {
            for (const auto& one : script) each(one);
            return Result<std::vector<session::Finding>>(script);
        });
        QTest::keyClick(launch.dialog, Qt::Key_F6);
        QTRY_VERIFY(launch.text("lbl.preflight.summary").startsWith("1 pass, 1 warn, 1 fail"));
        QVERIFY(!launch.can_start());
        QTRY_VERIFY(launch.text("lbl.launch.start").contains("PF12"));
        auto* reason = find<QLineEdit>(*launch.dialog, "fld.preflight.reason");
        QVERIFY(reason->isVisible()); // the failure is chosen by itself
        type(*reason, "a control run");
        QTRY_VERIFY(launch.can_start());
        session::RunRequest asked;
        QObject::connect(launch.dialog, &LaunchDialog::startWanted, launch.dialog,
                         [&](const session::RunRequest& request) { asked = request; });
        launch.main->blockSignals(false);
        QObject::disconnect(launch.dialog, &LaunchDialog::startWanted, launch.main, nullptr);
        QTest::keyClick(launch.dialog, Qt::Key_Return, Qt::ControlModifier);
        QCOMPARE(asked.recipe.provenance.assumed.back(),
                 std::string("started although PF12 failed: a control run"));

        script[1] = finding("PF07", session::Verdict::Fail, false); // one that may not be overridden
        QTest::keyClick(launch.dialog, Qt::Key_F6);
        QTRY_VERIFY(launch.text("lbl.launch.start").contains("PF07"));
        QVERIFY(!reason->isVisible() && !launch.can_start());
        script[1] = finding("PF07", session::Verdict::Pass);
        QTest::keyClick(launch.dialog, Qt::Key_F6);
        QTRY_VERIFY(launch.can_start());
        // Findings are of the fields as they were.
        launch.page(7);
        launch.set("optimizer.lr", "1e-4");
        QTRY_VERIFY(launch.text("lbl.preflight.notice").contains("run it again"));
    }

    void the_real_preflight_forecasts_time_and_memory() {
        Launch launch(true);
        QTRY_VERIFY_WITH_TIMEOUT(launch.can_start(), 60000);
        QTRY_VERIFY_WITH_TIMEOUT(launch.text("lbl.forecast.memory").contains("at the peak"), 10000);
        QVERIFY(launch.text("lbl.forecast.time").contains("unknown"));
        QTest::keyClick(launch.dialog, Qt::Key_F6);
        QTRY_VERIFY_WITH_TIMEOUT(launch.text("lbl.forecast.time").contains("100 steps"), 120000);
        QTRY_VERIFY_WITH_TIMEOUT(launch.can_start(), 60000);
        QVERIFY(launch.text("lbl.preflight.summary").contains("0 fail"));
    }

    void keys_go_through_the_pages_and_escape_keeps_a_draft() {
        Launch launch;
        auto* pages = find<QListWidget>(*launch.dialog, "list.launch.pages");
        QCOMPARE(pages->currentRow(), 0);
        QTest::keyClick(launch.dialog, Qt::Key_PageDown, Qt::ControlModifier);
        QCOMPARE(pages->currentRow(), 1);
        QTest::keyClick(launch.dialog, Qt::Key_PageUp, Qt::ControlModifier);
        QTest::keyClick(launch.dialog, Qt::Key_PageUp, Qt::ControlModifier);
        QCOMPARE(pages->currentRow(), pages->count() - 1);
        launch.page(10);
        launch.set("run.steps", "77");
        QTest::keyClick(launch.dialog, Qt::Key_Escape);
        QVERIFY(!launch.dialog->isVisible());
        const auto drafts = path_of(launch.folder.path() + "/runs/drafts.json");
        QTRY_VERIFY(std::filesystem::exists(drafts));

        launch.window.reset(); // another day
        MainWindow& again = launch.open();
        QTest::keyClick(&again, Qt::Key_N, Qt::ControlModifier);
        auto* dialog = find<LaunchDialog>(again, "dlg.launch");
        auto* menu = find<QMenu>(*dialog, "menu.launch.drafts");
        QTRY_COMPARE(menu->actions().size(), 1);
        QVERIFY(menu->actions()[0]->text().startsWith("sample-opd, kept"));
        menu->actions()[0]->trigger();
        QTRY_COMPARE(find<QLineEdit>(*dialog, "fld.launch.run.steps")->text(), QString("77"));
    }

    void a_recipe_is_saved_and_imported_again_and_a_broken_one_changes_nothing() {
        Launch launch;
        const QString file = launch.folder.path() + "/mine.toml";
        launch.page(10);
        launch.set("run.steps", "33");
        const auto choose = [&](const char* name, const QString& path, const char* button_text) {
            auto* files = find<QFileDialog>(*launch.dialog, name);
            find<QLineEdit>(*files, "fileNameEdit")->setText(path);
            for (auto* button : files->findChildren<QPushButton*>()) {
                if (!button->text().contains(button_text)) continue;
                QTest::mouseClick(button, Qt::LeftButton);
                break;
            }
        };
        press(*launch.dialog, "btn.launch.save");
        choose("dlg.launch.save", file, "Save");
        QTRY_VERIFY(std::filesystem::exists(path_of(file)));
        QCOMPARE(formats::read_recipe(path_of(file)).value().run.steps, int64_t(33));

        launch.choose("sample-opsd");
        press(*launch.dialog, "btn.launch.import");
        choose("dlg.launch.import", file, "Open");
        QTRY_COMPARE(find<QLineEdit>(*launch.dialog, "fld.launch.run.steps")->text(), QString("33"));
        QCOMPARE(launch.differences().rowCount(), 1); // still a child of its preset

        const QString broken = launch.folder.path() + "/broken.toml";
        QVERIFY(write_file(path_of(broken), "[run]\nstepz = 3\n"));
        press(*launch.dialog, "btn.launch.import");
        choose("dlg.launch.import", broken, "Open");
        QTRY_VERIFY(launch.text("lbl.launch.message").contains("broken.toml:2"));
        QVERIFY(launch.text("lbl.launch.message").contains("steps"));
        QVERIFY(launch.text("lbl.launch.message").contains("Nothing was changed"));
        QCOMPARE(find<QLineEdit>(*launch.dialog, "fld.launch.run.steps")->text(), QString("33"));
    }

    void the_copied_command_makes_a_run_of_the_same_recipe() {
        Launch launch;
        launch.page(7);
        launch.set("optimizer.lr", "3e-4");
        launch.page(10);
        launch.set("run.steps", "1");
        launch.page(8);
        launch.set("evaluation.limit", "3");
        launch.page(5);
        launch.set("rollout.prompts_per_step", "3");
        launch.page(1);
        launch.set("run.name", "it's mine");
        QTRY_COMPARE(launch.differences().rowCount(), 5);
        QTest::keyClick(launch.dialog, Qt::Key_L, Qt::ControlModifier | Qt::ShiftModifier);
        const QString command = QApplication::clipboard()->text();
        QCOMPARE(command, launch.dialog->command_line());
        QVERIFY(command.contains("# recipe "));
        QProcess shell;
        auto environment = QProcessEnvironment::systemEnvironment();
        environment.insert("PATH", QFileInfo(STILLROOM_CLI).absolutePath() + ":" + environment.value("PATH"));
        shell.setProcessEnvironment(environment);
        shell.start("bash", {"-c", command});
        QVERIFY(shell.waitForFinished(120000));
        QVERIFY2(shell.exitCode() == 0, shell.readAllStandardError().constData());
        const auto reader = record::RunReader::open(path_of(launch.folder.path() + "/runs/it's mine"));
        QVERIFY(reader);
        QVERIFY(command.endsWith(QString::fromStdString(reader->summary().value().recipe_hash)));
    }
};

QTEST_MAIN(LaunchTest)
#include "launch_test.moc"
