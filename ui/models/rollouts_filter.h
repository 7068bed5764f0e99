// SPDX-License-Identifier: GPL-3.0-or-later
// The words of the rollouts' filter box (ui.md 4.2) as conditions of a query. All of them must hold.
#pragma once

#include "record/queries.h"

#include <QStringList>
#include <vector>

namespace stillroom::ui {

struct RolloutsFilter {
    QStringList words;   // as understood, in the order written: what chips show
    QStringList unknown; // words that are none, or whose value makes no sense
    record::RolloutFilter conditions;
};

RolloutsFilter parse_rollouts_filter(const QString& text);

/// Every word with what it means, for the box's tooltip: "kl>0.5", "mean KL above 0.5 nats".
std::vector<std::pair<QString, QString>> rollouts_filter_words();

} // namespace stillroom::ui
