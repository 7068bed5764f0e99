// SPDX-License-Identifier: GPL-3.0-or-later
// Small runs of the sample for the tests of the session.
#pragma once

#include "base/hash.h"
#include "formats/recipe.h"
#include "record/queries.h"
#include "session/session.h"
#include "tests/support/golden.h"

#include <cmath>
#include <cstdlib>
#include <functional>
#include <gtest/gtest.h>
#include <vector>

namespace stillroom::test {

/// The shipped recipe `name`, cut to 4 prompts a step and 5 held-out questions.
inline formats::Recipe small_recipe(const std::string& name, const std::vector<std::string>& settings = {}) {
    setenv("STILLROOM_RESOURCES", (source_folder() / "resources").c_str(), 1);
    const auto recipe = formats::read_recipe(formats::find_recipe(name).value()).value();
    std::vector<std::string> all{"run.steps=4",        "rollout.prompts_per_step=4",
                                 "rollout.max_new=48", "evaluation.limit=5",
                                 "evaluation.every=0", "evaluation.at_start=false",
                                 "checkpoint.every=0", "checkpoint.export_at_end=false"};
    all.insert(all.end(), settings.begin(), settings.end());
    return formats::with_settings(recipe, all).value();
}

struct Outcome {
    Result<void> result;
    std::vector<session::Event> events;

    template <typename T>
    std::vector<T> all() const {
        std::vector<T> found;
        for (const auto& event : events) {
            if (const auto* one = std::get_if<T>(&event)) found.push_back(*one);
        }
        return found;
    }
    bool mentions(const std::string& text) const {
        for (const auto& notice : all<session::Notice>()) {
            if (notice.text.find(text) != std::string::npos) return true;
        }
        return false;
    }
};

/// Runs to the end on the CPU. `on_event` may send commands.
inline Outcome run(const formats::Recipe& recipe, const std::filesystem::path& folder, bool resume = false,
                   const std::function<void(session::Session&, const session::Event&)>& on_event = {}) {
    session::Session session;
    session::RunRequest request;
    request.recipe = recipe;
    request.run = folder;
    request.resume = resume;
    request.device = "cpu";
    request.threads = 1;
    session.start(std::move(request));
    Outcome outcome;
    while (!session.over()) {
        auto event = session.next_event(std::chrono::milliseconds(200));
        if (!event) continue;
        if (on_event) on_event(session, *event);
        outcome.events.push_back(std::move(*event));
    }
    outcome.result = session.wait();
    return outcome;
}

inline std::string weights_hash(const std::filesystem::path& run, int64_t step) {
    char name[64];
    std::snprintf(name, sizeof name, "checkpoints/step-%06d/model.safetensors", int(step));
    return sha256_of_file(run / name).value();
}

/// Figures of time, memory and disk differ from run to run; all others must not.
inline bool is_reproducible(const std::string& metric) {
    for (const char* prefix : {"time_", "mem_", "disk_", "checkpoint_", "recorder_"}) {
        if (metric.starts_with(prefix)) return false;
    }
    return metric.find("second") == std::string::npos; // tokens_per_second_*, proxy.eval_seconds
}

/// Every reproducible metric of every step, "tag step" -> value.
inline std::map<std::string, double> metrics_of(const std::filesystem::path& run) {
    const auto reader = record::RunReader::open(run).value();
    std::map<std::string, double> values;
    const auto tags = reader.metrics().value();
    for (const auto& tag : tags) {
        if (!is_reproducible(tag.tag)) continue;
        const auto series = reader.series(tag.tag).value();
        for (const auto& point : series) {
            if (!std::isnan(point.value)) values[tag.tag + " " + std::to_string(point.step)] = point.value;
        }
    }
    return values;
}

} // namespace stillroom::test
