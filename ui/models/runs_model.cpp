// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/runs_model.h"

#include "record/queries.h"

#include <QRegularExpression>
#include <algorithm>
#include <cmath>

namespace stillroom::ui {

namespace {

/// The same letter case as the state's word in lists.
QString state_word(const record::RunSummary& run) {
    if (!run.fault.empty()) return "Damaged";
    if (run.liveness == record::Liveness::Elsewhere) return "Elsewhere";
    if (run.liveness == record::Liveness::Unreachable) return "Unreachable";
    QString word = QString::fromStdString(record::to_string(run.state));
    word[0] = word[0].toUpper();
    return word;
}

QString score_text(const record::RunSummary& run) {
    if (!run.score) return {};
    QString text = QString::number(*run.score, 'f', 3);
    if (run.score_error) text += QString::fromUtf8(" ± ") + QString::number(*run.score_error, 'f', 3);
    return text;
}

std::string key_of(const std::filesystem::path& folder) {
    std::error_code ignored;
    const auto canonical = std::filesystem::weakly_canonical(folder, ignored);
    return (ignored ? folder : canonical).string();
}

} // namespace

RunsModel::RunsModel(QString folder, QObject* parent)
    : QAbstractTableModel(parent), folder_(std::move(folder)) {}

RunsModel::~RunsModel() {
    if (reader_.joinable()) reader_.join();
}

void RunsModel::refresh() {
    if (reading_) {
        again_ = true;
        return;
    }
    reading_ = true;
    if (reader_.joinable()) reader_.join();
    reader_ = std::thread([this, folder = folder_.toStdString(), others = others_] {
        std::vector<record::RunSummary> runs;
        if (!folder.empty()) runs = record::runs_in(folder);
        for (const QString& other : others) {
            const std::filesystem::path path = other.toStdString();
            if (std::any_of(runs.begin(), runs.end(),
                            [&](const auto& run) { return key_of(run.folder) == key_of(path); }))
                continue;
            auto reader = record::RunReader::open(path);
            auto summary = reader ? reader->summary() : Result<record::RunSummary>(reader.error());
            if (summary) {
                runs.push_back(std::move(*summary));
            } else {
                record::RunSummary broken;
                broken.folder = path;
                broken.name = path.filename().string();
                broken.fault = summary.error().message();
                runs.push_back(std::move(broken));
            }
        }
        QMetaObject::invokeMethod(this, [this, runs = std::move(runs)]() mutable { take(std::move(runs)); });
    });
}

void RunsModel::take(std::vector<record::RunSummary> runs) {
    reading_ = false;
    const bool same_rows = std::equal(runs.begin(), runs.end(), runs_.begin(), runs_.end(),
                                      [](const auto& a, const auto& b) { return a.folder == b.folder; });
    if (same_rows) {
        runs_ = std::move(runs);
        if (!runs_.empty()) Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, ColumnCount - 1));
    } else {
        beginResetModel();
        runs_ = std::move(runs);
        endResetModel();
    }
    Q_EMIT changed();
    if (std::exchange(again_, false)) refresh();
}

void RunsModel::add(const QString& run) {
    if (!others_.contains(run)) others_.push_back(run);
    refresh();
}

QString RunsModel::folder_of(int row) const {
    return QString::fromStdString(runs_[size_t(row)].folder.string());
}

int RunsModel::row_of(const QString& run) const {
    const std::string key = key_of(run.toStdString());
    for (size_t row = 0; row < runs_.size(); ++row) {
        if (key_of(runs_[row].folder) == key) return int(row);
    }
    return -1;
}

int RunsModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : int(runs_.size()); }
int RunsModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : ColumnCount; }

QVariant RunsModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid()) return {};
    const record::RunSummary& run = runs_[size_t(index.row())];
    if (role == FolderRole) return folder_of(index.row());
    if (role == Qt::ToolTipRole)
        return QString::fromStdString(run.fault.empty() ? record::state_line(run) : run.fault);
    if (role != Qt::DisplayRole) return {};
    switch (index.column()) {
    case Name:
        return QString::fromStdString(run.name);
    case State:
        return state_word(run);
    case Step:
        return qlonglong(run.step);
    case Score:
        return score_text(run);
    default:
        return {};
    }
}

QVariant RunsModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
    static const QStringList names{"run", "state", "step", "score"};
    return names.value(section);
}

bool fits(const record::RunSummary& run, const QString& filter, QStringList* unknown) {
    static const QRegularExpression condition(R"(^(score|step)([<>])([-+.\deE]+)$)");
    bool all = true;
    for (const QString& word : filter.split(' ', Qt::SkipEmptyParts)) {
        if (const auto match = condition.match(word); match.hasMatch()) {
            const double value = match.captured(1) == "step" ? double(run.step) : run.score.value_or(NAN);
            const double limit = match.captured(3).toDouble();
            all = all && (match.captured(2) == "<" ? value < limit : value > limit);
        } else if (word.startsWith("state:")) {
            all = all && state_word(run).startsWith(word.mid(6), Qt::CaseInsensitive);
        } else if (word.contains(':') || word.contains('<') || word.contains('>')) {
            if (unknown) unknown->push_back(word);
        } else {
            all = all && (QString::fromStdString(run.name).contains(word, Qt::CaseInsensitive) ||
                          state_word(run).contains(word, Qt::CaseInsensitive));
        }
    }
    return all;
}

} // namespace stillroom::ui
