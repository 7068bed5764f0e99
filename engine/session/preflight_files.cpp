// SPDX-License-Identifier: GPL-3.0-or-later
// PF01, PF02, PF03, PF23: the run's folder, the device, the files of the models, how fast the record is
// written.
#include "base/files.h"
#include "base/hash.h"
#include "base/strings.h"
#include "formats/check_weights.h"
#include "formats/gguf.h"
#include "kernels/device.h"
#include "kernels/nvml.h"
#include "model/model.h"
#include "record/store.h"
#include "session/preflight_checks.h"

#include <algorithm>
#include <chrono>
#include <unistd.h>

namespace stillroom::session {

namespace fs = std::filesystem;

namespace {

// Bytes of a rollout's token in the store (ui.md 4.1), and of its top-16 record where that is kept.
constexpr double token_bytes = 20, top16_bytes = 260;
constexpr double top16_rollouts = 9; // of a step, by the policy

double rollouts_of_a_step(const formats::Recipe& recipe) {
    return double(recipe.rollout.prompts_per_step * recipe.rollout.samples_per_prompt);
}

// What a step writes if every answer is as long as it may be.
double record_bytes_of_a_step(const formats::Recipe& recipe) {
    if (!recipe.record.rollouts) return 4096;
    const double rollouts = rollouts_of_a_step(recipe), length = double(recipe.rollout.max_new);
    const double kept = recipe.record.top16 ? std::min(top16_rollouts, rollouts) : 0;
    return 4096 + rollouts * length * token_bytes + kept * length * top16_bytes;
}

struct DiskForecast {
    double checkpoint = 0, checkpoints = 0, record = 0, exported = 0;
    double total() const { return checkpoint * checkpoints + record + exported; }
};

Result<DiskForecast> disk_forecast(const Subject& subject) {
    const auto memory = memory_forecast(subject.request);
    if (!memory) return memory.error();
    const formats::Recipe& recipe = subject.recipe;
    DiskForecast forecast;
    // The weights (merged, with LoRA), and masters and both moments in fp32: 12 bytes of the 4 that a
    // gradient has.
    forecast.checkpoint =
        memory->weights + 3 * memory->gradients + (recipe.teacher.kind == "self_ema" ? memory->gradients : 0);
    const int64_t saved = recipe.checkpoint.every > 0 ? recipe.run.steps / recipe.checkpoint.every + 1 : 1;
    // One more than is kept stands while a new one is written.
    forecast.checkpoints =
        double(std::min(saved, recipe.checkpoint.keep_last + recipe.checkpoint.keep_best + 1));
    forecast.record = std::min(record_bytes_of_a_step(recipe) * double(recipe.run.steps),
                               recipe.record.byte_budget > 0 ? double(recipe.record.byte_budget) : 1e300);
    if (recipe.checkpoint.export_at_end) forecast.exported = memory->weights;
    return forecast;
}

// The folder itself or the nearest one above it that exists.
fs::path existing(fs::path folder) {
    std::error_code code;
    folder = fs::absolute(folder, code);
    while (!fs::exists(folder, code) && folder.has_relative_path()) folder = folder.parent_path();
    return folder;
}

// A name beside the run that nothing else has.
fs::path probe_beside(const fs::path& run) {
    return existing(run.parent_path()) / (".stillroom-probe-" + std::to_string(getpid()));
}

} // namespace

Outcome check_folder(const Subject& subject) {
    const fs::path& run = subject.request.run;
    if (run.empty()) return skip("no run folder chosen yet");
    std::error_code code;
    if (fs::exists(run, code) && !(fs::is_directory(run, code) && fs::is_empty(run, code))) {
        return fail("Folder exists and is not empty: " + run.string(),
                    {{"choose another folder, or resume the run that is there", "", ""}});
    }
    const fs::path folder = existing(run.parent_path());
    if (!fs::is_directory(folder, code)) return fail(folder.string() + " is no folder");
    const fs::path probe = probe_beside(run);
    const auto written = [&]() -> Result<void> {
        auto file = FileWriter::create(probe);
        if (!file) return file.error();
        if (auto bytes = file->write("probe", 5); !bytes) return bytes;
        return file->finish(); // with fsync
    }();
    fs::remove(probe, code);
    if (!written)
        return fail("cannot write below " + folder.string() + ": " + written.error().message(),
                    {{"choose a folder that can be written to", "", ""}});
    const auto space = fs::space(folder, code);
    if (code) return fail(folder.string() + ": " + code.message());
    const std::string free = bytes_text(double(space.available)) + " free";
    const auto needed = disk_forecast(subject);
    if (!needed)
        return warn("writable, fsync works, " + free + "; need unknown: " + needed.error().message());
    const std::string parts = "Needs " + bytes_text(needed->total()) + " (" +
                              number_text(needed->checkpoints) + " checkpoints of " +
                              bytes_text(needed->checkpoint) + ", record at most " +
                              bytes_text(needed->record) + "), " + free;
    constexpr double margin = 1.1;
    if (double(space.available) >= margin * needed->total()) return pass(parts + "; writable, fsync works");
    return fail(parts + "; 10 % more than the need is expected",
                {{"choose a disk with more room", "", ""},
                 {"keep less of the rollouts", "record.byte_budget",
                  std::to_string(int64_t(std::max(1e6, double(space.available) / 4)))},
                 {"keep fewer checkpoints", "checkpoint.keep_last", "1"}});
}

Outcome check_device(const Subject& subject) {
    const PreflightRequest& request = subject.request;
    const auto options = model::load_options(
        request.device, request.dtype == "auto" ? subject.recipe.student.dtype : request.dtype);
    if (!options) return fail(options.error());
    if (!options->device.is_cuda()) return skip("runs on the CPU");
    const auto memory = kernels::device_memory(options->device);
    const std::string free =
        bytes_text(double(memory.free)) + " of " + bytes_text(double(memory.capacity)) + " free";
    const auto forecast = memory_forecast(request);
    if (forecast && forecast->peak > double(memory.free)) {
        return fail(free + ", " + bytes_text(forecast->peak) + " forecast",
                    {{"end what else uses the GPU", "", ""},
                     {"smaller micro-batches", "optimizer.micro_tokens",
                      std::to_string(subject.recipe.optimizer.micro_tokens / 2)}});
    }
    const auto others =
        kernels::other_gpu_processes(options->device.has_index() ? options->device.index() : 0);
    if (!others) return pass(free + "; other processes unknown: " + others.error().message());
    if (others->empty()) return pass(free + ", no other process on it");
    std::vector<std::string> names;
    for (const kernels::GpuProcess& process : *others)
        names.push_back("pid " + std::to_string(process.pid) + " " + bytes_text(double(process.bytes)));
    return warn(free + "; shared with " + join(names, ", ") + ": timings will be confounded");
}

Outcome check_model_files(const Subject& subject) {
    std::vector<std::string> evidence;
    for (const ModelFiles* model :
         {&subject.models.student, subject.models.teacher ? &*subject.models.teacher : nullptr,
          subject.models.base ? &*subject.models.base : nullptr}) {
        if (!model) continue;
        const auto refused = [&](const Error& error) {
            Outcome outcome = fail(error);
            outcome.evidence = model->role + ": " + outcome.evidence;
            outcome.remedies.push_back({"choose another " + model->role, model->key, ""});
            return outcome;
        };
        if (model->config_fault) return refused(*model->config_fault);
        const bool fresh = model == &subject.models.student && subject.recipe.student.init == "random";
        std::string line = model->role + " " + formats::to_string(model->config->family) + ", " +
                           counted(model->config->layers, "layer") + ", hidden " +
                           std::to_string(model->config->hidden) + ", vocabulary " +
                           std::to_string(model->config->vocab);
        std::vector<fs::path> files;
        if (fresh) {
            line += ", fresh weights";
        } else if (fs::is_directory(model->path)) {
            const auto weights = formats::WeightFiles::open(model->path);
            if (!weights) return refused(weights.error());
            if (auto fits = formats::check_weights(*weights, *model->config, model->path.string()); !fits)
                return refused(fits.error());
            files = weights->files();
        } else {
            const auto file = formats::Gguf::open(model->path);
            if (!file) return refused(file.error());
            if (auto fits = formats::check_model(*file, *model->config); !fits) return refused(fits.error());
            files = {model->path};
        }
        for (const fs::path& file : files) {
            const auto hash = sha256_of_file(file);
            if (!hash) return refused(hash.error());
            line += ", " + file.filename().string() + " " + bytes_text(double(fs::file_size(file))) +
                    " sha256 " + hash->substr(0, 12);
        }
        evidence.push_back(std::move(line));
    }
    return pass(join(evidence, "; "));
}

Outcome check_recorder(const Subject& subject) {
    const formats::Recipe& recipe = subject.recipe;
    if (subject.request.run.empty()) return skip("no run folder chosen yet");
    const fs::path probe = probe_beside(subject.request.run);
    std::error_code code;
    fs::create_directory(probe, code);
    if (code) return fail(probe.string() + ": " + code.message());
    struct Removed {
        const fs::path& folder;
        ~Removed() {
            std::error_code ignored;
            fs::remove_all(folder, ignored);
        }
    } removed{probe};

    record::RolloutRecord rollout;
    const size_t length = size_t(std::clamp<int64_t>(recipe.rollout.max_new, 1, 4096));
    rollout.tokens.ids.assign(length, 1);
    for (auto* values :
         {&rollout.tokens.student_logprob, &rollout.tokens.teacher_logprob, &rollout.tokens.student_entropy,
          &rollout.tokens.teacher_entropy, &rollout.tokens.kl})
        values->assign(length, 0.5f);
    auto store = record::RunStore::create(probe, {"probe", "", "stillroom", 1, {}});
    if (!store) return fail(store.error());
    const auto started = std::chrono::steady_clock::now();
    const auto passed = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    };
    // At most 2 s; a fast disk has shown itself after 64 MiB.
    double written = 0;
    for (int64_t step = 1; passed() < 2 && written < 64.0 * (1 << 20); ++step) {
        std::vector<record::Record> group{record::StepRecord{step, 0, 0, 0, {{"loss", 1}}, {}}};
        rollout.step = step;
        const size_t count = std::max<size_t>(1, (size_t(1) << 20) / (length * size_t(token_bytes)));
        for (size_t i = 0; i < count; ++i) {
            rollout.sample = int64_t(i);
            group.emplace_back(rollout);
        }
        if (auto appended = store->append(group); !appended) return fail(appended.error());
        written += double(count) * double(length) * token_bytes;
    }
    const double rate = written / std::max(1e-6, passed());
    // Faster than any student of this program's size answers on one GPU.
    constexpr double tokens_per_second = 50'000;
    const double step = record_bytes_of_a_step(recipe);
    const double per_token = step / (rollouts_of_a_step(recipe) * double(recipe.rollout.max_new));
    const double needed = tokens_per_second * per_token;
    std::string budget = "no budget set";
    if (recipe.record.byte_budget > 0) {
        const double bytes = double(recipe.record.byte_budget);
        budget = "the budget of " + bytes_text(bytes) + " lasts " + number_text(bytes / step) +
                 " steps of full length, " + number_text(bytes / (1000 * per_token) / 86400) +
                 " days at 1,000 tokens/s";
    }
    const std::string evidence = "wrote " + bytes_text(rate) + "/s, at most " + bytes_text(needed) +
                                 "/s is needed (" + bytes_text(step) + " a step at most); " + budget;
    if (rate >= needed) return pass(evidence);
    return warn(evidence, {{"choose a faster disk", "", ""},
                           {"record no top-16 of rollouts", "record.top16", "false"}});
}

} // namespace stillroom::session
