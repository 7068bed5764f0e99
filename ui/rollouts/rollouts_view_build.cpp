// SPDX-License-Identifier: GPL-3.0-or-later
// How the inspector is put together, and what is connected with what.
#include "ui/models/token_table_model.h"
#include "ui/rollouts/answer_panel.h"
#include "ui/rollouts/candidates_panel.h"
#include "ui/rollouts/pins_panel.h"
#include "ui/rollouts/prompts_panel.h"
#include "ui/rollouts/rollouts_list.h"
#include "ui/rollouts/rollouts_view.h"
#include "ui/rollouts/token_bar.h"
#include "ui/rollouts/token_legend.h"
#include "ui/rollouts/token_minimap.h"
#include "ui/rollouts/token_view.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QVBoxLayout>

namespace stillroom::ui {

RolloutsView::RolloutsView(ViewContext context, QWidget* parent) : View(context, parent) {
    setObjectName("view.rollouts");
    setAccessibleName("Rollouts");
    build();
    connect_parts();
    connect_actions();
    setFocusProxy(&list_->table());
    show_run(nullptr);
}

RolloutsView::~RolloutsView() = default;

void RolloutsView::build() {
    list_ = new RolloutsList;
    live_ = new QPushButton;
    live_->setObjectName("btn.rollouts.live");
    live_->setAccessibleName("Follow the newest rollouts");
    live_->setFocusPolicy(Qt::TabFocus);
    auto* left = new QWidget;
    auto* left_column = new QVBoxLayout(left);
    left_column->setContentsMargins(0, 0, 0, 0);
    left_column->setSpacing(4);
    left_column->addWidget(live_);
    left_column->addWidget(list_, 1);
    left->setMinimumWidth(180);

    candidates_ = new CandidatesPanel;
    candidates_->setMinimumWidth(200);
    across_ = new QSplitter(Qt::Horizontal);
    across_->setObjectName("split.rollouts.across");
    across_->addWidget(left);
    across_->addWidget(build_tokens());
    across_->addWidget(candidates_);
    across_->setStretchFactor(0, 2);
    across_->setStretchFactor(1, 5);
    across_->setStretchFactor(2, 2);
    down_ = new QSplitter(Qt::Vertical);
    down_->setObjectName("split.rollouts.down");
    down_->addWidget(across_);
    down_->addWidget(build_bottom());
    down_->setStretchFactor(0, 1);
    down_->setStretchFactor(1, 0);
    for (QSplitter* splitter : {across_, down_}) splitter->setChildrenCollapsible(false);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(6, 6, 6, 4);
    column->addWidget(down_);
}

QWidget* RolloutsView::build_tokens() {
    bar_ = new TokenBar(actions());
    tokens_ = new TokenView;
    tokens_->setObjectName("view.tokens");
    tokens_->setAccessibleName("Tokens");
    minimap_ = new TokenMinimap;
    minimap_->setObjectName("view.minimap");
    minimap_->setAccessibleName("Minimap of the tokens");
    position_ = new QLabel;
    position_->setObjectName("lbl.tokens.position");
    position_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    said_ = new QLabel;
    said_->setObjectName("lbl.rollouts.said");
    auto* row = new QHBoxLayout;
    row->setSpacing(2);
    row->addWidget(tokens_, 1);
    row->addWidget(minimap_);
    auto* line = new QHBoxLayout;
    line->addWidget(position_, 1);
    line->addWidget(said_);
    auto* middle = new QWidget;
    auto* column = new QVBoxLayout(middle);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(4);
    column->addWidget(bar_);
    column->addLayout(row, 1);
    column->addLayout(line);
    middle->setMinimumWidth(300);
    return middle;
}

QWidget* RolloutsView::build_bottom() {
    answer_ = new AnswerPanel;
    prompts_ = new PromptsPanel;
    pins_ = new PinsPanel;
    table_model_ = new TokenTableModel(this);
    table_ = new QTableView;
    table_->setObjectName("table.ids");
    table_->setAccessibleName("Raw ids: every token with all that was recorded");
    table_->setModel(table_model_);
    table_->setSelectionBehavior(QAbstractItemView::SelectRows);
    table_->setShowGrid(false);
    table_->setWordWrap(false);
    table_->setTabKeyNavigation(false);
    table_->setFrameShape(QFrame::NoFrame);
    table_->verticalHeader()->hide();
    table_->verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    table_->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 4);
    table_->horizontalHeader()->setHighlightSections(false);
    for (int column = 0; column < TokenTableModel::ColumnCount; ++column) {
        const bool wide = column == TokenTableModel::Text || column == TokenTableModel::Flags;
        table_->setColumnWidth(column,
                               fontMetrics().horizontalAdvance(wide ? "a longer token" : "-10.0000") + 10);
    }
    tabs_ = new QTabBar;
    tabs_->setObjectName("tabs.rollouts.bottom");
    tabs_->setAccessibleName("Answer, prompts, ids and pins");
    tabs_->setDrawBase(false);
    tabs_->setExpanding(false);
    for (const char* name : {"Answer", "Prompts", "Ids", "Pins"}) tabs_->addTab(name);
    tabs_->setTabToolTip(Answer, "the answer and its verdict (A)");
    tabs_->setTabToolTip(Prompts, "what student and teacher were sent (D)");
    tabs_->setTabToolTip(Ids, "every token with all that was recorded (I)");
    tabs_->setTabToolTip(Pins, "pinned tokens (Space pins, Enter comes here)");
    pages_ = new QStackedWidget;
    for (QWidget* page : std::initializer_list<QWidget*>{answer_, prompts_, table_, pins_})
        pages_->addWidget(page);
    pages_->setMinimumHeight(84);
    bottom_ = new QWidget;
    auto* column = new QVBoxLayout(bottom_);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(tabs_);
    column->addWidget(pages_, 1);
    return bottom_;
}

