// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/rollouts/rollouts_list.h"

#include "ui/models/chart_numbers.h"
#include "ui/window/theme.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLocale>
#include <QMenu>
#include <QPushButton>
#include <QStyledItemDelegate>
#include <QTimer>
#include <QToolButton>
#include <QVBoxLayout>

namespace stillroom::ui {

namespace {

constexpr int typing_pause = 150; // milliseconds before a filter is asked

/// Columns that a first look needs; the others are in the header's menu.
constexpr std::array shown_at_first{RolloutsModel::Pin,     RolloutsModel::Step,   RolloutsModel::Id,
                                    RolloutsModel::Verdict, RolloutsModel::MeanKl, RolloutsModel::Length,
                                    RolloutsModel::Cut};

QString grouped(int64_t number) { return QLocale(QLocale::English).toString(qlonglong(number)); }

/// Verdicts in their colours; the sign tells them apart without.
class VerdictDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;

protected:
    void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
        QStyledItemDelegate::initStyleOption(option, index);
        const QString sign = option->text;
        const Role role = sign == QStringLiteral("✓")   ? Role::Go
                          : sign == QStringLiteral("✗") ? Role::Stop
                                                        : Role::Wait;
        option->palette.setColor(QPalette::Text, colour(role, option->palette));
    }
};

QString text_of_steps(const std::pair<int64_t, int64_t>& steps) {
    return steps.first == steps.second ? QStringLiteral("step %1").arg(steps.first)
                                       : QStringLiteral("steps %1-%2").arg(steps.first).arg(steps.second);
}

} // namespace

void RolloutsTable::keyPressEvent(QKeyEvent* event) {
    const bool plain = !(event->modifiers() & ~(Qt::ShiftModifier | Qt::KeypadModifier));
    if (plain && (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter)) {
        Q_EMIT readWanted();
    } else if (plain && event->key() == Qt::Key_Escape) {
        Q_EMIT escaped();
    } else if (event->text().isEmpty() || !event->text()[0].isPrint()) {
        Q_EMIT touched();
        QTableView::keyPressEvent(event);
    } else {
        event->ignore(); // no search by typing: letters are keys of the view
    }
}

void RolloutsTable::mousePressEvent(QMouseEvent* event) {
    Q_EMIT touched();
    QTableView::mousePressEvent(event);
}

void RolloutsTable::wheelEvent(QWheelEvent* event) {
    Q_EMIT touched();
    QTableView::wheelEvent(event);
}

RolloutsList::RolloutsList(QWidget* parent)
    : QWidget(parent), filter_(new QLineEdit), chips_(new QWidget), chips_row_(new QHBoxLayout(chips_)),
      unknown_(new QLabel), empty_(new QLabel), footer_(new QLabel), top16_(new QLabel),
      table_(new RolloutsTable) {
    filter_->setObjectName("fld.rollouts.filter");
    filter_->setAccessibleName("Filter of the rollouts");
    filter_->setPlaceholderText("filter: wrong kl>0.5 step:30-40");
    filter_->setClearButtonEnabled(true);
    QString words = "Words, all of which must hold:";
    for (const auto& [word, meaning] : rollouts_filter_words()) words += "\n" + word + "   " + meaning;
    filter_->setToolTip(words);
    chips_row_->setContentsMargins(0, 0, 0, 0);
    chips_row_->setSpacing(4);
    unknown_->setObjectName("lbl.rollouts.unknown");
    unknown_->setWordWrap(true);
    unknown_->hide();
    empty_->setObjectName("lbl.rollouts.empty");
    empty_->setAlignment(Qt::AlignCenter);
    empty_->setWordWrap(true);
    empty_->setContentsMargins(12, 24, 12, 24);

    table_->setObjectName("list.rollouts");
    table_->setAccessibleName("Rollouts");
    table_->setModel(&model_);
    table_->setSelectionBehavior(QAbstractItemView::SelectRows);
    table_->setSelectionMode(QAbstractItemView::SingleSelection);
    table_->setEditTriggers(QAbstractItemView::NoEditTriggers);
    table_->setTabKeyNavigation(false);
    table_->setShowGrid(false);
    table_->setAlternatingRowColors(true);
    table_->setWordWrap(false);
    table_->verticalHeader()->hide();
    table_->verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    table_->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 6);
    table_->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
    table_->setItemDelegateForColumn(RolloutsModel::Verdict, new VerdictDelegate(table_));
    table_->setSortingEnabled(true);
    QHeaderView* header = table_->horizontalHeader();
    header->setObjectName("list.rollouts.header");
    header->setSortIndicator(RolloutsModel::Id, Qt::DescendingOrder);
    header->setMinimumSectionSize(20);
    header->setHighlightSections(false);
    header->setContextMenuPolicy(Qt::CustomContextMenu);
    header->setToolTip("click sorts; right click chooses columns");
    restore_columns();

    footer_->setObjectName("lbl.rollouts.footer");
    top16_->setObjectName("lbl.rollouts.top16");
    for (QLabel* label : {footer_, top16_}) label->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(4);
    column->addWidget(filter_);
    column->addWidget(chips_);
    column->addWidget(unknown_);
    column->addWidget(table_, 1);
    column->addWidget(empty_, 1);
    column->addWidget(footer_);
    column->addWidget(top16_);

    auto* typing = new QTimer(this);
    typing->setSingleShot(true);
    typing->setInterval(typing_pause);
    connect(filter_, &QLineEdit::textChanged, typing, qOverload<>(&QTimer::start));
    connect(typing, &QTimer::timeout, this, &RolloutsList::apply_filter);
    connect(filter_, &QLineEdit::returnPressed, this, [this, typing] {
        typing->stop();
        apply_filter();
        table_->setFocus();
    });
    connect(table_, &RolloutsTable::readWanted, this, &RolloutsList::readWanted);
    connect(table_, &RolloutsTable::touched, this, &RolloutsList::touched);
    connect(table_, &RolloutsTable::escaped, this, &RolloutsList::clear_filters);
    connect(header, &QHeaderView::customContextMenuRequested, this, &RolloutsList::choose_columns);
    connect(header, &QHeaderView::sectionClicked, this, &RolloutsList::touched);
    connect(header, &QHeaderView::sortIndicatorChanged, this, [this, header](int section, Qt::SortOrder) {
        if (!model_.is_sortable(section))
            header->setSortIndicator(model_.sort_column(),
                                     model_.filter().descending ? Qt::DescendingOrder : Qt::AscendingOrder);
    });
    connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
            [this](const QModelIndex& now) {
                if (selecting_ || !now.isValid()) return;
                wanted_ = model_.rollout(now.row()).id;
                update_footer();
                Q_EMIT currentChanged(*wanted_);
            });
    connect(&model_, &RolloutsModel::loaded, this, [this](bool replaced) {
        if (replaced) set_current(wanted_);
        update_footer();
        if (replaced) Q_EMIT reloaded();
    });
    connect(&model_, &RolloutsModel::counted, this, &RolloutsList::update_footer);
    show_chips({});
    update_footer();
}

