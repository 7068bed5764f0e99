// SPDX-License-Identifier: GPL-3.0-or-later
// The rollouts of one step as rows of the loss: which response positions count, what each is multiplied with,
// and how sequences are dealt into micro-batches. All of it is fixed before the first micro-batch
// (objectives.md sections 1 and 7).
#pragma once

#include "formats/recipe.h"
#include "model/decoder.h"
#include "rollout/rollout.h"
#include "teacher/prompts.h"

#include <memory>
#include <torch/torch.h>
#include <vector>

namespace stillroom::train {

/// Bits of record::TokenRecord::flags.
enum TokenFlag : uint8_t { Clamped = 1, EndToken = 2, NoRow = 4 };

/// One rollout of the step with the prompts of both models.
struct Sequence {
    std::shared_ptr<const teacher::PreparedPrompt> prompt;
    rollout::Rollout rollout;

    int64_t length() const { return int64_t(rollout.ids.size()); } // L, response tokens
    bool truncated() const { return rollout.finish == rollout::Finish::Length; }
};

/// What each row of each sequence weighs.
struct ResponseRows {
    std::vector<std::vector<float>> weight; // [B][L_b], w: 1, or 0 for rows that do not count
    std::vector<std::vector<float>> scale;  // [B][L_b], what the reduction multiplies a row's loss with
    int64_t n_global = 0;                   // rows that count
    int64_t live_sequences = 0;             // sequences with such a row

    /// Truncated sequences are dropped where the recipe says so; the first `skip_first` tokens are no rows.
    static ResponseRows of(const std::vector<Sequence>& sequences, const formats::RolloutSection& rollout,
                           const formats::ObjectiveSection& objective);
};

/// Indices into the step's sequences: each group's student tokens, and its teacher tokens, stay within
/// `micro_tokens` (a longer sequence is a group of its own). Sequences of like length go together. Empty
/// responses are left out.
std::vector<std::vector<int64_t>> micro_batches(const std::vector<Sequence>& sequences, int64_t micro_tokens);

/// Tokens of one model for a group, and the indices in them of the rows of y_1..y_L of each sequence in turn.
struct PackedRows {
    model::Pack pack;
    torch::Tensor rows; // [N] int64
};
enum class Side { Student, Teacher, TeacherWithoutAnswer };
PackedRows packed_rows(const std::vector<Sequence>& sequences, const std::vector<int64_t>& group, Side side,
                       torch::Device device);

} // namespace stillroom::train
