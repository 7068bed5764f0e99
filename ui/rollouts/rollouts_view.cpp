// SPDX-License-Identifier: GPL-3.0-or-later
// The open rollout: reading it, colouring, ranking and searching its tokens.
#include "ui/rollouts/rollouts_view.h"

#include "record/store.h"
#include "ui/models/token_table_model.h"
#include "ui/rollouts/answer_panel.h"
#include "ui/rollouts/candidates_panel.h"
#include "ui/rollouts/pins_panel.h"
#include "ui/rollouts/prompts_panel.h"
#include "ui/rollouts/rollouts_list.h"
#include "ui/rollouts/token_bar.h"
#include "ui/rollouts/token_legend.h"
#include "ui/rollouts/token_minimap.h"
#include "ui/rollouts/token_view.h"

#include <QKeyEvent>
#include <QLocale>
#include <QTimer>

namespace stillroom::ui {

namespace {

constexpr int message_time = 4000; // milliseconds

QString grouped(size_t number) { return QLocale(QLocale::English).toString(qulonglong(number)); }

int setting_number(const RunSource* run, const char* key) {
    const auto found = run->settings().find(key);
    return found == run->settings().end() ? 0 : QString::fromStdString(found->second).toInt();
}

} // namespace

void RolloutsView::open(int64_t id) {
    if (!run()) return;
    wanted_ = id;
    const Vocabulary& vocabulary = run()->vocabulary();
    // Without its vocabulary a rollout is ids; that is worth a moment's wait.
    if (!vocabulary.tokenizer && vocabulary.fault.isEmpty()) {
        if (!rollout_) tokens_->show_rollout({}, "Reading the vocabulary…");
        return;
    }
    run()->reader().ask(
        this,
        [id, tokenizer = vocabulary.tokenizer](record::RunReader& reader) -> Result<TokenRolloutPtr> {
            auto record = reader.rollout(id);
            if (!record) return record.error();
            return open_token_rollout(id, std::move(*record), tokenizer);
        },
        [this, generation = ++generation_](Result<TokenRolloutPtr> opened) {
            if (generation != generation_) return;
            wanted_.reset();
            if (opened) {
                show_rollout(*opened);
            } else {
                show_rollout({});
                tokens_->show_rollout({}, QString::fromStdString(opened.error().message()));
            }
        });
}

void RolloutsView::show_rollout(TokenRolloutPtr rollout) {
    const bool same = rollout && rollout_ && rollout->id == rollout_->id;
    rollout_ = std::move(rollout);
    if (!same) {
        worst_place_.reset();
        hit_.reset();
    }
    tokens_->show_rollout(rollout_,
                          run() ? "No rollout is open: choose one in the list." : "No run is open.");
    bar_->show_rollout(rollout_, run() ? setting_number(run(), "rollout.samples_per_prompt") : 0,
                       run() ? run()->vocabulary().fault : QString());
    answer_->show_rollout(rollout_,
                          run() ? QString::fromStdString(run()->status().summary.program) : QString());
    prompts_->show_rollout(rollout_);
    table_model_->show(rollout_);
    pins_->show_pins(rollout_, tokens_->pins());
    recolour();
    rank();
    search(bar_->search_text());
    update_token();
    update_actions();
    if (rollout_ && !following_) cursor().set_step(rollout_->record.step);
}

void RolloutsView::recolour() {
    values_ = rollout_ ? token_values(rollout_->record.tokens, choice_) : std::vector<float>();
    bar_->legend().show_values(choice_, values_);
    tokens_->set_colours(choice_, values_, bar_->legend().scale());
    update_minimap();
}

void RolloutsView::set_mode(ColourMode mode) {
    if (mode == ColourMode::Entropy && choice_.mode == ColourMode::Entropy) {
        using Of = ColourChoice::Entropy;
        choice_.entropy = choice_.entropy == Of::Student   ? Of::Teacher
                          : choice_.entropy == Of::Teacher ? Of::Difference
                                                           : Of::Student;
    }
    choice_.mode = mode;
    actions()[QStringLiteral("act.roll.color%1").arg(int(mode))].setChecked(true);
    bar_->set_choice(choice_);
    recolour();
    update_actions();
    update_position();
}

void RolloutsView::rank() {
    worst_ = rollout_ ? worst_tokens(rollout_->record.tokens, ranking_) : std::vector<WorstToken>();
    if (worst_place_ && *worst_place_ >= worst_.size()) worst_place_.reset();
    tokens_->set_worst(worst_);
    bar_->set_worst(worst_place_, worst_, ranking_);
    update_minimap();
}

void RolloutsView::set_ranking(Ranking ranking) {
    static constexpr std::array names{"Kl", "Gap", "Gain", "Clipped", "Overlap", "Entropy"};
    ranking_ = ranking;
    worst_place_.reset();
    actions()[QStringLiteral("act.roll.rank") + names[size_t(ranking)]].setChecked(true);
    bar_->set_ranking(ranking);
    rank();
}

void RolloutsView::step_worst(int direction) {
    if (worst_.empty()) return;
    touch();
    const size_t last = worst_.size() - 1;
    worst_place_ = !worst_place_   ? (direction > 0 ? 0 : last)
                   : direction > 0 ? std::min(*worst_place_ + 1, last)
                                   : *worst_place_ - (*worst_place_ > 0);
    bar_->set_worst(worst_place_, worst_, ranking_);
    tokens_->move_cursor(worst_[*worst_place_].token, true);
}

void RolloutsView::update_token() {
    const auto cursor_token = tokens_->cursor();
    const auto& pins = tokens_->pins();
    const auto pin = cursor_token ? std::find(pins.begin(), pins.end(), *cursor_token) : pins.end();
    // A pinned token at the cursor holds the table; else the mouse may look at others.
    const bool held = pin != pins.end();
    const auto token = held ? cursor_token : tokens_->hovered() ? tokens_->hovered() : cursor_token;
    candidates_->show_token(rollout_, token,
                            held ? QStringLiteral("pin %1").arg(pin - pins.begin() + 1) : QString());
    update_position();
}

void RolloutsView::update_position() {
    if (!rollout_) {
        position_->clear();
        return;
    }
    const auto token = tokens_->cursor();
    QString text = QStringLiteral("%1 tokens, %2 bytes")
                       .arg(grouped(rollout_->size()), grouped(rollout_->response.bytes.size()));
    if (token) {
        text = QStringLiteral("token %1 of %2   byte %3   id %4")
                   .arg(*token)
                   .arg(grouped(rollout_->size()), grouped(rollout_->response.offset[*token]))
                   .arg(rollout_->response.ids[*token]);
        if (rollout_->think_end)
            text += *token <= *rollout_->think_end ? QStringLiteral("   in the thought")
                                                   : QStringLiteral("   in the answer");
        if (*token < values_.size() && !std::isnan(values_[*token]))
            text += QStringLiteral("   %1 %2").arg(name_of(choice_)).arg(double(values_[*token]), 0, 'f', 3);
    }
    position_->setText(text);
    position_->setToolTip(text);
}

void RolloutsView::update_minimap() {
    std::vector<size_t> worst, clipped;
    for (size_t i = 0; i < std::min(worst_.size(), TokenView::underlined_worst); ++i)
        worst.push_back(worst_[i].token);
    if (rollout_) {
        const auto& flags = rollout_->record.tokens.flags;
        for (size_t token = 0; token < flags.size(); ++token) {
            if (flags[token] & clamped_flag) clipped.push_back(token);
        }
    }
    minimap_->set_values(choice_, values_, bar_->legend().scale(), rollout_ ? rollout_->size() : 0);
    minimap_->set_marks(std::move(worst), found_.hits, tokens_->pins(), std::move(clipped));
    minimap_->set_visible(tokens_->visible_tokens());
}

void RolloutsView::search(const QString& text) {
    found_ = rollout_ ? search_tokens(*rollout_, text) : SearchResult();
    hit_.reset();
    if (!found_.hits.empty()) {
        const size_t from = tokens_->cursor().value_or(0);
        const auto next = std::find_if(found_.hits.begin(), found_.hits.end(),
                                       [&](const TokenRange& hit) { return hit.second >= from; });
        hit_ = next == found_.hits.end() ? 0 : size_t(next - found_.hits.begin());
    }
    tokens_->set_hits(found_.hits, hit_);
    if (hit_) tokens_->scroll_to(found_.hits[*hit_].first);
    bar_->set_search_result(!found_.fault.isEmpty() ? found_.fault
                            : text.isEmpty()        ? QString()
                            : found_.hits.empty()
                                ? QStringLiteral("no hits")
                                : QStringLiteral("%1 of %2").arg(*hit_ + 1).arg(found_.hits.size()),
                            !found_.fault.isEmpty());
    update_minimap();
}

void RolloutsView::step_hit(int direction) {
    if (found_.hits.empty()) return;
    touch();
    const size_t count = found_.hits.size();
    // The first Enter goes to the hit that is shown already.
    const bool there = tokens_->cursor() == found_.hits[*hit_].first;
    if (there) hit_ = (*hit_ + count + size_t(direction < 0 ? count - 1 : 1)) % count;
    tokens_->set_hits(found_.hits, hit_);
    tokens_->move_cursor(found_.hits[*hit_].first, true);
    bar_->set_search_result(QStringLiteral("%1 of %2").arg(*hit_ + 1).arg(count), false);
}

void RolloutsView::show_tab(Tab tab, bool toggle) {
    const bool shown = !bottom_->isHidden() && pages_->currentIndex() == tab;
    if (toggle && shown) {
        hide_bottom();
        return;
    }
    bottom_->show();
    if (!sized_) down_->setSizes({height() - bottom_height(tab), bottom_height(tab)});
    tabs_->setCurrentIndex(tab);
    pages_->setCurrentIndex(tab);
    actions()["act.roll.answer"].setChecked(tab == Answer);
    actions()["act.roll.prompts"].setChecked(tab == Prompts);
    actions()["act.roll.ids"].setChecked(tab == Ids);
    if (tab == Ids && tokens_->cursor()) {
        table_->selectRow(int(*tokens_->cursor()));
        table_->scrollTo(table_model_->index(int(*tokens_->cursor()), 0));
    }
}

/// Tables and prompts need room, the answer a few lines.
int RolloutsView::bottom_height(int tab) const {
    constexpr int lines = 132;
    return tab == Answer || tab == Pins ? lines : std::max(lines, height() * 2 / 5);
}

void RolloutsView::hide_bottom() {
    bottom_->hide();
    for (const char* name : {"act.roll.answer", "act.roll.prompts", "act.roll.ids"})
        actions()[name].setChecked(false);
}

void RolloutsView::pin_rollout() {
    if (!run() || !rollout_) return;
    touch();
    const int64_t id = rollout_->id;
    const bool pinned = !rollout_->record.pinned;
    run()->reader().ask(
        this,
        [folder = run()->folder(), id, pinned](record::RunReader&) {
            return record::RunStore::set_pinned(folder, id, pinned);
        },
        [this, id, pinned](Result<void> done) {
            if (!done) {
                say("Not pinned: " + QString::fromStdString(done.error().message()));
                return;
            }
            list_->model().set_pinned(id, pinned);
            say(QStringLiteral("rollout %1 %2").arg(id).arg(pinned ? "pinned" : "no longer pinned"));
            if (rollout_ && rollout_->id == id) open(id);
        });
}

void RolloutsView::say(const QString& text) {
    said_->setText(text);
    QTimer::singleShot(message_time, said_, [this, text] {
        if (said_->text() == text) said_->clear();
    });
}

} // namespace stillroom::ui
