// SPDX-License-Identifier: GPL-3.0-or-later
// Pictures of every view, for the documentation and for a person's eye: screenshots RUN TO. RUN is a finished
// run; it is copied, never written to.
#include "ui/launch/launch_dialog.h"
#include "ui/window/main_window.h"

#include <QApplication>
#include <QDir>
#include <QListWidget>
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
            QTest::keyClick(view, Qt::Key_J);
            wait_until_still(800);
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
                for (int page = 0; page < pages->count(); ++page) {
                    pages->setCurrentRow(page);
                    wait_until_still(400);
                    if (page == pages->count() - 1) {
                        QTest::keyClick(dialog, Qt::Key_F6);
                        wait_until_still(20000);
                    }
                    good &= save(*dialog, name(qPrintable(QString("launch%1").arg(page + 1))));
                }
                dialog->close();
            }
        }
    }
    return good ? 0 : 1;
}
