// SPDX-License-Identifier: GPL-3.0-or-later
// Drawing tokens, against Philox as base/ has it, against the definition written out, and against
// probabilities.
#include "rollout/sampler.h"
#include "tests/model/support.h"

#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <numeric>

namespace stillroom::rollout {

namespace {

using Draw = Draws (*)(const torch::Tensor&, const torch::Tensor&, const SamplingPolicy&, int64_t);

struct Form {
    std::string name, device;
    Draw draw;
};

class EveryForm : public test::OnDevice<Form> {
protected:
    std::string device() const override { return GetParam().device; }
    Draws drawn(const torch::Tensor& logits, const torch::Tensor& places, const SamplingPolicy& policy,
                int64_t real_vocab = 0) const {
        const auto draws = GetParam().draw(logits.to(device()), places.to(device()), policy,
                                           real_vocab > 0 ? real_vocab : logits.size(1));
        return {draws.ids.cpu(), draws.logprobs.cpu()};
    }
};

INSTANTIATE_TEST_SUITE_P(Sampler, EveryForm,
                         testing::Values(Form{"plain_cpu", "cpu", draw_plain},
                                         Form{"loop_cpu", "cpu", draw_by_loop},
                                         Form{"plain_cuda", "cuda", draw_plain}),
                         [](const auto& info) { return info.param.name; });

SamplingPolicy policy_of(double temperature, int64_t top_k = 0, double top_p = 1) {
    SamplingPolicy policy;
    policy.temperature = temperature;
    policy.top_k = top_k;
    policy.top_p = top_p;
    return policy;
}

const std::vector<SamplingPolicy> combinations{
    policy_of(1),         policy_of(0.7),         policy_of(1.6),         policy_of(1, 3),
    policy_of(1, 0, 0.8), policy_of(0.6, 4, 0.9), policy_of(1.3, 0, 0.5), policy_of(0.05, 2, 0.99)};

std::string to_string(const SamplingPolicy& policy) {
    return "temperature " + std::to_string(policy.temperature) + ", top-k " + std::to_string(policy.top_k) +
           ", top-p " + std::to_string(policy.top_p);
}

/// `count` places of step 3 that differ in every counter.
std::vector<DrawPlace> some_places(int64_t count) {
    std::vector<DrawPlace> places;
    for (int64_t i = 0; i < count; ++i)
        places.push_back(
            {stream_key(42 + uint64_t(i % 3), 3), uint32_t(i % 17), uint32_t(i / 17), uint32_t(7 * i)});
    return places;
}

/// Which ids the filters keep, from their definition.
std::vector<char> kept_ids(const std::vector<double>& y, const SamplingPolicy& policy) {
    std::vector<size_t> order(y.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return y[a] > y[b]; });
    std::vector<char> kept(y.size(), 1);
    if (policy.top_k > 0 && policy.top_k < int64_t(y.size())) {
        for (size_t id = 0; id < y.size(); ++id) kept[id] = y[id] >= y[order[size_t(policy.top_k) - 1]];
    }
    if (policy.top_p < 1) {
        double total = 0, mass = 0, last = 0;
        for (size_t id = 0; id < y.size(); ++id) total += kept[id] ? std::exp(y[id] - y[order[0]]) : 0;
        for (const size_t id : order) {
            if (!kept[id] || mass / total >= policy.top_p) break;
            mass += std::exp(y[id] - y[order[0]]);
            last = y[id];
        }
        for (size_t id = 0; id < y.size(); ++id) kept[id] = kept[id] && y[id] >= last;
    }
    return kept;
}

/// The draw from its definition, one id at a time.
int64_t draw_by_definition(const torch::Tensor& logits, const DrawPlace& place,
                           const SamplingPolicy& policy) {
    std::vector<double> y;
    for (int64_t id = 0; id < logits.size(0); ++id)
        y.push_back(double(logits[id].item<float>()) / policy.temperature);
    const auto kept = kept_ids(y, policy);
    int64_t winner = -1;
    double best = 0;
    for (size_t id = 0; id < y.size(); ++id) {
        if (!kept[id]) continue;
        const auto words = philox(place.key, {uint32_t(id / 4), place.position, place.sample, place.prompt});
        const double u = std::min((double(words[id % 4]) + 0.5) / 4294967296.0, 1 - std::ldexp(1.0, -24));
        const double key = y[id] - std::log(-std::log1p(-u));
        if (winner < 0 || key > best) {
            winner = int64_t(id);
            best = key;
        }
    }
    return winner;
}

} // namespace

