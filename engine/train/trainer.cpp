// SPDX-License-Identifier: GPL-3.0-or-later
// Loading what a run needs, and the first half of a step: prompts and their answers.
#include "train/trainer.h"

#include "base/philox.h"
#include "base/strings.h"

#include <algorithm>
#include <utility>

namespace stillroom::train {

namespace {

// The recipe's files as they are on this machine.
std::vector<std::filesystem::path> data_files(const formats::Recipe& recipe) {
    std::vector<std::filesystem::path> files;
    for (const auto& file : recipe.data.files) files.push_back(formats::resolve_path(recipe, file));
    return files;
}

struct LoadedStudent {
    model::Model model;
    torch::Tensor masters; // [P] fp32, where the model's own parameters were rounded
};

Result<LoadedStudent> load_student(const formats::Recipe& recipe, const model::LoadOptions& options) {
    const auto path = formats::resolve_path(recipe, recipe.student.model);
    const bool lora = recipe.student.trainable == "lora";
    model::LoadOptions exact = options;
    if (!lora) exact.dtype = torch::kFloat32;
    auto loaded = recipe.student.init == "random" ? model::random_model(path, exact, recipe.run.seed)
                                                  : model::load_model(path, exact);
    if (!loaded) return loaded.error();
    LoadedStudent student{std::move(*loaded), {}};
    torch::Tensor& weights = student.model.weights.flat;
    if (exact.dtype != options.dtype) student.masters = std::exchange(weights, weights.to(options.dtype));
    if (lora) {
        const auto& shape = recipe.student.lora;
        model::add_lora(student.model, {shape.rank, shape.alpha, shape.targets}, recipe.run.seed);
    }
    return student;
}

// Both prompts must end alike, or the first rows compare answers that begin differently (objectives.md 1).
Result<void> check_prefixes(const teacher::PromptBuilder& prompts, const data::Example& example,
                            const text::Tokenizer& student, const text::Tokenizer& teacher) {
    const auto prefixes = prompts.generation_prefixes(example);
    if (!prefixes) return prefixes.error();
    if (prefixes->student == prefixes->teacher) return {};
    return Error{"the prompts end differently: the student's with " +
                     quoted(student.decode(prefixes->student), 200) + ", the teacher's with " +
                     quoted(teacher.decode(prefixes->teacher), 200),
                 "teacher.thinking",
                 "set data.thinking and teacher.thinking alike, or teacher.allow_prefix_difference = true"};
}

} // namespace

Result<std::unique_ptr<Trainer>> Trainer::of_models(const formats::Recipe& recipe, model::Model student,
                                                    std::optional<model::Model> teacher_weights,
                                                    const torch::Tensor& masters) {
    std::unique_ptr<Trainer> trainer(new Trainer);
    trainer->recipe_ = recipe;
    auto spec = objective::Spec::of(recipe.objective);
    if (!spec) return spec.error();
    trainer->spec_ = *spec;
    trainer->student_ = std::move(student);
    const model::Model& own = trainer->student_;
    trainer->real_vocab_ = own.real_vocab();
    trainer->optimizer_ = std::make_unique<AdamW>(trainer->student_.trainable(), recipe.optimizer, masters);
    auto kind = teacher::parse_kind(recipe.teacher.kind);
    if (!kind) return kind.error();
    if (trainer->spec_.needs_teacher()) {
        switch (*kind) {
        case teacher::Kind::None:
            return Error{"objective " + recipe.objective.name + " needs a teacher", "teacher.kind"};
        case teacher::Kind::Separate:
            if (!teacher_weights) return Error{"a separate teacher needs a model", "teacher.model"};
            trainer->real_vocab_ = std::min(trainer->real_vocab_, teacher_weights->real_vocab());
            trainer->teacher_ = teacher::Teacher::separate(std::move(*teacher_weights));
            break;
        case teacher::Kind::SelfFrozen:
            trainer->teacher_ = teacher::Teacher::self_frozen(own);
            break;
        case teacher::Kind::SelfEma:
            trainer->teacher_ =
                teacher::Teacher::self_ema(own, recipe.teacher.ema_decay, trainer->optimizer_->masters());
            break;
        case teacher::Kind::SelfLive:
            trainer->teacher_ = teacher::Teacher::self_live(own);
            break;
        }
    }
    trainer->generator_ = std::make_unique<rollout::Generator>(
        own, rollout::GeneratorOptions{recipe.rollout.batch_rows, recipe.rollout.page_tokens,
                                       recipe.rollout.cache_tokens});
    trainer->gradients_ = model::zero_gradients(own);
    if (own.device().is_cuda())
        trainer->peaks_ =
            kernels::device_peaks(kernels::device_name(own.device()), own.weights.flat.scalar_type());
    return trainer;
}

Result<std::unique_ptr<Trainer>> Trainer::create(const formats::Recipe& recipe, const std::string& device,
                                                 const std::string& dtype,
                                                 const std::function<void(const std::string&)>& say) {
    auto options = model::load_options(device, dtype == "auto" ? recipe.student.dtype : dtype);
    if (!options) return options.error();
    auto dataset = data::load_dataset(data_files(recipe), recipe.data);
    if (!dataset) return dataset.error();
    if (dataset->examples.empty()) {
        return Error{"holds no example",
                     recipe.data.files.empty() ? "data.files" : recipe.data.files.front()};
    }

    say("Loading student " + recipe.student.model);
    auto student = load_student(recipe, *options);
    if (!student) return student.error();
    const model::Model& loaded_student = student->model;
    if (!loaded_student.tokenizer) return Error{"has no tokenizer", loaded_student.source.string()};
    if (loaded_student.eos_ids().empty()) {
        return Error{"names no end token", loaded_student.source.string(),
                     "add eos_token_id to its generation_config.json"};
    }
    std::optional<model::Model> teacher_weights;
    if (recipe.teacher.kind == "separate" && recipe.objective.name != "sft") {
        say("Loading teacher " + recipe.teacher.model);
        auto loaded = model::load_model(formats::resolve_path(recipe, recipe.teacher.model), *options);
        if (!loaded) return loaded.error();
        if (!loaded->tokenizer) return Error{"has no tokenizer", loaded->source.string()};
        const auto common = teacher::common_vocabulary(*loaded_student.tokenizer, loaded_student.config.vocab,
                                                       *loaded->tokenizer, loaded->config.vocab);
        if (!common) return common.error();
        teacher_weights = std::move(*loaded);
    }
    auto made = of_models(recipe, std::move(student->model), std::move(teacher_weights), student->masters);
    if (!made) return made;
    Trainer& trainer = **made;
    if (trainer.spec_.kind == objective::Kind::GopdPg && recipe.objective.lambda != 1) {
        if (recipe.objective.base_model.empty()) {
            return Error{"gopd_pg with lambda other than 1 needs one", "objective.base_model"};
        }
        say("Loading base " + recipe.objective.base_model);
        auto base = model::load_model(formats::resolve_path(recipe, recipe.objective.base_model), *options);
        if (!base) return base.error();
        trainer.base_ = std::move(*base);
    }
    trainer.dataset_ = std::move(*dataset);
    trainer.order_ = std::make_unique<data::PromptOrder>(int64_t(trainer.dataset_.examples.size()),
                                                         recipe.run.seed, recipe.data.order == "shuffled");
    const model::Model& own = trainer.student_;
    const model::Model& scorer = trainer.teacher_ ? trainer.teacher_->weights() : own;
    auto builder = teacher::PromptBuilder::make(recipe, *own.tokenizer, own.config.context, *scorer.tokenizer,
                                                scorer.config.context, own.eos_ids().front());
    if (!builder) return builder.error();
    trainer.builder_ = std::move(*builder);
    if (trainer.teacher_ && !recipe.teacher.allow_prefix_difference) {
        auto checked = check_prefixes(*trainer.builder_, trainer.dataset_.examples.front(), *own.tokenizer,
                                      *scorer.tokenizer);
        if (!checked) return checked.error();
    }
    return made;
}

rollout::SamplingPolicy Trainer::sampling_policy() const {
    rollout::SamplingPolicy policy;
    policy.temperature = recipe_.rollout.temperature;
    policy.top_k = recipe_.rollout.top_k;
    policy.top_p = recipe_.rollout.top_p;
    policy.max_new = recipe_.rollout.max_new;
    policy.eos_ids = student_.eos_ids();
    policy.seed = recipe_.run.seed;
    return policy;
}

Result<std::vector<std::shared_ptr<const teacher::PreparedPrompt>>>
Trainer::next_prompts(int64_t count, int64_t step, std::map<std::string, int64_t>& dropped) {
    std::vector<std::shared_ptr<const teacher::PreparedPrompt>> prompts;
    const int64_t examples = int64_t(dataset_.examples.size());
    int64_t looked_at = 0;
    while (int64_t(prompts.size()) < count) {
        // A whole epoch without a usable prompt will not get better.
        if (looked_at++ > examples && prompts.empty()) {
            return Error{"no prompt can be used: " + (dropped.empty() ? "" : dropped.begin()->first), "data"};
        }
        const int64_t index = order_->next();
        // Which sft prompts show the context is decided by the example's own counter.
        constexpr uint32_t stream = 0x63747874; // "ctxt"
        const auto block = philox({uint32_t(recipe_.run.seed), uint32_t(recipe_.run.seed >> 32)},
                                  {stream, uint32_t(step), uint32_t(index), 0});
        const bool with_context = (block[0] + 0.5) * 0x1p-32 < recipe_.data.context_share;
        auto prompt = builder_->build(dataset_.examples[size_t(index)], with_context);
        if (!prompt) return prompt.error();
        if (prompt->dropped.empty()) {
            prompts.push_back(std::make_shared<const teacher::PreparedPrompt>(std::move(*prompt)));
        } else {
            ++dropped[prompt->dropped];
        }
    }
    return prompts;
}

Result<std::vector<Sequence>>
Trainer::sample(const std::vector<std::shared_ptr<const teacher::PreparedPrompt>>& prompts, int64_t step,
                rollout::GenerationReport& generation, const StepProgress& progress) {
    std::vector<rollout::Request> requests;
    std::vector<Sequence> sequences;
    for (const auto& prompt : prompts) {
        for (int64_t sample = 0; sample < recipe_.rollout.samples_per_prompt; ++sample) {
            requests.push_back({prompt->student_ids, step, prompt->index, sample, 0});
            sequences.push_back({prompt, {}});
        }
    }
    const double total = double(requests.size());
    auto rollouts =
        generator_->generate(requests, sampling_policy(), &generation, [&](int64_t finished, int64_t tokens) {
            return !progress ||
                   progress(Phase::Rollout, double(finished) / total, std::to_string(tokens) + " tokens");
        });
    if (!rollouts) return rollouts.error();
    generator_->release(); // the cache's memory is the training pass's until the next step
    for (size_t i = 0; i < sequences.size(); ++i) sequences[i].rollout = std::move((*rollouts)[i]);
    return sequences;
}

Result<std::vector<Sequence>>
Trainer::given_answers(const std::vector<std::shared_ptr<const teacher::PreparedPrompt>>& prompts,
                       int64_t step) const {
    std::vector<Sequence> sequences;
    for (const auto& prompt : prompts) {
        Sequence sequence{prompt, {}};
        sequence.rollout.request = {prompt->student_ids, step, prompt->index, 0, 0};
        sequence.rollout.ids = prompt->target_ids;
        sequence.rollout.finish = rollout::Finish::Eos;
        sequences.push_back(std::move(sequence));
    }
    return sequences;
}

} // namespace stillroom::train
