// SPDX-License-Identifier: GPL-3.0-or-later
// Above the tokens: which rollout it is, what the colours show, which worst token the reader is at, and the
// search.
#pragma once

#include "ui/models/token_values.h"

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QToolButton>
#include <QWidget>

namespace stillroom::ui {

class Actions;
class TokenLegend;

class TokenBar : public QWidget {
    Q_OBJECT
public:
    TokenBar(Actions& actions, QWidget* parent = nullptr);

    TokenLegend& legend() { return *legend_; }
    void show_rollout(const TokenRolloutPtr& rollout, int samples_of_prompt, const QString& vocabulary_fault);
    void set_choice(const ColourChoice& choice);
    void set_ranking(Ranking ranking);
    /// "3 of 50 worst, 1.840 nats"; without a place "50 worst".
    void set_worst(std::optional<size_t> place, const std::vector<WorstToken>& worst, Ranking ranking);
    /// Which teacher the gap is taken to; `why_not`: why there is no choice.
    void set_teacher(bool without_answer, const QString& why_not);
    void open_search();
    void close_search();
    void set_search_result(const QString& text, bool fault);
    QString search_text() const { return search_->text(); }

Q_SIGNALS:
    void searchChanged(const QString& text);
    void searchNext(bool backwards);
    void searchClosed();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    QLabel *title_, *worst_, *found_;
    QComboBox *colour_, *rank_;
    QToolButton* teacher_;
    QLineEdit* search_;
    QWidget* search_row_;
    TokenLegend* legend_;
};

} // namespace stillroom::ui
