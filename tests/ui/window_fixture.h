// SPDX-License-Identifier: GPL-3.0-or-later
// The program's window on a folder of its own, and what tests of it share.
#pragma once

#include "ui/window/main_window.h"

#include <QAbstractButton>
#include <QLineEdit>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>
#include <filesystem>
#include <memory>

namespace stillroom::ui {

inline std::filesystem::path path_of(const QString& text) { return text.toStdString(); }

template <typename T>
T* find(QWidget& window, const QString& name) {
    T* found = window.findChild<T*>(name);
    if (!found) qFatal("no widget is named %s", qPrintable(name));
    return found;
}

inline void press(QWidget& window, const char* button) {
    QTest::mouseClick(find<QAbstractButton>(window, button), Qt::LeftButton);
}

/// Replaces a field's text by keys.
inline void type(QLineEdit& field, const QString& text) {
    field.setFocus();
    field.selectAll();
    QTest::keyClick(&field, Qt::Key_Backspace);
    QTest::keyClicks(&field, text);
}

struct WindowFixture {
    QTemporaryDir folder;
    Engine engine;
    std::unique_ptr<MainWindow> window;

    explicit WindowFixture(bool with_engine = false) {
        if (with_engine) engine.load();
    }
    MainWindow& open() {
        MainWindow::Options options;
        options.runs_folder = folder.path() + "/runs";
        options.config_folder = folder.path() + "/config";
        window = std::make_unique<MainWindow>(engine, options);
        window->show();
        if (!QTest::qWaitForWindowActive(window.get())) qFatal("the window was not shown");
        return *window;
    }
    QString run(const char* name) const { return folder.path() + "/runs/" + name; }
};

struct CliResult {
    int status = -1;
    QByteArray out, err;
};
inline CliResult run_cli(const QStringList& arguments) {
    QProcess program;
    program.start(STILLROOM_CLI, arguments);
    if (!program.waitForFinished(120'000)) return {};
    return {program.exitCode(), program.readAllStandardOutput(), program.readAllStandardError()};
}

} // namespace stillroom::ui
