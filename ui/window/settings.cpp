// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/settings.h"

#include <QCryptographicHash>
#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QSaveFile>

namespace stillroom::ui {

namespace {

constexpr int settings_version = 1, layout_version = 1;

QString checksum(const QByteArray& bytes) {
    return QString::fromLatin1(QCryptographicHash::hash(bytes, QCryptographicHash::Sha256).toHex());
}

} // namespace

Loaded SettingsFile::read(const QString& name) const {
    QFile file(folder_ + "/" + name);
    if (!file.exists()) return {};
    if (!file.open(QIODevice::ReadOnly)) return {{}, name + ": " + file.errorString()};
    QJsonParseError error;
    const auto document = QJsonDocument::fromJson(file.readAll(), &error);
    if (!document.isObject())
        return {{}, name + ": not a JSON object (" + error.errorString() + "); defaults are in use"};
    return {document.object(), {}};
}

bool SettingsFile::write(const QString& name, const QJsonObject& object) const {
    QDir().mkpath(folder_);
    const QString path = folder_ + "/" + name;
    if (QFile::exists(path)) {
        QFile::remove(path + ".bak");
        QFile::copy(path, path + ".bak");
    }
    QSaveFile file(path);
    if (!file.open(QIODevice::WriteOnly)) return false;
    file.write(QJsonDocument(object).toJson());
    return file.commit();
}

Settings SettingsFile::load(QString* fault) const {
    const Loaded loaded = read("settings.json");
    if (fault) *fault = loaded.fault;
    Settings settings;
    if (loaded.object["version"].toInt() != settings_version) return settings;
    settings.theme = loaded.object["theme"].toString(settings.theme);
    for (const auto& run : loaded.object["recent"].toArray()) settings.recent.push_back(run.toString());
    settings.last_run = loaded.object["last_run"].toString();
    settings.hints = loaded.object["hints"].toBool(true);
    return settings;
}

bool SettingsFile::save(const Settings& settings) const {
    return write("settings.json", {{"version", settings_version},
                                   {"theme", settings.theme},
                                   {"recent", QJsonArray::fromStringList(settings.recent.mid(0, 10))},
                                   {"last_run", settings.last_run},
                                   {"hints", settings.hints}});
}

bool SettingsFile::save_layout(const QByteArray& geometry, const QByteArray& state) const {
    return write("layout.json", {{"version", layout_version},
                                 {"program", STILLROOM_VERSION},
                                 {"geometry", QString::fromLatin1(geometry.toBase64())},
                                 {"state", QString::fromLatin1(state.toBase64())},
                                 {"sha256", checksum(geometry + state)}});
}

std::pair<QByteArray, QByteArray> SettingsFile::load_layout(QString* fault) const {
    if (QFile::exists(folder_ + "/restoring")) {
        *fault = "The last layout could not be restored; defaults are in use.";
        return {};
    }
    const Loaded loaded = read("layout.json");
    *fault = loaded.fault;
    if (loaded.object.isEmpty()) return {};
    const auto bytes = [&](const char* key) {
        return QByteArray::fromBase64(loaded.object[QLatin1String(key)].toString().toLatin1());
    };
    const QByteArray geometry = bytes("geometry"), state = bytes("state");
    // restoreState() takes some damaged blobs: the checksum decides.
    if (loaded.object["version"].toInt() != layout_version ||
        loaded.object["sha256"].toString() != checksum(geometry + state)) {
        *fault = "layout.json is damaged or of another version; the default layout is in use.";
        return {};
    }
    return {geometry, state};
}

void SettingsFile::begin_restore() const {
    QDir().mkpath(folder_);
    QFile mark(folder_ + "/restoring");
    (void)mark.open(QIODevice::WriteOnly);
}
void SettingsFile::end_restore() const { QFile::remove(folder_ + "/restoring"); }
void SettingsFile::forget_layout() const {
    QFile::remove(folder_ + "/layout.json");
    end_restore();
}

} // namespace stillroom::ui
