// SPDX-License-Identifier: GPL-3.0-or-later
// The checkpoints dialog on a run that the command line has made: pin, delete, export, and what is refused.
#include "record/queries.h"
#include "tests/ui/window_fixture.h"
#include "ui/checkpoints/checkpoints_dialog.h"

#include <QAbstractItemModelTester>
#include <QHeaderView>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QPushButton>
#include <QTableView>

using namespace stillroom;
using namespace stillroom::ui;

class CheckpointsTest : public QObject {
    Q_OBJECT

    QTemporaryDir made_; // one run of four steps with a checkpoint each, for all tests

    struct Checkpoints : WindowFixture {
        MainWindow* main;
        CheckpointsDialog* dialog;

        Checkpoints(const QString& original, bool with_engine) : WindowFixture(with_engine), main(&open()) {
            std::filesystem::create_directories(path_of(run("four")).parent_path());
            std::filesystem::copy(path_of(original), path_of(run("four")),
                                  std::filesystem::copy_options::recursive);
            main->open_run(run("four"));
            if (!QTest::qWaitFor([&] { return main->actions()["act.exp.checkpoints"].isEnabled(); }))
                qFatal("the run was not opened");
            QTest::keyClick(main, Qt::Key_H, Qt::ControlModifier | Qt::ShiftModifier);
            dialog = find<CheckpointsDialog>(*main, "dlg.checkpoints");
            if (!QTest::qWaitFor([&] { return model().rowCount() == 4; }))
                qFatal("no checkpoints were listed");
        }
        QTableView& table() { return *find<QTableView>(*dialog, "table.checkpoints"); }
        QAbstractItemModel& model() { return *table().model(); }
        QString cell(int row, int column) { return model().index(row, column).data().toString(); }
        void choose(int row) {
            QTest::mouseClick(table().viewport(), Qt::LeftButton, {},
                              table().visualRect(model().index(row, CheckpointsModel::Step)).center());
        }
        QString text(const char* label) { return find<QLabel>(*dialog, label)->text(); }
        QPushButton& button(const char* name) { return *find<QPushButton>(*dialog, name); }
        std::filesystem::path on_disk(int step) {
            return path_of(run("four")) / "checkpoints" /
                   QString("step-%1").arg(step, 6, 10, QChar('0')).toStdString();
        }
    };
    QString original() const { return made_.path() + "/run"; }

private Q_SLOTS:
    void initTestCase() {
        const auto trained = run_cli({"train",    "sample-opd",
                                      "--out",    original(),
                                      "--device", "cpu",
                                      "--steps",  "4",
                                      "--set",    "rollout.prompts_per_step=2",
                                      "--set",    "rollout.max_new=16",
                                      "--set",    "evaluation.limit=4",
                                      "--set",    "evaluation.every=2",
                                      "--set",    "checkpoint.every=1",
                                      "--set",    "checkpoint.keep_last=4",
                                      "--set",    "checkpoint.export_at_end=false"});
        QVERIFY2(trained.status == 0, trained.err.constData());
    }

    void lists_what_is_on_the_disk_newest_first() {
        Checkpoints w(original(), false);
        const QAbstractItemModelTester tester(&w.model(),
                                              QAbstractItemModelTester::FailureReportingMode::QtTest);
        QCOMPARE(w.cell(0, CheckpointsModel::Step), QString("4"));
        QCOMPARE(w.cell(3, CheckpointsModel::Step), QString("1"));
        QCOMPARE(w.cell(0, CheckpointsModel::State), QString("resumable"));
        QCOMPARE(w.cell(1, CheckpointsModel::Score), QString("not evaluated"));
        QVERIFY(w.text("lbl.checkpoints.summary").startsWith("4 of 4 kept"));
        const auto note = QJsonDocument::fromJson([&] {
                              QFile file(QString::fromStdString((w.on_disk(4) / "stillroom.json").string()));
                              return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
                          }())
                              .object();
        QVERIFY(note["weights_sha256"].toString().startsWith(w.cell(0, CheckpointsModel::Hash)));
    }

