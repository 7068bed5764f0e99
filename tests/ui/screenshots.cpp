// SPDX-License-Identifier: GPL-3.0-or-later
// Pictures of every view, for the documentation and for a person's eye: screenshots RUN TO. RUN is a finished
// run; it is copied, never written to.
#include "ui/launch/launch_dialog.h"
#include "ui/window/main_window.h"

#include <QApplication>
#include <QDir>
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <QTemporaryDir>
#include <QTest>
#include <cstdio>
#include <filesystem>

using namespace stillroom::ui;

namespace {

void wait_until_still(int milliseconds) { QTest::qWait(milliseconds); }

bool save(QWidget& widget, const QString& file) {
    const QPixmap picture = widget.grab();
    if (picture.save(file)) return true;
    std::fprintf(stderr, "%s cannot be written\n", qPrintable(file));
    return false;
}

} // namespace

int main(int argc, char** argv) {
    QApplication application(argc, argv);
    if (argc != 3) {
        std::fprintf(stderr, "usage: screenshots RUN TO\n");
        return 2;
    }
    const QString to = QString::fromLocal8Bit(argv[2]);
    QDir().mkpath(to);
    QTemporaryDir folder;
    std::filesystem::create_directories(folder.path().toStdString() + "/runs");
    const std::filesystem::path run =
        folder.path().toStdString() + "/runs/" + std::filesystem::path(argv[1]).filename().string();
    std::filesystem::copy(argv[1], run, std::filesystem::copy_options::recursive);

    Engine engine;
    engine.load();
    bool good = true;
    for (const QSize size : {QSize(1280, 800), QSize(1920, 1080)}) {
        for (const char* theme : {"Light", "Dark"}) {
            MainWindow::Options options;
            options.runs_folder = folder.path() + "/runs";
            options.config_folder = folder.path() + "/config";
            options.safe_mode = true;
            MainWindow window(engine, options);
            window.resize(size);
            window.show();
            (void)QTest::qWaitForWindowActive(&window);
            window.actions()[QString("act.view.theme") + theme].trigger();
            const auto name = [&](const char* view) {
                return QString("%1/%2-%3-%4.png")
                    .arg(to, view, QString::number(size.width()), QString(theme).toLower());
            };
            wait_until_still(engine.state() == Engine::State::Loading ? 8000 : 600);
            good &= save(window, name("start"));
            window.open_run(QString::fromStdString(run.string()));
            wait_until_still(2500);
            good &= save(window, name("run"));
            window.actions()["act.view.rollouts"].trigger();
            wait_until_still(1500);
            QWidget* view = window.findChild<QWidget*>("view.rollouts");
            // One whose candidates are kept.
            const auto* candidates = window.findChild<QAbstractItemView*>("table.candidates");
            for (int i = 0; i < 60 && !(candidates->isVisible() && candidates->model()->rowCount() > 0);
                 ++i) {
                QTest::keyClick(view, Qt::Key_J);
                wait_until_still(250);
                QTest::keyClick(view, Qt::Key_N);
                wait_until_still(250);
            }
            QTest::keyClick(view, Qt::Key_N);
            wait_until_still(800);
            good &= save(window, name("rollouts"));
            window.actions()["act.exp.checkpoints"].trigger();
            wait_until_still(800);
            if (auto* dialog = window.findChild<QWidget*>("dlg.checkpoints")) {
                good &= save(*dialog, name("checkpoints"));
                dialog->close();
            }
            window.actions()["act.file.new"].trigger();
            wait_until_still(1200);
            if (auto* dialog = window.findChild<QWidget*>("dlg.launch")) {
                auto* pages = dialog->findChild<QListWidget*>("list.launch.pages");
                pages->setCurrentRow(6);
                auto* rate = dialog->findChild<QLineEdit*>("fld.launch.optimizer.lr");
                rate->setFocus();
                rate->selectAll();
                QTest::keyClicks(rate, "3e-4");
                wait_until_still(1200);
                good &= save(*dialog, name("launch"));
                QTest::keyClick(dialog, Qt::Key_F6);
                const auto* again = dialog->findChild<QPushButton*>("btn.launch.preflight");
                (void)QTest::qWaitFor([&] { return again->isEnabled(); }, 60000);
                wait_until_still(400);
                good &= save(*dialog, name("preflight"));
                dialog->close();
            }
        }
    }
    return good ? 0 : 1;
}
