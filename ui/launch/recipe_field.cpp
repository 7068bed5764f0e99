// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/launch/recipe_field.h"

#include "ui/window/ask.h"
#include "ui/window/theme.h"

#include <QCheckBox>
#include <QComboBox>
#include <QEvent>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QToolButton>

namespace stillroom::ui {

namespace {

constexpr int editor_width = 320, text_lines = 3;

/// Whether a key's value is a number, which needs little room.
bool is_number(const formats::Key& key) {
    formats::Recipe any;
    const auto value = key.at(any);
    return std::holds_alternative<int64_t*>(value) || std::holds_alternative<uint64_t*>(value) ||
           std::holds_alternative<double*>(value);
}

QString with_mnemonic(QString label, int place) {
    label.replace('&', "&&");
    return place < 0 ? label : label.insert(place, '&');
}

} // namespace

RecipeField::RecipeField(RecipeDraft& draft, const PageField& field, int mnemonic, QGridLayout& grid,
                         QWidget* parent)
    : QObject(parent), draft_(draft), key_(field.key) {
    const formats::Key& key = *formats::find_key(key_);
    const QString name = QString::fromUtf8(field.key), label = QString::fromUtf8(field.label);
    help_ = QString("<b>%1</b> (%2). %3 Takes %4.")
                .arg(label, name, QString::fromUtf8(field.help).toHtmlEscaped(),
                     QString::fromStdString(formats::expected(key)).toHtmlEscaped());
    editor_ = make_editor(key, field.many_lines, parent);
    editor_->setAccessibleName(label);
    editor_->setAccessibleDescription(QString::fromUtf8(field.help));
    label_ = new QLabel(with_mnemonic(label, mnemonic), parent);
    label_->setBuddy(editor_);
    label_->setToolTip(QString::fromUtf8(field.help));
    note_ = new QLabel(parent);
    note_->setObjectName("lbl.launch.note." + name);
    note_->setWordWrap(true);
    note_->setTextFormat(Qt::PlainText);
    note_->hide();
    mark_ = new QLabel(parent);
    mark_->setFixedWidth(18);
    mark_->hide();

    const int row = grid.rowCount();
    grid.addWidget(label_, row, 0, field.many_lines ? Qt::AlignTop : Qt::AlignVCenter);
    QWidget* placed = editor_->parentWidget() == parent ? editor_ : editor_->parentWidget();
    grid.addWidget(placed, row, 1, 1, 2);
    grid.addWidget(mark_, row + 1, 0, Qt::AlignRight | Qt::AlignTop);
    grid.addWidget(note_, row + 1, 1, 1, 2);
    show_text();
}

void RecipeField::take(const QString& text) {
    if (!showing_) draft_.set_text(key_, text);
}

QWidget* RecipeField::make_editor(const formats::Key& key, bool many_lines, QWidget* parent) {
    const QString name = "fld.launch." + QString::fromStdString(key_);
    formats::Recipe any;
    const auto value = key.at(any);
    QWidget* made = nullptr;
    if (std::holds_alternative<bool*>(value)) {
        auto* box = new QCheckBox(parent);
        show_ = [box](const QString& text) { box->setChecked(text == "true"); };
        connect(box, &QCheckBox::toggled, this, [this](bool on) { take(on ? "true" : "false"); });
        made = box;
    } else if (std::holds_alternative<std::vector<std::string>*>(value) && !key.limits.allowed.empty()) {
        made = make_list(key, parent);
    } else if (!key.limits.allowed.empty()) {
        auto* box = new QComboBox(parent);
        for (const std::string& allowed : key.limits.allowed)
            box->addItem(allowed.empty() ? "(as the answer rule)" : QString::fromStdString(allowed),
                         QString::fromStdString(allowed));
        box->setFixedWidth(editor_width);
        show_ = [box](const QString& text) { box->setCurrentIndex(box->findData(text)); };
        connect(box, &QComboBox::currentIndexChanged, this,
                [this, box](int row) { take(box->itemData(row).toString()); });
        made = box;
    } else if (many_lines) {
        auto* edit = new QPlainTextEdit(parent);
        edit->setTabChangesFocus(true);
        edit->setFixedHeight(edit->fontMetrics().lineSpacing() * text_lines + 14);
        show_ = [edit](const QString& text) {
            if (edit->toPlainText() != text) edit->setPlainText(text);
        };
        connect(edit, &QPlainTextEdit::textChanged, this, [this, edit] { take(edit->toPlainText()); });
        made = edit;
    } else if (key.limits.is_path) {
        made = make_path(parent);
    } else {
        auto* edit = new QLineEdit(parent);
        edit->setFixedWidth(is_number(key) ? 150 : editor_width);
        show_ = [edit](const QString& text) {
            if (edit->text() != text) edit->setText(text);
        };
        connect(edit, &QLineEdit::textChanged, this, &RecipeField::take);
        made = edit;
    }
    made->setObjectName(name);
    made->installEventFilter(this);
    if (qobject_cast<QComboBox*>(made)) made->setFocusPolicy(Qt::StrongFocus); // no focus by the wheel
    return made;
}

QWidget* RecipeField::make_list(const formats::Key& key, QWidget* parent) {
    auto* panel = new QWidget(parent);
    auto* row = new QHBoxLayout(panel);
    row->setContentsMargins(0, 0, 0, 0);
    QList<QCheckBox*> boxes;
    for (const std::string& allowed : key.limits.allowed) {
        auto* box = new QCheckBox(QString::fromStdString(allowed), panel);
        box->setObjectName("fld.launch." + QString::fromStdString(key_ + "." + allowed));
        box->setAccessibleName(QString::fromStdString(key_ + " " + allowed));
        row->addWidget(box);
        boxes.push_back(box);
    }
    row->addStretch();
    for (QCheckBox* box : boxes)
        connect(box, &QCheckBox::toggled, this, [this, boxes] {
            QStringList chosen;
            for (const QCheckBox* each : boxes)
                if (each->isChecked()) chosen.push_back(each->text());
            take(chosen.join('\n'));
        });
    show_ = [boxes](const QString& text) {
        const QStringList chosen = text.split('\n');
        for (QCheckBox* box : boxes) box->setChecked(chosen.contains(box->text()));
    };
    panel->setFocusProxy(boxes.front());
    return panel;
}

QWidget* RecipeField::make_path(QWidget* parent) {
    auto* panel = new QWidget(parent);
    auto* row = new QHBoxLayout(panel);
    row->setContentsMargins(0, 0, 0, 0);
    auto* edit = new QLineEdit(panel);
    auto* browse = new QToolButton(panel);
    browse->setText(QString::fromUtf8("…"));
    browse->setObjectName("btn.launch.browse." + QString::fromStdString(key_));
    browse->setAccessibleName("Choose " + QString::fromStdString(key_));
    browse->setToolTip("Choose a folder or a file");
    row->addWidget(edit);
    row->addWidget(browse);
    show_ = [edit](const QString& text) {
        if (edit->text() != text) edit->setText(text);
    };
    connect(edit, &QLineEdit::textChanged, this, &RecipeField::take);
    connect(browse, &QToolButton::clicked, this, [this, edit, panel] {
        const bool file = key_ == "evaluation.data";
        ask_path(*panel,
                 {"dlg.launch.browse",
                  file ? "Choose a file" : "Choose a model's folder",
                  file ? Pick::File : Pick::Folder,
                  {},
                  edit->text()},
                 [edit](const QString& path) { edit->setText(path); });
    });
    return edit;
}

void RecipeField::show_text() {
    showing_ = true;
    show_(draft_.text(key_));
    showing_ = false;
}

void RecipeField::show_note() {
    const QString unused = unused_because(key_, draft_.recipe());
    editor_->setEnabled(unused.isEmpty());
    label_->setEnabled(unused.isEmpty());
    editor_->setToolTip(unused.isEmpty() ? QString() : "Not used: " + unused);
    const FieldNote note = draft_.note(key_);
    const bool said = !note.text.isEmpty();
    if (said) {
        const QColor shade = colour(note.blocks ? Role::Stop : Role::Wait, note_->palette());
        note_->setText(note.text);
        note_->setStyleSheet("color: " + shade.name());
        mark_->setPixmap(icon(note.blocks ? "cross" : "warning", shade).pixmap(14, 14));
        mark_->setAccessibleName(note.blocks ? "fault" : "warning");
    }
    note_->setVisible(said);
    mark_->setVisible(said);
}

bool RecipeField::eventFilter(QObject* object, QEvent* event) {
    // The wheel scrolls the page, and changes a value only where the editor has the focus.
    if (event->type() == QEvent::Wheel && !editor_->hasFocus()) {
        event->ignore();
        return true;
    }
    if (event->type() == QEvent::FocusIn) Q_EMIT focused(help_);
    return QObject::eventFilter(object, event);
}

} // namespace stillroom::ui