TEST(Philox, in_tensor_operations_gives_the_words_of_the_scalar_form) {
    std::vector<DrawPlace> places = some_places(20);
    constexpr uint32_t ones = 0xffffffff, high = 0x80000000;
    places.push_back({{0, 0}, 0, 0, 0});
    places.push_back({{ones, ones}, ones, ones, ones});
    places.push_back({{high, 1}, high, 1, high});
    std::vector<std::string> devices{"cpu"};
    if (torch::cuda::is_available()) devices.push_back("cuda");
    for (const auto& device : devices) {
        const auto words = random_words(to_tensor(places).to(device), 9).cpu();
        for (size_t row = 0; row < places.size(); ++row) {
            for (uint32_t block = 0; block < 9; ++block) {
                const auto& place = places[row];
                const auto expected = philox(place.key, {block, place.position, place.sample, place.prompt});
                for (int64_t word = 0; word < 4; ++word) {
                    ASSERT_EQ(words[int64_t(row)][block * 4 + word].item<int64_t>(),
                              int64_t(expected[size_t(word)]))
                        << device << " row " << row << " block " << block;
                }
            }
        }
    }
}

TEST(StreamKey, differs_by_step_and_by_seed) {
    std::set<PhiloxKey> keys;
    for (uint64_t seed = 0; seed < 50; ++seed) {
        for (int64_t step = 0; step < 50; ++step) keys.insert(stream_key(seed, step));
    }
    EXPECT_EQ(keys.size(), 2500u);
}

TEST_P(EveryForm, draws_what_the_definition_says) {
    torch::manual_seed(1);
    const auto logits = torch::randn({60, 37}) * 2;
    const auto places = some_places(60);
    for (const auto& policy : combinations) {
        const auto ids = drawn(logits, to_tensor(places), policy).ids;
        for (int64_t row = 0; row < 60; ++row) {
            ASSERT_EQ(ids[row].item<int64_t>(), draw_by_definition(logits[row], places[size_t(row)], policy))
                << to_string(policy) << ", row " << row;
        }
    }
}

TEST_P(EveryForm, draws_the_same_over_a_large_vocabulary_and_hard_scales) {
    // 49153 ids: the last block of four is incomplete. Scales from almost uniform to almost certain.
    torch::manual_seed(2);
    const auto logits =
        torch::randn({6, 49153}) * torch::tensor({0.f, 0.01f, 1.f, 5.f, 100.f, 30000.f}).unsqueeze(1);
    const auto places = some_places(6);
    for (const auto& policy : {policy_of(1), policy_of(0.3), policy_of(2, 50), policy_of(1, 0, 0.95)}) {
        const auto ids = drawn(logits, to_tensor(places), policy).ids;
        const auto plain = draw_plain(logits, to_tensor(places), policy, logits.size(1)).ids;
        EXPECT_TRUE(ids.equal(plain)) << to_string(policy) << '\n' << ids << plain;
    }
}

TEST_P(EveryForm, frequencies_of_a_million_draws_fit_the_probabilities) {
    constexpr int64_t count = 1'000'000;
    const std::vector<float> logits{1.2f, -0.4f, 0.9f, -2.5f, 0.9f, 0.1f, -1.1f, 2.0f, 0.3f};
    const auto rows = torch::tensor(logits).unsqueeze(0).expand({count, int64_t(logits.size())}).contiguous();
    for (const auto& policy : combinations) {
        const auto key = stream_key(policy.seed, 5);
        const auto index = torch::arange(count, torch::kInt64);
        const auto constant = [&](int64_t value) { return torch::full({count}, value, torch::kInt64); };
        const auto places =
            torch::stack({constant(key[0]), constant(key[1]), index % 100,
                          torch::floor_divide(index, 100) % 8, torch::floor_divide(index, 800)},
                         1);
        const auto counts = drawn(rows, places, policy).ids.bincount({}, int64_t(logits.size()));

        std::vector<double> y, mass;
        for (const float logit : logits) y.push_back(double(logit) / policy.temperature);
        const auto kept = kept_ids(y, policy);
        double total = 0, statistic = 0;
        for (size_t id = 0; id < y.size(); ++id) mass.push_back(kept[id] ? std::exp(y[id]) : 0);
        for (const double entry : mass) total += entry;
        int cells = 0;
        for (size_t id = 0; id < y.size(); ++id) {
            const double expected = double(count) * mass[id] / total,
                         seen = double(counts[int64_t(id)].item<int64_t>());
            if (expected < 10) { // too rare for the statistic: no more than chance allows
                EXPECT_LE(seen, expected == 0 ? 0 : 40) << to_string(policy) << ", id " << id;
                continue;
            }
            statistic += (seen - expected) * (seen - expected) / expected;
            ++cells;
        }
        if (cells < 2) continue;
        // Fixed seeds: this passes or fails for good. A right sampler fails it at one seed in 10,000.
        const double limit = quantile(complement(boost::math::chi_squared(cells - 1), 1e-4));
        EXPECT_LT(statistic, limit) << to_string(policy) << ", " << cells << " cells";
    }
}

