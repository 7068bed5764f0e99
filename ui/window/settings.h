// SPDX-License-Identifier: GPL-3.0-or-later
// What the window remembers between starts, in the configuration folder: settings.json and layout.json,
// written atomically. A file that can't be read gives the defaults and one line that says so.
#pragma once

#include <QByteArray>
#include <QJsonObject>
#include <QString>
#include <QStringList>

namespace stillroom::ui {

struct Settings {
    QString theme = "system";
    QStringList recent; // run folders, newest first, 10 at most
    QString last_run;
    bool hints = true;
};

struct Loaded {
    QJsonObject object;
    QString fault; // not empty: defaults are in use, and why
};

class SettingsFile {
public:
    explicit SettingsFile(QString folder) : folder_(std::move(folder)) {}

    Settings load(QString* fault = nullptr) const;
    /// False where the disk refused; the old file stands then.
    bool save(const Settings& settings) const;

    /// The window's geometry and docks: bytes of QMainWindow with a checksum, and the version of the layout.
    bool save_layout(const QByteArray& geometry, const QByteArray& state) const;
    /// Empty where there is none, or it isn't whole, or the last restoring ended in a crash (`fault` says).
    std::pair<QByteArray, QByteArray> load_layout(QString* fault) const;
    /// Between these two a crash counts against the layout.
    void begin_restore() const;
    void end_restore() const;
    void forget_layout() const;

private:
    Loaded read(const QString& name) const;
    bool write(const QString& name, const QJsonObject& object) const;
    QString folder_;
};

} // namespace stillroom::ui
