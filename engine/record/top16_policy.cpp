// SPDX-License-Identifier: GPL-3.0-or-later
#include "record/top16_policy.h"

#include "base/philox.h"
#include "record/rollout_figures.h"

#include <algorithm>
#include <functional>

namespace stillroom::record {

namespace {

constexpr uint64_t random_stream = 0x746f703136; // "top16": apart from the run's other uses of its seed
constexpr size_t highest_mean = 2, highest_token = 2, random_ones = 2;

} // namespace

void choose_top16(std::span<RolloutRecord> rollouts, uint64_t seed) {
    std::vector<RolloutRecord*> candidates;
    std::vector<RolloutFigures> figures;
    std::vector<std::vector<std::string>> reasons;
    for (RolloutRecord& rollout : rollouts) {
        const bool alarmed = rollout.kept_because == "alarm";
        rollout.kept_because.clear();
        if (!rollout.top16) continue;
        candidates.push_back(&rollout);
        figures.push_back(figures_of(rollout));
        reasons.emplace_back();
        if (rollout.pinned) reasons.back().push_back("pinned");
        if (alarmed) reasons.back().push_back("alarm");
    }
    std::vector<size_t> order(candidates.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;

    const auto mark_first = [&](size_t count, const std::string& reason,
                                const std::function<double(size_t)>& score) {
        std::vector<size_t> ranked;
        std::copy_if(order.begin(), order.end(), std::back_inserter(ranked),
                     [&](size_t i) { return !std::isnan(score(i)); });
        std::stable_sort(ranked.begin(), ranked.end(),
                         [&](size_t a, size_t b) { return score(a) > score(b); });
        for (size_t i = 0; i < std::min(count, ranked.size()); ++i) reasons[ranked[i]].push_back(reason);
    };
    const auto length = [&](size_t i) { return double(candidates[i]->tokens.ids.size()); };
    mark_first(highest_mean, "mean KL", [&](size_t i) { return figures[i].kl_mean; });
    mark_first(highest_token, "token KL", [&](size_t i) { return figures[i].kl_max; });
    mark_first(1, "shortest", [&](size_t i) { return -length(i); });
    mark_first(1, "longest", length);

    PhiloxStream random(seed, random_stream ^ (rollouts.empty() ? 0 : uint64_t(rollouts.front().step) << 40));
    const auto pick_one_of = [&](const std::function<bool(size_t)>& eligible, const std::string& reason) {
        std::vector<size_t> pool;
        std::copy_if(order.begin(), order.end(), std::back_inserter(pool), eligible);
        if (!pool.empty()) reasons[pool[random.below(uint32_t(pool.size()))]].push_back(reason);
    };
    const auto truncated = [&](size_t i) { return candidates[i]->finish_reason == "length"; };
    const auto kept = [&](size_t i) { return !reasons[i].empty(); };
    // One that is kept anyway serves as the truncated one.
    const auto known =
        std::find_if(order.begin(), order.end(), [&](size_t i) { return truncated(i) && kept(i); });
    if (known != order.end()) {
        reasons[*known].push_back("truncated");
    } else {
        pick_one_of(truncated, "truncated");
    }
    for (size_t i = 0; i < random_ones; ++i) pick_one_of(std::not_fn(kept), "random");

    for (size_t i = 0; i < candidates.size(); ++i) {
        for (const std::string& reason : reasons[i]) {
            candidates[i]->kept_because += (candidates[i]->kept_because.empty() ? "" : ", ") + reason;
        }
        if (reasons[i].empty()) candidates[i]->top16.reset();
    }
}

} // namespace stillroom::record