    void a_pin_is_kept_on_the_disk_and_keeps_from_deletion() {
        Checkpoints w(original(), false);
        w.choose(2);
        QVERIFY(w.button("btn.checkpoints.delete").isEnabled());
        const QRect box = w.table().visualRect(w.model().index(2, CheckpointsModel::Pin));
        QTest::mouseClick(w.table().viewport(), Qt::LeftButton, {},
                          QPoint(box.left() + 10, box.center().y()));
        QTRY_VERIFY(std::filesystem::exists(w.on_disk(2) / "pinned"));
        QTRY_COMPARE(w.cell(2, CheckpointsModel::Kept), QString("pinned"));
        w.choose(2);
        QTRY_VERIFY(!w.button("btn.checkpoints.delete").isEnabled());
        w.table().setCurrentIndex(w.model().index(2, CheckpointsModel::Pin));
        w.table().setFocus();
        QTest::keyClick(&w.table(), Qt::Key_Space);
        QTRY_VERIFY(!std::filesystem::exists(w.on_disk(2) / "pinned"));
    }

    void deleting_asks_and_keeping_is_the_default() {
        Checkpoints w(original(), false);
        w.choose(3);
        QTest::keyClick(w.dialog, Qt::Key_Delete);
        auto* question = find<QDialog>(*w.dialog, "dlg.checkpoints.delete");
        QVERIFY(find<QPushButton>(*question, "btn.checkpoints.keep")->isDefault());
        QVERIFY(!find<QPushButton>(*question, "btn.checkpoints.remove")->isDefault());
        press(*question, "btn.checkpoints.keep");
        QTest::qWait(200);
        QVERIFY(std::filesystem::exists(w.on_disk(1)));
        press(*w.dialog, "btn.checkpoints.delete");
        QTRY_VERIFY(w.dialog->findChild<QDialog*>("dlg.checkpoints.delete"));
        press(*find<QDialog>(*w.dialog, "dlg.checkpoints.delete"), "btn.checkpoints.remove");
        QTRY_VERIFY(!std::filesystem::exists(w.on_disk(1)));
        QTRY_COMPARE(w.cell(3, CheckpointsModel::State), QString("removed"));
        QVERIFY(w.text("lbl.checkpoints.summary").startsWith("3 of 4 kept"));
        QVERIFY(w.text("lbl.checkpoints.message").contains("Checkpoint 1 was deleted"));
        const auto kept = record::RunReader::open(path_of(w.run("four"))).value().checkpoints().value();
        QVERIFY(kept.front().removed && !kept.back().removed);
    }

    void exports_are_verified_and_never_overwrite() {
        Checkpoints w(original(), true);
        QTRY_VERIFY_WITH_TIMEOUT(w.button("btn.checkpoints.export").isEnabled(), 60000);
        QVERIFY(w.text("lbl.checkpoints.needs").contains("free"));
        const QString to = w.WindowFixture::folder.path() + "/mine";
        auto* field = find<QLineEdit>(*w.dialog, "fld.checkpoints.to");
        w.choose(1); // step 3
        type(*field, to);
        QTest::keyClick(w.dialog, Qt::Key_Return, Qt::ControlModifier);
        QVERIFY2(QTest::qWaitFor(
                     [&] { return w.text("lbl.checkpoints.message").startsWith("Verified: step 3"); }, 60000),
                 qPrintable(w.text("lbl.checkpoints.message")));
        const auto inspected = run_cli({"inspect", to, "--json"});
        QCOMPARE(inspected.status, 0);
        QCOMPARE(QJsonDocument::fromJson(inspected.out).object()["kind"].toString(), QString("model folder"));
        type(*field, to);
        QTRY_VERIFY(!w.button("btn.checkpoints.export").isEnabled());
        QVERIFY(w.text("lbl.checkpoints.needs").contains("nothing is ever overwritten"));
        type(*field, "/proc/nowhere/model");
        QTRY_VERIFY(!w.button("btn.checkpoints.export").isEnabled() ||
                    w.text("lbl.checkpoints.needs").contains("Needs"));
    }
};

QTEST_MAIN(CheckpointsTest)
#include "checkpoints_test.moc"
