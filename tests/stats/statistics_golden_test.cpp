// SPDX-License-Identifier: GPL-3.0-or-later
// golden/statistics/statistics.json, every case and every field.
#include "stats/bootstrap.h"
#include "stats/majority.h"
#include "stats/paired.h"
#include "stats/pass_at_k.h"
#include "stats/planning.h"
#include "stats/published.h"
#include "stats/rates.h"
#include "stats/summary.h"
#include "tests/stats/comparison.h"
#include "tests/support/golden.h"

#include <map>

namespace stillroom::stats {
namespace {

using test::compare;
using test::counts;
using test::json;
using test::value;

json to_json(const AtK& at_k) {
    json found{{"k", at_k.k}, {"value", value(at_k.value)}, {"se_clustered", value(at_k.se_clustered)}};
    found["per_question"] = at_k.value ? json(at_k.per_question) : json(nullptr);
    return found;
}

json to_json(const VarianceComponents& parts) {
    return {{"ms_between", value(parts.ms_between)},
            {"ms_within", value(parts.ms_within)},
            {"n0", value(parts.n0)},
            {"between_raw", value(parts.between_raw)},
            {"between", value(parts.between)},
            {"within", value(parts.within)},
            {"icc", value(parts.icc)}};
}

json to_json(const Summary& summary) {
    return {{"questions", summary.questions},
            {"samples", summary.samples},
            {"question_means", summary.question_means},
            {"avg", value(summary.avg)},
            {"pooled", value(summary.pooled)},
            {"se_clustered", value(summary.se_clustered)},
            {"se_naive", value(summary.se_naive)},
            {"design_effect", value(summary.design_effect)},
            {"interval_t95", value(summary.interval_t95)},
            {"variance", to_json(summary.variance)}};
}

json to_json(const Paired& paired) {
    json found{{"difference", value(paired.difference)},
               {"question_differences", paired.question_differences},
               {"se_paired", value(paired.se_paired)},
               {"se_unpaired", value(paired.se_unpaired)},
               {"interval_t95", value(paired.interval_t95)},
               {"t", value(paired.t)},
               {"p_two_sided", value(paired.p_two_sided)},
               {"correlation", value(paired.correlation)},
               {"questions_factor", value(paired.questions_factor)},
               {"questions_better", paired.questions_better},
               {"questions_worse", paired.questions_worse},
               {"questions_same", paired.questions_same}};
    if (paired.mcnemar) {
        found["mcnemar"] = {{"gained", paired.mcnemar->gained},
                            {"lost", paired.mcnemar->lost},
                            {"both_right", paired.mcnemar->both_right},
                            {"both_wrong", paired.mcnemar->both_wrong},
                            {"p_exact", paired.mcnemar->p_exact}};
    }
    if (paired.difference_variance) {
        found["difference_variance"] = {{"raw", paired.difference_variance->raw},
                                        {"between", paired.difference_variance->between},
                                        {"within_baseline", paired.difference_variance->within_baseline},
                                        {"within_checkpoint", paired.difference_variance->within_checkpoint}};
    }
    return found;
}

class Golden {
public:
    Golden() : file_(stillroom::test::read_json(stillroom::test::golden("statistics/statistics.json"))) {}

