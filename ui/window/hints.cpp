// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/hints.h"

#include <QHBoxLayout>
#include <array>

namespace stillroom::ui {

namespace {

constexpr std::array hints{
    "Click a point, then press Alt+Return: the rollouts of that step.",
    "Ctrl+2: read a rollout. N jumps to the token where student and teacher differ most.",
    "F8 pauses; nothing is lost. F8 again goes on.",
    "Ctrl+Shift+X exports the trained model when the run has ended."};
constexpr qint64 one_hint = 15'000; // milliseconds until the next one comes by itself

} // namespace

HintLine::HintLine(QWidget* parent) : QFrame(parent), text_(new QLabel), next_(new QToolButton) {
    setObjectName("panel.hints");
    text_->setObjectName("lbl.hints.text");
    next_->setObjectName("btn.hints.next");
    next_->setText("Next hint");
    auto* hide = new QToolButton;
    hide->setObjectName("btn.hints.hide");
    hide->setText("Hide hints");
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(8, 3, 4, 3);
    layout->addWidget(text_, 1);
    layout->addWidget(next_);
    layout->addWidget(hide);
    connect(next_, &QToolButton::clicked, this, [this] { show_hint(hint_ + 1); });
    connect(hide, &QToolButton::clicked, this, &HintLine::hideWanted);
    QFrame::hide();
}

void HintLine::show_run(const RunSource* run, bool wanted) {
    if (run != run_) {
        run_ = run;
        show_hint(0);
    }
    const auto preset = run ? run->settings().find("preset") : decltype(run->settings().end()){};
    const bool sample = run && preset != run->settings().end() && preset->second.starts_with("sample-");
    const bool here = sample && run->takes_commands() && run->status().step >= 1;
    setVisible(wanted && (here || (sample && isVisible())));
    if (here && hint_ + 1 < hints.size() && since_.elapsed() > one_hint) show_hint(hint_ + 1);
}

void HintLine::show_hint(size_t hint) {
    hint_ = std::min(hint, hints.size() - 1);
    text_->setText(hints[hint_]);
    next_->setEnabled(hint_ + 1 < hints.size());
    since_.start();
}

} // namespace stillroom::ui
