// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/run/chart_export.h"

#include "ui/window/ask.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QPushButton>

namespace stillroom::ui {

namespace {

QComboBox* combo(const char* name, const QStringList& items) {
    auto* box = new QComboBox;
    box->setObjectName(name);
    box->addItems(items);
    return box;
}

} // namespace

QDialog* ask_chart_export(QWidget& parent, const QString& chart, const QString& file_name, int half_life,
                          std::function<void(const ChartExport&)> wanted) {
    auto* dialog = new QDialog(&parent);
    dialog->setObjectName("dlg.exportCharts");
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle("Export charts");
    auto* which = combo("fld.exportCharts.which", {chart, "All charts"});
    auto* format = combo("fld.exportCharts.format", {"Picture (PNG)", "Values (CSV)"});
    auto* scale = combo("fld.exportCharts.scale", {"1x", "2x", "3x"});
    scale->setCurrentIndex(1);
    auto* smoothed =
        new QCheckBox(half_life > 0 ? QString("Smoothed columns too (half-life %1)").arg(half_life)
                                    : QString("Smoothed columns too (smoothing is off)"));
    smoothed->setObjectName("chk.exportCharts.smoothed");
    const auto update = [=](int index) {
        scale->setEnabled(index == 0);
        smoothed->setEnabled(index == 1 && half_life > 0);
    };
    QObject::connect(format, &QComboBox::currentIndexChanged, dialog, update);
    update(0);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel);
    buttons->button(QDialogButtonBox::Cancel)->setObjectName("btn.exportCharts.cancel");
    auto* go = buttons->addButton("&Export…", QDialogButtonBox::AcceptRole);
    go->setObjectName("btn.exportCharts.export");
    go->setDefault(true);
    auto* form = new QFormLayout(dialog);
    form->addRow("&Charts", which);
    form->addRow("&As", format);
    form->addRow("&Size", scale);
    form->addRow(smoothed);
    form->addRow(buttons);
    QObject::connect(buttons, &QDialogButtonBox::rejected, dialog, &QDialog::reject);
    QObject::connect(buttons, &QDialogButtonBox::accepted, dialog, [=, &parent, wanted = std::move(wanted)] {
        ChartExport choice;
        choice.all = which->currentIndex() == 1;
        choice.format = ChartExport::Format(format->currentIndex());
        choice.scale = scale->currentIndex() + 1;
        choice.smoothed = smoothed->isEnabled() && smoothed->isChecked();
        const auto chosen = [wanted, choice](const QString& path) mutable {
            choice.path = path;
            wanted(choice);
        };
        dialog->accept();
        const bool values = choice.format == ChartExport::Format::Csv;
        const QString suffix = values ? "csv" : "png";
        if (values || !choice.all) {
            ask_path(parent,
                     {"dlg.exportCharts.file", dialog->windowTitle(), Pick::NewFile, suffix,
                      file_name + "." + suffix},
                     chosen);
        } else {
            ask_path(parent, {"dlg.exportCharts.file", "Folder for the pictures", Pick::Folder, {}, {}},
                     chosen);
        }
    });
    dialog->open();
    return dialog;
}

} // namespace stillroom::ui
