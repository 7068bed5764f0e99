// SPDX-License-Identifier: GPL-3.0-or-later
// Findings as such; the window links this without the engine.
#include "session/preflight.h"

#include <nlohmann/json.hpp>

namespace stillroom::session {

std::string to_string(Verdict verdict) {
    switch (verdict) {
    case Verdict::Pass:
        return "PASS";
    case Verdict::Warn:
        return "WARN";
    case Verdict::Fail:
        return "FAIL";
    case Verdict::Skip:
        return "SKIP";
    }
    return "?";
}

nlohmann::json to_json(const Finding& finding) {
    auto remedies = nlohmann::json::array();
    for (const Remedy& remedy : finding.remedies) {
        nlohmann::json entry{{"text", remedy.text}};
        if (!remedy.key.empty()) entry.update({{"key", remedy.key}, {"value", remedy.value}});
        remedies.push_back(std::move(entry));
    }
    nlohmann::json all{{"id", finding.id},
                       {"title", finding.title},
                       {"verdict", to_string(finding.verdict)},
                       {"evidence", finding.evidence},
                       {"why", finding.why},
                       {"remedies", std::move(remedies)},
                       {"seconds", finding.seconds},
                       {"may_be_overridden", finding.may_be_overridden}};
    if (finding.step_seconds > 0) all["step_seconds"] = finding.step_seconds;
    return all;
}

bool blocks_start(std::span<const Finding> findings) {
    for (const Finding& finding : findings) {
        if (finding.verdict == Verdict::Fail && !finding.may_be_overridden) return true;
    }
    return false;
}

} // namespace stillroom::session
