// SPDX-License-Identifier: GPL-3.0-or-later
// The inspector and its run: following what is recorded, steps selected elsewhere, copying, what is allowed.
#include "ui/models/token_json.h"
#include "ui/rollouts/candidates_panel.h"
#include "ui/rollouts/pins_panel.h"
#include "ui/rollouts/rollouts_list.h"
#include "ui/rollouts/rollouts_view.h"
#include "ui/rollouts/token_bar.h"
#include "ui/rollouts/token_view.h"
#include "ui/window/theme.h"

#include <QApplication>
#include <QClipboard>
#include <QKeyEvent>
#include <QLineEdit>
#include <QLocale>
#include <QMimeData>
#include <QTextBrowser>

namespace stillroom::ui {

namespace {

constexpr int wide_list = 300, wide_candidates = 300; // ui.md 2.1 (b), at 1280 px
constexpr int narrow_view = 1000, narrow_list = 206, narrow_candidates = 242;

QString grouped(int64_t number) { return QLocale(QLocale::English).toString(qlonglong(number)); }

/// The entry clamp of a run's objective in nats; 0: none.
double entry_clamp(const std::map<std::string, std::string>& settings) {
    const auto kind = settings.find("objective.clamp.kind"), value = settings.find("objective.clamp.c");
    const bool clamps = kind != settings.end() && kind->second == "per_entry" && value != settings.end();
    return clamps ? QString::fromStdString(value->second).toDouble() : 0;
}

/// The selection, else the cursor's token, else all of it.
TokenRange range_to_copy(const TokenView& tokens, size_t size) {
    if (tokens.selection()) return *tokens.selection();
    if (tokens.cursor()) return {*tokens.cursor(), *tokens.cursor()};
    return {0, size - 1};
}

} // namespace

void RolloutsView::show_run(RunSource* source) {
    if (run()) run()->disconnect(this);
    View::show_run(source);
    ++generation_;
    wanted_.reset();
    show_rollout({});
    seen_ = source ? source->status().summary.rollouts : 0;
    following_ = decided_ = source && is_live();
    list_->show_run(source);
    if (source) {
        connect(source, &RunSource::rolloutsChanged, this, &RolloutsView::take_rollouts);
        connect(source, &RunSource::statusChanged, this, &RolloutsView::update_live);
        connect(source, &RunSource::settingsChanged, this,
                [this] { candidates_->model().set_entry_clamp(entry_clamp(run()->settings())); });
        connect(source, &RunSource::vocabularyChanged, this, [this] {
            if (wanted_) {
                open(*wanted_);
            } else if (rollout_) {
                open(rollout_->id);
            }
        });
        candidates_->model().set_entry_clamp(entry_clamp(source->settings()));
        if (following_) follow_newest();
    }
    update_live();
    update_actions();
}

bool RolloutsView::is_live() const {
    return run() && (run()->status().driver == Driver::Here || run()->status().driver == Driver::Elsewhere);
}

void RolloutsView::take_rollouts() {
    if (following_) {
        follow_newest();
    } else if (list_->model().rowCount() == 0) {
        seen_ = run()->status().summary.rollouts;
        list_->model().reload(); // an empty list is not what anyone froze
    }
    update_live();
}

void RolloutsView::follow_newest() {
    seen_ = run()->status().summary.rollouts;
    list_->model().reload();
    record::RolloutFilter newest = list_->model().filter();
    newest.limit = 1;
    newest.after.reset();
    run()->reader().ask(
        this,
        [newest](record::RunReader& reader) -> Result<std::vector<record::RolloutSummary>> {
            record::RolloutFilter last_step = newest;
            last_step.order = record::RolloutOrder::Step;
            last_step.descending = true;
            auto found = reader.rollouts(last_step);
            if (!found || found->empty()) return found;
            record::RolloutFilter first_of_it = newest;
            first_of_it.first_step = first_of_it.last_step = found->front().step;
            return reader.rollouts(first_of_it);
        },
        [this](Result<std::vector<record::RolloutSummary>> found) {
            if (!following_ || !found || found->empty()) return;
            list_->set_current(found->front().id);
            if (!rollout_ || rollout_->id != found->front().id) open(found->front().id);
        });
}

void RolloutsView::set_following(bool following) {
    following_ = following;
    if (!run()) return;
    if (following_) {
        follow_newest();
        if (!is_live()) following_ = false; // nothing more will come: that was the newest
    }
    update_live();
}

/// A person did something here: what is shown must stand still.
void RolloutsView::touch() {
    decided_ = true;
    if (!following_) return;
    following_ = false;
    update_live();
}

void RolloutsView::update_live() {
    QAction& follow = actions()["act.roll.follow"];
    const int64_t newer = run() ? run()->status().summary.rollouts - seen_ : 0;
    const bool live = is_live();
    if (!live && following_) following_ = false;
    // Whether another process drives the run is known only after the first look at its record.
    if (!decided_ && run() && run()->status().summary.session > 0) {
        decided_ = true;
        if (live) set_following(true);
    }
    live_->setVisible(live || newer > 0);
    if (following_) {
        live_->setText(QStringLiteral("LIVE  step %1   [Freeze F]").arg(run()->status().summary.step));
    } else {
        live_->setText(newer > 0 ? QStringLiteral("FROZEN, %1 newer   [Follow F]").arg(grouped(newer))
                                 : QStringLiteral("FROZEN   [Follow F]"));
    }
    live_->setIcon(
        icon(following_ ? "play" : "pause", colour(following_ ? Role::Go : Role::Wait, palette())));
    actions().allow("act.roll.follow", live || newer > 0 ? QString()
                                       : run()           ? QStringLiteral("this run has ended")
                                                         : QStringLiteral("no run is open"));
    follow.setChecked(following_);
}

void RolloutsView::take_selection() {
    list_->set_steps(cursor().selection());
    update_actions();
}

void RolloutsView::step_rollout(bool forwards) {
    if (!run() || !rollout_) return;
    touch();
    record::RolloutFilter in_step = list_->model().filter();
    in_step.limit = 1;
    in_step.after.reset();
    run()->reader().ask(
        this,
        [in_step, forwards, step = rollout_->record.step](
            record::RunReader& reader) -> Result<std::vector<record::RolloutSummary>> {
            record::RolloutFilter nearest = in_step;
            nearest.order = record::RolloutOrder::Step;
            nearest.descending = !forwards;
            // The list's own bounds hold too.
            auto& bound = forwards ? nearest.first_step : nearest.last_step;
            bound = forwards ? std::max(bound.value_or(step + 1), step + 1)
                             : std::min(bound.value_or(step - 1), step - 1);
            auto found = reader.rollouts(nearest);
            if (!found || found->empty()) return found;
            record::RolloutFilter first_of_it = in_step;
            first_of_it.first_step = first_of_it.last_step = found->front().step;
            return reader.rollouts(first_of_it);
        },
        [this, forwards](Result<std::vector<record::RolloutSummary>> found) {
            if (!found) {
                say(QString::fromStdString(found.error().message()));
            } else if (found->empty()) {
                say(forwards ? "no later step in the list" : "no earlier step in the list");
            } else {
                list_->set_current(found->front().id);
                open(found->front().id);
            }
        });
}

void RolloutsView::find() {
    const bool in_list = list_->table().hasFocus();
    if (in_list || !rollout_) {
        list_->focus_filter();
    } else {
        bar_->open_search();
    }
}

void RolloutsView::find_next(bool backwards) { step_hit(backwards ? -1 : 1); }

void RolloutsView::zoom(int direction) { tokens_->zoom(direction); }

void RolloutsView::select_all() {
    if (auto* edit = qobject_cast<QLineEdit*>(QApplication::focusWidget())) {
        edit->selectAll();
    } else if (auto* text = qobject_cast<QTextBrowser*>(QApplication::focusWidget())) {
        text->selectAll();
    } else {
        tokens_->select_all();
    }
}

void RolloutsView::copy(bool as_json) {
    if (auto* edit = qobject_cast<QLineEdit*>(QApplication::focusWidget())) {
        edit->copy();
    } else if (auto* text = qobject_cast<QTextBrowser*>(QApplication::focusWidget())) {
        text->copy();
    } else if (rollout_ && rollout_->size() > 0) {
        as_json ? copy_json() : copy_text();
    }
}

void RolloutsView::copy_text() {
    const TokenRange range = range_to_copy(*tokens_, rollout_->size());
    const TokenTexts& texts = rollout_->response;
    const size_t begin = texts.offset[range.first], end = texts.offset[range.second + 1];
    auto* data = new QMimeData; // the bytes themselves, whether they are UTF-8 or not
    data->setData("text/plain", QByteArray(texts.bytes.data() + begin, qsizetype(end - begin)));
    QApplication::clipboard()->setMimeData(data);
    say(QStringLiteral("copied %1 tokens, %2 bytes").arg(range.second - range.first + 1).arg(end - begin));
}

void RolloutsView::copy_json() {
    const TokenRange range = range_to_copy(*tokens_, rollout_->size());
    const auto seed = run()->settings().find("run.seed");
    const TokenSource source{run()->status().name.toStdString(),
                             seed == run()->settings().end() ? std::string() : seed->second};
    // Thousands of tokens with their candidates are megabytes: not on the window's thread.
    run()->reader().ask(
        this,
        [rollout = rollout_, range, source](record::RunReader&) -> Result<QByteArray> {
            return tokens_as_json(*rollout, range, source);
        },
        [this, range](Result<QByteArray> json) {
            if (!json) return;
            auto* data = new QMimeData;
            data->setData("text/plain", *json);
            data->setData("application/json", *json);
            QApplication::clipboard()->setMimeData(data);
            say(QStringLiteral("copied %1 tokens as JSON").arg(range.second - range.first + 1));
        });
}

void RolloutsView::update_actions() {
    const QString no_run = run() ? QString() : QStringLiteral("no run is open");
    const QString no_rollout = rollout_ ? QString() : QStringLiteral("no rollout is open");
    const QString no_rows = list_->model().rowCount() > 0 ? QString()
                            : run()                       ? QStringLiteral("the list is empty")
                                                          : no_run;
    for (const char* name : {"act.roll.next", "act.roll.prev"}) actions().allow(name, no_rows);
    for (QAction* action : actions().all()) {
        const QString name = action->objectName();
        if (name.startsWith("act.roll.color") || name.startsWith("act.roll.rank") ||
            name == "act.roll.nextRank")
            actions().allow(name, no_rollout);
    }
    for (const char* name : {"act.roll.nextStep", "act.roll.prevStep", "act.roll.nextWorst",
                             "act.roll.prevWorst", "act.roll.pin"})
        actions().allow(name, no_rollout);
    const bool plain = rollout_ && std::any_of(rollout_->record.tokens.teacher_plain_logprob.begin(),
                                               rollout_->record.tokens.teacher_plain_logprob.end(),
                                               [](float value) { return !std::isnan(value); });
    const QString why =
        !rollout_ ? no_rollout
        : plain   ? QString()
                  : QStringLiteral("the teacher without the answer was not scored for this rollout");
    actions().allow("act.roll.teacher", why);
    bar_->set_teacher(choice_.without_answer, why);
    actions()["act.roll.pin"].setText(rollout_ && rollout_->record.pinned ? "Unpin Ro&llout"
                                                                          : "Pin Ro&llout");
    actions().allow("act.roll.clearFilters",
                    list_->has_filters() ? QString() : QStringLiteral("no filter is set"));
}

void RolloutsView::keyPressEvent(QKeyEvent* event) {
    if (event->text() == "/") {
        find();
    } else {
        View::keyPressEvent(event);
    }
}

void RolloutsView::resizeEvent(QResizeEvent* event) {
    View::resizeEvent(event);
    if (sized_ || !isVisible()) return;
    const bool narrow = width() < narrow_view;
    const int list = narrow ? narrow_list : wide_list,
              candidates = narrow ? narrow_candidates : wide_candidates;
    across_->setSizes({list, std::max(300, width() - list - candidates), candidates});
    const int bottom = bottom_height(pages_->currentIndex());
    down_->setSizes({height() - bottom, bottom});
}

void RolloutsView::showEvent(QShowEvent* event) {
    View::showEvent(event);
    if (sized_) return;
    QResizeEvent resize(size(), size());
    resizeEvent(&resize);
}

} // namespace stillroom::ui
