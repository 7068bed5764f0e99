// SPDX-License-Identifier: GPL-3.0-or-later
// golden/objectives/evaluation_stats.json, every case and every field.
#include "stats/bootstrap.h"
#include "stats/majority.h"
#include "stats/paired.h"
#include "stats/percentile.h"
#include "stats/summary.h"
#include "tests/stats/comparison.h"
#include "tests/support/golden.h"

namespace stillroom::stats {
namespace {

using test::compare;
using test::counts;
using test::json;
using test::value;

json of_verdicts(const json& inputs, const json& expected) {
    const auto a = counts(inputs.at("verdicts_a")), b = counts(inputs.at("verdicts_b"));
    const Summary first = summarise(a), second = summarise(b);
    const Paired paired = compare(a, b);
    const auto resamples = inputs.at("bootstrap_question_indices").get<std::vector<std::vector<int>>>();
    json found{{"question_mean", first.question_means},
               {"avg_at_n", value(first.avg)},
               {"se_clustered", value(first.se_clustered)},
               {"pooled", value(first.pooled)},
               {"se_pooled", value(first.se_pooled)},
               {"se_sampling", value(first.se_sampling)},
               {"b_avg_at_n", value(second.avg)},
               {"b_se_clustered", value(second.se_clustered)},
               {"paired_difference", value(paired.difference)},
               {"se_paired", value(paired.se_paired)},
               {"se_unpaired", value(paired.se_unpaired)},
               {"questions_gained", paired.questions_better},
               {"questions_lost", paired.questions_worse},
               {"bootstrap_means", resample_means(first.question_means, resamples)},
               {"bootstrap_paired", resample_means(paired.question_differences, resamples)}};
    for (const auto& [k, ignored] : expected.at("pass_at_k").items()) {
        found["pass_at_k"][k] = value(pass_at_k(a, std::stoll(k)).value);
    }
    return found;
}

json of_table(const json& inputs) {
    json rows = json::array();
    for (const json& c : inputs.at("c")) {
        json& row = rows.emplace_back(json::array());
        for (const json& k : inputs.at("k")) row.push_back(pass_at_k(c, inputs.at("n"), k));
    }
    return {{"pass_at_k", rows}};
}

json of_votes(const json& inputs) {
    json credits = json::array();
    for (const json& item : inputs.at("items")) {
        std::vector<std::optional<std::string>> answers;
        for (const json& answer : item.at("answers")) {
            answers.push_back(answer.is_null() ? std::nullopt : std::optional(answer.get<std::string>()));
        }
        credits.push_back(
            majority_credit(votes_of(item.at("gold").get<std::string>(), answers), item.at("k")));
    }
    return {{"maj_at_k", credits}};
}

json of_percentiles(const json& inputs) {
    json found = json::array();
    const auto values = inputs.at("values").get<std::vector<double>>();
    for (const json& q : inputs.at("q")) found.push_back(value(percentile(values, q)));
    return {{"percentile", found}};
}

TEST(EvaluationGolden, every_case_and_field) {
    const json file = stillroom::test::read_json(stillroom::test::golden("objectives/evaluation_stats.json"));
    int compared = 0;
    for (const json& item : file.at("cases")) {
        const json &inputs = item.at("inputs"), &expected = item.at("expected");
        json found;
        if (inputs.contains("verdicts_a")) {
            found = of_verdicts(inputs, expected);
        } else if (inputs.contains("items")) {
            found = of_votes(inputs);
        } else if (inputs.contains("values")) {
            found = of_percentiles(inputs);
        } else {
            found = of_table(inputs);
        }
        const int leaves = compare(expected, found, item.at("name"));
        EXPECT_GT(leaves, 0) << item.at("name");
        compared += leaves;
    }
    EXPECT_EQ(file.at("cases").size(), 6u);
    EXPECT_EQ(compared, 177);
}

} // namespace
} // namespace stillroom::stats
