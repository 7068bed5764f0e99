// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/ask.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QFileDialog>
#include <QFormLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

namespace stillroom::ui {

QDialog* ask(QWidget& parent, const QString& name, const QString& title, const QString& text,
             std::vector<Choice> choices, size_t by_default) {
    auto* dialog = new QDialog(&parent);
    dialog->setObjectName(name);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(title);
    auto* label = new QLabel(text);
    label->setWordWrap(true);
    label->setMinimumWidth(360);
    auto* layout = new QVBoxLayout(dialog);
    layout->setSpacing(10);
    layout->addWidget(label);
    for (size_t i = 0; i < choices.size(); ++i) {
        auto* button = new QPushButton(choices[i].text);
        button->setObjectName(choices[i].name);
        button->setAutoDefault(true);
        button->setDefault(i == by_default);
        QObject::connect(button, &QPushButton::clicked, dialog, [dialog, act = choices[i].act] {
            dialog->close();
            act();
        });
        layout->addWidget(button);
        if (i == by_default) button->setFocus();
    }
    dialog->open();
    return dialog;
}

void ask_path(QWidget& parent, const PathQuestion& question, std::function<void(const QString&)> chosen) {
    auto* dialog = new QFileDialog(&parent, question.title);
    dialog->setObjectName(question.name);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setOption(QFileDialog::DontUseNativeDialog);
    if (!question.suffix.isEmpty()) {
        dialog->setNameFilter(QString("%1 (*.%2)").arg(question.suffix.toUpper(), question.suffix));
        dialog->setDefaultSuffix(question.suffix);
    }
    dialog->setFileMode(question.pick == Pick::Folder ? QFileDialog::Directory
                        : question.pick == Pick::File ? QFileDialog::ExistingFile
                                                      : QFileDialog::AnyFile);
    if (question.pick == Pick::NewFile) {
        dialog->setAcceptMode(QFileDialog::AcceptSave);
        dialog->selectFile(question.start);
    } else if (!question.start.isEmpty()) {
        dialog->setDirectory(question.start);
    }
    QObject::connect(dialog, &QFileDialog::fileSelected, &parent, std::move(chosen));
    dialog->open();
}

QDialog* ask_settings(QWidget& parent, Settings& settings, std::function<void()> changed) {
    auto* dialog = new QDialog(&parent);
    dialog->setObjectName("dlg.settings");
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle("Settings");
    auto* theme = new QComboBox;
    theme->setObjectName("fld.settings.theme");
    theme->addItems({"system", "light", "dark"});
    theme->setCurrentText(settings.theme);
    auto* hints = new QCheckBox("Show hints on a first run");
    hints->setObjectName("chk.settings.hints");
    hints->setChecked(settings.hints);
    auto* note = new QLabel("Nothing is ever sent anywhere.");
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    buttons->button(QDialogButtonBox::Close)->setObjectName("btn.settings.close");
    auto* form = new QFormLayout(dialog);
    form->addRow("&Theme", theme);
    form->addRow(hints);
    form->addRow(note);
    form->addRow(buttons);
    QObject::connect(theme, &QComboBox::currentTextChanged, dialog,
                     [&settings, changed](const QString& name) {
                         settings.theme = name;
                         changed();
                     });
    QObject::connect(hints, &QCheckBox::toggled, dialog, [&settings, changed](bool on) {
        settings.hints = on;
        changed();
    });
    QObject::connect(buttons, &QDialogButtonBox::rejected, dialog, &QDialog::close);
    dialog->open();
    return dialog;
}

} // namespace stillroom::ui