void RolloutsList::show_run(RunSource* run) {
    if (run_) run_->disconnect(this);
    run_ = run;
    wanted_.reset();
    if (run_) connect(run_, &RunSource::statusChanged, this, &RolloutsList::update_footer);
    model_.show(run_ ? &run_->reader() : nullptr);
    update_footer();
}

void RolloutsList::set_steps(std::optional<std::pair<int64_t, int64_t>> steps) {
    if (steps == steps_) return;
    steps_ = steps;
    apply_filter();
}

void RolloutsList::clear_filters() {
    filter_->clear();
    if (steps_) Q_EMIT stepsDropped();
    apply_filter();
}

void RolloutsList::focus_filter() {
    filter_->setFocus(Qt::ShortcutFocusReason);
    filter_->selectAll();
}

void RolloutsList::apply_filter() {
    const RolloutsFilter parsed = parse_rollouts_filter(filter_->text());
    show_chips(parsed);
    record::RolloutFilter conditions = parsed.conditions;
    if (steps_) {
        conditions.first_step = std::max(conditions.first_step.value_or(steps_->first), steps_->first);
        conditions.last_step = std::min(conditions.last_step.value_or(steps_->second), steps_->second);
    }
    const auto same = [](const record::RolloutFilter& a, const record::RolloutFilter& b) {
        return a.first_step == b.first_step && a.last_step == b.last_step && a.prompt_id == b.prompt_id &&
               a.verdict == b.verdict && a.finish_reason == b.finish_reason && a.format_ok == b.format_ok &&
               a.top16_only == b.top16_only && a.pinned_only == b.pinned_only &&
               a.alarmed_only == b.alarmed_only && a.bounds == b.bounds;
    };
    if (!same(conditions, model_.filter())) model_.set_filter(conditions);
    update_footer();
    Q_EMIT filterChanged();
}

void RolloutsList::show_chips(const RolloutsFilter& parsed) {
    while (QLayoutItem* item = chips_row_->takeAt(0)) {
        if (item->widget()) item->widget()->deleteLater();
        delete item;
    }
    int number = 0;
    const auto chip = [&](const QString& text, const auto& drop) {
        auto* button = new QToolButton;
        button->setText(text + QStringLiteral("  ×"));
        button->setObjectName(QStringLiteral("btn.rollouts.chip%1").arg(number++));
        button->setAccessibleName("Remove the condition " + text);
        button->setToolTip("remove this condition");
        connect(button, &QToolButton::clicked, this, drop);
        chips_row_->addWidget(button);
    };
    if (steps_) chip(text_of_steps(*steps_), [this] { Q_EMIT stepsDropped(); });
    for (const QString& word : parsed.words) chip(word, [this, word] { drop_word(word); });
    chips_row_->addStretch(1);
    chips_->setVisible(number > 0);
    unknown_->setVisible(!parsed.unknown.isEmpty());
    if (parsed.unknown.isEmpty()) return;
    QStringList known;
    for (const auto& [word, meaning] : rollouts_filter_words()) known << word;
    unknown_->setText(QStringLiteral("<span style='color:%1'>not understood: %2</span><br>known: %3")
                          .arg(colour(Role::Stop, palette()).name(), parsed.unknown.join(' ').toHtmlEscaped(),
                               known.join(' ').toHtmlEscaped()));
}

