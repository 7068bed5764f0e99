// SPDX-License-Identifier: GPL-3.0-or-later
// Colours by role (ui.md 12.4): one table for light and dark; everything else comes from the palette.
#pragma once

#include "record/records.h"
#include "ui/source/run_source.h"

#include <QColor>
#include <QIcon>
#include <QPalette>
#include <QString>

namespace stillroom::ui {

enum class Role { Go, Wait, Stop, Info, Idle, Student, Teacher, WithoutAnswer };
enum class Theme { System, Light, Dark };

/// Whether the palette's window colour is dark.
bool is_dark(const QPalette& palette);
QColor colour(Role role, const QPalette& palette);
/// Sets the application's style and palette; System restores what it started with.
void apply(Theme theme);
QString to_string(Theme theme); // "system", "light", "dark"
Theme theme_of(const QString& name);

/// The colour, dash pattern (in pen widths; empty: solid) and mark of a run in lists and charts, by its place
/// in the order of opening. Ten colours that stay apart under the common colour-vision deficiencies.
struct RunMark {
    QColor colour;
    QList<qreal> dashes;
};
RunMark run_mark(int index, const QPalette& palette);

/// How a run's state is shown: ui.md 6.1.
struct StateLook {
    QString word; // "Running", "Elsewhere"
    Role role;
    QIcon icon;
};
StateLook look_of(const RunStatus& status, const QPalette& palette);

/// An icon painted from a path in the palette's text colour: "play", "pause", "stop", "save", "evaluate",
/// "new", "sample", "pencil", "tick", "cross", "ring", "arrows", "question", "ruler", "tray", "lens",
/// "square", "warning", "info".
QIcon icon(const QString& name, const QColor& colour);

} // namespace stillroom::ui
