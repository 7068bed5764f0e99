// SPDX-License-Identifier: GPL-3.0-or-later
// A person's whole way through the window with the real engine: a run from the dialog, pause and resume, a
// rollout read beside its teacher, an export, and what the command line says of the same run.
#include "tests/ui/window_fixture.h"
#include "ui/launch/launch_dialog.h"
#include "ui/models/candidates_model.h"
#include "ui/plot/plot_widget.h"
#include "ui/rollouts/token_view.h"

#include <QComboBox>
#include <QDialog>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QListWidget>
#include <QPushButton>
#include <QTableView>
#include <algorithm>
#include <cmath>

using namespace stillroom;
using namespace stillroom::ui;

class WorkbenchTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void from_the_launch_dialog_to_an_exported_model();
    void a_run_that_was_killed_is_recognised_and_goes_on_bit_for_bit();
    void a_run_of_another_process_is_followed_and_takes_no_commands();
    void stopping_at_once_saves_and_exports();
};

namespace {

int recorded_points(const PlotWidget& chart) {
    int64_t most = 0;
    for (const auto& series : chart.snapshot().series) most = std::max(most, series.data.total);
    return int(most);
}

QStringList small_run(const QString& folder, int steps) {
    return {"train",    "sample-opd",
            "--out",    folder,
            "--device", "cpu",
            "--steps",  QString::number(steps),
            "--set",    "rollout.prompts_per_step=4",
            "--set",    "evaluation.limit=4",
            "--set",    "checkpoint.every=3",
            "--set",    "checkpoint.export_at_end=false"};
}

std::vector<double> losses(const QString& run) {
    std::vector<double> values;
    const auto reader = record::RunReader::open(path_of(run));
    if (!reader) return values;
    for (const auto& point : reader->series("loss").value()) values.push_back(point.value);
    return values;
}

} // namespace

