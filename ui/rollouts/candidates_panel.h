// SPDX-License-Identifier: GPL-3.0-or-later
// The token under the cursor: its numbers, the candidates of both models, and whether their sum is the KL
// that was recorded.
#pragma once

#include "ui/models/candidates_model.h"

#include <QLabel>
#include <QPushButton>
#include <QTableView>
#include <QWidget>

namespace stillroom::ui {

class CandidatesPanel : public QWidget {
    Q_OBJECT
public:
    explicit CandidatesPanel(QWidget* parent = nullptr);

    /// `pinned`: how the token is held ("pin 2"); empty: it follows cursor and mouse.
    void show_token(const TokenRolloutPtr& rollout, std::optional<size_t> token, const QString& held);
    void set_without_answer(bool without);
    CandidatesModel& model() { return model_; }

Q_SIGNALS:
    void pinRolloutWanted();

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void fill();
    QString heading() const;
    QString sums_text() const;
    void fit_columns();

    CandidatesModel model_;
    TokenRolloutPtr rollout_;
    std::optional<size_t> token_;
    QString held_;
    bool without_answer_ = false;
    QLabel *title_, *facts_, *message_, *sums_;
    QPushButton* keep_;
    QTableView* table_;
};

} // namespace stillroom::ui
