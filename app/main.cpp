// SPDX-License-Identifier: GPL-3.0-or-later
// The window's program: options, then the window, then the engine behind it.
#include "ui/source/engine.h"
#include "ui/window/main_window.h"

#include <QApplication>
#include <QCommandLineParser>
#include <QScreen>
#include <QStandardPaths>
#include <QTimer>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace {

constexpr int title_height = 40; // pixels, of most window managers at most

volatile std::sig_atomic_t asked_to_end = 0;
void on_signal(int) { asked_to_end = 1; }

/// Whether help or the version is all that is asked for, which needs no display.
bool only_asks(int argc, char** argv) {
    return std::any_of(argv + 1, argv + argc, [](const std::string_view argument) {
        return argument == "-h" || argument == "--help" || argument == "--help-all" || argument == "-v" ||
               argument == "--version";
    });
}

bool has_display(int argc, char** argv) {
    const bool chosen = std::any_of(argv + 1, argv + argc, [](const std::string_view argument) {
        return argument == "-platform" || argument == "--platform";
    });
    return chosen || std::getenv("DISPLAY") || std::getenv("WAYLAND_DISPLAY") ||
           std::getenv("QT_QPA_PLATFORM");
}

} // namespace

int main(int argc, char** argv) {
    const bool asks = only_asks(argc, argv);
    if (!asks && !has_display(argc, argv)) {
        std::fprintf(stderr,
                     "error: found no display to open the window on (DISPLAY and WAYLAND_DISPLAY are not "
                     "set); stillroom-cli works without one\n");
        return 1;
    }
    const std::unique_ptr<QCoreApplication> application(asks ? new QCoreApplication(argc, argv)
                                                             : new QApplication(argc, argv));
    QCoreApplication::setApplicationName("stillroom");
    QCoreApplication::setApplicationVersion(STILLROOM_VERSION);

    QCommandLineParser parser;
    parser.setApplicationDescription("A workbench for on-policy distillation of small language models.");
    parser.addHelpOption();
    parser.addVersionOption();
    parser.addPositionalArgument("run", "a run's folder to open", "[RUN]");
    const QString data = QStandardPaths::writableLocation(QStandardPaths::GenericDataLocation) + "/stillroom",
                  config =
                      QStandardPaths::writableLocation(QStandardPaths::GenericConfigLocation) + "/stillroom";
    parser.addOptions(
        {{"data-dir", "folder of the runs' folder (default: " + data + ")", "folder", data},
         {"config-dir", "folder of settings and layout (default: " + config + ")", "folder", config},
         {"safe-mode", "default layout, nothing restored"},
         {"reset-layout", "forget the saved layout"},
         {"sample", "start the sample run at once"},
         {"report-stalls",
          "at the end of a run, say how long the window was ever kept from its work, and quit"}});
    parser.process(*application);
    QGuiApplication::setDesktopFileName("stillroom");

    stillroom::ui::Engine engine;
    stillroom::ui::MainWindow::Options options;
    options.runs_folder = parser.value("data-dir") + "/runs";
    options.config_folder = parser.value("config-dir");
    options.safe_mode = parser.isSet("safe-mode");
    options.reset_layout = parser.isSet("reset-layout");
    stillroom::ui::MainWindow window(engine, options);
    // With its frame it would not fit a small screen. (Without a screen there is nothing to fit.)
    const QSize room = QGuiApplication::primaryScreen()->availableGeometry().size(), size = window.size();
    const bool fits = size.width() < room.width() && size.height() + title_height < room.height();
    if (fits || QGuiApplication::platformName() == "offscreen") {
        window.show();
    } else {
        window.showMaximized();
    }
    if (const QStringList runs = parser.positionalArguments(); !runs.isEmpty()) window.open_run(runs.front());
    if (parser.isSet("sample")) {
        QObject::connect(&engine, &stillroom::ui::Engine::loaded, &window,
                         [&] { window.start_shipped("sample-opd"); });
    }
    if (parser.isSet("report-stalls")) {
        QObject::connect(&engine, &stillroom::ui::Engine::started, &window,
                         [&] { window.watchdog().restart(); });
        QObject::connect(&engine, &stillroom::ui::Engine::ended, &window, [&] {
            const auto stalls = window.watchdog().stalls();
            std::fprintf(
                stderr,
                "event loop over %.0f s: longest stall %.1f ms, 99 %% below %.2f ms, median %.2f ms\n",
                stalls.seconds, stalls.longest, stalls.p99, stalls.median);
            window.close();
        });
    }
    QTimer::singleShot(0, &engine, &stillroom::ui::Engine::load);

    // A signal ends the program as closing the window would: the run finishes its step and saves.
    std::signal(SIGTERM, on_signal);
    std::signal(SIGINT, on_signal);
    QTimer signals_timer;
    QObject::connect(&signals_timer, &QTimer::timeout, application.get(), [] {
        if (asked_to_end) QApplication::quit();
    });
    signals_timer.start(200);
    return QApplication::exec();
}
