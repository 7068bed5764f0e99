// SPDX-License-Identifier: GPL-3.0-or-later
// PF08, PF11, PF15, PF16, PF21.
#include "session/preflight_models.h"

#include "base/strings.h"
#include "model/decoder.h"
#include "record/liveness.h"
#include "session/session.h"
#include "stats/estimate.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace stillroom::session {

namespace {

constexpr int64_t dry_answers = 8;

struct Text {
    std::vector<int32_t> prompt, rest;
};

// Prompts with the solutions of the data, so that a model of any trade knows them; else problems alone.
std::vector<Text> known_texts(train::Trainer& trainer) {
    constexpr size_t most_texts = 4, most_tokens = 256;
    std::vector<Text> texts;
    const text::Tokenizer& tokenizer = *trainer.student().tokenizer;
    for (const data::Example& example : trainer.dataset().examples) {
        if (texts.size() == most_texts) break;
        Text text;
        if (const auto prompt = trainer.prompts().student_prompt(example);
            prompt && !example.solution.empty()) {
            text.prompt = *prompt;
            text.rest = tokenizer.encode(example.solution, /*parse_special=*/false);
        } else {
            const auto ids = tokenizer.encode(example.problem, /*parse_special=*/false);
            if (ids.size() < 2) continue;
            text.prompt.assign(ids.begin(), ids.begin() + 1);
            text.rest.assign(ids.begin() + 1, ids.end());
        }
        if (text.rest.size() > most_tokens) text.rest.resize(most_tokens);
        if (!text.rest.empty()) texts.push_back(std::move(text));
    }
    return texts;
}

// Mean negative log-prob of a token of the texts' rests.
double mean_nll(const model::Model& model, const std::vector<Text>& texts, int64_t real_vocab) {
    const torch::NoGradGuard no_grad;
    double sum = 0;
    int64_t count = 0;
    for (const Text& text : texts) {
        std::vector<std::vector<int32_t>> sequence{text.prompt};
        sequence[0].insert(sequence[0].end(), text.rest.begin(), text.rest.end());
        const auto pack = model::Pack::of(sequence, model.device());
        const auto n = int64_t(text.rest.size()), P = int64_t(text.prompt.size());
        const auto hidden =
            model::forward(model, pack.ids, pack.positions, model::causal_attention(pack, model.config))
                .narrow(0, P - 1, n);
        const auto log_probs = model::logits(hidden, model.head()).narrow(1, 0, real_vocab).log_softmax(-1);
        sum -= log_probs.gather(1, pack.ids.narrow(0, P, n).unsqueeze(1)).sum().item<double>();
        count += n;
    }
    return sum / double(std::max<int64_t>(count, 1));
}

std::string minutes_text(double seconds) {
    if (seconds < 120) return number_text(seconds) + " s";
    if (seconds < 7200) return number_text(seconds / 60) + " min";
    return number_text(seconds / 3600) + " h";
}

} // namespace

Result<DryRun> dry_run(train::Trainer& trainer, const GoOn& go_on) {
    Draw draw;
    draw.count = dry_answers;
    draw.max_new = trainer.recipe().rollout.max_new;
    draw.temperature = trainer.recipe().rollout.temperature;
    draw.seed = trainer.recipe().run.seed;
    auto batch = drawn(trainer, draw, go_on);
    if (!batch) return batch.error();
    const auto started = std::chrono::steady_clock::now();
    auto made = evaluated(trainer, *batch);
    trainer.gradients().flat.zero_();
    if (!made) return made.error();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    return DryRun{std::move(*batch), std::move(*made), seconds};
}

Outcome check_teacher_identity(train::Trainer& trainer) {
    const model::Model& student = trainer.student();
    const auto texts = known_texts(trainer);
    const double guess = std::log(double(trainer.real_vocab()));
    std::vector<std::string> notes;
    std::vector<Remedy> remedies;
    Verdict verdict = Verdict::Pass;
    const auto judge = [&](const std::string& who, const model::Model& model, Verdict if_implausible) {
        if (texts.empty()) return;
        const double nll = mean_nll(model, texts, trainer.real_vocab());
        std::string note = who + "'s NLL of texts of the data " + number_text(nll) + " nats/token";
        if (!(nll < guess)) {
            note += ", no better than a guess among all tokens (" + number_text(guess) + ")";
            verdict = std::max(verdict, if_implausible); // Pass, Warn, Fail stand in this order
        }
        notes.push_back(std::move(note));
    };
    judge("the student", student, Verdict::Warn); // fresh weights may be meant
    const teacher::Teacher* teacher = trainer.teacher();
    if (!teacher) {
        notes.push_back("no teacher (sft)");
    } else if (teacher->kind() != teacher::Kind::Separate) {
        notes.push_back("self-distillation chosen (" + teacher::to_string(teacher->kind()) + ")");
    } else {
        const std::string &own = student.weights_sha256, &other = teacher->weights().weights_sha256;
        if (own == other && !own.empty()) {
            return fail("Teacher equals student (same weights, sha256 " + own.substr(0, 12) +
                            "): the loss will be 0. Choose self-distillation if meant.",
                        {{"the student's first weights as teacher", "teacher.kind", "self_frozen"},
                         {"choose another teacher", "teacher.model", ""}});
        }
        notes.push_back("weights " + own.substr(0, 12) + " and " + other.substr(0, 12) + " differ");
        judge("the teacher", teacher->weights(), Verdict::Fail);
    }
    return {verdict, join(notes, "; "), std::move(remedies)};
}

