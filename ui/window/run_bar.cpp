// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/run_bar.h"

#include "ui/models/chart_numbers.h"
#include "ui/window/theme.h"

#include <QApplication>
#include <QDateTime>
#include <QHBoxLayout>
#include <algorithm>
#include <cmath>

namespace stillroom::ui {

namespace {

double last_of(const RunSource& run, const std::string& tag) {
    const Series* series = run.series().find(tag);
    return series ? series->value.back() : std::nan("");
}

/// The median of the last `count` values.
double recent(const RunSource& run, const std::string& tag, size_t count) {
    const Series* series = run.series().find(tag);
    if (!series) return std::nan("");
    std::vector<double> values(series->value.end() - ptrdiff_t(std::min(count, series->value.size())),
                               series->value.end());
    std::nth_element(values.begin(), values.begin() + ptrdiff_t(values.size() / 2), values.end());
    return values[values.size() / 2];
}

bool is_ended(record::RunState state) {
    return state == record::RunState::Finished || state == record::RunState::Stopped ||
           state == record::RunState::Failed || state == record::RunState::Interrupted;
}

} // namespace

QString state_text(const RunStatus& status) {
    if (!status.fault.isEmpty()) return "Damaged";
    const QString word = look_of(status, QPalette()).word;
    if (status.driver == Driver::Elsewhere)
        return QString("Elsewhere: process %1, step %2").arg(status.summary.process.pid).arg(status.step);
    if (status.driver == Driver::Here && status.state == record::RunState::Running && !status.phase.isEmpty())
        return word + ": " + status.phase;
    return word;
}

QString end_text(const RunSource& run) {
    const RunStatus& status = run.status();
    if (is_ended(status.state) || status.driver == Driver::Nobody) return {};
    const double seconds = recent(run, "time_step", 15);
    if (std::isnan(seconds) || status.steps_planned <= status.step) return {};
    const double left = seconds * double(status.steps_planned - status.step);
    const QDateTime end = QDateTime::currentDateTime().addMSecs(qint64(left * 1000));
    const bool today = end.date() == QDate::currentDate();
    return "ends ~" + end.toString(left < 120 ? "HH:mm:ss" : today ? "HH:mm" : "ddd HH:mm");
}

RunBar::RunBar(Actions& actions, QWidget* parent)
    : QToolBar("Main toolbar", parent), icon_(new QLabel), state_(new QLabel), step_(new QLabel),
      progress_(new QProgressBar) {
    setObjectName("bar.main");
    setMovable(false);
    setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    for (const char* name : {"act.file.new", "act.file.sample", "", "act.run.pause", "act.run.stopStep", "",
                             "act.run.checkpoint", "act.run.evaluate", ""}) {
        if (*name) {
            addAction(&actions[name]);
        } else {
            addSeparator();
        }
    }
    actions["act.file.new"].setIconText("New");
    actions["act.file.sample"].setIconText("Sample");
    actions["act.run.stopStep"].setIconText("Stop");
    actions["act.run.checkpoint"].setIconText("Checkpoint");
    actions["act.run.evaluate"].setIconText("Evaluate");
    auto* stop = qobject_cast<QToolButton*>(widgetForAction(&actions["act.run.stopStep"]));
    stop->setObjectName("btn.bar.stop");
    stop->setPopupMode(QToolButton::MenuButtonPopup);
    auto* menu = new QMenu(this);
    menu->setObjectName("menu.bar.stop");
    menu->addAction(&actions["act.run.stopStep"]);
    menu->addAction(&actions["act.run.stopNow"]);
    stop->setMenu(menu);

    auto* gap = new QWidget;
    gap->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
    addWidget(gap);
    icon_->setObjectName("lbl.bar.icon");
    state_->setObjectName("lbl.bar.state");
    step_->setObjectName("lbl.bar.step");
    state_->setMinimumWidth(fontMetrics().horizontalAdvance("Evaluating: evaluate"));
    step_->setMinimumWidth(fontMetrics().horizontalAdvance("step 1000 / 10000"));
    step_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    progress_->setObjectName("lbl.bar.progress");
    progress_->setAccessibleName("Progress of the run");
    progress_->setTextVisible(false);
    progress_->setFixedSize(110, 8);
    progress_->setRange(0, 1000);
    for (QWidget* widget : std::initializer_list<QWidget*>{icon_, state_, step_, progress_}) {
        widget->setContentsMargins(4, 0, 4, 0);
        addWidget(widget);
    }
    paint_icons(actions);
}

void RunBar::paint_icons(Actions& actions) {
    const QColor text = QApplication::palette().color(QPalette::ButtonText); // this bar's own follows later
    const bool paused = actions["act.run.pause"].text().contains("Resume");
    for (const auto& [name, shape] : std::initializer_list<std::pair<const char*, const char*>>{
             {"act.file.new", "new"},
             {"act.file.sample", "sample"},
             {"act.run.pause", paused ? "play" : "pause"},
             {"act.run.stopStep", "stop"},
             {"act.run.checkpoint", "save"},
             {"act.run.evaluate", "evaluate"}})
        actions[name].setIcon(icon(shape, text));
}

void RunBar::show_status(const RunSource* run, const QString& engine_text) {
    progress_->setEnabled(run != nullptr);
    if (!run) {
        icon_->clear();
        state_->setText(engine_text);
        step_->clear();
        progress_->setValue(0);
        return;
    }
    const RunStatus& status = run->status();
    const StateLook look = look_of(status, palette());
    icon_->setPixmap(look.icon.pixmap(16, 16));
    state_->setText(state_text(status));
    state_->setToolTip(status.fault.isEmpty() ? status.text : status.fault);
    QPalette tone = palette();
    tone.setColor(QPalette::WindowText, colour(look.role, tone));
    state_->setPalette(tone);
    step_->setText(QString("step %1 / %2").arg(status.step).arg(status.steps_planned));
    const double within = status.state == record::RunState::Running ? status.phase_done * 0.5 : 0;
    progress_->setValue(status.steps_planned > 0 ? int(1000 * std::min(1.0, (double(status.step) + within) /
                                                                                double(status.steps_planned)))
                                                 : 0);
}

StatusFields::StatusFields(QStatusBar& bar, QObject* parent) : QObject(parent) {
    bar.setObjectName("bar.status");
    bar.setSizeGripEnabled(false);
    state_ = field(bar, "state", "Elsewhere: process 4711000", "State of the run");
    step_ = field(bar, "step", "step 10000/100000", "The last finished step, of those planned");
    speed_ = field(bar, "speed", "1000.0k tok/s", "Tokens trained a second of step time, median of 15 steps");
    end_ = field(bar, "end", "ends ~Mon 00:00", "When the run ends at its present pace");
    memory_ = field(bar, "memory", "memory 100.0 GiB", "Memory that the process or the GPU held at most");
    recording_ = field(bar, "recording", "recording paused", "Whether the run's store takes what is written");
    alarms_ = field(bar, "alarms", "10 alarms", "Alarms of the run");
    cursor_ = field(bar, "cursor", "cursor 100000", "The step under the cursor");
    for (auto* widget : {state_, step_, speed_, end_, memory_, recording_, alarms_, cursor_}) {
        const QString name = widget->objectName().section('.', 2);
        connect(widget, &QToolButton::clicked, this, [this, name] { Q_EMIT pressed(name); });
    }
}

QToolButton* StatusFields::field(QStatusBar& bar, const QString& name, const QString& widest,
                                 const QString& meaning) {
    auto* button = new QToolButton;
    button->setObjectName("lbl.status." + name);
    button->setAutoRaise(true);
    button->setToolButtonStyle(Qt::ToolButtonTextOnly);
    button->setFixedWidth(button->fontMetrics().horizontalAdvance(widest) + 12);
    button->setToolTip(meaning);
    button->setAccessibleName(meaning);
    bar.addWidget(button);
    return button;
}

void StatusFields::show_status(const RunSource* run, const Engine& engine, std::optional<int64_t> cursor) {
    cursor_->setText(cursor ? QString("cursor %1").arg(*cursor) : QString());
    if (!run) {
        state_->setText(engine.state() == Engine::State::Loading  ? "Engine loading"
                        : engine.state() == Engine::State::Failed ? "No engine"
                                                                  : "Ready");
        for (auto* widget : {step_, speed_, end_, memory_, recording_, alarms_}) widget->setText({});
        return;
    }
    const RunStatus& status = run->status();
    state_->setText(state_text(status));
    step_->setText(QString("step %1/%2").arg(status.step).arg(status.steps_planned));
    const double speed = recent(*run, "tokens_per_second_step", 15);
    speed_->setText(std::isnan(speed) ? QString() : short_number(speed) + " tok/s");
    end_->setText(end_text(*run));
    const double bytes = last_of(*run, "mem_peak_total");
    memory_->setText(std::isnan(bytes) ? QString() : "memory " + bytes_text(bytes));
    recording_->setText(!status.fault.isEmpty() ? "damaged"
                        : status.recording      ? "recording ok"
                                                : "recording paused");
    const auto active = std::count_if(run->alarms().begin(), run->alarms().end(),
                                      [](const auto& alarm) { return alarm.active; });
    alarms_->setText(active == 1 ? "1 alarm" : QString("%1 alarms").arg(active));
}

Banner::Banner(QWidget* parent)
    : QFrame(parent), icon_(new QLabel), text_(new QLabel), close_(new QToolButton) {
    setObjectName("banner.main");
    setFrameShape(QFrame::StyledPanel);
    text_->setObjectName("lbl.banner.text");
    text_->setWordWrap(true);
    text_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    close_->setObjectName("btn.banner.close");
    close_->setText("Hide");
    close_->setAutoRaise(true);
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(8, 4, 4, 4);
    layout->addWidget(icon_);
    layout->addWidget(text_, 1);
    layout->addWidget(close_);
    connect(close_, &QToolButton::clicked, this, [this] {
        dismissed_ = text_->text();
        hide();
    });
    hide();
}

void Banner::show_text(const QString& text, bool severe) {
    if (text != dismissed_) dismissed_.clear();
    text_->setText(text);
    icon_->setPixmap(icon("warning", colour(severe ? Role::Stop : Role::Wait, palette())).pixmap(16, 16));
    setVisible(!text.isEmpty() && text != dismissed_);
}

} // namespace stillroom::ui
