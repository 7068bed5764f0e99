// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/rollouts/candidates_panel.h"

#include "ui/models/token_table_model.h"
#include "ui/models/token_values.h"
#include "ui/rollouts/token_colours.h"
#include "ui/window/theme.h"

#include <QFontDatabase>
#include <QHeaderView>
#include <QLocale>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QVBoxLayout>
#include <array>
#include <cmath>

namespace stillroom::ui {

namespace {

/// The candidate's part of the KL as a bar left or right of the middle, behind its number.
class BarDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;

    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override {
        const double share = index.data(CandidatesModel::BarRole).toDouble();
        const QRectF area = QRectF(option.rect).adjusted(1, 2, -1, -2);
        const double half = area.width() / 2;
        QColor bar = colour(share >= 0 ? Role::Student : Role::Teacher, option.palette);
        bar.setAlphaF(0.28f);
        painter->fillRect(
            share >= 0 ? QRectF(area.center().x(), area.top(), half * share, area.height())
                       : QRectF(area.center().x() + half * share, area.top(), -half * share, area.height()),
            bar);
        QStyledItemDelegate::paint(painter, option, index);
        painter->setPen(option.palette.color(QPalette::Mid));
        painter->drawLine(QPointF(area.center().x(), area.top()), QPointF(area.center().x(), area.bottom()));
    }
};

/// The sampled token's row stands out by weight, not by colour alone.
class RowDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;

protected:
    void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
        QStyledItemDelegate::initStyleOption(option, index);
        option->font.setBold(index.data(CandidatesModel::SampledRole).toBool());
        if (index.column() == CandidatesModel::Text) option->textElideMode = Qt::ElideRight;
    }
};

} // namespace

CandidatesPanel::CandidatesPanel(QWidget* parent)
    : QWidget(parent), title_(new QLabel), facts_(new QLabel), message_(new QLabel), sums_(new QLabel),
      keep_(new QPushButton("Pin to keep from now on")), table_(new QTableView) {
    setObjectName("panel.candidates");
    title_->setObjectName("lbl.candidates.token");
    title_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    facts_->setObjectName("lbl.candidates.facts");
    facts_->setTextFormat(Qt::RichText);
    message_->setObjectName("lbl.candidates.message");
    message_->setAlignment(Qt::AlignCenter);
    message_->setWordWrap(true);
    sums_->setObjectName("lbl.candidates.sums");
    sums_->setTextFormat(Qt::RichText);
    sums_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    for (QLabel* label : {facts_, sums_}) {
        label->setWordWrap(true);
        label->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    }
    keep_->setObjectName("btn.candidates.keep");
    keep_->setToolTip("a pinned rollout's records are never thinned; what was not kept stays unknown");
    table_->setObjectName("table.candidates");
    table_->setAccessibleName("Candidates of both models at the token");
    table_->setModel(&model_);
    table_->setItemDelegate(new RowDelegate(table_));
    table_->setItemDelegateForColumn(CandidatesModel::Kl, new BarDelegate(table_));
    table_->setSelectionBehavior(QAbstractItemView::SelectRows);
    table_->setSelectionMode(QAbstractItemView::SingleSelection);
    table_->setShowGrid(false);
    table_->setWordWrap(false);
    table_->setTabKeyNavigation(false);
    table_->setAlternatingRowColors(true);
    table_->verticalHeader()->hide();
    table_->verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    table_->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 4);
    table_->horizontalHeader()->setHighlightSections(false);
    table_->horizontalHeader()->setMinimumSectionSize(16);
    table_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    table_->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOn);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(4);
    column->addWidget(title_);
    column->addWidget(facts_);
    column->addWidget(table_, 1);
    column->addWidget(message_, 1);
    column->addWidget(keep_);
    column->addWidget(sums_);
    connect(keep_, &QPushButton::clicked, this, &CandidatesPanel::pinRolloutWanted);
    fill();
}

void CandidatesPanel::show_token(const TokenRolloutPtr& rollout, std::optional<size_t> token,
                                 const QString& held) {
    rollout_ = rollout;
    token_ = rollout && token && *token < rollout->size() ? token : std::nullopt;
    held_ = held;
    model_.show(rollout, token_);
    fill();
}

