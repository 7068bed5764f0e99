// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/rollouts_model.h"

#include <array>
#include <cmath>

namespace stillroom::ui {

namespace {

using record::RolloutOrder;

struct Heading {
    const char *text, *meaning;
    std::optional<RolloutOrder> order;
};

const std::array<Heading, RolloutsModel::ColumnCount>& headings() {
    static const std::array<Heading, RolloutsModel::ColumnCount> table{{
        {"*", "pinned", RolloutOrder::Pinned},
        {"step", "the step it was sampled for", RolloutOrder::Step},
        {"id", "number in the order of recording", RolloutOrder::Recorded},
        {"ok", "verdict: ✓ equal, ✗ different, ? undecided", RolloutOrder::Verdict},
        {"KL", "mean exact reverse KL over the rows of the loss, nats", RolloutOrder::MeanKl},
        {"len", "length in tokens", RolloutOrder::Length},
        {"t", "T: cut at the length cap", RolloutOrder::Truncated},
        {"max KL", "largest exact reverse KL of one token, nats", RolloutOrder::MaxKl},
        {"prompt", "the prompt's id in the data", RolloutOrder::Prompt},
        {"sample", "which sample of its prompt, from 1", RolloutOrder::Sample},
        {"entropy", "mean entropy of the student, nats", RolloutOrder::Entropy},
        {"overlap", "mean share of the top-16 that both models have", RolloutOrder::Overlap},
        {"gain", "mean of log pT(y) - log pT°(y), nats", RolloutOrder::Gain},
        {"clipped", "share of the KL that the clamp removed", RolloutOrder::Clipped},
        {"format", "whether the answer stands in the form asked for", RolloutOrder::Format},
        {"finish", "why it ended", std::nullopt},
        {"kept because", "why its top-16 record is kept", std::nullopt},
    }};
    return table;
}

QString figure(double value, int digits = 3) {
    if (std::isnan(value)) return QStringLiteral("-");
    const QString text = QString::number(value, 'f', digits);
    return text.startsWith("0.") ? text.mid(1) : text.startsWith("-0.") ? "-" + text.mid(2) : text;
}

} // namespace

void RolloutsModel::show(StoreReader* reader) {
    beginResetModel();
    reader_ = reader;
    rows_.clear();
    matching_ = -1;
    fault_.clear();
    ++generation_;
    reading_ = false;
    ended_ = reader == nullptr;
    endResetModel();
    if (reader) reload();
}

void RolloutsModel::set_filter(const record::RolloutFilter& conditions) {
    const auto order = filter_.order;
    const bool descending = filter_.descending;
    filter_ = conditions;
    filter_.order = order;
    filter_.descending = descending;
    filter_.after.reset();
    matching_ = -1;
    beginResetModel(); // rows that do not fit the new filter must not stand there meanwhile
    rows_.clear();
    endResetModel();
    if (reader_) reload();
}

void RolloutsModel::reload() {
    ++generation_;
    read(true);
    count();
}

void RolloutsModel::read(bool replace) {
    if (!reader_) return;
    record::RolloutFilter page = filter_;
    page.limit = replace ? std::max<int64_t>(page_rows, int64_t(rows_.size())) : page_rows;
    if (!replace && !rows_.empty()) page.after = {rows_.back().order_value, rows_.back().id};
    reading_ = true;
    reader_->ask(
        this, [page](record::RunReader& reader) { return reader.rollouts(page); },
        [this, replace, limit = page.limit,
         generation = generation_](Result<std::vector<record::RolloutSummary>> found) {
            if (generation != generation_) return;
            fault_ = found ? QString() : QString::fromStdString(found.error().message());
            ended_ = !found || int64_t(found->size()) < limit;
            // `reading_` stands until the rows do: who is told that rows are coming must not ask for them
            // again.
            if (replace) {
                beginResetModel();
                rows_ = found ? std::move(*found) : std::vector<record::RolloutSummary>();
                reading_ = false;
                endResetModel();
            } else if (found && !found->empty()) {
                beginInsertRows({}, int(rows_.size()), int(rows_.size() + found->size()) - 1);
                for (auto& row : *found) rows_.push_back(std::move(row));
                reading_ = false;
                endInsertRows();
            } else {
                reading_ = false;
            }
            Q_EMIT loaded(replace);
        });
}

void RolloutsModel::count() {
    if (!reader_) return;
    reader_->ask(
        this, [filter = filter_](record::RunReader& reader) { return reader.rollout_count(filter); },
        [this, generation = generation_](Result<int64_t> found) {
            if (generation != generation_) return;
            matching_ = found ? *found : -1;
            Q_EMIT counted();
        });
}

std::optional<int> RolloutsModel::row_of(int64_t id) const {
    for (size_t row = 0; row < rows_.size(); ++row) {
        if (rows_[row].id == id) return int(row);
    }
    return {};
}

bool RolloutsModel::is_sortable(int column) const { return headings()[size_t(column)].order.has_value(); }

int RolloutsModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : int(rows_.size());
}

int RolloutsModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : ColumnCount; }

QString RolloutsModel::cell(const record::RolloutSummary& rollout, int column) const {
    const auto& figures = rollout.figures;
    switch (column) {
    case Pin:
        return rollout.pinned ? QStringLiteral("*") : QString();
    case Step:
        return QString::number(rollout.step);
    case Id:
        return QString::number(rollout.id);
    case Verdict:
        return rollout.verdict == "equal"       ? QStringLiteral("✓")
               : rollout.verdict == "different" ? QStringLiteral("✗")
                                                : QStringLiteral("?");
    case MeanKl:
        return figure(figures.kl_mean);
    case MaxKl:
        return figure(figures.kl_max, 2);
    case Length:
        return QString::number(rollout.length);
    case Cut:
        return rollout.finish_reason == "length" ? QStringLiteral("T") : QString();
    case Prompt:
        return QString::fromStdString(rollout.prompt_id);
    case Sample:
        return QString::number(rollout.sample + 1);
    case Entropy:
        return figure(figures.entropy);
    case Overlap:
        return figure(figures.overlap);
    case Gain:
        return figure(figures.gain);
    case Clipped:
        return std::isnan(figures.clipped) ? QStringLiteral("-") : figure(100 * figures.clipped, 1) + " %";
    case Format:
        return rollout.format_ok ? QStringLiteral("ok") : QStringLiteral("bad");
    case Finish:
        return QString::fromStdString(rollout.finish_reason);
    case Kept:
        return QString::fromStdString(rollout.kept_because);
    default:
        return {};
    }
}

QVariant RolloutsModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid()) return {};
    const record::RolloutSummary& rollout = rows_[size_t(index.row())];
    const int column = index.column();
    switch (role) {
    case Qt::DisplayRole:
        return cell(rollout, column);
    case IdRole:
        return QVariant::fromValue(qlonglong(rollout.id));
    case Qt::TextAlignmentRole: {
        const bool centred = column == Pin || column == Verdict || column == Cut;
        const bool left = column == Prompt || column >= Format;
        return int((centred ? Qt::AlignHCenter : left ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    }
    case Qt::AccessibleTextRole:
        if (column == Verdict) return QString::fromStdString(rollout.verdict);
        if (column == Cut) return rollout.finish_reason == "length" ? "truncated" : "not truncated";
        if (column == Pin) return rollout.pinned ? "pinned" : "not pinned";
        return {};
    case Qt::ToolTipRole: {
        const auto text = [](const std::string& bytes) { return QString::fromStdString(bytes); };
        return QStringLiteral("rollout %1 of step %2, prompt %3\nanswer \"%4\", gold \"%5\": %6\n%7")
            .arg(rollout.id)
            .arg(rollout.step)
            .arg(text(rollout.prompt_id), text(rollout.extracted), text(rollout.gold), text(rollout.verdict),
                 rollout.has_top16 ? "top-16 kept: " + text(rollout.kept_because)
                                   : QStringLiteral("top-16 not kept"));
    }
    default:
        return {};
    }
}

QVariant RolloutsModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal) return {};
    if (role == Qt::DisplayRole) return QString::fromUtf8(headings()[size_t(section)].text);
    if (role == Qt::ToolTipRole) return QString::fromUtf8(headings()[size_t(section)].meaning);
    if (role == Qt::TextAlignmentRole) return int(Qt::AlignHCenter | Qt::AlignVCenter);
    return {};
}

void RolloutsModel::sort(int column, Qt::SortOrder order) {
    if (column < 0 || column >= ColumnCount || !is_sortable(column)) return;
    const auto value = *headings()[size_t(column)].order;
    const bool descending = order == Qt::DescendingOrder;
    if (filter_.order == value && filter_.descending == descending) return;
    filter_.order = value;
    filter_.descending = descending;
    sort_column_ = column;
    beginResetModel();
    rows_.clear();
    endResetModel();
    if (reader_) reload();
}

bool RolloutsModel::canFetchMore(const QModelIndex& parent) const {
    return !parent.isValid() && reader_ && !ended_ && !reading_ && !rows_.empty();
}

void RolloutsModel::fetchMore(const QModelIndex& parent) {
    if (canFetchMore(parent)) read(false);
}

void RolloutsModel::set_pinned(int64_t id, bool pinned) {
    const auto row = row_of(id);
    if (!row) return;
    rows_[size_t(*row)].pinned = pinned;
    Q_EMIT dataChanged(index(*row, 0), index(*row, ColumnCount - 1));
}

} // namespace stillroom::ui