TEST_P(EveryForm, entries_equal_to_the_threshold_are_kept) {
    // Top-k 2 of probabilities 0.4, 0.2, 0.2, 0.2: all four are not below the second. Top-p 0.5: the run 0.4,
    // 0.2 ends at 0.2, and all at 0.2 stay. The last id is below both thresholds.
    const auto logits =
        torch::tensor({0.4f, 0.2f, 0.2f, 0.2f, 0.01f}).log().unsqueeze(0).expand({4000, 5}).contiguous();
    for (const auto& policy : {policy_of(1, 2), policy_of(1, 0, 0.5)}) {
        const auto counts = drawn(logits, to_tensor(some_places(4000)), policy).ids.bincount({}, 5);
        for (int64_t id = 0; id < 4; ++id) EXPECT_GT(counts[id].item<int64_t>(), 500) << to_string(policy);
        EXPECT_EQ(counts[4].item<int64_t>(), 0) << to_string(policy);
    }
}

TEST_P(EveryForm, top_p_of_almost_nothing_and_top_k_of_one_draw_the_best_id) {
    torch::manual_seed(3);
    const auto logits = torch::randn({200, 50});
    for (const auto& policy : {policy_of(1, 1), policy_of(1, 0, 1e-9)})
        EXPECT_TRUE(drawn(logits, to_tensor(some_places(200)), policy).ids.equal(logits.argmax(1)))
            << to_string(policy);
}

TEST_P(EveryForm, greedy_draws_the_largest_logit_and_the_lower_of_equal_ids) {
    const auto logits =
        torch::tensor({{0.f, 3.f, 1.f, 3.f, 2.f}, {5.f, 5.f, 5.f, 5.f, 5.f}, {-4.f, -9.f, -3.f, -8.f, -3.f}});
    const auto draws = drawn(logits, to_tensor(some_places(3)), policy_of(0));
    EXPECT_TRUE(draws.ids.equal(torch::tensor({1, 0, 2}, torch::kInt64))) << draws.ids;
    const auto expected =
        logits.to(torch::kFloat64).log_softmax(1).gather(1, draws.ids.unsqueeze(1)).squeeze(1);
    EXPECT_LT(test::difference(draws.logprobs, expected), 1e-6);
}

TEST_P(EveryForm, logprobs_are_of_the_tempered_distribution_before_filters) {
    torch::manual_seed(4);
    const auto logits = torch::randn({300, 41}) * 3;
    for (const auto& policy : combinations) {
        const auto draws = drawn(logits, to_tensor(some_places(300)), policy);
        const auto expected = (logits.to(torch::kFloat64) / policy.temperature)
                                  .log_softmax(1)
                                  .gather(1, draws.ids.unsqueeze(1))
                                  .squeeze(1);
        // fp32 rounding of tempered logits up to 10 / 0.05 = 200 and of their exponentials.
        EXPECT_LT(test::difference(draws.logprobs, expected), 2e-5) << to_string(policy);
    }
}

TEST_P(EveryForm, padding_ids_are_never_drawn_and_count_for_nothing) {
    torch::manual_seed(5);
    const auto real = torch::randn({500, 10});
    const auto places = to_tensor(some_places(500));
    for (const float filler : {0.f, 1e30f, std::numeric_limits<float>::quiet_NaN()}) {
        const auto padded = torch::cat({real, torch::full({500, 6}, filler)}, 1);
        for (const auto& policy : {policy_of(0), policy_of(1), policy_of(0.8, 5, 0.9)}) {
            const auto expected = drawn(real, places, policy), found = drawn(padded, places, policy, 10);
            EXPECT_TRUE(found.ids.equal(expected.ids)) << filler << ", " << to_string(policy);
            EXPECT_TRUE(found.logprobs.equal(expected.logprobs)) << filler << ", " << to_string(policy);
        }
    }
}