void CandidatesPanel::set_without_answer(bool without) {
    without_answer_ = without;
    fill();
}

QString CandidatesPanel::heading() const {
    const auto& tokens = rollout_->record.tokens;
    const QString text = token_label(tokens.ids[*token_], rollout_->tokenizer.get()).toHtmlEscaped();
    return QStringLiteral(
               "<b>token %1</b> &nbsp;id %2 &nbsp;<span style='font-family:monospace'>“%3”</span>%4")
        .arg(*token_)
        .arg(tokens.ids[*token_])
        .arg(text, held_.isEmpty() ? QString() : QStringLiteral(" &nbsp;[%1]").arg(held_));
}

void CandidatesPanel::fill() {
    const bool any = token_.has_value();
    const bool kept = any && rollout_->record.top16.has_value();
    title_->setVisible(any);
    facts_->setVisible(any);
    sums_->setVisible(any && kept);
    table_->setVisible(any && kept);
    message_->setVisible(!any || !kept);
    keep_->setVisible(any && !kept && !rollout_->record.pinned);
    if (!any) {
        message_->setText("Move the cursor to a token: click, arrows, or N for the worst.");
        return;
    }
    title_->setText(heading());
    message_->setText("The top-16 record of this rollout is not kept (policy).");
    const auto& tokens = rollout_->record.tokens;
    const size_t t = *token_;
    const auto of = [&](const std::vector<float>& values) { return double(recorded(values, t)); };
    const double student = of(tokens.student_logprob), teacher = of(tokens.teacher_logprob),
                 plain = of(tokens.teacher_plain_logprob);
    double all_kl = 0;
    for (const float kl : tokens.kl) all_kl += std::isnan(kl) ? 0 : double(kl);
    const double kl = of(tokens.kl);
    const QString share = std::isnan(kl) || all_kl <= 0
                              ? QString()
                              : QStringLiteral(" (%1 % of all)").arg(100 * kl / all_kl, 0, 'f', 1);
    const QString s = colour(Role::Student, palette()).name(),
                  w = colour(Role::WithoutAnswer, palette()).name(),
                  e = colour(Role::Teacher, palette()).name();
    const auto row = [](const QString& a, const QString& b) {
        return "<tr><td>" + a + "</td><td style='padding-left:8px'>" + b + "</td></tr>";
    };
    const uint8_t flags = t < tokens.flags.size() ? tokens.flags[t] : 0;
    const double clipped = of(tokens.clipped);
    QString text = "<table cellspacing=0 cellpadding=0>";
    text +=
        row("log p",
            QStringLiteral("<span style='color:%1'>S %2</span>  <span style='color:%3'>T %4</span>%5")
                .arg(s, nats_text(student), e, nats_text(teacher),
                     std::isnan(plain)
                         ? QString()
                         : QStringLiteral("  <span style='color:%1'>T° %2</span>").arg(w, nats_text(plain))));
    text += row(without_answer_ ? "gap to T°" : "gap",
                nats_text(student - (without_answer_ ? plain : teacher)) +
                    (std::isnan(plain) ? QString() : ", gain " + nats_text(teacher - plain)));
    text += row("entropy",
                QStringLiteral("<span style='color:%1'>S %2</span>  <span style='color:%3'>T %4</span>")
                    .arg(s, nats_text(of(tokens.student_entropy)), e, nats_text(of(tokens.teacher_entropy))));
    text += row("KL", "<b>" + nats_text(kl, 4) + "</b> nats" + share);
    QStringList clip;
    if (clipped > 0) clip << nats_text(clipped) + " nats removed";
    if (flags) clip << flag_words(flags);
    if (!clip.isEmpty()) text += row("clip", clip.join(", "));
    facts_->setText(text + "</table>");
    facts_->setToolTip(kept ? QString() : "log p, entropy and KL are kept for every rollout");
    if (kept) sums_->setText(sums_text());
    fit_columns();
    setAccessibleDescription(QStringLiteral("token %1, KL %2 nats").arg(t).arg(nats_text(kl, 4)));
}

