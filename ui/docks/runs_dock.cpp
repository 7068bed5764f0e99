// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/docks/runs_dock.h"

#include "ui/window/theme.h"

#include <QHeaderView>
#include <QKeyEvent>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QVBoxLayout>

namespace stillroom::ui {

class RunsDock::Filter : public QSortFilterProxyModel {
public:
    using QSortFilterProxyModel::QSortFilterProxyModel;
    void set_words(const QString& words) {
        words_ = words;
        invalidateFilter();
    }

protected:
    bool filterAcceptsRow(int row, const QModelIndex&) const override {
        return fits(static_cast<RunsModel*>(sourceModel())->summary(row), words_);
    }

private:
    QString words_;
};

namespace {

/// Two lines a run: mark and name, then its state and score.
class RunDelegate : public QStyledItemDelegate {
public:
    RunDelegate(const QString& current, QObject* parent) : QStyledItemDelegate(parent), current_(current) {}

    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex&) const override {
        return {120, 2 * option.fontMetrics.height() + 10};
    }
    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override {
        QStyleOptionViewItem blank = option;
        initStyleOption(&blank, index);
        blank.text.clear();
        const QWidget* widget = option.widget;
        widget->style()->drawControl(QStyle::CE_ItemViewItem, &blank, painter, widget);

        const bool selected = option.state & QStyle::State_Selected;
        const QColor text = option.palette.color(selected ? QPalette::HighlightedText : QPalette::Text);
        const QRect row = option.rect.adjusted(8, 4, -6, -4);
        const int line = option.fontMetrics.height() + 1;
        const auto cell = [&](int column) { return index.siblingAtColumn(column).data().toString(); };

        QFont font = option.font;
        font.setBold(index.data(RunsModel::FolderRole).toString() == current_);
        const QFontMetrics metrics(font);
        painter->save();
        painter->setFont(font);
        painter->setPen(text);
        painter->drawText(QRect(row.left(), row.top(), row.width(), line), Qt::AlignLeft | Qt::AlignVCenter,
                          metrics.elidedText(cell(RunsModel::Name), Qt::ElideMiddle, row.width()));

        const QString state = cell(RunsModel::State), score = cell(RunsModel::Score);
        painter->setFont(option.font);
        QString second = state + " " + cell(RunsModel::Step);
        const int score_width = score.isEmpty() ? 0 : option.fontMetrics.horizontalAdvance(score) + 6;
        QColor tone = text;
        if (!selected) {
            const Role role =
                state == "Running" || state == "Finished" || state == "Elsewhere" ? Role::Go
                : state == "Failed" || state == "Interrupted" || state == "Unreachable" || state == "Damaged"
                    ? Role::Stop
                : state == "Paused" || state == "Pausing" || state == "Stopping" ? Role::Wait
                : state == "Stopped"                                             ? Role::Idle
                                                                                 : Role::Info;
            tone = colour(role, option.palette);
        }
        painter->setPen(tone);
        const QRect below(row.left(), row.top() + line, row.width(), line);
        painter->drawText(below.adjusted(0, 0, -score_width, 0), Qt::AlignLeft | Qt::AlignVCenter,
                          option.fontMetrics.elidedText(second, Qt::ElideRight, below.width() - score_width));
        painter->setPen(text);
        painter->drawText(below, Qt::AlignRight | Qt::AlignVCenter, score);
        painter->restore();
    }

private:
    const QString& current_;
};

} // namespace

RunsDock::RunsDock(RunsModel& model, QWidget* parent)
    : QWidget(parent), model_(model), filter_(new Filter(this)), words_(new QLineEdit), list_(new QTreeView),
      footer_(new QLabel) {
    filter_->setSourceModel(&model_);
    words_->setObjectName("fld.runs.filter");
    words_->setPlaceholderText("filter: name, state:failed, score>0.4");
    words_->setAccessibleName("Filter of the runs");
    words_->setClearButtonEnabled(true);
    list_->setObjectName("list.runs");
    list_->setAccessibleName("Runs");
    list_->setModel(filter_);
    list_->setItemDelegate(new RunDelegate(current_, list_));
    list_->setHeaderHidden(true);
    list_->setRootIsDecorated(false);
    list_->setUniformRowHeights(true);
    list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    for (int column = 1; column < RunsModel::ColumnCount; ++column) list_->hideColumn(column);
    list_->header()->setStretchLastSection(true);
    list_->installEventFilter(this);
    footer_->setObjectName("lbl.runs.footer");
    footer_->setMargin(3);
    footer_->setWordWrap(true);
    footer_->setTextFormat(Qt::PlainText);

    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(4, 4, 4, 0);
    layout->setSpacing(3);
    layout->addWidget(words_);
    layout->addWidget(list_);
    layout->addWidget(footer_);

    connect(words_, &QLineEdit::textChanged, this, &RunsDock::refilter);
    connect(&model_, &RunsModel::changed, this, &RunsDock::refilter);
    connect(list_, &QTreeView::clicked, this,
            [this](const QModelIndex& at) { Q_EMIT opened(at.data(RunsModel::FolderRole).toString()); });
    connect(list_->selectionModel(), &QItemSelectionModel::currentChanged, this, &RunsDock::selectionChanged);
}

void RunsDock::set_current(const QString& run) {
    const int row = model_.row_of(run);
    current_ = row < 0 ? run : model_.folder_of(row);
    if (row >= 0) {
        const QSignalBlocker block(list_->selectionModel());
        list_->setCurrentIndex(filter_->mapFromSource(model_.index(row, 0)));
    }
    list_->viewport()->update();
}

QString RunsDock::selected() const { return list_->currentIndex().data(RunsModel::FolderRole).toString(); }

void RunsDock::refilter() {
    filter_->set_words(words_->text());
    QStringList unknown;
    for (int row = 0; row < model_.rowCount() && unknown.isEmpty(); ++row)
        fits(model_.summary(row), words_->text(), &unknown);
    words_->setPalette(unknown.isEmpty() ? QPalette() : [&] {
        QPalette red = this->palette();
        red.setColor(QPalette::Text, colour(Role::Stop, red));
        return red;
    }());
    const int shown = filter_->rowCount(), all = model_.rowCount();
    if (!unknown.isEmpty()) {
        footer_->setText("not a condition: " + unknown.join(", ") +
                         ". Known: state: score> score< step> step<");
    } else if (all == 0) {
        footer_->setText("No runs yet.");
    } else {
        footer_->setText(QString("%1 of %2 runs shown").arg(shown).arg(all));
    }
}

bool RunsDock::eventFilter(QObject* object, QEvent* event) {
    if (object == list_ && event->type() == QEvent::KeyPress) {
        const auto* key = static_cast<QKeyEvent*>(event);
        if (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter) {
            if (const QString run = selected(); !run.isEmpty()) Q_EMIT opened(run);
            return true;
        }
        if (key->key() == Qt::Key_Slash) {
            words_->setFocus();
            return true;
        }
        if (key->key() == Qt::Key_Escape && !words_->text().isEmpty()) {
            words_->clear();
            return true;
        }
    }
    return QWidget::eventFilter(object, event);
}

} // namespace stillroom::ui
