// SPDX-License-Identifier: GPL-3.0-or-later
// Both models' prompts as they were sent, side by side; what one has and the other has not is marked.
#pragma once

#include "ui/models/token_rollout.h"

#include <QCheckBox>
#include <QLabel>
#include <QTextBrowser>
#include <QWidget>

namespace stillroom::ui {

class PromptsPanel : public QWidget {
    Q_OBJECT
public:
    explicit PromptsPanel(QWidget* parent = nullptr);
    void show_rollout(const TokenRolloutPtr& rollout);

protected:
    void changeEvent(QEvent* event) override;

private:
    void fill();
    QString side(bool of_student) const;
    QString tokens(const TokenTexts& texts, size_t begin, size_t end, bool hidden) const;

    TokenRolloutPtr rollout_;
    QLabel *headline_, *checks_;
    QCheckBox *ids_, *hide_, *unfold_;
    QTextBrowser *student_side_, *teacher_side_;
};

} // namespace stillroom::ui
