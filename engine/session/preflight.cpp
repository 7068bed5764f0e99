// SPDX-License-Identifier: GPL-3.0-or-later
// The list of checks, in the order in which they run.
#include "session/preflight_models.h"

namespace stillroom::session {

namespace {

struct LightCheck {
    const char *id, *title, *why;
    Outcome (*check)(const Subject&);
    bool may_be_overridden = false;
};

constexpr LightCheck light_checks[] = {
    {"PF01", "Folder, disk", "a run that cannot save is lost", check_folder},
    {"PF02", "GPU", "a shared or full GPU fails late, or gives timings that mean nothing", check_device},
    {"PF03", "Model files", "weights that do not fit their config compute something else", check_model_files},
    {"PF04", "Tokenizers agree", "the teacher scores the student's token ids", check_tokenizers},
    {"PF05", "EOS, BOS, pad", "the row of the end token is where length is learnt", check_special_tokens},
    {"PF06", "Chat template", "prompts that end differently make the first rows compare different things",
     check_template},
    {"PF07", "Teacher prompt", "a context that is cut or misplaced misleads the teacher",
     check_teacher_prompts},
    {"PF17", "Data", "what occurs twice counts twice; what is also evaluated flatters the score", check_data},
    {"PF18", "Verifier", "a verdict that is wrong makes every score wrong", check_verifier},
    {"PF12", "Objective", "a target that is no distribution, or a wrong gradient, trains something else",
     check_objective, true},
    {"PF19", "Schedule", "the rate and its schedule explain most failed reproductions", check_schedule},
    {"PF20", "Memory", "running out of memory at the longest batch loses the steps since the last checkpoint",
     check_memory},
    {"PF22", "Evaluation budget", "a gain smaller than what can be resolved is no result",
     check_evaluation_budget},
    {"PF23", "Recorder", "a disk slower than the run drops token records", check_recorder},
};

constexpr std::pair<const char*, const char*> model_checks[] = {
    {"PF08", "Teacher identity"},
    {"PF09", "Alignment"},
    {"PF10", "Zero test"},
    {"PF13", "Micro-batches"},
    {"PF14", "Sampler = trainer"},
    {"PF11", "Learning signal"},
    {"PF15", "Seed"},
    {"PF16", "Length cap"},
    {"PF21", "Time"},
};

Result<std::unique_ptr<train::Trainer>> trainer_for(const PreflightRequest& request) {
    formats::Recipe recipe = request.recipe;
    recipe.teacher.score_without_answer = 1; // the gain of every dry rollout is wanted
    return train::Trainer::create(recipe, request.device, request.dtype, [](const std::string&) {});
}

} // namespace

std::vector<std::pair<std::string, std::string>> preflight_checks() {
    std::vector<std::pair<std::string, std::string>> checks;
    for (const LightCheck& check : light_checks) checks.emplace_back(check.id, check.title);
    for (const auto& [id, title] : model_checks) checks.emplace_back(id, title);
    return checks;
}

Result<std::vector<Finding>> preflight(const PreflightRequest& request,
                                       const std::function<bool(const Finding&)>& each) try {
    if (request.threads > 0) torch::set_num_threads(request.threads);
    std::vector<Finding> findings;
    bool wanted = true;
    const GoOn go_on = [&] { return wanted && !(request.cancel && *request.cancel); };
    const auto give = [&](Finding finding) {
        findings.push_back(std::move(finding));
        if (each && !each(findings.back())) wanted = false;
    };
    {
        const Subject subject = Subject::of(request);
        for (const LightCheck& check : light_checks) {
            if (!go_on()) return findings;
            auto finding = found(check.id, check.title, check.why, [&] { return check.check(subject); });
            finding.may_be_overridden = check.may_be_overridden;
            give(std::move(finding));
        }
    }
    if (!go_on()) return findings;
    std::unique_ptr<train::Trainer> trainer;
    const bool failed_before = std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
        return finding.verdict == Verdict::Fail;
    });
    auto identity = found("PF08", "Teacher identity",
                          "a teacher that is the student, or is damaged, teaches nothing", [&]() -> Outcome {
                              auto made = trainer_for(request);
                              if (!made && failed_before)
                                  return skip("the models are not ready: " + made.error().message());
                              if (!made) return fail(made.error());
                              trainer = std::move(*made);
                              return check_teacher_identity(*trainer);
                          });
    give(std::move(identity));
    if (!trainer) {
        for (const auto& [id, title] : model_checks) {
            if (go_on() && std::string_view(id) != "PF08")
                give(found(id, title, "", [] { return skip("the models are not ready"); }));
        }
        return findings;
    }
    if (!go_on()) return findings;
    launch_checks(*trainer, 8, go_on, [&](const Finding& finding) { give(finding); });
    if (!go_on()) return findings;

    Result<DryRun> dry = Error{"not made"};
    const auto on_dry_run = [&](Outcome (*check)(train::Trainer&, const DryRun&)) {
        return [&, check] { return dry ? check(*trainer, *dry) : skip("see PF11"); };
    };
    give(found("PF11", "Learning signal", "without a difference to the teacher nothing is learnt",
               [&]() -> Outcome {
                   dry = dry_run(*trainer, go_on);
                   if (dry) return check_signal(*trainer, *dry);
                   return go_on() ? fail(dry.error()) : skip("cancelled");
               }));
    const std::pair<const char*, std::function<Outcome()>> rest[] = {
        {"a run that cannot be repeated cannot be compared", [&] { return check_seed(*trainer, go_on); }},
        {"cut answers have no end row: nothing teaches stopping", on_dry_run(check_cap)},
        {"the deadline ends the run, ready or not", on_dry_run(check_time)},
    };
    for (size_t i = 0; i < std::size(rest) && go_on(); ++i) {
        const auto& [id, title] = model_checks[std::size(model_checks) - std::size(rest) + i];
        give(found(id, title, rest[i].first, rest[i].second));
    }
    return findings;
} catch (const std::exception& error) {
    return Error{error.what(), "preflight"};
}

} // namespace stillroom::session
