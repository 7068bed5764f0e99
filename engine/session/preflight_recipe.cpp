// SPDX-License-Identifier: GPL-3.0-or-later
// PF12, PF19, PF20: the objective on a toy, the schedule against its preset, the memory forecast.
#include "base/philox.h"
#include "base/strings.h"
#include "kernels/device.h"
#include "model/layout.h"
#include "objective/rows.h"
#include "rollout/cache.h"
#include "session/preflight_checks.h"
#include "train/schedule.h"

#include <algorithm>
#include <cmath>

namespace stillroom::session {

namespace {

// Rows on which every objective is defined, in fp64: a student, a teacher near it, what was sampled and
// scored.
objective::RowInputs toy_rows(const objective::Spec& spec) {
    constexpr int64_t N = 4, V = 24;
    PhiloxStream random(12, 0);
    const auto drawn = [&](double size) {
        std::vector<double> values;
        for (int64_t i = 0; i < N * V; ++i) values.push_back(size * (2 * random.uniform() - 1));
        return torch::tensor(values, torch::kFloat64).view({N, V});
    };
    objective::RowInputs rows;
    rows.student_logits = drawn(2);
    rows.teacher_logits = rows.student_logits + drawn(1);
    rows.sampled = torch::tensor({3, 0, 23, 11}, torch::kInt64);
    const auto& options = spec.options;
    const auto student = (rows.student_logits / options.student_temperature).log_softmax(-1);
    const auto teacher = (rows.teacher_logits / options.teacher_temperature).log_softmax(-1);
    const auto of_sample = [&](const torch::Tensor& log_probs) {
        return log_probs.gather(-1, rows.sampled.unsqueeze(-1)).squeeze(-1);
    };
    // The policy that sampled, a little off: ratios differ from 1 and stay within a PPO clip.
    const auto old = (student + drawn(0.02)).log_softmax(-1);
    rows.old_logprob = of_sample(old);
    rows.teacher_logprob = of_sample(teacher);
    rows.base_logprob = of_sample((student + drawn(0.5)).log_softmax(-1));
    rows.student_topk_ids = std::get<1>(objective::best(old, std::min<int64_t>(options.top_k, V)));
    rows.old_topk_logprob = old.gather(-1, rows.student_topk_ids);
    rows.teacher_topk_logprob = teacher.gather(-1, rows.student_topk_ids);
    rows.weight = torch::ones({N}, torch::kFloat64);
    rows.scale = torch::full({N}, 1.0 / N, torch::kFloat64);
    rows.real_vocab = V;
    return rows;
}

objective::Spec toy_spec(const objective::Spec& spec) {
    objective::Spec toy = spec;
    toy.options.top_k = std::min<int64_t>(spec.options.top_k, 8); // of 24, so that there is a tail
    return toy;
}

double loss(const objective::Spec& spec, const objective::RowInputs& rows) {
    return (objective::evaluate_rows(spec, rows).value * rows.scale).sum().item<double>();
}

// What the trust region scales a row with is a constant to its gradient: the loss with that held.
double loss_in_trust_region(const objective::Spec& spec, const objective::RowInputs& rows,
                            const torch::Tensor& held) {
    objective::Spec free = spec;
    free.clamp = objective::Clamp::None;
    free.options.clamp = {};
    return (objective::evaluate_rows(free, rows).value * held * rows.scale).sum().item<double>();
}

// The largest difference of the gradient to central differences of the loss, over the gradient's largest
// entry.
double gradient_error(const objective::Spec& spec, const objective::RowInputs& rows) {
    const auto exact = objective::evaluate_rows(spec, rows);
    const bool region = spec.clamp == objective::Clamp::TrustRegion;
    torch::Tensor held;
    if (region) held = exact.value / exact.unclamped;
    objective::RowInputs moved = rows;
    moved.student_logits = rows.student_logits.clone();
    auto* logits = moved.student_logits.data_ptr<double>();
    const auto at = [&] { return region ? loss_in_trust_region(spec, moved, held) : loss(spec, moved); };
    constexpr double step = 1e-5;
    auto differences = torch::empty_like(moved.student_logits);
    for (int64_t i = 0; i < moved.student_logits.numel(); ++i) {
        const double middle = logits[i];
        logits[i] = middle + step;
        const double above = at();
        logits[i] = middle - step;
        const double below = at();
        logits[i] = middle;
        differences.data_ptr<double>()[i] = (above - below) / (2 * step);
    }
    const double largest = exact.gradient.abs().max().item<double>();
    return (exact.gradient - differences).abs().max().item<double>() / std::max(largest, 1e-12);
}

// The range of rates in shipped recipes of other people's that train as this one does.
std::optional<std::pair<double, double>> published_rates(const formats::Recipe& recipe) {
    std::optional<std::pair<double, double>> range;
    for (const auto& file : formats::shipped_recipes()) {
        const auto other = formats::read_recipe(file);
        if (!other || other->run.name.starts_with("sample-") || other->objective.name == "sft" ||
            other->student.trainable != recipe.student.trainable)
            continue;
        const double lr = other->optimizer.lr;
        if (!range) range = {lr, lr};
        range = {std::min(range->first, lr), std::max(range->second, lr)};
    }
    return range;
}

int64_t rows_of_a_step(const formats::Recipe& recipe) {
    return recipe.rollout.prompts_per_step * recipe.rollout.samples_per_prompt;
}

// Tokens of the longest sequence that the recipe lets through.
int64_t longest_sequence(const formats::Recipe& recipe, int64_t context, int64_t prompt_limit) {
    const int64_t room = std::max<int64_t>(1, context - recipe.rollout.max_new);
    return (prompt_limit > 0 ? std::min(prompt_limit, room) : std::min<int64_t>(room, 1024)) +
           recipe.rollout.max_new;
}

} // namespace

Outcome check_objective(const Subject& subject) {
    std::vector<std::string> warnings;
    const auto refused = [](const Error& error) {
        Outcome outcome = fail(error);
        if (error.what.find("not normalised") != std::string::npos) {
            outcome.remedies = {{"use the normalised rule", "objective.name", "topk_uniform_tail"},
                                {"allow it, with a reason", "objective.allow_unnormalised", "true"},
                                {"the reason", "objective.allow_reason", ""}};
        }
        return outcome;
    };
    if (auto checked = formats::check_recipe(subject.recipe, warnings); !checked)
        return refused(checked.error());
    const auto spec = objective::Spec::of(subject.recipe.objective);
    if (!spec) return refused(spec.error());
    const objective::Spec toy = toy_spec(*spec);
    const auto rows = toy_rows(toy);
    const auto result = objective::evaluate_rows(toy, rows);
    std::string evidence = to_string(spec->kind) + ": ";
    if (result.target_sum.defined()) {
        const double error = (result.target_sum - 1).abs().max().item<double>();
        evidence += "target sums to 1 within " + number_text(error, 2) + ", ";
        if (!(error < 1e-6)) return fail(evidence + "1e-6 is expected");
    }
    const double error = gradient_error(toy, rows);
    evidence += "gradient on a toy equals central differences of the loss within " + number_text(error, 2);
    if (!(error < 1e-6)) return fail(evidence + ", 1e-6 is expected");
    if (subject.recipe.objective.allow_unnormalised) {
        return warn(evidence + "; not normalised, allowed: " + subject.recipe.objective.allow_reason);
    }
    return pass(evidence);
}

Outcome check_schedule(const Subject& subject) {
    const formats::OptimizerSection& own = subject.recipe.optimizer;
    const int64_t steps = subject.recipe.run.steps;
    const auto rate = [&](int64_t step) { return number_text(train::learning_rate(own, step, steps)); };
    std::string evidence = "lr " + number_text(own.lr) + " " + own.schedule + ": step 1 " + rate(1) +
                           ", half-way " + rate(std::max<int64_t>(1, steps / 2)) + ", step " +
                           std::to_string(steps) + " " + rate(steps);
    const auto range = published_rates(subject.recipe);
    const std::string published =
        range ? "published range " + number_text(range->first) + " to " + number_text(range->second) : "";
    std::vector<std::string> doubts;
    std::vector<Remedy> remedies;
    const auto file = formats::resources_folder() / "recipes" / (subject.recipe.preset + ".toml");
    if (const auto preset = formats::read_recipe(file); !subject.recipe.preset.empty() && preset) {
        const auto& other = preset->optimizer;
        evidence +=
            "; preset " + subject.recipe.preset + ": lr " + number_text(other.lr) + " " + other.schedule;
        if (own.lr != other.lr) {
            doubts.push_back("lr " + number_text(own.lr) + " is " + number_text(own.lr / other.lr, 2) +
                             "x the preset" + (published.empty() ? "" : "; " + published));
            remedies.push_back({"the preset's rate", "optimizer.lr", number_text(other.lr, 17)});
        }
        if (own.schedule != other.schedule) {
            doubts.push_back("schedule " + own.schedule + " where the preset has " + other.schedule);
            remedies.push_back({"the preset's schedule", "optimizer.schedule", other.schedule});
        }
    } else if (range && !subject.is_sft() && (own.lr < range->first || own.lr > range->second)) {
        doubts.push_back("lr " + number_text(own.lr) + " is outside the " + published);
    }
    if (own.warmup >= steps)
        doubts.push_back("the warm-up of " + counted(own.warmup, "step") + " never ends");
    if (doubts.empty()) return pass(evidence);
    return warn(join(doubts, "; ") + "; " + evidence, remedies);
}

Result<MemoryForecast> memory_forecast(const PreflightRequest& request) try {
    const formats::Recipe& recipe = request.recipe;
    const auto options =
        model::load_options(request.device, request.dtype == "auto" ? recipe.student.dtype : request.dtype);
    if (!options) return options.error();
    const ModelSet models = models_of(recipe, /*with_tokenizers=*/false);
    const auto config_of = [](const ModelFiles& model) -> const formats::ModelConfig& {
        if (model.config_fault) throw ErrorException(*model.config_fault);
        return *model.config;
    };
    const auto parameters = [](const formats::ModelConfig& config) {
        return double(model::ParameterLayout::of(config).size);
    };
    const formats::ModelConfig& config = config_of(models.student);
    const double b = double(c10::elementSize(options->dtype)), P = parameters(config);
    const bool lora = recipe.student.trainable == "lora";
    const auto& pairs = recipe.student.lora;
    const double Q =
        lora ? double(model::lora_layout(config, {pairs.rank, pairs.alpha, pairs.targets}).size) : P;
    MemoryForecast forecast;
    forecast.weights = b * P + (lora ? b * Q : 0);
    forecast.optimiser = 8 * Q + (b < 4 ? 4 * Q : 0);
    forecast.gradients = 4 * Q;
    const std::string& kind = recipe.teacher.kind;
    if (models.teacher) forecast.teacher += b * parameters(config_of(*models.teacher));
    if (kind == "self_frozen" && !lora) forecast.teacher += b * P;
    if (kind == "self_ema") forecast.teacher += (4 + b) * Q;
    if (models.base) forecast.teacher += b * parameters(config_of(*models.base));

    const double d = double(config.hidden), i = double(config.intermediate), L = double(config.layers),
                 V = double(config.vocab), h = double(config.head_size);
    const double heads = double(config.heads + 2 * config.kv_heads) * h;
    const int64_t longest = longest_sequence(recipe, config.context, recipe.data.max_prompt);
    forecast.rows_of_a_step = rows_of_a_step(recipe);
    const double T =
        double(std::max(longest, std::min(recipe.optimizer.micro_tokens, forecast.rows_of_a_step * longest)));
    const double a = (24 + 6 * b) * d + (8 + 6 * b) * heads + 6 * b * i;
    forecast.activations = T * ((recipe.optimizer.recompute == "none" ? L : 1) * a + L * d * b);
    forecast.head = 16 * 4 * std::min(double(recipe.optimizer.head_rows), T) * V + (lora ? 0 : 4 * V * d);

    const auto memory = kernels::device_memory(options->device);
    forecast.available = double(options->device.is_cuda() ? memory.free : memory.capacity);
    const double fixed = forecast.weights + forecast.optimiser + forecast.gradients + forecast.teacher;
    const int64_t wanted = std::min(forecast.rows_of_a_step,
                                    recipe.rollout.batch_rows > 0 ? recipe.rollout.batch_rows : int64_t{256});
    const double token = double(rollout::PagedCache::bytes_per_token(config, options->dtype));
    const double row = double(longest + recipe.rollout.page_tokens);
    const double tokens =
        recipe.rollout.cache_tokens > 0
            ? double(recipe.rollout.cache_tokens)
            : std::min(double(wanted) * row, 0.6 * std::max(0.0, forecast.available - fixed) / token);
    forecast.cache = tokens * token;
    forecast.rows_at_once = std::min(wanted, int64_t(tokens / double(longest)));
    const double learn = forecast.activations + forecast.head;
    forecast.peak = fixed + std::max(learn, forecast.cache);
    forecast.peak_phase = learn >= forecast.cache ? "learn" : "rollout";
    return forecast;
} catch (const ErrorException& error) {
    return error.error();
}

Outcome check_memory(const Subject& subject) {
    for (const ModelFiles* model :
         {&subject.models.student, subject.models.teacher ? &*subject.models.teacher : nullptr,
          subject.models.base ? &*subject.models.base : nullptr}) {
        if (model && model->config_fault) return skip("the " + model->role + " cannot be read: see PF03");
    }
    const auto forecast = memory_forecast(subject.request);
    if (!forecast) return fail(forecast.error());
    const auto& rollout = subject.recipe.rollout;
    const std::string evidence =
        "forecast peak " + bytes_text(forecast->peak) + " in " + forecast->peak_phase + " of " +
        bytes_text(forecast->available) + " (estimated: weights " + bytes_text(forecast->weights) +
        ", optimiser " + bytes_text(forecast->optimiser) + ", gradients " + bytes_text(forecast->gradients) +
        ", teacher " + bytes_text(forecast->teacher) + ", activations " + bytes_text(forecast->activations) +
        ", head " + bytes_text(forecast->head) + ", cache " + bytes_text(forecast->cache) + ")";
    if (forecast->rows_at_once < 1)
        return fail(evidence + "; the cache does not hold one answer of " + std::to_string(rollout.max_new) +
                        " tokens",
                    {{"let the cache be as large as memory allows", "rollout.cache_tokens", "0"},
                     {"shorter answers", "rollout.max_new", std::to_string(rollout.max_new / 2)}});
    if (forecast->peak > forecast->available) {
        return fail(evidence,
                    {{"smaller micro-batches", "optimizer.micro_tokens",
                      std::to_string(std::max<int64_t>(1, subject.recipe.optimizer.micro_tokens / 2))},
                     {"compute layers again", "optimizer.recompute", "layer"},
                     {"fewer rows of logits at once", "optimizer.head_rows",
                      std::to_string(std::max<int64_t>(1, subject.recipe.optimizer.head_rows / 2))},
                     {"train low-rank pairs alone", "student.trainable", "lora"}});
    }
    const int64_t waves = (forecast->rows_of_a_step + forecast->rows_at_once - 1) / forecast->rows_at_once;
    return pass(evidence + "; " +
                (waves == 1 ? "all " + std::to_string(forecast->rows_of_a_step) + " answers of a step at once"
                            : "the answers of a step in " + std::to_string(waves) + " waves of " +
                                  std::to_string(forecast->rows_at_once)));
}

} // namespace stillroom::session
