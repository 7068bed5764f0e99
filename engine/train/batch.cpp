// SPDX-License-Identifier: GPL-3.0-or-later
#include "train/batch.h"

#include "objective/reduction.h"

#include <algorithm>
#include <numeric>

namespace stillroom::train {

namespace {

const std::vector<int32_t>& prompt_of(const Sequence& sequence, Side side) {
    switch (side) {
    case Side::Student:
        return sequence.prompt->student_ids;
    case Side::Teacher:
        return sequence.prompt->teacher_ids;
    case Side::TeacherWithoutAnswer:
        return sequence.prompt->teacher_plain_ids;
    }
    return sequence.prompt->student_ids;
}

} // namespace

ResponseRows ResponseRows::of(const std::vector<Sequence>& sequences, const formats::RolloutSection& rollout,
                              const formats::ObjectiveSection& objective) {
    ResponseRows rows;
    std::vector<int64_t> lengths; // rows that count, by sequence
    for (const Sequence& sequence : sequences) {
        std::vector<float> weight(size_t(sequence.length()), 1.0f);
        const bool dropped = rollout.truncated_rows == "drop" && sequence.truncated();
        const int64_t skipped =
            dropped ? sequence.length() : std::min(objective.skip_first, sequence.length());
        std::fill_n(weight.begin(), skipped, 0.0f);
        lengths.push_back(sequence.length() - skipped);
        rows.n_global += lengths.back();
        rows.live_sequences += lengths.back() > 0;
        rows.weight.push_back(std::move(weight));
    }
    const auto scales = objective::row_scales(objective.reduction, lengths, rows.n_global,
                                              rows.live_sequences, rollout.max_new);
    for (size_t b = 0; b < sequences.size(); ++b) {
        rows.scale.emplace_back(rows.weight[b].size(), scales[b]);
    }
    return rows;
}

std::vector<std::vector<int64_t>> micro_batches(const std::vector<Sequence>& sequences,
                                                int64_t micro_tokens) {
    std::vector<int64_t> order(sequences.size());
    std::iota(order.begin(), order.end(), 0);
    const auto tokens = [&](int64_t index, Side side) {
        return int64_t(prompt_of(sequences[size_t(index)], side).size()) + sequences[size_t(index)].length();
    };
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        return tokens(a, Side::Student) < tokens(b, Side::Student);
    });
    std::vector<std::vector<int64_t>> groups;
    int64_t student_tokens = 0, teacher_tokens = 0;
    for (const int64_t index : order) {
        if (sequences[size_t(index)].length() == 0) continue;
        student_tokens += tokens(index, Side::Student);
        teacher_tokens += tokens(index, Side::Teacher);
        if (groups.empty() || std::max(student_tokens, teacher_tokens) > micro_tokens) {
            groups.emplace_back();
            student_tokens = tokens(index, Side::Student);
            teacher_tokens = tokens(index, Side::Teacher);
        }
        groups.back().push_back(index);
    }
    return groups;
}

PackedRows packed_rows(const std::vector<Sequence>& sequences, const std::vector<int64_t>& group, Side side,
                       torch::Device device) {
    std::vector<std::vector<int32_t>> packed;
    std::vector<int64_t> rows;
    int64_t start = 0;
    for (const int64_t index : group) {
        const Sequence& sequence = sequences[size_t(index)];
        std::vector<int32_t> ids = prompt_of(sequence, side);
        const int64_t prompt = int64_t(ids.size());
        // The last response token predicts nothing that is scored: it is no input.
        ids.insert(ids.end(), sequence.rollout.ids.begin(), sequence.rollout.ids.end() - 1);
        for (int64_t t = 0; t < sequence.length(); ++t) rows.push_back(start + prompt - 1 + t);
        start += int64_t(ids.size());
        packed.push_back(std::move(ids));
    }
    return {model::Pack::of(packed, device), torch::tensor(rows, torch::kInt64).to(device)};
}

} // namespace stillroom::train
