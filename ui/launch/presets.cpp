// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/launch/presets.h"

#include <algorithm>
#include <array>

namespace stillroom::ui {

namespace {

constexpr std::array first_ones{"sample-opd",        "sample-opsd",
                                "opd-math-baseline", "opd-math-dense",
                                "opd-math-forward",  "opsd-paper",
                                "opsd-paper-older",  "opsd-answer-twice",
                                "smollm2-gsm8k-opd", "thunlp-student-topk",
                                "tinker-opd",        "nemo-mixed",
                                "gopd-extrapolate",  "sdft"};

size_t place_of(const formats::Recipe& recipe) {
    const auto found = std::find(first_ones.begin(), first_ones.end(), recipe.file.stem().string());
    return size_t(found - first_ones.begin());
}

QString short_name(const std::string& model) {
    return QString::fromStdString(std::filesystem::path(model).filename().string());
}

} // namespace

std::vector<formats::Recipe> read_presets() {
    std::vector<formats::Recipe> presets;
    for (const auto& file : formats::shipped_recipes())
        if (auto recipe = formats::read_recipe(file)) presets.push_back(std::move(*recipe));
    std::stable_sort(presets.begin(), presets.end(),
                     [](const auto& a, const auto& b) { return place_of(a) < place_of(b); });
    return presets;
}

QString one_line(const formats::Recipe& recipe) {
    const auto& kind = recipe.teacher.kind;
    const QString teacher = kind == "separate"      ? "from " + short_name(recipe.teacher.model)
                            : kind == "self_frozen" ? QString("teaches itself, frozen")
                            : kind == "self_ema"    ? QString("teaches itself, averaged")
                            : kind == "self_live"   ? QString("teaches itself, live")
                                                    : QString("learns given solutions");
    return QString("%1 %2, %3, %4 x %5, lr %6")
        .arg(short_name(recipe.student.model), teacher, QString::fromStdString(recipe.objective.name))
        .arg(recipe.rollout.prompts_per_step)
        .arg(recipe.rollout.samples_per_prompt)
        .arg(recipe.optimizer.lr);
}

} // namespace stillroom::ui