Outcome check_signal(train::Trainer& trainer, const DryRun& dry) {
    if (!trainer.teacher()) return skip("sft asks no teacher");
    const auto& metrics = dry.evaluated.metrics;
    const auto found = metrics.find("kl_reverse_exact");
    const double kl = found == metrics.end() ? NAN : found->second;
    std::string evidence = "KL " + number_text(kl) + " nats/token over " +
                           std::to_string(dry.batch.sequences.size()) + " dry rollouts (" +
                           counted(dry.batch.rows.n_global, "row") + ")";
    std::vector<double> gains; // one a rollout: its tokens are not independent
    for (const auto& tokens : dry.evaluated.tokens) {
        double sum = 0;
        for (size_t t = 0; t < tokens.teacher_plain_logprob.size(); ++t)
            sum += double(tokens.teacher_logprob[t]) - double(tokens.teacher_plain_logprob[t]);
        if (!tokens.teacher_plain_logprob.empty())
            gains.push_back(sum / double(tokens.teacher_plain_logprob.size()));
    }
    const auto gain = stats::mean(gains), error = stats::standard_error(gains);
    if (gain && error)
        evidence += "; the context's gain " + number_text(*gain) + " nats/token, SE " + number_text(*error);
    if (!(kl > 1e-3)) {
        std::vector<Remedy> remedies;
        if (trainer.recipe().teacher.kind != "separate" && trainer.recipe().teacher.context == "none")
            remedies.push_back({"show the teacher the solution", "teacher.context", "solution"});
        return fail(evidence + "; above 1e-3 is expected: there is nothing to learn", std::move(remedies));
    }
    if (gain && error && std::abs(*gain) < 2 * *error)
        return warn(evidence + ": within 2 SE of 0, so the context may tell the teacher nothing",
                    {{"another context", "teacher.context", "answer-twice"}});
    return pass(evidence);
}

Outcome check_seed(train::Trainer& trainer, const GoOn& go_on) {
    if (!trainer.teacher()) return skip("sft samples nothing");
    Draw draw;
    draw.temperature = trainer.recipe().rollout.temperature;
    draw.seed = trainer.recipe().run.seed;
    const auto first = drawn(trainer, draw, go_on), again = drawn(trainer, draw, go_on);
    draw.seed += 1;
    const auto other = drawn(trainer, draw, go_on);
    for (const auto* batch : {&first, &again, &other}) {
        if (!*batch) return go_on && !go_on() ? skip("cancelled") : fail(batch->error());
    }
    const auto same = [](const Drawn& left, const Drawn& right) {
        int64_t count = 0;
        for (size_t b = 0; b < left.sequences.size(); ++b)
            count += left.sequences[b].rollout.ids == right.sequences[b].rollout.ids;
        return count;
    };
    const auto count = int64_t(first->sequences.size()), repeated = same(*first, *again),
               shared = same(*first, *other);
    const std::string evidence = "seed " + std::to_string(trainer.recipe().run.seed) + " repeats " +
                                 std::to_string(repeated) + " of " + counted(count, "rollout") +
                                 ", the next seed " + std::to_string(shared);
    if (repeated < count) return fail(evidence + "; all are expected");
    if (draw.temperature == 0) return pass(evidence + "; greedy: every seed draws the same");
    if (shared == count) return fail(evidence + "; another seed must draw others");
    return pass(evidence);
}

Outcome check_cap(train::Trainer& trainer, const DryRun& dry) {
    if (!trainer.teacher()) return skip("sft samples nothing");
    int64_t truncated = 0, longest = 0;
    for (const auto& sequence : dry.batch.sequences) {
        truncated += sequence.truncated();
        longest = std::max(longest, sequence.length());
    }
    const auto& rollout = trainer.recipe().rollout;
    const auto count = int64_t(dry.batch.sequences.size());
    const std::string evidence = std::to_string(truncated) + " of " + std::to_string(count) +
                                 " dry rollouts reach the cap of " + std::to_string(rollout.max_new) +
                                 " tokens, the longest has " + std::to_string(longest);
    if (10 * truncated < count) return pass(evidence);
    return warn(evidence + ": they have no end to learn from",
                {{"a higher cap", "rollout.max_new", std::to_string(2 * rollout.max_new)}});
}

Outcome check_time(train::Trainer& trainer, const DryRun& dry) {
    const formats::Recipe& recipe = trainer.recipe();
    if (dry.batch.sequences.empty()) return skip("no answer was measured");
    // More answers at once cost less each: this is the longest that a step should take.
    const double answers = double(recipe.rollout.prompts_per_step * recipe.rollout.samples_per_prompt);
    const double step = (dry.batch.seconds + dry.learning_seconds) *
                        std::max(1.0, answers / double(dry.batch.sequences.size()));
    const double needed = step * double(recipe.run.steps);
    const std::string evidence = "a step takes at most " + minutes_text(step) + " (measured on " +
                                 std::to_string(dry.batch.sequences.size()) + " answers), " +
                                 counted(recipe.run.steps, "step") + " at most " + minutes_text(needed) +
                                 " without evaluations";
    const auto judged = [&]() -> Outcome {
        if (recipe.run.deadline.empty()) return pass(evidence + "; no deadline set");
        const double now = record::unix_time();
        const auto deadline = deadline_time(recipe.run.deadline, now);
        if (!deadline) return fail(deadline.error());
        const double left = *deadline - now - recipe.run.save_reserve;
        const std::string until = evidence + ", " + minutes_text(left) + " until the deadline";
        if (needed <= left) return pass(until);
        const std::string reached = std::to_string(std::max<int64_t>(1, int64_t(left / step)));
        return warn(until + ": it may end the run at about step " + reached,
                    {{"a later deadline, or fewer steps", "run.steps", reached}});
    };
    Outcome outcome = judged();
    outcome.step_seconds = step;
    return outcome;
}

} // namespace stillroom::session
