// SPDX-License-Identifier: GPL-3.0-or-later
// What to export of the charts, and where to: one dialog, one file dialog.
#pragma once

#include <QDialog>
#include <functional>

namespace stillroom::ui {

struct ChartExport {
    enum class Format { Png, Csv };

    Format format = Format::Png;
    bool all = false;      // every chart, not the current one alone
    int scale = 2;         // of a picture
    bool smoothed = false; // columns of smoothed values too
    QString path;          // a file; of all charts' pictures their folder
};

/// Asks, then calls `wanted`; nothing where the person goes back. `half_life` 0: nothing is smoothed.
QDialog* ask_chart_export(QWidget& parent, const QString& chart, const QString& file_name, int half_life,
                          std::function<void(const ChartExport&)> wanted);

} // namespace stillroom::ui
