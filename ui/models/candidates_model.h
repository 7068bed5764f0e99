// SPDX-License-Identifier: GPL-3.0-or-later
// The two distributions at one token: the union of both top-16 lists with each candidate's part of the
// reverse KL, and what is left outside (ui.md 4.5). Knows no widget.
#pragma once

#include "ui/models/token_rollout.h"

#include <QAbstractTableModel>

namespace stillroom::ui {

struct Candidate {
    int32_t id = 0;
    float log_student = 0, log_teacher = 0;
    int student_rank = 0, teacher_rank = 0; // 1..16; 0: outside that model's top-16
    bool sampled = false;

    double student() const;
    double teacher() const;
    double kl() const; // pS (log pS - log pT)
};

/// Sums at one token, and whether they agree with the KL that was recorded.
struct CandidateSums {
    double rest_student = 0, rest_teacher = 0; // mass outside the rows
    double rest_kl = 0;                        // rest_student log(rest_student / rest_teacher): at least that
    double student_mass_s16 = 0, teacher_mass_s16 = 0, student_mass_t16 = 0, teacher_mass_t16 = 0;
    double rows_kl = 0;
    double recorded_kl = 0; // NaN: not recorded
    double rounding = 0;    // how far 16-bit floats may move the sum
    /// The recorded KL less rows and rest. The rest as one entry hides what its entries differ by, so a
    /// little above zero is right; below zero by more than `rounding` is not.
    double difference() const { return recorded_kl - rows_kl - rest_kl; }
    bool agrees() const { return std::abs(difference()) <= rounding; }
};

/// Candidates of a token whose top-16 is kept, most likely in either model first, the sampled token among
/// them.
std::vector<Candidate> candidates_of(const TokenRollout& rollout, size_t token);
CandidateSums sums_of(const TokenRollout& rollout, size_t token, const std::vector<Candidate>& candidates);

class CandidatesModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column {
        Mark,
        Text,
        Student,
        Teacher,
        Kl,
        Id,
        LogStudent,
        StudentRank,
        LogTeacher,
        TeacherRank,
        Ratio,
        Clipped,
        ColumnCount
    };
    /// BarRole: the KL part over the largest of the table, -1..1. SampledRole: the row of the sampled token.
    enum Role { BarRole = Qt::UserRole, SampledRole };

    using QAbstractTableModel::QAbstractTableModel;

    /// No rollout, no token, or no top-16 record: an empty table.
    void show(TokenRolloutPtr rollout, std::optional<size_t> token);
    /// Entries above this many nats are clipped by the run's objective; 0: none are.
    void set_entry_clamp(double nats);

    const std::vector<Candidate>& candidates() const { return candidates_; }
    const CandidateSums& sums() const { return sums_; }
    std::optional<size_t> token() const { return token_; }

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    QString cell(const Candidate& candidate, int column) const;

    TokenRolloutPtr rollout_;
    std::optional<size_t> token_;
    std::vector<Candidate> candidates_;
    CandidateSums sums_;
    double entry_clamp_ = 0, largest_ = 0;
};

/// ".412", "1.000", "2.1e-05": a probability in few characters.
QString probability_text(double probability);
/// "0.563", "-0.078", "-" for NaN.
QString nats_text(double nats, int digits = 3);

} // namespace stillroom::ui
