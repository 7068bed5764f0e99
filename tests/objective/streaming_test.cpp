// SPDX-License-Identifier: GPL-3.0-or-later
// T10: row statistics by tiles of the vocabulary, merged in any order, are those of the row.
#include "objective/json_tensors.h"
#include "objective/streaming.h"
#include "tests/objective/examples.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

namespace stillroom::objective {
namespace {

using nlohmann::json;

std::vector<double> numbers(const json& values, double temperature = 1) {
    const auto tensor = tensor_of(values, torch::kFloat64, "numbers") / temperature;
    return {tensor.data_ptr<double>(), tensor.data_ptr<double>() + tensor.numel()};
}

std::span<const double> part(const std::vector<double>& values, size_t begin, size_t end) {
    return std::span(values).subspan(begin, end - begin);
}

RowState merged(std::vector<RowState> parts, const std::vector<size_t>& order) {
    RowState state;
    for (const size_t i : order) state = merge(state, parts[i]);
    return state;
}

void expect_near(double ours, double golden, const std::string& what) {
    if (std::isinf(golden))
        EXPECT_EQ(ours, golden) << what;
    else
        EXPECT_NEAR(ours, golden, 1e-13 * std::max(1.0, std::abs(golden))) << what;
}

TEST(Streaming, tiles_and_their_merge_in_every_order_are_the_golden_states) {
    int compared = 0;
    for (const json& golden_case : test::golden_cases("streaming")) {
        const std::string name = golden_case.at("name");
        const json& expected = golden_case.at("expected");
        const auto x =
            numbers(golden_case.at("inputs").at("student_logits"), golden_case.at("params").at("T_S"));
        const auto xt =
            numbers(golden_case.at("inputs").at("teacher_logits"), golden_case.at("params").at("T_T"));
        const auto cuts = golden_case.at("inputs").at("cuts").get<std::vector<size_t>>();
        std::vector<RowState> parts, teacher_parts;
        for (size_t i = 0; i + 1 < cuts.size(); ++i) {
            parts.push_back(tile_state(part(x, cuts[i], cuts[i + 1]), part(xt, cuts[i], cuts[i + 1])));
            teacher_parts.push_back(
                tile_state(part(xt, cuts[i], cuts[i + 1]), part(x, cuts[i], cuts[i + 1])));
            const auto golden = numbers(expected.at("parts")[i]);
            expect_near(parts.back().m, golden[0], name + " m");
            expect_near(parts.back().s, golden[1], name + " s");
            expect_near(parts.back().u, golden[2], name + " u");
        }
        std::vector<size_t> order(parts.size());
        std::iota(order.begin(), order.end(), size_t(0));
        do {
            const RowState student = merged(parts, order), teacher = merged(teacher_parts, order);
            const auto golden = numbers(expected.at("merged"));
            expect_near(student.m, golden[0], name + " m");
            expect_near(student.s, golden[1], name + " s");
            expect_near(student.u, golden[2], name + " u");
            expect_near(student.lse(), expected.at("lse"), name + " lse");
            expect_near(student.mean_logprob(), expected.at("mean_logp"), name + " sum p log p");
            expect_near(student.d, expected.at("d"), name + " d");
            expect_near(teacher.lse(), expected.at("teacher_lse"), name + " teacher lse");
            expect_near(kl_of(student, teacher.lse()), expected.at("kl_reverse"), name + " reverse KL");
            if (expected.contains("kl_forward")) {
                expect_near(teacher.d, expected.at("d_teacher"), name + " teacher d");
                expect_near(kl_of(teacher, student.lse()), expected.at("kl_forward"), name + " forward KL");
            }
            ++compared;
        } while (std::next_permutation(order.begin(), order.end()));
    }
    EXPECT_EQ(compared, 120 + 24 + 6 + 24);
}

TEST(Streaming, merging_is_associative_and_has_an_identity) {
    const auto x = test::logits(3, 50, 1, 20), xt = test::logits(3, 50, 2, 20);
    std::vector<RowState> tiles;
    for (int64_t i = 0; i < 3; ++i) {
        tiles.push_back(tile_state({x[i].data_ptr<double>(), 50}, {xt[i].data_ptr<double>(), 50}));
        const RowState with_identity = merge(RowState{}, tiles.back());
        EXPECT_EQ(with_identity.s, tiles.back().s);
        EXPECT_EQ(merge(tiles.back(), RowState{}).d, tiles.back().d);
    }
    const RowState left = merge(merge(tiles[0], tiles[1]), tiles[2]),
                   right = merge(tiles[0], merge(tiles[1], tiles[2]));
    EXPECT_EQ(left.m, right.m);
    expect_near(left.s, right.s, "s");
    expect_near(left.u, right.u, "u");
    expect_near(left.d, right.d, "d");
    EXPECT_EQ(merge(RowState{}, RowState{}).s, 0);
}

TEST(Streaming, equal_logits_have_a_divergence_of_exactly_zero) {
    const auto x = test::logits(1, 257, 3, 20);
    const std::span<const double> row(x.data_ptr<double>(), 257);
    RowState state;
    for (size_t at = 0; at < 257; at += 50)
        state = merge(state, tile_state(row.subspan(at, std::min<size_t>(50, 257 - at)),
                                        row.subspan(at, std::min<size_t>(50, 257 - at))));
    EXPECT_EQ(kl_of(state, state.lse()), 0);
}

TEST(Streaming, agrees_with_the_plain_rows) {
    const auto student = test::logits(5, 257, 4), teacher = test::logits(5, 257, 5);
    const auto options = test::named("kl_reverse");
    const auto result = evaluate_rows(Spec::of(options).value(), test::rows_of(student, teacher, options));
    for (int64_t i = 0; i < 5; ++i) {
        RowState p, q;
        const std::span<const double> x(student[i].data_ptr<double>(), 257),
            xt(teacher[i].data_ptr<double>(), 257);
        for (size_t at = 0; at < 257; at += 64) {
            const size_t count = std::min<size_t>(64, 257 - at);
            p = merge(p, tile_state(x.subspan(at, count), xt.subspan(at, count)));
            q = merge(q, tile_state(xt.subspan(at, count), x.subspan(at, count)));
        }
        EXPECT_NEAR(kl_of(p, q.lse()), result.value[i].item<double>(), 1e-13);
    }
}

} // namespace
} // namespace stillroom::objective