TEST_P(EveryForm, a_row_with_a_logit_that_is_not_finite_gives_no_token_and_spoils_no_other) {
    torch::manual_seed(6);
    const auto sound = torch::randn({5, 12});
    auto spoiled = sound.clone();
    spoiled[1][11] = std::numeric_limits<float>::quiet_NaN();
    spoiled[2][0] = std::numeric_limits<float>::infinity();
    spoiled[4][3] = -std::numeric_limits<float>::infinity();
    const auto places = to_tensor(some_places(5));
    for (const auto& policy : {policy_of(0), policy_of(1), policy_of(1, 3, 0.9)}) {
        const auto expected = drawn(sound, places, policy).ids, found = drawn(spoiled, places, policy).ids;
        for (const int64_t row : {1, 2, 4}) EXPECT_EQ(found[row].item<int64_t>(), -1) << to_string(policy);
        for (const int64_t row : {0, 3})
            EXPECT_EQ(found[row].item<int64_t>(), expected[row].item<int64_t>()) << to_string(policy);
    }
}

TEST_P(EveryForm, a_row_draws_the_same_wherever_it_stands) {
    torch::manual_seed(7);
    const auto logits = torch::randn({64, 100});
    const auto places = to_tensor(some_places(64));
    const auto together = drawn(logits, places, policy_of(1)).ids;
    const auto order = torch::randperm(64, torch::kInt64);
    const auto shuffled =
        drawn(logits.index_select(0, order), places.index_select(0, order), policy_of(1)).ids;
    EXPECT_TRUE(shuffled.equal(together.index_select(0, order)));
    EXPECT_TRUE(drawn(logits.narrow(0, 17, 1), places.narrow(0, 17, 1), policy_of(1))
                    .ids.equal(together.narrow(0, 17, 1)));
}

TEST_P(EveryForm, every_counter_changes_the_draws) {
    const auto logits = torch::zeros({400, 1000});
    const auto ids_of = [&](uint64_t seed, int64_t step, uint32_t sample, uint32_t prompt) {
        std::vector<DrawPlace> places;
        for (uint32_t position = 0; position < 400; ++position)
            places.push_back({stream_key(seed, step), position, sample, prompt});
        return drawn(logits, to_tensor(places), policy_of(1)).ids;
    };
    const auto base = ids_of(42, 0, 0, 0);
    // Over 1000 equal ids two independent streams agree 0.4 times in 400 draws; 8 agreements have probability
    // 1e-9.
    EXPECT_LT((base.narrow(0, 1, 399) == base.narrow(0, 0, 399)).sum().item<int64_t>(), 8);
    for (const auto& other :
         {ids_of(43, 0, 0, 0), ids_of(42, 1, 0, 0), ids_of(42, 0, 1, 0), ids_of(42, 0, 0, 1)})
        EXPECT_LT((base == other).sum().item<int64_t>(), 8);
}

TEST(SamplingPolicy, that_means_nothing_is_refused_by_the_name_of_its_key) {
    const auto named = [](const SamplingPolicy& policy) {
        const auto fault = fault_of(policy);
        return fault ? fault->what.substr(0, fault->what.find(' ')) : "";
    };
    EXPECT_EQ(named(policy_of(0)), "");
    EXPECT_EQ(named(policy_of(1, 5, 0.5)), "");
    EXPECT_EQ(named(policy_of(-0.1)), "temperature");
    EXPECT_EQ(named(policy_of(std::nan(""))), "temperature");
    EXPECT_EQ(named(policy_of(std::numeric_limits<double>::infinity())), "temperature");
    EXPECT_EQ(named(policy_of(1, -1)), "top_k");
    EXPECT_EQ(named(policy_of(1, 0, 0)), "top_p");
    EXPECT_EQ(named(policy_of(1, 0, 1.01)), "top_p");
    SamplingPolicy policy;
    policy.max_new = 0;
    EXPECT_EQ(named(policy), "max_new");
}

} // namespace stillroom::rollout
