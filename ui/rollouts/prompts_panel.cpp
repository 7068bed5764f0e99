// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/rollouts/prompts_panel.h"

#include "ui/rollouts/token_colours.h"
#include "ui/window/theme.h"

#include <QFontDatabase>
#include <QHBoxLayout>
#include <QScrollBar>
#include <QVBoxLayout>

namespace stillroom::ui {

namespace {

constexpr size_t fold_above = 40, shown_of_fold = 12; // tokens of a run that both prompts have

/// One token's text for HTML; line ends become breaks after their sign.
QString html_of(const TokenTexts& texts, size_t token, const QPalette& palette) {
    QString html;
    for (const TokenSegment& segment : texts.segments_of(token)) {
        switch (segment.kind) {
        case TokenSegment::Kind::Newline:
            html += QStringLiteral("<span style='color:%1'>↵</span><br>").arg(quiet_text(palette).name());
            break;
        case TokenSegment::Kind::Space:
        case TokenSegment::Kind::Text:
        case TokenSegment::Kind::Completed:
            html += segment.text.toHtmlEscaped();
            break;
        case TokenSegment::Kind::Tab:
            html += QStringLiteral("→&nbsp;");
            break;
        case TokenSegment::Kind::Special:
            html +=
                QStringLiteral("<span style='color:%1; font-weight:600'>[%2]</span>")
                    .arg(special_colour(texts.special[token], palette).name(), segment.text.toHtmlEscaped());
            break;
        default:
            html += "⟨" + segment.text.toHtmlEscaped() + "⟩";
        }
    }
    return html;
}

QTextBrowser* browser(const char* name, const char* accessible) {
    auto* made = new QTextBrowser;
    made->setObjectName(name);
    made->setAccessibleName(accessible);
    made->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
    made->setOpenLinks(false);
    return made;
}

} // namespace

PromptsPanel::PromptsPanel(QWidget* parent)
    : QWidget(parent), headline_(new QLabel), checks_(new QLabel), ids_(new QCheckBox("ids")),
      hide_(new QCheckBox("hide the answer")), unfold_(new QCheckBox("unfold")),
      student_side_(browser("view.prompts.student", "The student's prompt")),
      teacher_side_(browser("view.prompts.teacher", "The teacher's prompt")) {
    setObjectName("panel.prompts");
    headline_->setObjectName("lbl.prompts.headline");
    checks_->setObjectName("lbl.prompts.checks");
    checks_->setTextFormat(Qt::RichText);
    for (QLabel* label : {headline_, checks_})
        label->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    ids_->setObjectName("chk.prompts.ids");
    ids_->setToolTip("token ids in place of their text");
    hide_->setObjectName("chk.prompts.hide");
    hide_->setToolTip("blots out what the teacher alone is shown, for a shared screen");
    unfold_->setObjectName("chk.prompts.unfold");
    unfold_->setToolTip("shows long parts that both prompts have in full");
    auto* top = new QHBoxLayout;
    top->addWidget(headline_, 1);
    for (QCheckBox* box : {unfold_, ids_, hide_}) {
        top->addWidget(box);
        connect(box, &QCheckBox::toggled, this, &PromptsPanel::fill);
    }
    auto* sides = new QHBoxLayout;
    sides->addWidget(student_side_, 1);
    sides->addWidget(teacher_side_, 1);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(4, 2, 4, 2);
    column->setSpacing(2);
    column->addLayout(top);
    column->addWidget(checks_);
    column->addLayout(sides, 1);
    show_rollout({});
}

void PromptsPanel::show_rollout(const TokenRolloutPtr& rollout) {
    rollout_ = rollout;
    fill();
}

QString PromptsPanel::tokens(const TokenTexts& texts, size_t begin, size_t end, bool hidden) const {
    QString html;
    for (size_t token = begin; token < end; ++token) {
        if (hidden) {
            html += QStringLiteral("▒▒ ");
        } else if (ids_->isChecked()) {
            html += QString::number(texts.ids[token]) + ' ';
        } else {
            html += html_of(texts, token, palette());
        }
    }
    return html;
}

QString PromptsPanel::side(bool of_student) const {
    const TokenTexts& texts = of_student ? rollout_->prompt : rollout_->teacher_prompt;
    const QColor mark = colour(of_student ? Role::Student : Role::Teacher, palette());
    QColor back = mark;
    const QColor base = palette().color(QPalette::Base);
    back = QColor::fromRgbF(base.redF() * 0.82f + back.redF() * 0.18f,
                            base.greenF() * 0.82f + back.greenF() * 0.18f,
                            base.blueF() * 0.82f + back.blueF() * 0.18f);
    QString html = "<div style='white-space:pre-wrap'>";
    for (const PromptPart& part : rollout_->prompts.parts) {
        const auto [begin, end] = of_student ? part.student : part.teacher;
        const size_t size = end - begin;
        if (size == 0) continue;
        if (part.in != PromptPart::In::Both) {
            html += QStringLiteral("<span style='color:%1; font-weight:600'>+%2 </span>"
                                   "<span style='background-color:%3'>")
                        .arg(mark.name())
                        .arg(size)
                        .arg(back.name()) +
                    tokens(texts, begin, end, hide_->isChecked()) + "</span>";
        } else if (size > fold_above && !unfold_->isChecked()) {
            html += tokens(texts, begin, begin + shown_of_fold, false) +
                    QStringLiteral("<span style='color:%1'> … %2 tokens that both have … </span>")
                        .arg(quiet_text(palette()).name())
                        .arg(size - 2 * shown_of_fold) +
                    tokens(texts, end - shown_of_fold, end, false);
        } else {
            html += tokens(texts, begin, end, false);
        }
    }
    return html + "</div>";
}

void PromptsPanel::fill() {
    const PromptComparison comparison = rollout_ ? rollout_->prompts : PromptComparison();
    headline_->setText(rollout_ ? comparison.headline : QStringLiteral("No rollout is open."));
    headline_->setToolTip(headline_->text());
    QStringList checks;
    for (const PromptCheck& check : comparison.checks) {
        checks << QStringLiteral("<span style='color:%1'>%2</span> %3")
                      .arg(colour(check.good ? Role::Go : Role::Stop, palette()).name(),
                           check.good ? QStringLiteral("✓") : QStringLiteral("✗"),
                           check.text.toHtmlEscaped());
    }
    checks_->setText(checks.join(" &nbsp; "));
    checks_->setVisible(!checks.isEmpty());
    const bool alike = comparison.checks.empty();
    teacher_side_->setVisible(!alike);
    hide_->setVisible(!alike);
    student_side_->setHtml(rollout_ ? side(true) : QString());
    teacher_side_->setHtml(rollout_ ? side(false) : QString());
}

void PromptsPanel::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) fill();
}

} // namespace stillroom::ui
