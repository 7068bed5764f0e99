// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/launch_checks.h"

#include "base/files.h"
#include "base/strings.h"
#include "model/decoder.h"
#include "record/liveness.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

namespace stillroom::session {

namespace {

// Checks draw under a step that neither training nor an evaluation reaches.
constexpr int64_t check_step = (int64_t{1} << 30) + 1;
// Fewer rows than this show nothing.
constexpr int64_t least_rows = 8;

Result<std::vector<std::shared_ptr<const teacher::PreparedPrompt>>> first_prompts(train::Trainer& trainer,
                                                                                  int64_t count) {
    std::vector<std::shared_ptr<const teacher::PreparedPrompt>> prompts;
    std::string dropped;
    for (const data::Example& example : trainer.dataset().examples) {
        if (int64_t(prompts.size()) == count) break;
        auto prompt = trainer.prompts().build(example, /*with_context=*/false);
        if (!prompt) return prompt.error();
        dropped = prompt->dropped;
        if (dropped.empty())
            prompts.push_back(std::make_shared<const teacher::PreparedPrompt>(std::move(*prompt)));
    }
    if (prompts.empty()) return Error{"no prompt can be used: " + dropped, "data"};
    return prompts;
}

// Mean over what is known of |left - right|.
struct Gap {
    double sum = 0, most = 0;
    int64_t count = 0;
    void add(const std::vector<float>& left, const std::vector<float>& right) {
        for (size_t t = 0; t < std::min(left.size(), right.size()); ++t) {
            const double gap = std::abs(double(left[t]) - double(right[t]));
            if (std::isnan(gap)) continue;
            sum += gap;
            most = std::max(most, gap);
            ++count;
        }
    }
    double mean() const { return count ? sum / double(count) : std::numeric_limits<double>::quiet_NaN(); }
};

double length_of(const torch::Tensor& values) { return values.norm().item<double>(); }

// Norm of the difference of two arenas, one of them in the machine's memory: a piece at a time.
double distance(const torch::Tensor& values, const torch::Tensor& kept) {
    constexpr int64_t piece = int64_t{1} << 24;
    double sum = 0;
    for (int64_t at = 0; at < kept.numel(); at += piece) {
        const int64_t count = std::min(piece, kept.numel() - at);
        const double part =
            length_of(values.narrow(0, at, count).to(torch::kCPU) - kept.narrow(0, at, count));
        sum += part * part;
    }
    return std::sqrt(sum);
}

} // namespace

Result<Drawn> drawn(train::Trainer& trainer, const Draw& draw, const GoOn& go_on) {
    const auto started = std::chrono::steady_clock::now();
    const auto prompts = first_prompts(trainer, draw.count);
    if (!prompts) return prompts.error();
    Drawn batch;
    std::vector<rollout::Request> requests;
    for (int64_t n = 0; n < draw.count; ++n) {
        const auto& prompt = (*prompts)[size_t(n) % prompts->size()];
        const int64_t sample = n / int64_t(prompts->size());
        requests.push_back({prompt->student_ids, check_step, prompt->index, sample, 0});
        batch.sequences.push_back({prompt, {}});
    }
    if (trainer.spec().kind == objective::Kind::Sft) {
        for (size_t n = 0; n < requests.size(); ++n) {
            train::Sequence& sequence = batch.sequences[n];
            sequence.rollout.request = requests[n];
            sequence.rollout.ids = sequence.prompt->target_ids;
            if (int64_t(sequence.rollout.ids.size()) > draw.max_new)
                sequence.rollout.ids.resize(size_t(draw.max_new));
            sequence.rollout.finish = rollout::Finish::Eos;
        }
    } else {
        rollout::SamplingPolicy policy = trainer.sampling_policy();
        policy.temperature = draw.temperature;
        policy.max_new = std::min(policy.max_new, draw.max_new);
        policy.seed = draw.seed;
        auto rollouts = trainer.generator().generate(requests, policy, nullptr,
                                                     [&](int64_t, int64_t) { return !go_on || go_on(); });
        trainer.release_generation();
        if (!rollouts) return rollouts.error();
        for (size_t n = 0; n < requests.size(); ++n) {
            if ((*rollouts)[n].finish == rollout::Finish::Cancelled) return Error{"cancelled"};
            batch.sequences[n].rollout = std::move((*rollouts)[n]);
        }
    }
    formats::RolloutSection section = trainer.recipe().rollout;
    section.truncated_rows = "keep";
    batch.rows = train::ResponseRows::of(batch.sequences, section, trainer.recipe().objective);
    batch.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    return batch;
}

Result<train::Trainer::Evaluated> evaluated(train::Trainer& trainer, const Drawn& batch,
                                            const train::Trainer::Variant& variant) {
    train::PhaseClock clock(trainer.student().device());
    return trainer.loss_and_gradients(batch.sequences, batch.rows, trainer.gradients(), check_step, clock, {},
                                      variant);
}

std::vector<std::vector<float>> teacher_logprobs(train::Trainer& trainer, const Drawn& batch, int64_t shift) {
    const torch::NoGradGuard no_grad;
    const teacher::Teacher& teacher = *trainer.teacher();
    const model::Model& weights = teacher.weights();
    std::vector<std::vector<float>> result;
    for (int64_t b = 0; b < int64_t(batch.sequences.size()); ++b) {
        const train::Sequence& sequence = batch.sequences[size_t(b)];
        const int64_t L = sequence.length();
        auto& row_values = result.emplace_back(size_t(L), std::numeric_limits<float>::quiet_NaN());
        const auto packed = train::packed_rows(batch.sequences, {b}, train::Side::Teacher, weights.device());
        const int64_t first = packed.rows[0].item<int64_t>(); // P_T - 1
        const int64_t begin = std::max<int64_t>(0, -shift - first), end = L - std::max<int64_t>(0, shift);
        if (begin >= end) continue;
        const auto hidden = teacher.hidden(packed.pack, packed.rows.narrow(0, begin, end - begin) + shift);
        const auto ids = torch::tensor(sequence.rollout.ids, torch::kInt64)
                             .narrow(0, begin, end - begin)
                             .to(weights.device());
        const auto log_probs = (model::logits(hidden, weights.head()).narrow(1, 0, trainer.real_vocab()) /
                                trainer.recipe().objective.teacher_temperature)
                                   .log_softmax(-1)
                                   .gather(1, ids.unsqueeze(1))
                                   .squeeze(1)
                                   .to(torch::kCPU, torch::kFloat32)
                                   .contiguous();
        std::copy_n(log_probs.data_ptr<float>(), end - begin, row_values.begin() + begin);
    }
    return result;
}

Outcome check_alignment(train::Trainer& trainer, const Drawn& batch,
                        const std::vector<record::TokenRecord>& tokens) {
    const auto earlier = teacher_logprobs(trainer, batch, -1), later = teacher_logprobs(trainer, batch, 1);
    Gap in_place, before, after;
    for (size_t b = 0; b < tokens.size(); ++b) {
        in_place.add(tokens[b].student_logprob, tokens[b].teacher_logprob);
        before.add(tokens[b].student_logprob, earlier[b]);
        after.add(tokens[b].student_logprob, later[b]);
    }
    const std::string evidence = "mean abs gap " + number_text(in_place.mean()) + " nats in place, " +
                                 number_text(before.mean()) + " and " + number_text(after.mean()) +
                                 " shifted by -1 and +1, over " + counted(in_place.count, "row");
    if (in_place.count < least_rows) return warn(evidence + ": too few to tell");
    if (3 * in_place.mean() < std::min(before.mean(), after.mean())) return pass(evidence);
    return fail(
        evidence + "; less than a third of the shifted ones is expected",
        {{"check that both models read the same prompt and answer; if they do, the teacher is too far "
          "from this student: train the student towards it by sft first",
          "", ""}});
}

Outcome check_zero(train::Trainer& trainer, const Drawn& batch) {
    train::Trainer::Variant own;
    own.student_as_teacher = true;
    const auto zero = evaluated(trainer, batch, own);
    if (!zero) return fail(zero.error());
    const auto found = zero->metrics.find("kl_reverse_exact");
    const double kl = found == zero->metrics.end() ? NAN : std::abs(found->second);
    const double gradient = length_of(trainer.gradients().flat);
    const std::string evidence = "teacher := student gives KL " + number_text(kl, 2) + " nats/token, loss " +
                                 number_text(zero->loss, 2) + ", gradient norm " + number_text(gradient, 2);
    const auto& objective = trainer.recipe().objective;
    if (objective.student_temperature != objective.teacher_temperature) {
        return warn(evidence + "; not 0, since T_S = " + number_text(objective.student_temperature) +
                        " and T_T = " + number_text(objective.teacher_temperature),
                    {{"one temperature for both", "objective.teacher_temperature",
                      number_text(objective.student_temperature, 17)}});
    }
    constexpr double limit = 1e-5;
    if (!(kl < limit)) return fail(evidence + "; a KL below 1e-5 is expected");
    // Rest where the student is its own teacher: the exact divergences (T1); targets from a record rest
    // elsewhere.
    using objective::Kind;
    const Kind kind = trainer.spec().kind;
    const bool rests = kind == Kind::KlReverse || kind == Kind::KlForward || kind == Kind::Jsd;
    if (rests && !(std::abs(zero->loss) < limit && gradient < limit))
        return fail(evidence + "; loss and gradient below 1e-5 are expected");
    return pass(evidence);
}

Outcome check_micro_batches(train::Trainer& trainer, const Drawn& batch) {
    if (batch.rows.n_global == 0) return skip("no row of the answers counts");
    int64_t tokens = 0;
    for (const auto& sequence : batch.sequences) {
        const auto& prompt = *sequence.prompt;
        tokens += int64_t(std::max(prompt.student_ids.size(), prompt.teacher_ids.size())) + sequence.length();
    }
    // One micro-batch as far as the recipe's budget allows, about two, and every sequence alone.
    const int64_t whole = std::min(tokens, trainer.recipe().optimizer.micro_tokens);
    torch::Tensor reference;
    double size = 0, worst = 0, loss = 0, worst_loss = 0;
    std::vector<std::string> groups;
    for (const int64_t budget : {whole, whole / 2 + 1, int64_t{1}}) {
        train::Trainer::Variant variant;
        variant.micro_tokens = budget;
        const auto made = evaluated(trainer, batch, variant);
        if (!made) return fail(made.error());
        groups.push_back(std::to_string(train::micro_batches(batch.sequences, budget).size()));
        const torch::Tensor& gradient = trainer.gradients().flat;
        if (!reference.defined()) {
            reference = gradient.to(torch::kCPU, gradient.scalar_type(), false, /*copy=*/true);
            size = length_of(reference);
            loss = made->loss;
            continue;
        }
        worst = std::max(worst, distance(gradient, reference));
        worst_loss = std::max(worst_loss, std::abs(made->loss - loss));
    }
    const std::string evidence = std::to_string(batch.sequences.size()) + " sequences in " +
                                 join(groups, ", ") + " micro-batches: gradients differ by " +
                                 number_text(worst, 2) + " of norm " + number_text(size) + ", losses by " +
                                 number_text(worst_loss, 2);
    const bool rounded = trainer.student().dtype() == torch::kBFloat16;
    const double allowed = (rounded ? 0.05 : 1e-4) * size + 1e-7;
    if (worst <= allowed) return pass(evidence);
    return fail(evidence + "; at most " + number_text(allowed, 2) + " is expected");
}

Outcome check_sampler(const Drawn& batch, const std::vector<record::TokenRecord>& tokens, bool rounded) {
    Gap gap;
    for (size_t b = 0; b < tokens.size(); ++b)
        gap.add(batch.sequences[b].rollout.logprobs, tokens[b].student_logprob);
    const std::string evidence = "abs difference of log p: mean " + number_text(gap.mean(), 2) +
                                 ", largest " + number_text(gap.most, 2) + " nats over " +
                                 counted(gap.count, "token");
    constexpr double expected = 0.02, most_of_bf16 = 0.1;
    if (rounded && gap.mean() >= expected && gap.mean() < most_of_bf16) {
        return warn(evidence + "; a mean below 0.02 is expected, more can be the rounding of bf16",
                    {{"compute in fp32", "student.dtype", "fp32"}});
    }
    if (!(gap.mean() < expected)) return fail(evidence + "; a mean below 0.02 is expected");
    if (gap.most > 1) return warn(evidence + "; none above 1 is expected");
    return pass(evidence);
}

std::vector<Finding> launch_checks(train::Trainer& trainer, int64_t count, const GoOn& go_on,
                                   const std::function<void(const Finding&)>& each) {
    Draw draw;
    draw.count = count;
    draw.temperature = trainer.recipe().objective.student_temperature; // so that log-probs compare
    draw.seed = trainer.recipe().run.seed;
    const bool teaches = trainer.teacher() != nullptr;
    Result<Drawn> batch = Error{};
    Result<train::Trainer::Evaluated> in_place = Error{};
    std::vector<Finding> findings;
    bool made = false;
    const auto look = [&](const char* id, const char* title, const char* why, bool needs_teacher,
                          const std::function<Outcome()>& check) {
        auto finding = found(id, title, why, [&]() -> Outcome {
            if (needs_teacher && !teaches) return skip("sft asks no teacher and samples nothing");
            if (!std::exchange(made, true)) {
                batch = drawn(trainer, draw, go_on);
                in_place = batch ? evaluated(trainer, *batch) : batch.error();
                if (!in_place && (!go_on || go_on())) return fail(in_place.error());
                if (in_place && in_place->nonfinite_rows > 0) {
                    return fail(std::to_string(in_place->nonfinite_rows) + " of " +
                                counted(batch->rows.n_global, "row") + " are not finite");
                }
            }
            if (go_on && !go_on()) return skip("cancelled");
            if (!in_place) return skip("no answers to look at");
            return check();
        });
        findings.push_back(std::move(finding));
        if (each) each(findings.back());
    };
    look("PF09", "Alignment", "rows of student and teacher that are not about the same token teach noise",
         true, [&] { return check_alignment(trainer, *batch, in_place->tokens); });
    look("PF10", "Zero test", "a loss that is not 0 at the teacher pulls elsewhere", true,
         [&] { return check_zero(trainer, *batch); });
    look("PF13", "Micro-batches", "a step must not depend on how memory cuts it", false,
         [&] { return check_micro_batches(trainer, *batch); });
    look("PF14", "Sampler = trainer", "where the two compute different models the samples are off-policy",
         true, [&] {
             return check_sampler(*batch, in_place->tokens, trainer.student().dtype() == torch::kBFloat16);
         });
    trainer.gradients().flat.zero_();
    return findings;
}

Result<void> keep_findings(const std::filesystem::path& run, int64_t step,
                           std::span<const Finding> findings) {
    const auto file = run / "preflight.json";
    nlohmann::json kept = nlohmann::json::object();
    if (const auto before = read_file(file)) {
        kept = nlohmann::json::parse(*before, nullptr, /*allow_exceptions=*/false);
        if (!kept.is_object()) kept = nlohmann::json::object();
    }
    auto list = nlohmann::json::array();
    for (const Finding& finding : findings) list.push_back(to_json(finding));
    kept["sessions"].push_back(
        {{"step", step}, {"time", record::unix_time()}, {"findings", std::move(list)}});
    return write_file(file, kept.dump(2) + "\n");
}

} // namespace stillroom::session
