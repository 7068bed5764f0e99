// SPDX-License-Identifier: GPL-3.0-or-later
// One pass over a batch in micro-batches: the teacher's view, the student's, loss and gradients, token
// records.
#include "base/ensure.h"
#include "base/philox.h"
#include "model/decoder.h"
#include "train/step_metrics.h"
#include "train/trainer.h"

#include <algorithm>
#include <limits>

namespace stillroom::train {

namespace {

// Rows of a group one after the other, as the head takes them.
template <typename T>
torch::Tensor row_tensor(const std::vector<std::vector<T>>& by_sequence, const std::vector<int64_t>& group,
                         torch::Device device) {
    std::vector<T> rows;
    for (const int64_t b : group)
        rows.insert(rows.end(), by_sequence[size_t(b)].begin(), by_sequence[size_t(b)].end());
    return torch::tensor(rows).to(device);
}

template <typename T>
std::vector<T> slice(const torch::Tensor& rows, int64_t begin, int64_t count) {
    if (!rows.defined()) return {};
    const auto part = rows.narrow(0, begin, count).contiguous();
    // Not in braces: of a pair of pointers they make a list of two bools.
    return std::vector<T>(part.data_ptr<T>(), part.data_ptr<T>() + part.numel());
}

std::vector<float> floats(const torch::Tensor& rows, int64_t begin, int64_t count) {
    return rows.defined() ? slice<float>(rows.to(torch::kFloat32), begin, count) : std::vector<float>{};
}
std::vector<int32_t> ints(const torch::Tensor& rows, int64_t begin, int64_t count) {
    return rows.defined() ? slice<int32_t>(rows.to(torch::kInt32), begin, count) : std::vector<int32_t>{};
}

record::TokenRecord token_record(const Sequence& sequence, const std::vector<float>& weight,
                                 const objective::RowRecord& rows, int64_t begin) {
    const int64_t L = sequence.length();
    record::TokenRecord tokens;
    tokens.ids = sequence.rollout.ids;
    tokens.sampler_logprob = sequence.rollout.logprobs;
    tokens.student_logprob = floats(rows.student_logprob, begin, L);
    tokens.teacher_logprob = floats(rows.teacher_logprob, begin, L);
    tokens.student_entropy = floats(rows.student_entropy, begin, L);
    tokens.teacher_entropy = floats(rows.teacher_entropy, begin, L);
    tokens.kl = floats(rows.kl_reverse, begin, L);
    tokens.clipped = floats(rows.clipped, begin, L);
    tokens.overlap = slice<uint8_t>(rows.overlap, begin, L);
    const auto clamped = rows.clamped.defined() ? slice<bool>(rows.clamped, begin, L) : std::vector<bool>();
    tokens.flags.resize(size_t(L));
    for (int64_t t = 0; t < L; ++t) {
        uint8_t flags = 0;
        if (!clamped.empty() && clamped[size_t(t)]) flags |= Clamped;
        if (sequence.rollout.finish == rollout::Finish::Eos && t == L - 1) flags |= EndToken;
        if (weight[size_t(t)] == 0) flags |= NoRow;
        tokens.flags[size_t(t)] = flags;
    }
    return tokens;
}

std::optional<record::Top16Record> top16_record(const objective::RowRecord& rows, int64_t begin, int64_t L) {
    if (!rows.student_ids.defined()) return std::nullopt;
    record::Top16Record top;
    top.student_ids = ints(rows.student_ids, begin, L);
    top.teacher_ids = ints(rows.teacher_ids, begin, L);
    top.student_ids_student = floats(rows.student_ids_student, begin, L);
    top.student_ids_teacher = floats(rows.student_ids_teacher, begin, L);
    top.teacher_ids_student = floats(rows.teacher_ids_student, begin, L);
    top.teacher_ids_teacher = floats(rows.teacher_ids_teacher, begin, L);
    top.student_tail = floats(rows.student_tail, begin, L);
    top.teacher_tail = floats(rows.teacher_tail, begin, L);
    return top;
}

RewardedTokens rewarded_tokens(const objective::RowRecord& rows, int64_t begin, int64_t L) {
    if (!rows.token_ids.defined()) return {};
    return {slice<int64_t>(rows.token_ids, begin, L), floats(rows.token_logprob, begin, L)};
}

// log p(y) of each row at `temperature`, over the first `real_vocab` entries, some rows at a time.
torch::Tensor sampled_logprobs(const torch::Tensor& hidden, const torch::Tensor& head,
                               const torch::Tensor& sampled, double temperature, int64_t real_vocab,
                               int64_t chunk_rows) {
    std::vector<torch::Tensor> parts;
    for (int64_t at = 0; at < hidden.size(0); at += chunk_rows) {
        const int64_t count = std::min(chunk_rows, hidden.size(0) - at);
        const auto logits =
            model::logits(hidden.narrow(0, at, count), head).narrow(1, 0, real_vocab) / temperature;
        const auto chosen = logits.gather(1, sampled.narrow(0, at, count).unsqueeze(1)).squeeze(1);
        parts.push_back(chosen - logits.logsumexp(1));
    }
    return torch::cat(parts).to(torch::kCPU);
}

// Whether a rollout is also scored without the answer-aware part: a share decided by its own counters alone.
bool scored_without_answer(const Sequence& sequence, const formats::Recipe& recipe) {
    if (sequence.prompt->teacher_plain_ids == sequence.prompt->teacher_ids) return false;
    const auto& request = sequence.rollout.request;
    constexpr uint32_t stream = 0x706c6169; // "plai"
    const auto block =
        philox({uint32_t(recipe.run.seed), uint32_t(recipe.run.seed >> 32)},
               {stream, uint32_t(request.step), uint32_t(request.prompt), uint32_t(request.sample)});
    return (block[0] + 0.5) * 0x1p-32 < recipe.teacher.score_without_answer;
}

} // namespace

OldPolicy OldPolicy::part(int64_t begin, int64_t count) const {
    OldPolicy result;
    result.logprob.assign(logprob.begin() + begin, logprob.begin() + begin + count);
    if (!rewarded.empty()) result.rewarded.assign(rewarded.begin() + begin, rewarded.begin() + begin + count);
    return result;
}

Result<Trainer::Evaluated> Trainer::loss_and_gradients(const std::vector<Sequence>& sequences,
                                                       const ResponseRows& rows, model::Arena& gradients,
                                                       int64_t step, PhaseClock& clock,
                                                       const StepProgress& progress, const Variant& variant) {
    const torch::Device device = student_.device();
    const bool own_gradients = !student_.lora; // the head is trained with the rest
    const auto recompute =
        recipe_.optimizer.recompute == "none" ? model::Recompute::None : model::Recompute::Layer;
    const int64_t head_rows = recipe_.optimizer.head_rows;
    gradients.flat.zero_();
    torch::Tensor d_head;
    if (own_gradients) d_head = gradients.view(student_.config.tied ? "embedding" : "head");

    Evaluated result;
    result.tokens.resize(sequences.size());
    result.top16.resize(sequences.size());
    result.rewarded.resize(sequences.size());
    objective::StepSums sums;
    const auto groups = micro_batches(sequences, variant.micro_tokens ? variant.micro_tokens
                                                                      : recipe_.optimizer.micro_tokens);
    std::vector<double> group_rows;
    int64_t done = 0;
    for (const auto& group : groups) {
        clock.enter(Phase::Teacher);
        objective::HeadInputs inputs;
        const auto student_rows = packed_rows(sequences, group, Side::Student, device);
        PackedRows teacher_rows;
        if (spec_.needs_teacher() && !variant.student_as_teacher) {
            const model::Model& weights = teacher_->weights();
            teacher_rows = packed_rows(sequences, group, Side::Teacher, weights.device());
            inputs.teacher_hidden = teacher_->hidden(teacher_rows.pack, teacher_rows.rows).to(device);
            inputs.teacher_head = weights.head().to(device);
        }
        if (base_) {
            inputs.base_hidden = model::forward(*base_, student_rows.pack.ids, student_rows.pack.positions,
                                                model::causal_attention(student_rows.pack, base_->config))
                                     .index_select(0, student_rows.rows);
            inputs.base_head = base_->head();
        }

        clock.enter(Phase::Learn);
        std::vector<std::vector<int64_t>> sampled(sequences.size()), decile(sequences.size());
        std::vector<std::vector<float>> sampler(sequences.size());
        for (const int64_t b : group) {
            const Sequence& sequence = sequences[size_t(b)];
            const int64_t L = sequence.length();
            sampled[size_t(b)].assign(sequence.rollout.ids.begin(), sequence.rollout.ids.end());
            sampler[size_t(b)] = sequence.rollout.logprobs;
            for (int64_t t = 0; t < L; ++t) decile[size_t(b)].push_back(10 * t / L);
        }
        inputs.sampled = row_tensor(sampled, group, device);
        inputs.decile = row_tensor(decile, group, device);
        inputs.weight = row_tensor(rows.weight, group, device);
        inputs.scale = row_tensor(rows.scale, group, device);
        const bool comparable = recipe_.rollout.temperature == recipe_.objective.student_temperature;
        if (spec_.kind != objective::Kind::Sft && comparable)
            inputs.sampler_logprob = row_tensor(sampler, group, device);
        if (variant.old) {
            inputs.old_logprob = row_tensor(variant.old->logprob, group, device);
            if (!variant.old->rewarded.empty()) {
                std::vector<std::vector<int64_t>> ids(sequences.size());
                std::vector<std::vector<float>> logprob(sequences.size());
                for (const int64_t b : group) {
                    ids[size_t(b)] = variant.old->rewarded[size_t(b)].ids;
                    logprob[size_t(b)] = variant.old->rewarded[size_t(b)].logprob;
                }
                const int64_t N = student_rows.rows.size(0);
                inputs.old_topk_ids = row_tensor(ids, group, device).view({N, -1});
                inputs.old_topk_logprob = row_tensor(logprob, group, device).view({N, -1});
            }
        }
        inputs.real_vocab = real_vocab_;
        inputs.student_head = student_.head();
        model::TrainingPass pass(student_, student_rows.pack, recompute);
        inputs.student_hidden = pass.forward(student_rows.rows);
        if (variant.student_as_teacher) {
            inputs.teacher_hidden = inputs.student_hidden;
            inputs.teacher_head = inputs.student_head;
        }
        const auto head = objective::head_pass(spec_, inputs, d_head, sums, head_rows);
        pass.backward(head.d_hidden, gradients);
        result.loss += head.loss;

        clock.enter(Phase::Other);
        int64_t begin = 0;
        for (const int64_t b : group) {
            const Sequence& sequence = sequences[size_t(b)];
            result.tokens[size_t(b)] = token_record(sequence, rows.weight[size_t(b)], head.rows, begin);
            result.top16[size_t(b)] = top16_record(head.rows, begin, sequence.length());
            result.rewarded[size_t(b)] = rewarded_tokens(head.rows, begin, sequence.length());
            begin += sequence.length();
        }
        group_rows.push_back(double(begin));

        clock.enter(Phase::Teacher);
        std::vector<int64_t> plain;
        if (spec_.needs_teacher() && !variant.student_as_teacher) {
            for (const int64_t b : group) {
                if (scored_without_answer(sequences[size_t(b)], recipe_)) plain.push_back(b);
            }
        }
        if (!plain.empty()) {
            const auto plain_rows =
                packed_rows(sequences, plain, Side::TeacherWithoutAnswer, teacher_->weights().device());
            const auto logprobs = sampled_logprobs(
                teacher_->hidden(plain_rows.pack, plain_rows.rows), teacher_->weights().head(),
                row_tensor(sampled, plain, teacher_->weights().device()),
                recipe_.objective.teacher_temperature, real_vocab_, head_rows);
            int64_t at = 0;
            for (const int64_t b : plain) {
                result.tokens[size_t(b)].teacher_plain_logprob =
                    floats(logprobs, at, sequences[size_t(b)].length());
                at += sequences[size_t(b)].length();
            }
        }
        done += int64_t(group.size());
        if (progress && !progress(Phase::Learn, double(done) / double(sequences.size()), "")) {
            result.cancelled = true;
            return result;
        }
    }
    clock.enter(Phase::Other);
    result.nonfinite_rows = sums.nonfinite_rows();
    result.metrics = sums.metrics(rows.n_global);
    result.metrics["loss"] = result.loss;
    if (auto whole = check_target(result.metrics); !whole) return whole.error();
    if (!group_rows.empty()) {
        double total = 0;
        for (const double count : group_rows) total += count;
        result.metrics["micro_batch_imbalance"] =
            *std::max_element(group_rows.begin(), group_rows.end()) / (total / double(group_rows.size()));
    }
    return result;
}

Result<OldPolicy> Trainer::old_policy(const std::vector<Sequence>& sequences, const ResponseRows& rows,
                                      int64_t step, PhaseClock& clock, const StepProgress& progress) {
    // The first pass's gradient is not used: what is wanted are its log-probs under the weights that sampled.
    auto scored = loss_and_gradients(sequences, rows, gradients_, step, clock, progress, {});
    if (!scored) return scored.error();
    OldPolicy old;
    for (const auto& tokens : scored->tokens) old.logprob.push_back(tokens.student_logprob);
    if (spec_.kind == objective::Kind::TopkTokenPg) old.rewarded = std::move(scored->rewarded);
    return old;
}

} // namespace stillroom::train
