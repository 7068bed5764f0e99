// SPDX-License-Identifier: GPL-3.0-or-later
#include "stats/majority.h"

#include "base/ensure.h"
#include "base/philox.h"
#include "stats/estimate.h"
#include "stats/exact.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace stillroom::stats {

namespace {

/// Largest n whose binomials a double holds, and the most inner-loop turns that counting may take.
constexpr int64_t largest_counted = 1000;
constexpr double counting_budget = 1e8;

void check(const Votes& votes, int64_t k) {
    ensure(k >= 1 && k <= votes.samples(),
           "maj@" + std::to_string(k) + " of " + std::to_string(votes.samples()) + " samples");
}

double counting_cost(const Votes& votes, int64_t k) {
    const double widest = double(std::min(votes.gold, k));
    // For each winning count v: groups x (chosen so far <= k) x (ties <= k / v) x (votes of the group <= v).
    return widest * double(votes.others.size()) * double(k) * double(k);
}

/// Sum of the credits of all C(n, k) subsets.
/// For each number v of votes that the gold may win with, ways[t][s] counts the choices of s votes from the
/// wrong answers seen so far in which t of them have exactly v and none has more.
template <typename Number, typename Credit>
Credit summed_credit(const Votes& votes, int64_t k) {
    Credit total(0);
    for (int64_t v = 1; v <= std::min(votes.gold, k); ++v) {
        const int64_t room = k - v, most_ties = room / v;
        std::vector<std::vector<Number>> ways(size_t(most_ties + 1),
                                              std::vector<Number>(size_t(room + 1), Number(0)));
        ways[0][0] = Number(1);
        int64_t reachable = 0;
        for (const int64_t size : votes.others) {
            std::vector<Number> choices;
            for (int64_t taken = 0; taken <= std::min(size, v); ++taken) {
                choices.push_back(exact::binomial<Number>(size, taken));
            }
            reachable = std::min(room, reachable + std::min(size, v));
            auto next = std::vector<std::vector<Number>>(ways.size(),
                                                         std::vector<Number>(size_t(room + 1), Number(0)));
            for (int64_t ties = 0; ties <= most_ties; ++ties) {
                for (int64_t chosen = 0; chosen <= reachable; ++chosen) {
                    for (int64_t taken = 0; taken < int64_t(choices.size()) && taken <= chosen; ++taken) {
                        const int64_t before = ties - (taken == v ? 1 : 0);
                        if (before < 0) continue;
                        next[size_t(ties)][size_t(chosen)] +=
                            ways[size_t(before)][size_t(chosen - taken)] * choices[size_t(taken)];
                    }
                }
            }
            ways = std::move(next);
        }
        const Number golds = exact::binomial<Number>(votes.gold, v);
        for (int64_t ties = 0; ties <= most_ties; ++ties) {
            Number count(0);
            for (int64_t chosen = 0; chosen <= room; ++chosen) {
                count +=
                    ways[size_t(ties)][size_t(chosen)] * exact::binomial<Number>(votes.silent, room - chosen);
            }
            total += Credit(golds * count) / Credit(ties + 1);
        }
    }
    return total;
}

} // namespace

int64_t Votes::samples() const { return std::accumulate(others.begin(), others.end(), gold + silent); }

Votes votes_of(const std::optional<std::string>& gold, std::span<const std::optional<std::string>> answers) {
    Votes votes;
    std::map<std::string, int64_t> wrong;
    for (const auto& answer : answers) {
        if (!answer) {
            ++votes.silent;
        } else if (gold && *answer == *gold) {
            ++votes.gold;
        } else {
            ++wrong[*answer];
        }
    }
    for (const auto& [answer, count] : wrong) votes.others.push_back(count);
    return votes;
}

double majority_credit(const Votes& votes, int64_t k) {
    check(votes, k);
    ensure(votes.samples() <= largest_counted,
           std::to_string(votes.samples()) + " samples, at most 1000 are counted");
    return summed_credit<double, double>(votes, k) / exact::binomial<double>(votes.samples(), k);
}

std::string majority_credit_fraction(const Votes& votes, int64_t k) {
    check(votes, k);
    const auto total = summed_credit<exact::Integer, exact::Rational>(votes, k);
    return exact::to_string(total / exact::Rational(exact::binomial<exact::Integer>(votes.samples(), k)));
}

double sampled_majority_credit(const Votes& votes, int64_t k, uint64_t seed, uint64_t question,
                               int64_t subsets) {
    check(votes, k);
    constexpr int silent = -1, gold = 0;
    std::vector<int> ballots(size_t(votes.gold), gold);
    for (size_t i = 0; i < votes.others.size(); ++i)
        ballots.insert(ballots.end(), size_t(votes.others[i]), int(i) + 1);
    ballots.insert(ballots.end(), size_t(votes.silent), silent);
    PhiloxStream random(seed, question << 32 | uint64_t(k));
    std::vector<int64_t> tally(votes.others.size() + 1);
    double credit = 0;
    for (int64_t subset = 0; subset < subsets; ++subset) {
        std::fill(tally.begin(), tally.end(), 0);
        for (int64_t i = 0; i < k; ++i) { // the first k of a Fisher-Yates shuffle
            std::swap(ballots[size_t(i)],
                      ballots[size_t(i) + random.below(uint32_t(ballots.size() - size_t(i)))]);
            if (ballots[size_t(i)] != silent) ++tally[size_t(ballots[size_t(i)])];
        }
        const int64_t most = *std::max_element(tally.begin(), tally.end());
        if (most > 0 && tally[gold] == most)
            credit += 1.0 / double(std::count(tally.begin(), tally.end(), most));
    }
    return credit / double(subsets);
}

AtK majority_at_k(std::span<const Votes> questions, int64_t k, uint64_t seed) {
    AtK result{k};
    double cost = 0;
    for (const Votes& votes : questions) {
        if (votes.samples() < k) return result;
        cost += counting_cost(votes, k);
    }
    if (questions.empty()) return result;
    for (size_t q = 0; q < questions.size(); ++q) {
        const Votes& votes = questions[q];
        if (cost <= counting_budget && votes.samples() <= largest_counted) {
            result.per_question.push_back(majority_credit(votes, k));
        } else {
            result.exact = false;
            result.per_question.push_back(sampled_majority_credit(votes, k, seed, q));
        }
    }
    result.value = mean(result.per_question);
    result.se_clustered = standard_error(result.per_question);
    return result;
}

} // namespace stillroom::stats
