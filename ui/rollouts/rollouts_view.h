// SPDX-License-Identifier: GPL-3.0-or-later
// The rollout inspector: a list of what was sampled, the tokens of one of them with their numbers, and what
// both models would have written at each.
#pragma once

#include "ui/models/token_search.h"
#include "ui/models/token_values.h"
#include "ui/window/view.h"

#include <QLabel>
#include <QPushButton>
#include <QSplitter>
#include <QStackedWidget>
#include <QTabBar>
#include <QTableView>

namespace stillroom::ui {

class AnswerPanel;
class CandidatesPanel;
class PinsPanel;
class PromptsPanel;
class RolloutsList;
class TokenBar;
class TokenMinimap;
class TokenTableModel;
class TokenView;

class RolloutsView : public View {
    Q_OBJECT
public:
    RolloutsView(ViewContext context, QWidget* parent = nullptr);
    ~RolloutsView() override;

    void show_run(RunSource* run) override;
    void find() override;
    void find_next(bool backwards) override;
    void copy(bool as_json) override;
    void select_all() override;
    void zoom(int direction) override;

    bool is_following() const { return following_; }

protected:
    void keyPressEvent(QKeyEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void showEvent(QShowEvent* event) override;

private:
    enum Tab { Answer, Prompts, Ids, Pins };

    void build();
    QWidget* build_tokens();
    QWidget* build_bottom();
    void connect_parts();
    void connect_actions();

    void open(int64_t id);
    void show_rollout(TokenRolloutPtr rollout);
    void recolour();
    void rank();
    void step_worst(int direction);
    void set_mode(ColourMode mode);
    void set_ranking(Ranking ranking);
    void update_token();
    void update_minimap();
    void update_actions();
    void search(const QString& text);
    void step_hit(int direction);
    void show_tab(Tab tab, bool toggle);
    void hide_bottom();
    int bottom_height(int tab) const;
    void pin_rollout();
    void step_rollout(bool forwards);
    void copy_text();
    void copy_json();

    void take_rollouts();
    void set_following(bool following);
    void follow_newest();
    void touch();
    bool is_live() const;
    void update_live();
    void take_selection();
    void say(const QString& text);
    void update_position();

    RolloutsList* list_;
    QPushButton* live_;
    TokenBar* bar_;
    TokenView* tokens_;
    TokenMinimap* minimap_;
    CandidatesPanel* candidates_;
    AnswerPanel* answer_;
    PromptsPanel* prompts_;
    TokenTableModel* table_model_;
    QTableView* table_;
    PinsPanel* pins_;
    QTabBar* tabs_;
    QStackedWidget* pages_;
    QWidget* bottom_;
    QSplitter *across_, *down_;
    QLabel *position_, *said_;

    TokenRolloutPtr rollout_;
    std::optional<int64_t> wanted_; // the rollout that is being read
    int generation_ = 0;            // of rollouts asked for; late ones are dropped
    ColourChoice choice_;
    Ranking ranking_ = Ranking::Kl;
    std::vector<float> values_;
    std::vector<WorstToken> worst_;
    std::optional<size_t> worst_place_;
    SearchResult found_;
    std::optional<size_t> hit_;
    bool following_ = false;
    bool decided_ = false; // whether to follow: by a person, or because the run is live
    bool sized_ = false;   // by a hand on a splitter; until then sizes follow the width
    int64_t seen_ = 0;     // rollouts recorded when the list was last read
};

} // namespace stillroom::ui
