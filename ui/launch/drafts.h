// SPDX-License-Identifier: GPL-3.0-or-later
// Recipes that were being edited when the launch dialog was closed: the newest 20, in one file, as their
// fields' texts. Read and written on any thread.
#pragma once

#include "base/result.h"

#include <QDateTime>
#include <QString>
#include <map>
#include <vector>

namespace stillroom::ui {

struct Draft {
    QDateTime kept;
    std::string file; // the recipe that it began with
    std::map<std::string, QString> texts;

    QString title() const; // "dense, kept Mon 14:02"
};

constexpr size_t most_drafts = 20;

/// Newest first; empty where the file isn't there or can't be read.
std::vector<Draft> read_drafts(const QString& file);
Result<void> write_drafts(const QString& file, const std::vector<Draft>& drafts);
/// Puts a draft in front of the others: instead of one with the same texts, and at most `most_drafts`.
void keep_draft(std::vector<Draft>& drafts, Draft draft);

} // namespace stillroom::ui
