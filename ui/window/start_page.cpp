// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/start_page.h"

#include "record/liveness.h"

#include <QFrame>

namespace stillroom::ui {

StartPage::StartPage(QWidget* parent) : QWidget(parent), device_(new QLabel), interrupted_text_(new QLabel) {
    setObjectName("page.start");
    auto* title = new QLabel("Stillroom");
    QFont large = title->font();
    large.setPointSizeF(large.pointSizeF() * 2);
    title->setFont(large);
    auto* subtitle = new QLabel(
        "Train a small language model on its own answers, beside a teacher, and read every token.");
    subtitle->setWordWrap(true);

    auto* cards = new QHBoxLayout;
    cards->setSpacing(12);
    sample_ = card("btn.start.sample", "Start sample run",
                   "Two tiny models shipped with the program.\nA real run of the real engine:\nless than a "
                   "minute on this CPU.",
                   cards);
    auto* fresh =
        card("btn.start.new", "New run…",
             "Choose a recipe, your models\nand your data; check them\nbefore anything starts.", cards);
    auto* open =
        card("btn.start.open", "Open run folder…",
             "Look at a run that was recorded\nhere, on another machine,\nor by the command line.", cards);
    sample_->setDefault(true);
    self_sample_ =
        new QPushButton("Or start the sample whose teacher is the student itself, shown the answer");
    self_sample_->setObjectName("btn.start.selfSample");
    self_sample_->setFlat(true);
    self_sample_->setCursor(Qt::PointingHandCursor);

    device_->setObjectName("lbl.start.device");
    device_->setWordWrap(true);

    interrupted_ = new QFrame;
    interrupted_->setObjectName("panel.start.interrupted");
    static_cast<QFrame*>(interrupted_)->setFrameShape(QFrame::StyledPanel);
    interrupted_text_->setObjectName("lbl.start.interrupted");
    interrupted_text_->setWordWrap(true);
    resume_ = new QPushButton;
    resume_->setObjectName("btn.start.resume");
    look_ = new QPushButton("Open read-only");
    look_->setObjectName("btn.start.look");
    auto* leave = new QPushButton("Leave as interrupted");
    leave->setObjectName("btn.start.leave");
    auto* row = new QHBoxLayout;
    row->addWidget(resume_);
    row->addWidget(look_);
    row->addWidget(leave);
    row->addStretch();
    auto* inside = new QVBoxLayout(interrupted_);
    inside->addWidget(interrupted_text_);
    inside->addLayout(row);
    interrupted_->hide();

    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(40, 24, 40, 24);
    layout->setSpacing(14);
    layout->addStretch(1);
    layout->addWidget(title);
    layout->addWidget(subtitle);
    layout->addWidget(interrupted_);
    layout->addLayout(cards);
    layout->addWidget(self_sample_, 0, Qt::AlignLeft);
    layout->addWidget(device_);
    layout->addStretch(2);

    connect(sample_, &QPushButton::clicked, this, &StartPage::sampleWanted);
    connect(self_sample_, &QPushButton::clicked, this, &StartPage::selfSampleWanted);
    connect(fresh, &QPushButton::clicked, this, &StartPage::newRunWanted);
    connect(open, &QPushButton::clicked, this, &StartPage::openWanted);
    connect(resume_, &QPushButton::clicked, this, [this] { Q_EMIT resumeWanted(interrupted_run_); });
    connect(look_, &QPushButton::clicked, this, [this] { Q_EMIT viewWanted(interrupted_run_); });
    connect(leave, &QPushButton::clicked, interrupted_, &QWidget::hide);
    setFocusProxy(sample_);
}

QPushButton* StartPage::card(const QString& name, const QString& title, const QString& text, QLayout* into) {
    auto* button = new QPushButton;
    button->setObjectName(name);
    button->setAccessibleName(title);
    button->setAccessibleDescription(text);
    button->setMinimumHeight(132);
    button->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    auto* inside = new QVBoxLayout(button);
    inside->setContentsMargins(14, 12, 14, 12);
    auto* heading = new QLabel(title);
    QFont bold = heading->font();
    bold.setBold(true);
    bold.setPointSizeF(bold.pointSizeF() * 1.2);
    heading->setFont(bold);
    auto* body = new QLabel(QString(text).replace('\n', ' '));
    body->setWordWrap(true);
    body->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    for (QLabel* label : {heading, body}) label->setAttribute(Qt::WA_TransparentForMouseEvents);
    inside->addWidget(heading);
    inside->addWidget(body, 1);
    into->addWidget(button);
    return button;
}

void StartPage::set_device(const QString& text) { device_->setText(text); }

void StartPage::set_ready(bool ready, const QString& why) {
    for (QPushButton* button : {sample_, self_sample_}) {
        button->setEnabled(ready);
        button->setToolTip(why);
    }
}

void StartPage::set_interrupted(const record::RunSummary* run) {
    interrupted_->setVisible(run != nullptr);
    if (!run) return;
    interrupted_run_ = QString::fromStdString(run->folder.string());
    const bool resumable = run->resumable_from.has_value();
    interrupted_text_->setText(
        QString("<b>%1</b> was training when the program ended (last sign %2, step %3 of %4). Recorded: %5 "
                "rollouts. %6")
            .arg(QString::fromStdString(run->name).toHtmlEscaped(),
                 QString::fromStdString(record::clock_text(run->heartbeat)))
            .arg(run->step)
            .arg(run->steps_planned)
            .arg(run->rollouts)
            .arg(resumable ? QString("Newest complete checkpoint: %1.").arg(*run->resumable_from)
                           : QString("It has no complete checkpoint: it would start anew.")));
    resume_->setText(resumable ? QString("Resume from %1").arg(*run->resumable_from)
                               : "Resume from the start");
}

} // namespace stillroom::ui