void WorkbenchTest::from_the_launch_dialog_to_an_exported_model() {
    WindowFixture fixture(true);
    MainWindow& window = fixture.open();
    QTRY_VERIFY_WITH_TIMEOUT(fixture.engine.state() == Engine::State::Ready, 60000);

    // The dialog: the self-distillation sample, fourteen steps.
    QTest::keyClick(&window, Qt::Key_N, Qt::ControlModifier);
    auto* dialog = find<LaunchDialog>(window, "dlg.launch");
    QVERIFY(QTest::qWaitForWindowActive(dialog));
    auto* preset = find<QComboBox>(*dialog, "fld.launch.preset");
    QTRY_VERIFY(preset->findText("sample-opsd") >= 0);
    preset->setFocus();
    for (int i = 0; i < preset->count() && preset->currentText() != "sample-opsd"; ++i)
        QTest::keyClick(preset,
                        preset->currentIndex() < preset->findText("sample-opsd") ? Qt::Key_Down : Qt::Key_Up);
    QCOMPARE(preset->currentText(), QString("sample-opsd"));
    find<QListWidget>(*dialog, "list.launch.pages")->setCurrentRow(9);
    type(*find<QLineEdit>(*dialog, "fld.launch.run.steps"), "14");
    QTRY_VERIFY_WITH_TIMEOUT(find<QPushButton>(*dialog, "btn.launch.start")->isEnabled(), 20000);
    QTest::keyClick(dialog, Qt::Key_Return, Qt::ControlModifier);

    // The run: every chart of what it records has points; pause and resume.
    QTRY_VERIFY_WITH_TIMEOUT(window.run() && window.run()->status().step >= 3, 120000);
    QVERIFY(!dialog->isVisible());
    QCOMPARE(window.run()->status().steps_planned, int64_t(14));
    QApplication::setActiveWindow(&window); // as a window manager does when the dialog goes
    QTest::keyClick(&window, Qt::Key_F8);
    QTRY_COMPARE_WITH_TIMEOUT(window.run()->status().state, record::RunState::Paused, 30000);
    const int64_t steps = window.run()->status().step;
    window.resize(1920, 1600); // all charts in view
    for (const char* id :
         {"kl", "entropy", "overlap", "clip", "length", "grad", "lr", "speed", "memory", "time", "answers"}) {
        const auto* chart = find<PlotWidget>(window, QString("chart.") + id);
        QTRY_COMPARE_WITH_TIMEOUT(recorded_points(*chart), int(steps), 10000);
    }
    QVERIFY(recorded_points(*find<PlotWidget>(window, "chart.proxy")) >= 1);
    QTest::keyClick(&window, Qt::Key_F8);
    QTRY_VERIFY_WITH_TIMEOUT(window.run()->status().step > steps, 30000);
    QTRY_VERIFY_WITH_TIMEOUT(!fixture.engine.busy(), 120000);
    QTRY_COMPARE_WITH_TIMEOUT(window.run()->status().state, record::RunState::Finished, 10000);
    const QString run = QString::fromStdString(window.run()->folder().string());

    // A rollout whose candidates are kept, and its worst token.
    QTest::keyClick(&window, Qt::Key_2, Qt::ControlModifier);
    auto* tokens = find<TokenView>(window, "view.tokens");
    auto* view = find<QWidget>(window, "view.rollouts");
    QTRY_VERIFY_WITH_TIMEOUT(tokens->rollout() && tokens->is_laid_out(), 20000);
    for (int i = 0; i < 600 && !tokens->rollout()->record.top16; ++i) {
        const int64_t before = tokens->rollout()->id;
        QTest::keyClick(view, Qt::Key_J);
        QTRY_VERIFY(tokens->rollout()->id != before);
    }
    QVERIFY(tokens->rollout()->record.top16);
    QTRY_VERIFY(tokens->is_laid_out());
    QTest::keyClick(view, Qt::Key_N);
    QVERIFY(tokens->cursor());

    // The same token as the command line shows it.
    const auto shown = run_cli({"show", run, "--rollout", QString::number(tokens->rollout()->id), "--json"});
    QCOMPARE(shown.status, 0);
    QJsonObject object = QJsonDocument::fromJson(shown.out).object();
    if (object.contains("rollout")) object = object["rollout"].toObject();
    const QJsonArray list = object["tokens"].toArray();
    int worst = -1;
    double most = -INFINITY;
    for (int t = 0; t < list.size(); ++t) {
        const double kl = list[t].toObject()["kl"].toDouble();
        if (kl > most) most = kl, worst = t;
    }
    QCOMPARE(int(*tokens->cursor()), worst);
    const auto* candidates = find<QTableView>(window, "table.candidates")->model();
    QTRY_VERIFY(candidates->rowCount() >= 16);
    std::map<int, std::pair<double, double>> expected; // id: log pS, log pT
    for (const char* of : {"student_top16", "teacher_top16"}) {
        for (const auto& entry : list[worst].toObject()[of].toArray()) {
            const QJsonObject one = entry.toObject();
            expected[one["id"].toInt()] = {one["student_logprob"].toDouble(),
                                           one["teacher_logprob"].toDouble()};
        }
    }
    int compared = 0;
    for (int row = 0; row < candidates->rowCount(); ++row) {
        const auto cell = [&](int column) { return candidates->index(row, column).data().toString(); };
        const auto known = expected.find(cell(CandidatesModel::Id).toInt());
        if (known == expected.end()) continue; // the sampled token, where it is outside both
        // Three digits are shown, and the store keeps 16-bit floats.
        QVERIFY(std::abs(cell(CandidatesModel::LogStudent).toDouble() - known->second.first) < 0.01);
        QVERIFY(std::abs(cell(CandidatesModel::LogTeacher).toDouble() - known->second.second) < 0.01);
        ++compared;
    }
    QCOMPARE(compared, int(expected.size()));

    // Out of the menu as a Hugging Face folder, which the command line loads and answers with.
    QTRY_VERIFY_WITH_TIMEOUT(window.actions()["act.exp.hf"].isEnabled(), 15000);
    QTest::keyClick(&window, Qt::Key_X, Qt::ControlModifier | Qt::ShiftModifier);
    auto* checkpoints = find<QDialog>(window, "dlg.checkpoints");
    QTRY_VERIFY(find<QPushButton>(*checkpoints, "btn.checkpoints.export")->isEnabled());
    const QString to = fixture.folder.path() + "/exported";
    type(*find<QLineEdit>(*checkpoints, "fld.checkpoints.to"), to);
    press(*checkpoints, "btn.checkpoints.export");
    const auto* message = find<QLabel>(*checkpoints, "lbl.checkpoints.message");
    QVERIFY2(
        QTest::qWaitFor([&] { return message->text().startsWith("Verified: step 14"); }, 60000),
        qPrintable(message->text() + " / " + find<QLabel>(*checkpoints, "lbl.checkpoints.needs")->text()));
    QFile prompts(fixture.folder.path() + "/prompts.jsonl");
    QVERIFY(prompts.open(QIODevice::WriteOnly));
    prompts.write(R"({"messages": [{"role": "user", "content": "Start with 23, subtract 5, add 8."}]})"
                  "\n");
    prompts.close();
    const auto answered =
        run_cli({"generate", to, "--in", prompts.fileName(), "--temperature", "0", "--device", "cpu"});
    QVERIFY2(answered.status == 0, answered.err.constData());
    QVERIFY2(answered.out.contains("23-5=18"), answered.out.constData());
    window.close();
}

