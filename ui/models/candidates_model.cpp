// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/candidates_model.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace stillroom::ui {

namespace {

constexpr size_t top = 16;
constexpr double half_precision = 1.0 / 2048; // relative, of a stored log-prob

double times_log_ratio(double p, double log_p, double log_q) { return p == 0 ? 0 : p * (log_p - log_q); }

} // namespace

double Candidate::student() const { return std::exp(double(log_student)); }
double Candidate::teacher() const { return std::exp(double(log_teacher)); }
double Candidate::kl() const { return times_log_ratio(student(), double(log_student), double(log_teacher)); }

std::vector<Candidate> candidates_of(const TokenRollout& rollout, size_t token) {
    const auto& record = rollout.record;
    if (!record.top16 || (token + 1) * top > record.top16->student_ids.size()) return {};
    const record::Top16Record& lists = *record.top16;
    std::vector<Candidate> candidates;
    std::map<int32_t, size_t> row_of;
    const auto row = [&](int32_t id, float student, float teacher) -> Candidate& {
        const auto [at, is_new] = row_of.try_emplace(id, candidates.size());
        if (is_new) candidates.push_back({id, student, teacher});
        return candidates[at->second];
    };
    for (size_t k = 0; k < top; ++k) {
        const size_t i = token * top + k;
        row(lists.student_ids[i], lists.student_ids_student[i], lists.student_ids_teacher[i]).student_rank =
            int(k) + 1;
    }
    for (size_t k = 0; k < top; ++k) {
        const size_t i = token * top + k;
        row(lists.teacher_ids[i], lists.teacher_ids_student[i], lists.teacher_ids_teacher[i]).teacher_rank =
            int(k) + 1;
    }
    row(record.tokens.ids[token], recorded(record.tokens.student_logprob, token),
        recorded(record.tokens.teacher_logprob, token))
        .sampled = true;
    std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
        return std::max(a.log_student, a.log_teacher) > std::max(b.log_student, b.log_teacher);
    });
    return candidates;
}

CandidateSums sums_of(const TokenRollout& rollout, size_t token, const std::vector<Candidate>& candidates) {
    CandidateSums sums;
    sums.recorded_kl = double(recorded(rollout.record.tokens.kl, token));
    if (candidates.empty()) return sums;
    const double student_tail = std::exp(double(recorded(rollout.record.top16->student_tail, token))),
                 teacher_tail = std::exp(double(recorded(rollout.record.top16->teacher_tail, token)));
    double student_outside = 0, teacher_outside = 0; // of the own top-16, but among the rows
    for (const Candidate& one : candidates) {
        sums.rows_kl += one.kl();
        (one.student_rank ? sums.student_mass_s16 : student_outside) += one.student();
        (one.teacher_rank ? sums.teacher_mass_t16 : teacher_outside) += one.teacher();
        if (one.student_rank) sums.teacher_mass_s16 += one.teacher();
        if (one.teacher_rank) sums.student_mass_t16 += one.student();
        // d(p (a - b)) = p (1 + a - b) da - p db, each log-prob off by its own rounding.
        const double a = double(one.log_student), b = double(one.log_teacher);
        if (one.student() > 0 && std::isfinite(b))
            sums.rounding += one.student() * (std::abs((1 + a - b) * a) + std::abs(b)) * half_precision;
    }
    // The recorded tails are finer than one minus a sum of rounded masses.
    sums.rest_student = std::max(0.0, student_tail - student_outside);
    sums.rest_teacher = std::max(0.0, teacher_tail - teacher_outside);
    if (sums.rest_student > 0 && sums.rest_teacher > 0) {
        sums.rest_kl = sums.rest_student * std::log(sums.rest_student / sums.rest_teacher);
        sums.rounding += (sums.rest_student + sums.rest_teacher) * half_precision *
                         (std::abs(std::log(sums.rest_student)) + std::abs(std::log(sums.rest_teacher)));
    }
    // A millionth: below what sums of thousands of terms in fp32 resolve.
    sums.rounding += std::abs(sums.recorded_kl) * half_precision + 1e-6;
    return sums;
}

void CandidatesModel::show(TokenRolloutPtr rollout, std::optional<size_t> token) {
    beginResetModel();
    rollout_ = std::move(rollout);
    token_ = rollout_ && token && *token < rollout_->size() ? token : std::nullopt;
    candidates_ = token_ ? candidates_of(*rollout_, *token_) : std::vector<Candidate>();
    sums_ = token_ ? sums_of(*rollout_, *token_, candidates_) : CandidateSums();
    largest_ = 0;
    for (const Candidate& one : candidates_) {
        if (std::isfinite(one.kl())) largest_ = std::max(largest_, std::abs(one.kl()));
    }
    endResetModel();
}

void CandidatesModel::set_entry_clamp(double nats) {
    if (nats == entry_clamp_) return;
    beginResetModel();
    entry_clamp_ = nats;
    endResetModel();
}

int CandidatesModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : int(candidates_.size());
}

int CandidatesModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : ColumnCount;
}

QString CandidatesModel::cell(const Candidate& candidate, int column) const {
    const auto rank = [](int place) { return place ? QString::number(place) : QStringLiteral(">16"); };
    switch (column) {
    case Mark: {
        const QString of = candidate.student_rank && candidate.teacher_rank ? QStringLiteral("=")
                           : candidate.student_rank                         ? QStringLiteral("S")
                           : candidate.teacher_rank                         ? QStringLiteral("T")
                                                                            : QStringLiteral("-");
        return (candidate.sampled ? QStringLiteral(">") : QStringLiteral("  ")) + of;
    }
    case Text:
        return token_label(candidate.id, rollout_->tokenizer.get());
    case Id:
        return QString::number(candidate.id);
    case Student:
        return probability_text(candidate.student());
    case Teacher:
        return probability_text(candidate.teacher());
    case LogStudent:
        return nats_text(double(candidate.log_student));
    case LogTeacher:
        return nats_text(double(candidate.log_teacher));
    case StudentRank:
        return rank(candidate.student_rank);
    case TeacherRank:
        return rank(candidate.teacher_rank);
    case Ratio:
        return nats_text(double(candidate.log_student) - double(candidate.log_teacher));
    case Kl:
        return nats_text(candidate.kl());
    case Clipped:
        return entry_clamp_ > 0 && candidate.kl() > entry_clamp_
                   ? QStringLiteral("%1 → %2").arg(nats_text(candidate.kl()), nats_text(entry_clamp_))
                   : QString();
    default:
        return {};
    }
}

QVariant CandidatesModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid()) return {};
    const Candidate& candidate = candidates_[size_t(index.row())];
    switch (role) {
    case Qt::DisplayRole:
        return cell(candidate, index.column());
    case Qt::TextAlignmentRole:
        return int((index.column() <= Text ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    case Qt::ToolTipRole:
        if (index.column() == Mark || index.column() == Text)
            return QStringLiteral("id %1").arg(candidate.id);
        return QStringLiteral(
                   "log pS %1, log pT %2, each stored as a 16-bit float (within 1/2048 of its size)")
            .arg(nats_text(double(candidate.log_student), 4), nats_text(double(candidate.log_teacher), 4));
    case Qt::AccessibleTextRole:
        if (index.column() != Mark) return {};
        return QString(candidate.sampled ? "sampled, " : "") +
               (candidate.student_rank && candidate.teacher_rank ? "in both top-16"
                : candidate.student_rank                         ? "in the student's top-16 only"
                : candidate.teacher_rank                         ? "in the teacher's top-16 only"
                                                                 : "in neither top-16");
    case BarRole:
        return largest_ > 0 && std::isfinite(candidate.kl()) ? candidate.kl() / largest_ : 0.0;
    case SampledRole:
        return candidate.sampled;
    default:
        return {};
    }
}

QVariant CandidatesModel::headerData(int section, Qt::Orientation orientation, int role) const {
    struct Heading {
        const char *text, *meaning;
    };
    static constexpr Heading headings[ColumnCount]{
        {"", "> the sampled token; = in both top-16, S in the student's only, T in the teacher's only"},
        {"token", "the candidate, spaces and line ends as marks"},
        {"pS", "the student's probability"},
        {"pT", "the teacher's probability"},
        {"KL", "pS (log pS - log pT), in nats: this candidate's part of the reverse KL"},
        {"id", "the token's id"},
        {"log pS", "in nats"},
        {"rank S", "place among the student's 16 best"},
        {"log pT", "in nats"},
        {"rank T", "place among the teacher's 16 best"},
        {"ratio", "log pS - log pT, in nats"},
        {"clipped", "the part before and after the objective's clamp of each entry"}};
    if (orientation != Qt::Horizontal) return {};
    if (role == Qt::DisplayRole) return QString::fromUtf8(headings[section].text);
    if (role == Qt::ToolTipRole) return QString::fromUtf8(headings[section].meaning);
    if (role == Qt::TextAlignmentRole)
        return int((section <= Text ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    return {};
}

QString probability_text(double probability) {
    if (std::isnan(probability)) return QStringLiteral("-");
    if (probability >= 0.9995) return QStringLiteral("1.00");
    if (probability >= 0.0005) return QString::number(probability, 'f', 3).mid(1);
    return QString::number(probability, 'e', 0).replace("e-0", "e-");
}

QString nats_text(double nats, int digits) {
    if (std::isnan(nats)) return QStringLiteral("-");
    if (std::isinf(nats)) return nats > 0 ? QStringLiteral("inf") : QStringLiteral("-inf");
    const QString text = QString::number(nats, 'f', digits);
    return text.startsWith('-') && text.toDouble() == 0 ? text.mid(1) : text;
}

} // namespace stillroom::ui
