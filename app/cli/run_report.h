// SPDX-License-Identifier: GPL-3.0-or-later
// A run's events as a person reads them on a terminal: one line a step, what was evaluated and saved, before
// and after.
#pragma once

#include "app/cli/command.h"
#include "session/session.h"

#include <iosfwd>
#include <map>

namespace stillroom::cli {

class RunReport {
public:
    RunReport(std::ostream& out, std::ostream& err, const formats::Recipe& recipe, bool quiet);
    void show(const session::Event& event);
    /// Before and after, and where the run lies.
    void finish(const std::filesystem::path& run);

private:
    void show_step(const record::StepRecord& step);
    void show_evaluation(const record::EvaluationRecord& evaluation);

    std::ostream &out_, &err_;
    formats::Recipe recipe_;
    bool quiet_, terminal_, bar_drawn_ = false;
    std::map<std::string, std::pair<record::EvaluationRecord, record::EvaluationRecord>>
        evaluations_; // by tag: first, last
    record::Metrics first_step_, last_step_;
};

} // namespace stillroom::cli