void RolloutsView::connect_parts() {
    connect(list_, &RolloutsList::currentChanged, this, [this](qint64 id) {
        touch();
        open(id);
    });
    connect(list_, &RolloutsList::readWanted, tokens_, qOverload<>(&QWidget::setFocus));
    connect(list_, &RolloutsList::touched, this, &RolloutsView::touch);
    connect(list_, &RolloutsList::stepsDropped, this, [this] { cursor().select(std::nullopt); });
    connect(list_, &RolloutsList::filterChanged, this, &RolloutsView::update_actions);
    connect(list_, &RolloutsList::reloaded, this, [this] {
        if (!rollout_ && !wanted_ && list_->model().rowCount() > 0) {
            const int64_t first = list_->model().rollout(0).id;
            list_->set_current(first);
            open(first);
        }
        update_actions();
    });
    connect(live_, &QPushButton::clicked, this, [this] { set_following(!following_); });
    connect(tokens_, &TokenView::touched, this, &RolloutsView::touch);
    connect(tokens_, &TokenView::escaped, &list_->table(), qOverload<>(&QWidget::setFocus));
    connect(tokens_, &TokenView::cursorMoved, this, &RolloutsView::update_token);
    connect(tokens_, &TokenView::hoverChanged, this, &RolloutsView::update_token);
    connect(tokens_, &TokenView::pinsChanged, this, [this] {
        pins_->show_pins(rollout_, tokens_->pins());
        tabs_->setTabText(Pins, tokens_->pins().empty()
                                    ? QStringLiteral("Pins")
                                    : QStringLiteral("Pins %1").arg(tokens_->pins().size()));
        update_token();
        update_minimap();
    });
    connect(tokens_, &TokenView::scrolled, this,
            [this] { minimap_->set_visible(tokens_->visible_tokens()); });
    connect(tokens_, &TokenView::pinPanelWanted, this, [this] {
        show_tab(Pins, false);
        pins_->setFocus();
    });
    connect(minimap_, &TokenMinimap::tokenWanted, this, [this](size_t token) {
        touch();
        tokens_->scroll_to(token);
    });
    connect(pins_, &PinsPanel::tokenWanted, this,
            [this](size_t token) { tokens_->move_cursor(token, true); });
    connect(pins_, &PinsPanel::escaped, tokens_, qOverload<>(&QWidget::setFocus));
    connect(answer_, &AnswerPanel::jumpWanted, this,
            [this](size_t token) { tokens_->move_cursor(token, true); });
    connect(table_, &QTableView::activated, this,
            [this](const QModelIndex& index) { tokens_->move_cursor(size_t(index.row()), true); });
    connect(candidates_, &CandidatesPanel::pinRolloutWanted, this, &RolloutsView::pin_rollout);
    connect(&bar_->legend(), &TokenLegend::scaleChanged, this, &RolloutsView::recolour);
    connect(bar_, &TokenBar::searchChanged, this, &RolloutsView::search);
    connect(bar_, &TokenBar::searchNext, this, [this](bool backwards) { step_hit(backwards ? -1 : 1); });
    connect(bar_, &TokenBar::searchClosed, tokens_, qOverload<>(&QWidget::setFocus));
    connect(tabs_, &QTabBar::tabBarClicked, this, [this](int tab) {
        if (tab >= 0) show_tab(Tab(tab), false);
    });
    for (QSplitter* splitter : {across_, down_})
        connect(splitter, &QSplitter::splitterMoved, this, [this] { sized_ = true; });
    connect(&cursor(), &StepCursor::selectionChanged, this, &RolloutsView::take_selection);
}