    /// Compares the cases of `kind` with what `compute(case)` gives; checks how many cases and values there
    /// were.
    template <typename Compute>
    void check(const std::string& kind, int cases, int values, const Compute& compute) const {
        int seen = 0, compared = 0;
        for (const json& item : file_.at("cases")) {
            if (item.at("kind") != kind) continue;
            ++seen;
            const int leaves = compare(item.at("expected"), compute(item), item.at("id").get<std::string>());
            EXPECT_GT(leaves, 0) << item.at("id");
            compared += leaves;
        }
        EXPECT_EQ(seen, cases) << kind;
        EXPECT_EQ(compared, values) << kind;
    }
    const json& file() const { return file_; }

private:
    json file_;
};

Votes votes(const json& question) {
    std::vector<std::optional<std::string>> answers;
    for (const json& answer : question.at("answers")) {
        answers.push_back(answer.is_null() ? std::nullopt : std::optional(answer.get<std::string>()));
    }
    return votes_of(question.at("gold").get<std::string>(), answers);
}

TEST(StatisticsGolden, has_exactly_the_kinds_that_are_tested_here) {
    const Golden golden;
    std::map<std::string, int> kinds;
    for (const json& item : golden.file().at("cases")) ++kinds[item.at("kind")];
    const std::map<std::string, int> tested{
        {"summary", 23}, {"pass_at_k", 1}, {"maj_at_k", 11}, {"rates", 4},
        {"paired", 10},  {"planning", 20}, {"published", 9}, {"published_difference", 1},
        {"runs", 2},     {"fractions", 1}};
    EXPECT_EQ(kinds, tested);
}

TEST(StatisticsGolden, summaries) {
    Golden().check("summary", 23, 1997, [](const json& item) {
        const json& input = item.at("input");
        const auto questions =
            input.contains("correct") ? counts(input.at("correct")) : counts(input.at("c"), input.at("n"));
        json found = to_json(summarise(questions));
        found["pass_at_k"] = json::array();
        for (const json& at_k : item.at("expected").at("pass_at_k")) {
            found["pass_at_k"].push_back(to_json(pass_at_k(questions, at_k.at("k").get<int64_t>())));
        }
        return found;
    });
}

TEST(StatisticsGolden, pass_at_k_of_single_questions_to_a_thousand_samples) {
    Golden().check("pass_at_k", 1, 85, [](const json& item) {
        json found = json::array();
        for (size_t i = 0; i < item.at("input").size(); ++i) {
            const json& row = item.at("input")[i];
            const int64_t n = row.at("n"), c = row.at("c"), k = row.at("k");
            json entry{{"n", n}, {"c", c}, {"k", k}, {"value", pass_at_k(c, n, k)}};
            // The file leaves the longest fractions out.
            const bool given = !item.at("expected")[i].at("exact").is_null();
            entry["exact"] = given ? json(pass_at_k_fraction(c, n, k)) : json(nullptr);
            found.push_back(entry);
        }
        return found;
    });
}

TEST(StatisticsGolden, majority) {
    Golden().check("maj_at_k", 11, 254, [](const json& item) {
        std::vector<Votes> questions;
        for (const json& question : item.at("input").at("questions")) questions.push_back(votes(question));
        json found = json::array();
        for (const json& k : item.at("input").at("k")) {
            const AtK at_k = majority_at_k(questions, k.get<int64_t>());
            EXPECT_TRUE(at_k.exact);
            json entry = to_json(at_k);
            entry["per_question_exact"] = nullptr;
            if (at_k.value) {
                entry["per_question_exact"] = json::array();
                for (const Votes& question : questions) {
                    entry["per_question_exact"].push_back(
                        majority_credit_fraction(question, k.get<int64_t>()));
                }
            }
            found.push_back(entry);
        }
        return found;
    });
}

TEST(StatisticsGolden, rates) {
    Golden().check("rates", 4, 36, [](const json& item) {
        std::vector<Question> questions;
        for (const json& samples : item.at("input").at("questions")) {
            Question& question = questions.emplace_back();
            for (const json& sample : samples) {
                Sample& added = question.samples.emplace_back();
                added.outcome = sample.at("correct") == 1 ? Outcome::Right : Outcome::Wrong;
                added.has_answer = sample.at("has_answer").get<bool>();
                added.truncated = sample.at("finish") == "length";
                added.tokens = sample.at("tokens").get<int64_t>();
            }
        }
        const Rates rates = rates_of(questions);
        return json{{"samples", rates.samples},
                    {"format_rate", value(rates.format_rate)},
                    {"truncated_fraction", value(rates.truncated_fraction)},
                    {"correct_fraction", value(rates.correct_fraction)},
                    {"correct_given_answer", value(rates.correct_given_answer)},
                    {"correct_given_finished", value(rates.correct_given_finished)},
                    {"mean_tokens", value(rates.lengths.mean)},
                    {"median_tokens", value(rates.lengths.p50)},
                    {"questions_with_truncation", rates.questions_with_truncation}};
    });
}

TEST(StatisticsGolden, paired_differences_and_their_bootstrap) {
    const Golden golden;
    golden.check("paired", 10, 375, [&](const json& item) {
        const json& input = item.at("input");
        const Paired paired = compare(counts(input.at("baseline")), counts(input.at("checkpoint")));
        json found = to_json(paired);
        EXPECT_EQ(found.contains("mcnemar"), item.at("expected").contains("mcnemar")) << item.at("id");
        EXPECT_EQ(found.contains("difference_variance"), item.at("expected").contains("difference_variance"))
            << item.at("id");
        const auto resamples = golden.file()
                                   .at("resamples")
                                   .at(input.at("resamples").get<std::string>())
                                   .get<std::vector<std::vector<int>>>();
        const auto means = resample_means(paired.question_differences, resamples);
        const Bootstrap bootstrap = describe_resamples(means);
        found["bootstrap"] = {{"mean", bootstrap.mean},
                              {"se", value(bootstrap.se)},
                              {"interval_95", value(std::optional(bootstrap.interval_95))},
                              {"first_means", std::vector<double>(means.begin(), means.begin() + 5)}};
        return found;
    });
}

/// What `components_of` names, computed from that case's input.
std::optional<Components> components_of(const Golden& golden, const json& input) {
    if (!input.contains("components_of")) return std::nullopt;
    for (const json& item : golden.file().at("cases")) {
        if (item.at("id") != input.at("components_of")) continue;
        const json& from = item.at("input");
        if (item.at("kind") == "paired") {
            const auto variance =
                compare(counts(from.at("baseline")), counts(from.at("checkpoint"))).difference_variance;
            return Components{variance->between, variance->within()};
        }
        const auto questions =
            from.contains("correct") ? counts(from.at("correct")) : counts(from.at("c"), from.at("n"));
        const auto variance = variance_components(questions);
        return Components{*variance.between, *variance.within};
    }
    return std::nullopt;
}

TEST(StatisticsGolden, planning) {
    const Golden golden;
    int estimated = 0;
    golden.check("planning", 20, 20, [&](const json& item) {
        const json& input = item.at("input");
        const std::map<std::string, Design> designs{
            {"single", Design::Single}, {"unpaired", Design::Unpaired}, {"paired", Design::Paired}};
        const Design design = designs.at(input.at("design"));
        Components components{input.at("between"), input.at("within")};
        if (const auto own = components_of(golden, input)) {
            compare(json(components.between), json(own->between), "between");
            compare(json(components.within), json(own->within), "within");
            components = *own;
            ++estimated;
        }
        if (!input.contains("delta"))
            return json{{"delta", smallest_effect(design, components, input.at("q"), input.at("n"))}};
        if (!input.contains("q"))
            return json{{"q", questions_needed(design, components, input.at("n"), input.at("delta"))}};
        const auto n = samples_needed(design, components, input.at("q"), input.at("delta"));
        return json{{"n", n ? json(*n) : json(nullptr)}};
    });
    EXPECT_EQ(estimated, 7);
}

TEST(StatisticsGolden, published_scores) {
    Golden().check("published", 9, 2973, [](const json& item) {
        const json& published = item.at("input").at("published");
        const FromPublished from =
            from_published({published.at("questions"), published.at("samples_per_question"),
                            published.at("correct"), published.at("se"), 5});
        const auto questions = counts(item.at("input").at("c"), item.at("input").at("n"));
        return json{{"from_published",
                     {{"avg", from.avg},
                      {"se_naive", from.se_naive},
                      {"design_effect", value(from.design_effect)},
                      {"within", value(from.within)},
                      {"between", value(from.between)},
                      {"largest_possible_se", value(from.largest_possible_se)},
                      {"se_with_endless_samples", value(from.se_with_endless_samples)},
                      {"sum_of_squared_counts", from.sum_of_squared_counts},
                      {"sum_of_squared_counts_if_q_squared", from.sum_of_squared_counts_if_q_squared}}},
                    {"summary", to_json(summarise(questions))},
                    {"variance", to_json(variance_components(questions))}};
    });
}

TEST(StatisticsGolden, published_differences) {
    Golden().check("published_difference", 1, 3, [](const json& item) {
        const json& input = item.at("input");
        const auto found =
            published_difference(input.at("correct_baseline"), input.at("correct_checkpoint"),
                                 input.at("samples"), input.at("se_baseline"), input.at("se_checkpoint"));
        return json{
            {"difference", found.difference}, {"se_unpaired", found.se_unpaired}, {"z", value(found.z)}};
    });
}

TEST(StatisticsGolden, training_runs) {
    Golden().check("runs", 2, 15, [](const json& item) {
        const json& input = item.at("input");
        std::vector<double> values;
        for (const json& correct : input.at("correct"))
            values.push_back(correct.get<double>() / input.at("samples").get<double>());
        std::optional<double> reference;
        if (!input.at("reference").is_null()) {
            EXPECT_EQ(input.at("reference"), "976/1800");
            reference = 976.0 / 1800;
        }
        const Runs runs = summarise_runs(values, reference);
        return json{{"values", runs.values},
                    {"mean", value(runs.mean)},
                    {"sd", value(runs.sd)},
                    {"sem", value(runs.sem)},
                    {"interval_t95", value(runs.interval_t95)},
                    {"gain", value(runs.gain)},
                    {"gain_in_sem", value(runs.gain_in_sem)}};
    });
}

TEST(StatisticsGolden, percentages_of_counts) {
    Golden().check("fractions", 1, 14, [](const json& item) {
        json found = json::array();
        for (const json& pair : item.at("input")) {
            found.push_back({{"value", pair[0].get<double>() / pair[1].get<double>()},
                             {"percent_2", percent(pair[0], pair[1])}});
        }
        return found;
    });
}

} // namespace
} // namespace stillroom::stats
