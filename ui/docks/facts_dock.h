// SPDX-License-Identifier: GPL-3.0-or-later
// What is in force in the run, as name and value, from its recorded settings.
#pragma once

#include "ui/source/run_source.h"

#include <QPointer>
#include <QTableWidget>

namespace stillroom::ui {

/// The lines of Run Facts: short name, value, and the recipe keys it comes from.
struct Fact {
    QString name, value, keys;
};
std::vector<Fact> facts_of(const RunSource& run);

class FactsDock : public QWidget {
    Q_OBJECT
public:
    explicit FactsDock(QWidget* parent = nullptr);
    void show_run(RunSource* run);

private:
    void update_facts();

    QPointer<RunSource> run_;
    QTableWidget* list_;
};

} // namespace stillroom::ui
