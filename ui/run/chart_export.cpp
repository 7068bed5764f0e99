// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/run/chart_export.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QFileDialog>
#include <QFormLayout>
#include <QPushButton>

namespace stillroom::ui {

namespace {

QFileDialog* file_dialog(QWidget& parent, const QString& name, const QString& title) {
    auto* dialog = new QFileDialog(&parent, title);
    dialog->setObjectName(name);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setOption(QFileDialog::DontUseNativeDialog);
    return dialog;
}

QComboBox* combo(const char* name, const QStringList& items) {
    auto* box = new QComboBox;
    box->setObjectName(name);
    box->addItems(items);
    return box;
}

} // namespace

void ask_file(QWidget& parent, const QString& name, const QString& title, const QString& suffix,
              const QString& file_name, std::function<void(const QString&)> chosen) {
    auto* dialog = file_dialog(parent, name, title);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setNameFilter(suffix.toUpper() + " (*." + suffix + ")");
    dialog->setDefaultSuffix(suffix);
    dialog->selectFile(file_name + "." + suffix);
    QObject::connect(dialog, &QFileDialog::fileSelected, &parent, std::move(chosen));
    dialog->open();
}

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
        if (choice.format == ChartExport::Format::Csv)
            return ask_file(parent, "dlg.exportCharts.file", "Export values", "csv", file_name, chosen);
        if (!choice.all)
            return ask_file(parent, "dlg.exportCharts.file", "Export picture", "png", file_name, chosen);
        auto* folder = file_dialog(parent, "dlg.exportCharts.file", "Folder for the pictures");
        folder->setFileMode(QFileDialog::Directory);
        QObject::connect(folder, &QFileDialog::fileSelected, &parent, chosen);
        folder->open();
    });
    dialog->open();
    return dialog;
}

} // namespace stillroom::ui