void WorkbenchTest::a_run_that_was_killed_is_recognised_and_goes_on_bit_for_bit() {
    WindowFixture fixture(true);
    const QString whole = fixture.folder.path() + "/whole", killed = fixture.run("killed");
    const auto trained = run_cli(small_run(whole, 30));
    QVERIFY2(trained.status == 0, trained.err.constData());
    std::filesystem::create_directories(path_of(fixture.run("")));
    QProcess child;
    child.start(STILLROOM_CLI, small_run(killed, 30));
    QTRY_VERIFY_WITH_TIMEOUT(losses(killed).size() >= 8, 60000);
    child.kill();
    QVERIFY(child.waitForFinished());
    const size_t recorded = losses(killed).size();
    QVERIFY(recorded < 30);

    MainWindow& window = fixture.open();
    QTRY_VERIFY(find<QWidget>(window, "panel.start.interrupted")->isVisible());
    const QString said = find<QLabel>(window, "lbl.start.interrupted")->text();
    QVERIFY2(said.contains(QString("step %1 of 30").arg(recorded)), qPrintable(said));
    auto* resume = find<QPushButton>(window, "btn.start.resume");
    QTRY_VERIFY_WITH_TIMEOUT(resume->isEnabled(), 60000);
    QTest::mouseClick(resume, Qt::LeftButton);
    QTRY_VERIFY_WITH_TIMEOUT(window.run() && window.run()->status().state == record::RunState::Finished,
                             120000);
    QTRY_VERIFY(!fixture.engine.busy());
    QCOMPARE(losses(killed), losses(whole));
}

void WorkbenchTest::a_run_of_another_process_is_followed_and_takes_no_commands() {
    WindowFixture fixture(true);
    std::filesystem::create_directories(path_of(fixture.run("")));
    QProcess child;
    child.start(STILLROOM_CLI, small_run(fixture.run("theirs"), 400));
    QTRY_VERIFY_WITH_TIMEOUT(losses(fixture.run("theirs")).size() >= 2, 60000);
    MainWindow& window = fixture.open();
    window.open_run(fixture.run("theirs"));
    QTRY_COMPARE(window.run()->status().driver, Driver::Elsewhere);
    const int64_t seen = window.run()->series().last_step();
    QTRY_VERIFY_WITH_TIMEOUT(window.run()->series().last_step() > seen + 3, 30000);
    QTRY_VERIFY(!window.actions()["act.run.pause"].isEnabled());
    QVERIFY2(window.actions()["act.run.pause"].toolTip().contains("process"),
             qPrintable(window.actions()["act.run.pause"].toolTip()));
    child.terminate(); // finishes its step and saves
    QVERIFY(child.waitForFinished(60000));
    QTRY_VERIFY_WITH_TIMEOUT(window.run()->status().state == record::RunState::Stopped, 30000);
}

void WorkbenchTest::stopping_at_once_saves_and_exports() {
    WindowFixture fixture(true);
    MainWindow& window = fixture.open();
    auto* sample = find<QPushButton>(window, "btn.start.sample");
    QTRY_VERIFY_WITH_TIMEOUT(sample->isEnabled(), 60000);
    QTest::mouseClick(sample, Qt::LeftButton);
    QTRY_VERIFY_WITH_TIMEOUT(window.run() && window.run()->status().step >= 2, 120000);
    QTest::keyClick(&window, Qt::Key_F8, Qt::ControlModifier | Qt::ShiftModifier);
    press(*find<QDialog>(window, "dlg.stopNow"), "btn.stopNow.stop");
    QTRY_VERIFY_WITH_TIMEOUT(!fixture.engine.busy(), 60000);
    const auto* banner = find<QLabel>(window, "lbl.banner.text");
    QTRY_VERIFY_WITH_TIMEOUT(banner->text().startsWith("Exported step"), 60000);
    const auto model = window.run()->folder() / "export" / "model";
    QCOMPARE(run_cli({"inspect", QString::fromStdString(model.string())}).status, 0);
}

QTEST_MAIN(WorkbenchTest)
#include "workbench_test.moc"
