// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/launch/recipe_page_view.h"

#include "ui/window/theme.h"

#include <QGridLayout>
#include <QVBoxLayout>

namespace stillroom::ui {

namespace {

/// A letter of the label that no other label here has; -1: none is left.
int free_letter(const QString& label, QString& taken) {
    for (int place = 0; place < label.size(); ++place) {
        const QChar letter = label[place].toLower();
        if (!letter.isLetter() || taken.contains(letter)) continue;
        taken += letter;
        return place;
    }
    return -1;
}

} // namespace

RecipePageView::RecipePageView(RecipeDraft& draft, int page, QWidget* parent)
    : QWidget(parent), draft_(draft), page_(page) {
    const RecipePage& shown = recipe_pages()[size_t(page)];
    setObjectName("page.launch." + QString::fromUtf8(shown.name));
    auto* title = new QLabel(QString("%1  %2").arg(page + 1).arg(QString::fromUtf8(shown.title)));
    QFont font = title->font();
    font.setBold(true);
    font.setPointSizeF(font.pointSizeF() * 1.15);
    title->setFont(font);

    auto* content = new QWidget;
    auto* grid = new QGridLayout;
    grid->setHorizontalSpacing(10);
    grid->setVerticalSpacing(4);
    grid->setColumnMinimumWidth(0, 140);
    grid->setColumnStretch(2, 1);
    QString letters;
    for (const PageField& field : shown.fields) {
        auto* made = new RecipeField(draft, field, free_letter(QString::fromUtf8(field.label), letters),
                                     *grid, content);
        connect(made, &RecipeField::focused, this, [this, made](const QString& help) {
            help_->setText(help);
            area_->ensureWidgetVisible(made->editor(), 0, 30);
        });
        fields_.push_back(made);
    }
    general_ = new QLabel;
    general_->setObjectName("lbl.launch.general." + QString::fromUtf8(shown.name));
    general_->setWordWrap(true);
    general_->hide();
    auto* column = new QVBoxLayout(content);
    column->setContentsMargins(12, 6, 12, 12);
    if (QString::fromUtf8(shown.name) == "objective") {
        formula_ = new QLabel;
        formula_->setObjectName("lbl.launch.formula");
        formula_->setWordWrap(true);
        formula_->setTextInteractionFlags(Qt::TextSelectableByMouse);
        column->addWidget(formula_);
    }
    column->addWidget(general_);
    column->addLayout(grid);
    column->addStretch();

    area_ = new QScrollArea;
    area_->setObjectName("area.launch." + QString::fromUtf8(shown.name));
    area_->setWidgetResizable(true);
    area_->setFrameShape(QFrame::NoFrame);
    area_->setFocusPolicy(Qt::NoFocus);
    area_->setWidget(content);
    help_ = new QLabel("Move to a field to see what it does.");
    help_->setObjectName("lbl.launch.help." + QString::fromUtf8(shown.name));
    help_->setWordWrap(true);
    help_->setTextFormat(Qt::RichText);
    help_->setMinimumHeight(2 * help_->fontMetrics().lineSpacing() + 6);
    help_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(title);
    layout->addWidget(area_, 1);
    layout->addWidget(help_);
    title->setContentsMargins(12, 8, 0, 0);
    help_->setContentsMargins(12, 4, 12, 4);
}

void RecipePageView::show_texts() {
    for (RecipeField* field : fields_) field->show_text();
}

void RecipePageView::show_notes() {
    for (RecipeField* field : fields_) field->show_note();
    if (formula_) formula_->setText(formula_of(draft_.recipe()));
    if (page_ != 0) return;
    QStringList lines;
    bool blocks = false;
    for (const FieldNote& note : draft_.notes()) {
        lines.push_back(note.text);
        blocks |= note.blocks;
    }
    general_->setText(lines.join('\n'));
    general_->setStyleSheet("color: " + colour(blocks ? Role::Stop : Role::Wait, palette()).name());
    general_->setVisible(!lines.isEmpty());
}

void RecipePageView::focus(const std::string& key) {
    for (RecipeField* field : fields_)
        if (field->key() == key) field->editor()->setFocus();
}

} // namespace stillroom::ui
