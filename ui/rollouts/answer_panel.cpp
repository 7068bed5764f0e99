// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/rollouts/answer_panel.h"

#include "maths/readings.h"
#include "ui/rollouts/token_scene.h"
#include "ui/window/theme.h"

#include <QHBoxLayout>

namespace stillroom::ui {

namespace {

QString quoted_html(const std::string& text) {
    return text.empty() ? QStringLiteral("<i>none found</i>")
                        : "<span style='font-family:monospace'>" +
                              QString::fromStdString(text).toHtmlEscaped() + "</span>";
}

struct Verdict {
    QString sign, word;
    Role role;
};
Verdict verdict_of(const std::string& verdict) {
    if (verdict == "equal") return {QStringLiteral("✓"), QStringLiteral("EQUAL"), Role::Go};
    if (verdict == "different") return {QStringLiteral("✗"), QStringLiteral("DIFFERENT"), Role::Stop};
    return {QStringLiteral("?"), QStringLiteral("UNDECIDED"), Role::Wait};
}

/// Both sides as the checker reads them, where that says more than their texts.
QString normal_forms(const record::RolloutRecord& record) {
    const std::string extracted = maths::understood_form(record.extracted),
                      gold = maths::understood_form(record.gold);
    if (extracted == record.extracted && gold == record.gold) return {};
    const auto shown = [](const std::string& form) {
        return form.empty() ? QStringLiteral("<i>not read</i>") : quoted_html(form);
    };
    return shown(extracted) + " &nbsp; against &nbsp; " + shown(gold);
}

QString yes_or_no(bool yes, const QString& word) {
    return (yes ? QStringLiteral("✓ ") : QStringLiteral("✗ ")) + word;
}

QString thought_of(const TokenRollout& rollout) {
    const bool opened = rollout.response.bytes.find("<think>") != std::string::npos ||
                        rollout.prompt.bytes.ends_with("<think>\n") ||
                        rollout.prompt.bytes.ends_with("<think>");
    if (rollout.think_end) return QStringLiteral("✓ thought closed at token %1").arg(*rollout.think_end);
    return opened ? QStringLiteral("✗ thought not closed") : QStringLiteral("no thought");
}

} // namespace

AnswerPanel::AnswerPanel(QWidget* parent)
    : QScrollArea(parent), text_(new QLabel), jump_(new QPushButton("Jump")) {
    setObjectName("panel.answer");
    setAccessibleName("Answer of the rollout");
    setWidgetResizable(true);
    setFrameShape(QFrame::NoFrame);
    auto* inside = new QWidget;
    auto* row = new QHBoxLayout(inside);
    row->setContentsMargins(8, 4, 8, 4);
    row->addWidget(text_, 1);
    row->addWidget(jump_, 0, Qt::AlignTop);
    setWidget(inside);
    text_->setObjectName("lbl.answer.text");
    text_->setWordWrap(true);
    text_->setAlignment(Qt::AlignTop);
    text_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    jump_->setObjectName("btn.answer.jump");
    jump_->setToolTip("show the extracted answer in the tokens");
    connect(jump_, &QPushButton::clicked, this, [this] {
        if (rollout_ && rollout_->answer) Q_EMIT jumpWanted(rollout_->answer->first);
    });
    show_rollout({}, {});
}

void AnswerPanel::show_rollout(const TokenRolloutPtr& rollout, const QString& verifier) {
    rollout_ = rollout;
    jump_->setVisible(rollout_ != nullptr);
    jump_->setEnabled(rollout_ && rollout_->answer);
    if (!rollout_) {
        text_->setText("No rollout is open.");
        return;
    }
    const record::RolloutRecord& record = rollout_->record;
    const Verdict verdict = verdict_of(record.verdict);
    const TokenEnd end = end_of(record);
    const bool boxed = rollout_->response.bytes.find("\\boxed{") != std::string::npos;
    QStringList form{yes_or_no(record.format_ok, "format"), yes_or_no(boxed, "boxed"), thought_of(*rollout_),
                     end.cut ? "✗ " + end.text : "✓ ended by itself (" + end.text + ")"};
    QString text =
        QStringLiteral("<table cellspacing=2><tr><td>extracted&nbsp;</td><td>%1</td></tr>"
                       "<tr><td>gold</td><td>%2</td></tr>"
                       "<tr><td>verdict</td><td><b style='color:%3'>%4 %5</b>%6</td></tr>"
                       "<tr><td>form</td><td>%7</td></tr>")
            .arg(quoted_html(record.extracted), quoted_html(record.gold),
                 colour(verdict.role, palette()).name(), verdict.sign, verdict.word,
                 record.why.empty() ? QString()
                                    : "&nbsp; " + QString::fromStdString(record.why).toHtmlEscaped(),
                 form.join(" &nbsp; ").toHtmlEscaped().replace("&amp;nbsp;", "&nbsp;"));
    const QString forms = normal_forms(record);
    if (!forms.isEmpty()) text += "<tr><td>read as</td><td>" + forms + "</td></tr>";
    if (verdict.role == Role::Wait)
        text += "<tr><td></td><td>counts as not right; the bound with all undecided right stands beside the "
                "score</td></tr>";
    if (!verifier.isEmpty()) text += "<tr><td>checked by</td><td>" + verifier.toHtmlEscaped() + "</td></tr>";
    text_->setText(text + "</table>");
    setAccessibleDescription(verdict.word + ", " + QString::fromStdString(record.why));
}

} // namespace stillroom::ui