void RolloutsList::drop_word(const QString& word) {
    QStringList words = filter_->text().split(' ', Qt::SkipEmptyParts);
    words.removeOne(word);
    filter_->setText(words.join(' '));
    apply_filter();
}

std::optional<int64_t> RolloutsList::current() const {
    const QModelIndex now = table_->currentIndex();
    return now.isValid() ? std::optional(model_.rollout(now.row()).id) : std::nullopt;
}

void RolloutsList::set_current(std::optional<int64_t> id) {
    wanted_ = id;
    const auto row = id ? model_.row_of(*id) : std::nullopt;
    selecting_ = true;
    if (row) {
        table_->setCurrentIndex(model_.index(
            *row, table_->currentIndex().isValid() ? table_->currentIndex().column() : RolloutsModel::Step));
        table_->selectRow(*row);
        table_->scrollTo(model_.index(*row, RolloutsModel::Step));
    } else {
        table_->clearSelection();
        table_->setCurrentIndex({});
    }
    selecting_ = false;
    update_footer();
}

void RolloutsList::move(int rows) {
    const int count = model_.rowCount();
    if (count == 0) return;
    const QModelIndex now = table_->currentIndex();
    const int to = now.isValid() ? std::clamp(now.row() + rows, 0, count - 1) : 0;
    table_->selectRow(to);
    table_->scrollTo(model_.index(to, RolloutsModel::Step));
    if (to == count - 1) model_.fetchMore({});
}

void RolloutsList::update_footer() {
    const int64_t all = run_ ? run_->status().summary.rollouts : 0;
    const int rows = model_.rowCount();
    const bool none = rows == 0 && !model_.reading();
    table_->setVisible(!none);
    empty_->setVisible(none);
    if (none) {
        empty_->setText(
            !model_.fault().isEmpty() ? model_.fault()
            : !run_                   ? QStringLiteral("No run is open.")
            : all == 0
                ? QStringLiteral("No rollouts yet. The first appear when step 1 "
                                 "has been scored.")
                : QStringLiteral("0 of %1 rollouts match.\nEsc clears the filters.").arg(grouped(all)));
    }
    const QString matching = model_.matching() < 0 ? QStringLiteral("counting…") : grouped(model_.matching());
    const QString by = model_.headerData(model_.sort_column(), Qt::Horizontal, Qt::DisplayRole).toString();
    footer_->setText(QStringLiteral("%1 of %2 rollouts\nrows 1-%3, sorted by %4")
                         .arg(matching, grouped(all), grouped(rows),
                              by == "*"   ? QStringLiteral("pin")
                              : by == "t" ? QStringLiteral("truncation")
                                          : by));
    footer_->setToolTip("more rows are read as the list is scrolled");
    if (run_) {
        const auto& summary = run_->status().summary;
        top16_->setText(QStringLiteral("top-16 kept for %1; record %2")
                            .arg(grouped(summary.top16), bytes_text(double(summary.rollout_bytes))));
        top16_->setToolTip(top16_->text());
    } else {
        top16_->clear();
    }
}

void RolloutsList::choose_columns(const QPoint& position) {
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    for (int column = 0; column < RolloutsModel::ColumnCount; ++column) {
        const QString name = model_.headerData(column, Qt::Horizontal, Qt::DisplayRole).toString();
        QAction* action = menu->addAction(name == "*" ? "pin" : name == "t" ? "truncated" : name);
        action->setCheckable(true);
        action->setChecked(!table_->isColumnHidden(column));
        connect(action, &QAction::toggled, this,
                [this, column](bool shown) { table_->setColumnHidden(column, !shown); });
    }
    menu->popup(table_->horizontalHeader()->mapToGlobal(position));
}

void RolloutsList::restore_columns() {
    const QFontMetrics metrics = fontMetrics();
    for (int column = 0; column < RolloutsModel::ColumnCount; ++column) {
        const bool shown =
            std::find(shown_at_first.begin(), shown_at_first.end(), column) != shown_at_first.end();
        table_->setColumnHidden(column, !shown);
    }
    const auto width = [&](int column, const char* sample) {
        table_->setColumnWidth(column, metrics.horizontalAdvance(QString::fromUtf8(sample)) + 11);
    };
    width(RolloutsModel::Pin, "*");
    width(RolloutsModel::Step, "9999");
    width(RolloutsModel::Id, "999999");
    width(RolloutsModel::Verdict, "ok");
    width(RolloutsModel::MeanKl, ".9999");
    width(RolloutsModel::Length, "99999");
    width(RolloutsModel::Cut, "t");
    width(RolloutsModel::Kept, "mean KL, token KL, random");
}

} // namespace stillroom::ui
