// SPDX-License-Identifier: GPL-3.0-or-later
#include "record/run_summary.h"

#include "record/queries.h"

#include <algorithm>
#include <cmath>

namespace stillroom::record {

void judge(RunSummary& summary, double now) {
    const auto whole = checkpoints_on_disk(summary.folder);
    if (!whole.empty()) summary.resumable_from = whole.back();
    summary.liveness = Liveness::Ended;
    if (!is_live(summary.state)) return;
    const bool fresh = now - summary.heartbeat <= heartbeat_limit_seconds;
    switch (presence(summary.process)) {
    case Presence::Alive:
        summary.liveness = summary.process.pid == this_process().pid ? Liveness::Here
                           : fresh                                   ? Liveness::Elsewhere
                                                                     : Liveness::Unreachable;
        return;
    case Presence::Unknown: // another machine or container: its heartbeat is all that can be seen
        if (fresh) {
            summary.liveness = Liveness::Elsewhere;
            return;
        }
        break;
    case Presence::Gone:
        break;
    }
    summary.state = RunState::Interrupted;
}

std::string state_line(const RunSummary& summary) {
    if (!summary.fault.empty()) return "unreadable: " + summary.fault;
    std::string line = to_string(summary.state);
    const std::string step =
        std::to_string(summary.step) +
        (summary.steps_planned > 0 ? " of " + std::to_string(summary.steps_planned) : "");
    if (summary.state == RunState::Interrupted) {
        line += " at step " + step + " (last sign " + clock_text(summary.heartbeat) + ")";
    } else if (summary.liveness == Liveness::Ended) {
        line += " at step " + step + (summary.state_text.empty() ? "" : ": " + summary.state_text);
    } else {
        const auto age = std::to_string(std::max<int64_t>(0, std::llround(unix_time() - summary.heartbeat)));
        line += ", step " + step + ", process " + std::to_string(summary.process.pid) + ", last sign " + age +
                " s ago";
        if (summary.liveness == Liveness::Unreachable) line += ": it may be busy or stuck";
        return line;
    }
    if (summary.state != RunState::Finished) {
        line += summary.resumable_from
                    ? ", resumable from checkpoint " + std::to_string(*summary.resumable_from)
                    : ", no checkpoint to resume from";
    }
    return line;
}

std::vector<int64_t> checkpoints_on_disk(const std::filesystem::path& run) {
    std::vector<int64_t> steps;
    std::error_code fault;
    for (std::filesystem::directory_iterator it(run / "checkpoints", fault), end; !fault && it != end;
         it.increment(fault)) {
        const std::string name = it->path().filename().string();
        const std::string digits = name.starts_with("step-") ? name.substr(5) : "";
        if (digits.empty() || digits.size() > 18 ||
            digits.find_first_not_of("0123456789") != std::string::npos)
            continue;
        std::error_code unreadable;
        if (std::filesystem::exists(it->path() / "stillroom.json", unreadable))
            steps.push_back(std::stoll(digits));
    }
    std::sort(steps.begin(), steps.end());
    return steps;
}

std::vector<RunSummary> runs_in(const std::filesystem::path& folder) {
    std::vector<RunSummary> runs;
    std::error_code fault;
    for (std::filesystem::directory_iterator it(folder, fault), end; !fault && it != end;
         it.increment(fault)) {
        std::error_code unreadable;
        if (!std::filesystem::exists(it->path() / "run.sqlite", unreadable)) continue;
        const auto summary = [&]() -> Result<RunSummary> {
            auto reader = RunReader::open(it->path());
            if (!reader) return reader.error();
            return reader->summary();
        }();
        if (summary) {
            runs.push_back(*summary);
        } else {
            RunSummary broken;
            broken.folder = it->path();
            broken.name = it->path().filename().string();
            broken.fault = summary.error().message();
            runs.push_back(broken);
        }
    }
    std::stable_sort(runs.begin(), runs.end(), [](const RunSummary& a, const RunSummary& b) {
        return a.created != b.created ? a.created > b.created : a.name < b.name;
    });
    return runs;
}

} // namespace stillroom::record