void RolloutsView::connect_actions() {
    const auto on = [this](const QString& name, auto work) {
        connect(&actions()[name], &QAction::triggered, this, work);
    };
    on("act.roll.follow", [this] { set_following(!following_); });
    on("act.roll.next", [this] { touch(), list_->move(1); });
    on("act.roll.prev", [this] { touch(), list_->move(-1); });
    on("act.roll.nextStep", [this] { step_rollout(true); });
    on("act.roll.prevStep", [this] { step_rollout(false); });
    on("act.roll.nextWorst", [this] { step_worst(1); });
    on("act.roll.prevWorst", [this] { step_worst(-1); });
    static constexpr std::array ranks{"Kl", "Gap", "Gain", "Clipped", "Overlap", "Entropy"};
    for (int ranking = 0; ranking < rankings; ++ranking)
        on(QStringLiteral("act.roll.rank") + ranks[size_t(ranking)],
           [this, ranking] { set_ranking(Ranking(ranking)); });
    on("act.roll.nextRank", [this] { set_ranking(Ranking((int(ranking_) + 1) % rankings)); });
    for (int mode = 0; mode < colour_modes; ++mode)
        on(QStringLiteral("act.roll.color%1").arg(mode), [this, mode] { set_mode(ColourMode(mode)); });
    on("act.roll.teacher", [this] {
        choice_.without_answer = !choice_.without_answer;
        candidates_->set_without_answer(choice_.without_answer);
        set_mode(ColourMode::Gap);
    });
    on("act.roll.whitespace",
       [this] { tokens_->set_whitespace(actions()["act.roll.whitespace"].isChecked()); });
    on("act.roll.minimap", [this] { minimap_->setVisible(actions()["act.roll.minimap"].isChecked()); });
    on("act.roll.candidates",
       [this] { candidates_->setVisible(actions()["act.roll.candidates"].isChecked()); });
    on("act.roll.answer", [this] { show_tab(Answer, true); });
    on("act.roll.prompts", [this] { show_tab(Prompts, true); });
    on("act.roll.ids", [this] { show_tab(Ids, true); });
    on("act.roll.pin", [this] { pin_rollout(); });
    on("act.roll.clearFilters", [this] { list_->clear_filters(); });
    for (const char* name : {"act.roll.whitespace", "act.roll.minimap", "act.roll.candidates"})
        actions()[name].setChecked(true);
    actions()["act.roll.color1"].setChecked(true);
    actions()["act.roll.rankKl"].setChecked(true);
    show_tab(Answer, false);
    bar_->set_choice(choice_);
    bar_->set_ranking(ranking_);
}

} // namespace stillroom::ui
