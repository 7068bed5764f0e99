// SPDX-License-Identifier: GPL-3.0-or-later
// The pinned tokens of the open rollout, side by side.
#pragma once

#include "ui/models/token_rollout.h"

#include <QTableWidget>

namespace stillroom::ui {

class PinsPanel : public QTableWidget {
    Q_OBJECT
public:
    explicit PinsPanel(QWidget* parent = nullptr);
    void show_pins(const TokenRolloutPtr& rollout, const std::vector<size_t>& pins);

Q_SIGNALS:
    void tokenWanted(size_t token);
    void escaped();

protected:
    void keyPressEvent(QKeyEvent* event) override;

private:
    void want(int row);
    std::vector<size_t> pins_;
};

} // namespace stillroom::ui
