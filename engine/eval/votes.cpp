// SPDX-License-Identifier: GPL-3.0-or-later
#include "eval/votes.h"

#include "maths/verdict.h"

#include <algorithm>
#include <map>
#include <string>

namespace stillroom::eval {

stats::Votes votes_of(const stats::Question& question) {
    constexpr size_t most_compared = 64;
    stats::Votes votes;
    std::map<std::string, int64_t> by_text;
    for (const stats::Sample& sample : question.samples) {
        if (sample.outcome == stats::Outcome::Right) {
            ++votes.gold;
        } else if (sample.answer) {
            ++by_text[*sample.answer];
        } else {
            ++votes.silent;
        }
    }
    std::vector<std::string> representatives;
    for (const auto& [answer, count] : by_text) {
        size_t group = representatives.size();
        for (size_t i = 0; i < std::min(representatives.size(), most_compared); ++i) {
            if (maths::compare_answers(answer, representatives[i]).verdict != maths::Verdict::Equal) continue;
            group = i;
            break;
        }
        if (group == representatives.size()) {
            representatives.push_back(answer);
            votes.others.push_back(0);
        }
        votes.others[group] += count;
    }
    return votes;
}

} // namespace stillroom::eval