QString CandidatesPanel::sums_text() const {
    const CandidateSums& sums = model_.sums();
    const auto percent = [](double mass) { return probability_text(mass); };
    const int64_t vocabulary = rollout_->tokenizer ? rollout_->tokenizer->size() : 0;
    const QString others =
        vocabulary > int64_t(model_.candidates().size())
            ? QStringLiteral("rest of %1").arg(QLocale(QLocale::English).toString(qlonglong(vocabulary)))
            : QStringLiteral("rest");
    const auto row = [](const QString& a, const QString& b, const QString& c, const QString& d) {
        const QString cell = "<td align=right style='padding-left:10px'>";
        return "<tr><td>" + a + "</td>" + cell + b + "</td>" + cell + c + "</td>" + cell + d + "</td></tr>";
    };
    QString text = "<table cellspacing=0 cellpadding=0>";
    text += row("", "S", "T", "KL");
    text +=
        row(others, percent(sums.rest_student), percent(sums.rest_teacher), "≥ " + nats_text(sums.rest_kl));
    text += row("S16 mass", percent(sums.student_mass_s16), percent(sums.teacher_mass_s16), "");
    text += row("T16 mass", percent(sums.student_mass_t16), percent(sums.teacher_mass_t16), "");
    text += "</table>";
    const double sum = sums.rows_kl + sums.rest_kl, difference = sums.difference();
    QString check =
        QStringLiteral("rows + rest %1, recorded %2 ").arg(nats_text(sum, 4), nats_text(sums.recorded_kl, 4));
    if (std::isnan(sums.recorded_kl)) {
        check += QStringLiteral("-");
    } else if (sums.agrees()) {
        check += QStringLiteral("✓");
    } else if (difference > 0) {
        check += QStringLiteral("<br>%1 more lies within the rest").arg(nats_text(difference, 4));
    } else {
        check += QStringLiteral("<br><b style='color:%1'>✗ differs by %2</b>")
                     .arg(colour(Role::Stop, palette()).name(), nats_text(difference, 4));
    }
    return text + check;
}

/// The first columns always; the others as far as there is room, in their order.
void CandidatesPanel::fit_columns() {
    static constexpr const char* samples[CandidatesModel::ColumnCount]{
        "> S",      "·because", ".0000",    ".0000", "-0.0000", "151936",
        "-10.0000", ">16",      "-10.0000", ">16",   "-10.000", "0.000 → 0.000"};
    const QFontMetrics metrics = fontMetrics();
    // Not of the viewport, which may not have its place yet.
    const int room =
        width() - style()->pixelMetric(QStyle::PM_ScrollBarExtent) - 2 * table_->frameWidth() - 2;
    std::array<int, CandidatesModel::ColumnCount> widths{};
    for (int column = 0; column < CandidatesModel::ColumnCount; ++column) {
        const QString heading = model_.headerData(column, Qt::Horizontal, Qt::DisplayRole).toString();
        widths[size_t(column)] = std::max(metrics.horizontalAdvance(QString::fromUtf8(samples[column])),
                                          metrics.horizontalAdvance(heading)) +
                                 8;
    }
    const int numbers = widths[CandidatesModel::Mark] + widths[CandidatesModel::Student] +
                        widths[CandidatesModel::Teacher] + widths[CandidatesModel::Kl];
    int& text = widths[CandidatesModel::Text];
    text = std::clamp(room - numbers, metrics.horizontalAdvance("token") + 8, text);
    int used = 0, shown = 0;
    while (shown < CandidatesModel::ColumnCount &&
           (shown <= CandidatesModel::Kl || used + widths[size_t(shown)] <= room))
        used += widths[size_t(shown++)];
    text += std::max(0, room - used);
    for (int column = 0; column < CandidatesModel::ColumnCount; ++column) {
        table_->setColumnHidden(column, column >= shown);
        if (column < shown) table_->setColumnWidth(column, widths[size_t(column)]);
    }
}

void CandidatesPanel::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    fit_columns();
}

} // namespace stillroom::ui
