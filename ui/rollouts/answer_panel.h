// SPDX-License-Identifier: GPL-3.0-or-later
// What was taken for the answer, what it was compared with, and why it was judged as it was.
#pragma once

#include "ui/models/token_rollout.h"

#include <QLabel>
#include <QPushButton>
#include <QScrollArea>

namespace stillroom::ui {

class AnswerPanel : public QScrollArea {
    Q_OBJECT
public:
    explicit AnswerPanel(QWidget* parent = nullptr);
    /// `verifier`: the program that judged.
    void show_rollout(const TokenRolloutPtr& rollout, const QString& verifier);

Q_SIGNALS:
    void jumpWanted(size_t token);

private:
    TokenRolloutPtr rollout_;
    QLabel* text_;
    QPushButton* jump_;
};

} // namespace stillroom::ui
