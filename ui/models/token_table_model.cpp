// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/token_table_model.h"

#include "ui/models/candidates_model.h"

#include <array>

namespace stillroom::ui {

void TokenTableModel::show(TokenRolloutPtr rollout) {
    beginResetModel();
    rollout_ = std::move(rollout);
    endResetModel();
}

int TokenTableModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() || !rollout_ ? 0 : int(rollout_->size());
}

int TokenTableModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : ColumnCount;
}

QVariant TokenTableModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid()) return {};
    if (role == Qt::TextAlignmentRole) {
        const bool left = index.column() == Text || index.column() == Flags;
        return int((left ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    }
    if (role != Qt::DisplayRole) return {};
    const auto token = size_t(index.row());
    const record::TokenRecord& tokens = rollout_->record.tokens;
    const auto value = [&](const std::vector<float>& values) {
        return nats_text(double(recorded(values, token)), 4);
    };
    const auto difference = [&](const std::vector<float>& a, const std::vector<float>& b) {
        return nats_text(double(recorded(a, token)) - double(recorded(b, token)), 4);
    };
    switch (index.column()) {
    case Index:
        return QString::number(token);
    case Offset:
        return QString::number(rollout_->response.offset[token]);
    case Id:
        return QString::number(tokens.ids[token]);
    case Text:
        return token_label(tokens.ids[token], rollout_->tokenizer.get());
    case Student:
        return value(tokens.student_logprob);
    case Teacher:
        return value(tokens.teacher_logprob);
    case TeacherPlain:
        return value(tokens.teacher_plain_logprob);
    case Gap:
        return difference(tokens.student_logprob, tokens.teacher_logprob);
    case Gain:
        return difference(tokens.teacher_logprob, tokens.teacher_plain_logprob);
    case StudentEntropy:
        return value(tokens.student_entropy);
    case TeacherEntropy:
        return value(tokens.teacher_entropy);
    case Kl:
        return value(tokens.kl);
    case Clipped:
        return value(tokens.clipped);
    case Overlap: {
        const uint8_t common = token < tokens.overlap.size() ? tokens.overlap[token] : no_overlap;
        return common == no_overlap ? QStringLiteral("-") : QString::number(common);
    }
    case Flags:
        return flag_words(token < tokens.flags.size() ? tokens.flags[token] : 0);
    default:
        return {};
    }
}

QVariant TokenTableModel::headerData(int section, Qt::Orientation orientation, int role) const {
    static const std::array<QString, ColumnCount> headings{
        "token", "byte", "id",   "text", "log pS",  "log pT",  "log pT°", "gap",
        "gain",  "H(S)", "H(T)", "KL",   "clipped", "overlap", "flags"};
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
    return headings[size_t(section)];
}

QString flag_words(uint8_t flags) {
    QStringList words;
    if (flags & clamped_flag) words << "clamped";
    if (flags & end_flag) words << "end";
    if (flags & masked_flag) words << "not in the loss";
    return words.join(", ");
}

} // namespace stillroom::ui
