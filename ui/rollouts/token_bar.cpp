// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/rollouts/token_bar.h"

#include "ui/rollouts/token_legend.h"
#include "ui/window/actions.h"
#include "ui/window/theme.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QVBoxLayout>

namespace stillroom::ui {

namespace {

constexpr std::array rank_actions{"act.roll.rankKl",      "act.roll.rankGap",     "act.roll.rankGain",
                                  "act.roll.rankClipped", "act.roll.rankOverlap", "act.roll.rankEntropy"};

QToolButton* button_of(QAction& action, const QString& name, const QString& text) {
    auto* button = new QToolButton;
    button->setObjectName(name);
    button->setText(text);
    button->setAccessibleName(action.text().remove('&'));
    button->setToolTip(
        QStringLiteral("%1 (%2)").arg(action.text().remove('&'), action.shortcut().toString()));
    QObject::connect(button, &QToolButton::clicked, &action, &QAction::trigger);
    return button;
}

} // namespace

TokenBar::TokenBar(Actions& actions, QWidget* parent)
    : QWidget(parent), title_(new QLabel), worst_(new QLabel), found_(new QLabel), colour_(new QComboBox),
      rank_(new QComboBox), teacher_(button_of(actions["act.roll.teacher"], "btn.tokens.teacher", "T")),
      search_(new QLineEdit), search_row_(new QWidget), legend_(new TokenLegend) {
    title_->setObjectName("lbl.tokens.title");
    title_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    worst_->setObjectName("lbl.tokens.worst");
    worst_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    colour_->setObjectName("fld.tokens.colour");
    colour_->setAccessibleName("Colour of the tokens");
    colour_->setToolTip("what the colours show (keys 0 to 6)");
    for (int mode = 0; mode < colour_modes; ++mode)
        colour_->addItem(QStringLiteral("%1 %2").arg(mode).arg(name_of(ColourChoice{ColourMode(mode)})));
    rank_->setObjectName("fld.tokens.rank");
    rank_->setAccessibleName("Ranking of the worst tokens");
    rank_->setToolTip("what N and P jump by (W cycles)");
    for (int ranking = 0; ranking < rankings; ++ranking) rank_->addItem(name_of(Ranking(ranking)));
    connect(colour_, &QComboBox::activated, this,
            [&actions](int mode) { actions[QStringLiteral("act.roll.color%1").arg(mode)].trigger(); });
    connect(rank_, &QComboBox::activated, this,
            [&actions](int ranking) { actions[rank_actions[size_t(ranking)]].trigger(); });
    colour_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    colour_->setMinimumContentsLength(11);
    for (QComboBox* box : {colour_, rank_}) box->setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
    rank_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    rank_->setMinimumContentsLength(7);

    search_->setObjectName("fld.tokens.search");
    search_->setAccessibleName("Search in the tokens");
    search_->setPlaceholderText("text, /regular expression/, id:151649, kl>1");
    search_->installEventFilter(this);
    found_->setObjectName("lbl.tokens.found");
    auto* close = new QToolButton;
    close->setObjectName("btn.tokens.searchClose");
    close->setAccessibleName("Close the search");
    close->setToolTip("close the search (Esc)");
    close->setText(QStringLiteral("×"));
    close->setAutoRaise(true);
    auto* searching = new QHBoxLayout(search_row_);
    searching->setContentsMargins(0, 0, 0, 0);
    searching->addWidget(search_, 1);
    searching->addWidget(found_);
    searching->addWidget(close);
    search_row_->hide();
    connect(search_, &QLineEdit::textChanged, this, &TokenBar::searchChanged);
    connect(close, &QToolButton::clicked, this, &TokenBar::close_search);

    auto* controls = new QHBoxLayout;
    controls->setSpacing(4);
    auto* colour_label = new QLabel("Colour");
    auto* rank_label = new QLabel("Worst by");
    colour_label->setBuddy(colour_);
    rank_label->setBuddy(rank_);
    controls->addWidget(colour_label);
    controls->addWidget(colour_);
    controls->addWidget(teacher_);
    controls->addSpacing(6);
    controls->addWidget(rank_label);
    controls->addWidget(rank_);
    controls->addWidget(
        button_of(actions["act.roll.prevWorst"], "btn.tokens.prevWorst", QStringLiteral("◂")));
    controls->addWidget(
        button_of(actions["act.roll.nextWorst"], "btn.tokens.nextWorst", QStringLiteral("▸")));
    controls->addWidget(worst_, 1);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(3);
    column->addWidget(title_);
    column->addLayout(controls);
    column->addWidget(legend_);
    column->addWidget(search_row_);
}

void TokenBar::show_rollout(const TokenRolloutPtr& rollout, int samples_of_prompt,
                            const QString& vocabulary_fault) {
    if (!rollout) {
        title_->clear();
        title_->setToolTip({});
        return;
    }
    const record::RolloutRecord& record = rollout->record;
    QString problem = QString::fromStdString(record.problem).simplified();
    const QString sample =
        samples_of_prompt > 0
            ? QStringLiteral("sample %1 of %2").arg(record.sample + 1).arg(samples_of_prompt)
            : QStringLiteral("sample %1").arg(record.sample + 1);
    QString text = QStringLiteral("<b>rollout %1</b>, step %2, prompt %3, %4%5")
                       .arg(rollout->id)
                       .arg(record.step)
                       .arg(QString::fromStdString(record.prompt_id).toHtmlEscaped(), sample,
                            record.pinned ? QStringLiteral(", pinned") : QString());
    if (!vocabulary_fault.isEmpty()) {
        text += QStringLiteral(": <span style='color:%1'>ids only, no vocabulary</span>")
                    .arg(colour(Role::Stop, palette()).name());
    } else if (!problem.isEmpty()) {
        text += QStringLiteral(": %1").arg(problem.left(400).toHtmlEscaped());
    }
    title_->setText(text);
    title_->setToolTip(vocabulary_fault.isEmpty() ? problem.left(2000) : vocabulary_fault);
}

void TokenBar::set_choice(const ColourChoice& choice) {
    colour_->setCurrentIndex(int(choice.mode));
    colour_->setItemText(int(choice.mode),
                         QStringLiteral("%1 %2").arg(int(choice.mode)).arg(name_of(choice)));
    colour_->setToolTip(QStringLiteral("%1 (keys 0 to 6)").arg(name_of(choice)));
}

void TokenBar::set_ranking(Ranking ranking) { rank_->setCurrentIndex(int(ranking)); }

void TokenBar::set_worst(std::optional<size_t> place, const std::vector<WorstToken>& worst, Ranking ranking) {
    worst_->setText(worst.empty() ? QStringLiteral("none")
                    : place       ? QStringLiteral("%1 of %2, %3 %4")
                                  .arg(*place + 1)
                                  .arg(worst.size())
                                  .arg(QString::number(double(worst[*place].value), 'f', 3), unit_of(ranking))
                            : QStringLiteral("%1 worst").arg(worst.size()));
    worst_->setToolTip(worst_->text());
}

void TokenBar::set_teacher(bool without_answer, const QString& why_not) {
    teacher_->setText(without_answer ? QStringLiteral("T°") : QStringLiteral("T"));
    teacher_->setEnabled(why_not.isEmpty());
    teacher_->setToolTip(!why_not.isEmpty() ? why_not
                         : without_answer
                             ? QStringLiteral("the gap is to the teacher without the answer (T switches)")
                             : QStringLiteral("the gap is to the teacher as it trains (T switches)"));
}

void TokenBar::open_search() {
    search_row_->show();
    search_->setFocus(Qt::ShortcutFocusReason);
    search_->selectAll();
}

void TokenBar::close_search() {
    search_->clear();
    search_row_->hide();
    Q_EMIT searchClosed();
}

void TokenBar::set_search_result(const QString& text, bool fault) {
    found_->setText(fault ? QStringLiteral("<span style='color:%1'>%2</span>")
                                .arg(colour(Role::Stop, palette()).name(), text.toHtmlEscaped())
                          : text);
}

bool TokenBar::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() != QEvent::KeyPress) return QWidget::eventFilter(watched, event);
    const auto* key = static_cast<QKeyEvent*>(event);
    if (key->key() == Qt::Key_Escape) {
        close_search();
        return true;
    }
    if (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter) {
        Q_EMIT searchNext(key->modifiers() & Qt::ShiftModifier);
        return true;
    }
    return false;
}

} // namespace stillroom::ui
