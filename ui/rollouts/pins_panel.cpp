// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/rollouts/pins_panel.h"

#include "ui/models/candidates_model.h"

#include <QHeaderView>
#include <QKeyEvent>
#include <cmath>

namespace stillroom::ui {

PinsPanel::PinsPanel(QWidget* parent) : QTableWidget(parent) {
    setObjectName("table.pins");
    setAccessibleName("Pinned tokens");
    setColumnCount(9);
    setHorizontalHeaderLabels({"pin", "token", "text", "id", "pS", "pT", "gap", "H(S)", "KL"});
    setSelectionBehavior(QAbstractItemView::SelectRows);
    setSelectionMode(QAbstractItemView::SingleSelection);
    setEditTriggers(QAbstractItemView::NoEditTriggers);
    setTabKeyNavigation(false);
    setShowGrid(false);
    setFrameShape(QFrame::NoFrame);
    verticalHeader()->hide();
    verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 4);
    horizontalHeader()->setHighlightSections(false);
    for (int column = 0; column < columnCount(); ++column)
        setColumnWidth(column,
                       fontMetrics().horizontalAdvance(column == 2 ? "a longer token" : "-10.000") + 12);
    connect(this, &QTableWidget::cellClicked, this, [this](int row, int) { want(row); });
}

void PinsPanel::show_pins(const TokenRolloutPtr& rollout, const std::vector<size_t>& pins) {
    pins_ = rollout ? pins : std::vector<size_t>();
    setRowCount(int(pins_.size()));
    for (size_t row = 0; row < pins_.size(); ++row) {
        const size_t t = pins_[row];
        const auto& tokens = rollout->record.tokens;
        const double student = double(recorded(tokens.student_logprob, t)),
                     teacher = double(recorded(tokens.teacher_logprob, t));
        const QStringList cells{QString::number(row + 1),
                                QString::number(t),
                                token_label(tokens.ids[t], rollout->tokenizer.get()),
                                QString::number(tokens.ids[t]),
                                probability_text(std::exp(student)),
                                probability_text(std::exp(teacher)),
                                nats_text(student - teacher),
                                nats_text(double(recorded(tokens.student_entropy, t))),
                                nats_text(double(recorded(tokens.kl, t)))};
        for (int column = 0; column < int(cells.size()); ++column) {
            auto* item = new QTableWidgetItem(cells[column]);
            item->setTextAlignment((column == 2 ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
            setItem(int(row), column, item);
        }
    }
}

void PinsPanel::want(int row) {
    if (row >= 0 && size_t(row) < pins_.size()) Q_EMIT tokenWanted(pins_[size_t(row)]);
}

void PinsPanel::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) {
        want(currentRow());
    } else if (event->key() == Qt::Key_Escape) {
        Q_EMIT escaped();
    } else if (event->text().isEmpty() || !event->text()[0].isPrint()) {
        QTableWidget::keyPressEvent(event);
    } else {
        event->ignore(); // letters are keys of the view
    }
}

} // namespace stillroom::ui
