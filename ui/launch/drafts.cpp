// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/launch/drafts.h"

#include "base/files.h"

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLocale>

namespace stillroom::ui {

QString Draft::title() const {
    const auto name = texts.find("run.name");
    return (name == texts.end() ? QString("draft") : name->second) + ", kept " +
           QLocale(QLocale::English).toString(kept, "ddd d MMM HH:mm");
}

std::vector<Draft> read_drafts(const QString& file) {
    QFile source(file);
    if (!source.open(QIODevice::ReadOnly)) return {};
    std::vector<Draft> drafts;
    for (const QJsonValue& value : QJsonDocument::fromJson(source.readAll()).object()["drafts"].toArray()) {
        const QJsonObject object = value.toObject();
        Draft draft;
        draft.kept = QDateTime::fromString(object["kept"].toString(), Qt::ISODate);
        draft.file = object["recipe"].toString().toStdString();
        const QJsonObject texts = object["texts"].toObject();
        for (auto text = texts.begin(); text != texts.end(); ++text)
            draft.texts[text.key().toStdString()] = text.value().toString();
        if (!draft.texts.empty()) drafts.push_back(std::move(draft));
    }
    return drafts;
}

Result<void> write_drafts(const QString& file, const std::vector<Draft>& drafts) {
    QJsonArray list;
    for (const Draft& draft : drafts) {
        QJsonObject texts;
        for (const auto& [key, text] : draft.texts) texts[QString::fromStdString(key)] = text;
        list.append(QJsonObject{{"kept", draft.kept.toString(Qt::ISODate)},
                                {"recipe", QString::fromStdString(draft.file)},
                                {"texts", texts}});
    }
    const std::filesystem::path path = file.toStdString();
    std::error_code ignored;
    std::filesystem::create_directories(path.parent_path(), ignored); // write_file says what is wrong
    return write_file(path,
                      QJsonDocument(QJsonObject{{"version", 1}, {"drafts", list}}).toJson().toStdString());
}

void keep_draft(std::vector<Draft>& drafts, Draft draft) {
    std::erase_if(drafts, [&](const Draft& each) { return each.texts == draft.texts; });
    drafts.insert(drafts.begin(), std::move(draft));
    if (drafts.size() > most_drafts) drafts.resize(most_drafts);
}

} // namespace stillroom::ui
