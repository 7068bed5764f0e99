// SPDX-License-Identifier: GPL-3.0-or-later
// Soundness of the answer check: what is judged equal is equal, what is judged different is different.
#include "maths/verdict.h"

#include "base/philox.h"
#include "maths/normal_form.h"
#include "tests/support/golden.h"

#include <array>
#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <set>

namespace stillroom::maths {
namespace {

using nlohmann::json;

/// The published cases are answers as they stand, or responses in prose: the rule follows the text.
Rule rule_for(const std::string& prediction) {
    if (prediction.find("\\boxed") != std::string::npos) return Rule::BoxedLast;
    if (prediction.find("</think>") != std::string::npos) return Rule::FinalAnswer;
    return Rule::Whole;
}

TEST(Verdict, calls_no_published_pair_equal_that_its_source_calls_different) {
    // The source marks the unreduced fraction wrong as a matter of form (PRM800K); as numbers they are equal.
    const std::set<std::string> form_only{"eq-0314"};
    int different = 0, all = 0;
    std::set<std::string> equal_by_form;
    for (const json& item : test::read_json_lines(test::data("math_equivalence/cases.jsonl"))) {
        ++all;
        if (item.at("equal").get<bool>()) continue;
        ++different;
        const std::string prediction = item.at("prediction"), gold = item.at("gold");
        const Judgement judgement = check(prediction, gold, rule_for(prediction));
        if (judgement.verdict != Verdict::Equal) continue;
        EXPECT_TRUE(form_only.contains(item.at("id"))) << item.dump() << "\n" << judgement.why;
        equal_by_form.insert(item.at("id"));
    }
    EXPECT_EQ(all, 429);
    EXPECT_EQ(different, 115);
    EXPECT_EQ(equal_by_form, form_only);
}

TEST(Verdict, calls_no_published_pair_different_that_its_source_calls_equal) {
    const std::map<std::string, std::string> known{
        {"eq-0121", "0.3333 is 1/3 only to the four places that the source asks for"},
        {"eq-0122", "0.0833333333333333 is 1/12 only to the six places that the source asks for"},
        {"eq-0168", "interim results are boxed, the answer is not: the rule takes the last box"}};
    std::set<std::string> called_different;
    int equal = 0, found_equal = 0;
    for (const json& item : test::read_json_lines(test::data("math_equivalence/cases.jsonl"))) {
        if (!item.at("equal").get<bool>()) continue;
        ++equal;
        const std::string prediction = item.at("prediction"), gold = item.at("gold");
        const Judgement judgement = check(prediction, gold, rule_for(prediction));
        found_equal += judgement.verdict == Verdict::Equal;
        if (judgement.verdict != Verdict::Different) continue;
        EXPECT_TRUE(known.contains(item.at("id"))) << item.dump() << "\n" << judgement.why;
        called_different.insert(item.at("id"));
    }
    EXPECT_EQ(equal, 314);
    EXPECT_EQ(called_different.size(), known.size());
    EXPECT_GE(found_equal, 150); // the rest is unknown: expressions, sets, intervals, matrices
}

TEST(Verdict, every_gold_answer_equals_itself_and_its_boxed_form) {
    std::vector<std::string> golds;
    for (const json& item :
         test::read_json_lines(test::source_folder() / "resources/gsm8k/gsm8k_test.jsonl")) {
        golds.push_back(item.at("answer"));
    }
    EXPECT_EQ(golds.size(), 1319u);
    for (const json& item : test::read_json_lines(test::data("datasets/math500.jsonl"))) {
        golds.push_back(item.at("answer"));
    }
    EXPECT_EQ(golds.size(), 1319u + 500u);
    for (const std::string& gold : golds) {
        EXPECT_EQ(compare_answers(gold, gold).verdict, Verdict::Equal) << gold;
        EXPECT_EQ(compare_answers("$" + gold + "$", gold).verdict, Verdict::Equal) << gold;
        EXPECT_EQ(check("Hence $\\boxed{" + gold + "}$.", gold, Rule::BoxedLast).verdict, Verdict::Equal)
            << gold;
    }
}

TEST(Verdict, no_two_math500_answers_that_differ_as_text_are_confused) {
    std::set<std::string> golds;
    for (const json& item : test::read_json_lines(test::data("datasets/math500.jsonl"))) {
        golds.insert(item.at("answer").get<std::string>());
    }
    std::set<std::pair<std::string, std::string>> equal;
    for (auto a = golds.begin(); a != golds.end(); ++a) {
        for (auto b = std::next(a); b != golds.end(); ++b) {
            const bool forth = compare_answers(*a, *b).verdict == Verdict::Equal;
            const bool back = compare_answers(*b, *a).verdict == Verdict::Equal;
            if (forth || back) equal.emplace(*a, *b);
        }
    }
    // Read by a person: each pair is two spellings of one value, or a value with and without its unit.
    const std::set<std::pair<std::string, std::string>> spellings{
        {"10,\\!080", "10080"},    {"120", "120^\\circ"},
        {"15", "15\\mbox{ cm}^2"}, {"2 \\sqrt{5}", "2\\sqrt{5}"},
        {"30", "30^\\circ"},       {"36", "36^\\circ"},
        {"36", "\\$36"},           {"5", "x=5"},
        {"90", "90^\\circ"},       {"\\frac14", "\\frac{1}{4}"}};
    EXPECT_EQ(equal, spellings);
}

std::string fraction_text(int64_t p, int64_t q, int form) {
    const std::string sign = p < 0 ? "-" : "", a = std::to_string(std::abs(p)), b = std::to_string(q);
    switch (form) {
    case 0:
        return sign + a + "/" + b;
    case 1:
        return sign + "\\frac{" + a + "}{" + b + "}";
    case 2:
        return "\\dfrac{" + sign + a + "}{" + b + "}";
    case 3:
        return "$" + sign + "\\tfrac {" + a + "} {" + b + "}$.";
    case 4:
        return "\\left(" + sign + "\\frac{" + a + "}{" + b + "}\\right)";
    case 5:
        return "x = " + sign + a + " / " + b;
    case 6:
        return sign + "\\frac{" + a + "}{" + b + "}\\text{ cm}";
    default:
        return "(" + sign + a + ")/(" + b + ")";
    }
}

TEST(Verdict, fractions_are_compared_exactly_in_all_spellings) {
    // Independent truth: cross multiplication of small whole numbers.
    PhiloxStream random(3, 0);
    int equal = 0;
    for (int trial = 0; trial < 4000; ++trial) {
        const int64_t p1 = int64_t(random.below(41)) - 20, q1 = 1 + random.below(12);
        int64_t p2 = int64_t(random.below(41)) - 20, q2 = 1 + random.below(12);
        if (trial % 2 == 0) { // the same value with another denominator
            const int64_t factor = 1 + random.below(9), common = std::gcd(std::abs(p1), q1);
            p2 = p1 / common * factor;
            q2 = q1 / common * factor;
        }
        const std::string a = fraction_text(p1, q1, int(random.below(8))),
                          b = fraction_text(p2, q2, int(random.below(8)));
        const Verdict expected = p1 * q2 == p2 * q1 ? Verdict::Equal : Verdict::Different;
        EXPECT_EQ(compare_answers(a, b).verdict, expected) << a << " against " << b;
        equal += expected == Verdict::Equal;
    }
    EXPECT_GT(equal, 1900);
    EXPECT_LT(equal, 2300);
}

TEST(Verdict, decimals_are_compared_exactly_with_and_without_thousands_marks) {
    PhiloxStream random(4, 0);
    for (int trial = 0; trial < 2000; ++trial) {
        const int64_t hundredths = random.below(500000000); // up to 5,000,000.00
        const int64_t other = hundredths + (trial % 2 == 0 ? 0 : 1 + int64_t(random.below(3)));
        const auto plain = [](int64_t value) {
            const std::string places = std::to_string(value % 100);
            return std::to_string(value / 100) + "." + std::string(2 - places.size(), '0') + places + "0";
        };
        std::string marked = plain(other);
        for (int64_t at = int64_t(marked.find('.')) - 3; at > 0; at -= 3) {
            marked.insert(size_t(at), std::array<const char*, 3>{",", "{,}", ",\\!"}[size_t(trial % 3)]);
        }
        const std::string fraction = std::to_string(hundredths) + "/100";
        const Verdict expected = hundredths == other ? Verdict::Equal : Verdict::Different;
        EXPECT_EQ(compare_answers(plain(hundredths), marked).verdict, expected) << marked;
        EXPECT_EQ(compare_answers("\\$" + marked, fraction).verdict, expected) << marked;
    }
}

struct Pair {
    const char* answer;
    const char* gold;
    Verdict verdict;
};

void expect(const std::vector<Pair>& pairs) {
    for (const Pair& pair : pairs) {
        const Judgement judgement = compare_answers(pair.answer, pair.gold);
        EXPECT_EQ(judgement.verdict, pair.verdict)
            << pair.answer << " against " << pair.gold << ": " << to_string(judgement.verdict) << ", "
            << judgement.why << " [" << judgement.answer_normal << "] [" << judgement.gold_normal << "]";
        EXPECT_FALSE(judgement.why.empty());
    }
}

constexpr Verdict equal = Verdict::Equal, different = Verdict::Different, unknown = Verdict::Unknown;

TEST(Verdict, mixed_numbers_are_sums) {
    expect({{"2\\frac{1}{2}", "2.5", equal},
            {"2 1/2", "5/2", equal},
            {"-1\\frac{4}{5}", "-1.8", equal},
            {"-1\\frac{4}{5}", "-0.2", different},
            {"2 1/2", "21/2", different},
            {"3\\frac{4}{2}", "5", unknown},
            {"1 1/2", "11/2", different}});
}

TEST(Verdict, one_unit_is_ignored_and_two_different_ones_are_not) {
    expect({{"12\\text{ cm}", "12", equal},
            {"12", "12\\text{ cm}", equal},
            {"12 miles", "12\\text{ mile}", equal},
            {"12\\text{ m}", "12\\text{ cm}", unknown},
            {"100\\text{ cm}", "1\\text{ m}", unknown},
            {"5.4\\text{ dollars}", "5.4\\text{ cents}", unknown},
            {"\\$5", "5\\text{ cents}", unknown},
            {"$5", "5 dollars", equal},
            {"864 \\mbox{ inches}^2", "864", equal},
            {"9\\text{ cm}^2", "9\\text{ cm}^3", unknown},
            {"13\\text{ apples}", "12", different},
            {"90^\\circ", "90", equal}});
}

TEST(Verdict, words_that_change_a_number_are_no_units) {
    expect({{"5\\text{ million}", "5", unknown},
            {"3\\text{ dozen}", "3", unknown},
            {"6 \\text{ and } 8", "6", unknown},
            {"6 \\text{ or } 8", "68", unknown},
            {"5\\text{ squared}", "5", unknown},
            {"5x", "5", unknown},
            {"5\\pi", "5", unknown},
            {"5\\text{i}", "5", unknown},
            {"5\\mathrm{e}", "5", unknown},
            {"5 m", "5", unknown},
            {"5!", "5", unknown},
            {"2^{10}", "210", unknown},
            {"2516_8", "2516", unknown},
            {"7 hours 30 minutes", "7", unknown},
            {"\\pm 5", "5", unknown}});
}

TEST(Verdict, percentages) {
    expect({{"28", "28\\%", equal},
            {"28 percent", "28\\%", equal},
            {"28\\%", "28\\%", equal},
            {"10\\%", "10", unknown},
            {"10\\%", "0.1", unknown},
            {"0.1", "10\\%", unknown},
            {"50%", "1/2", unknown},
            {"20\\%", "10", different},
            {"20\\%", "10\\%", different}});
}

TEST(Verdict, lists_are_no_thousands) {
    expect({{"1,234", "1234", equal},
            {"1, 234", "1234", unknown},
            {"1 ,234", "1234", unknown},
            {"32,\\! 349", "32349", equal},
            {"32, 349", "32,349", unknown},
            {"1,22", "122", unknown},
            {"0,111", "111", unknown},
            {"1234,567", "1234567", unknown},
            {"1 000", "1000", unknown},
            {"1. 5", "1.5", unknown},
            {"(1,2)", "(1, 2)", equal},
            {"(1,2)", "(2,1)", unknown}});
}

TEST(Verdict, typesetting_makes_no_difference) {
    expect({{"\\left( 3, \\frac{\\pi}{2} \\right)", "(3,\\frac\\pi2)", unknown},
            {"\\left( 3, \\frac{\\pi}{2} \\right)", "(3,\\dfrac{\\pi}{2})", equal},
            {"\\frac12", "\\frac{1}{2}", equal},
            {"\\frac1{72}", "1/72", equal},
            {"\\sqrt3", "\\sqrt{3}", equal},
            {"4210_5", "4210_{5}", equal},
            {"x^2 + 1", "x^{2}+1", equal},
            {"x^{1}0", "x^{10}", unknown},
            {"\\text{even}", "even", equal},
            {"\\text{(C)}", "(C)", equal},
            {"\\pi r", "\\pir", unknown},
            {"x \\le 5", "x\\leq 5", equal},
            {"x \\neq 5", "x\\ne5", equal},
            {"\\(42\\).", "42", equal},
            {"\xe2\x88\x92"
             "7",
             "-7", equal},
            {"004", "4", equal},
            {"", "5", different},
            {"$$", "5", different},
            {"5", "", unknown}});
}

TEST(Verdict, numbers_that_differ_by_little_are_different) {
    expect({{"5.001", "5", different},
            {"0.3333333333", "1/3", different},
            {"100000000000000000000000001", "100000000000000000000000000", different},
            {"0.1000000000000000055511151231257827", "0.1", different},
            {"1/0", "1/0", equal},
            {"1/0", "2/0", unknown},
            {"x=5", "5", equal},
            {"x=5", "y=5", unknown}});
}

TEST(Verdict, no_answer_is_different_and_says_which_rule_found_none) {
    const Judgement judgement = check("I do not know.", "5", Rule::BoxedLast);
    EXPECT_EQ(judgement.verdict, Verdict::Different);
    EXPECT_FALSE(judgement.extracted);
    EXPECT_NE(judgement.why.find("boxed_last"), std::string::npos);
    EXPECT_EQ(check("so \\boxed{ 5.0 }", "5", Rule::BoxedLast).extracted, " 5.0 ");
}

TEST(Verdict, hostile_answers_end_unknown) {
    std::vector<std::string> hostile;
    for (const std::string part :
         {"{",    "}", "\\frac", "\\frac{", "\\frac{1}{", "\\text{", "\\sqrt{",  "$", "\\",   "(",       "1,",
          ",\\!", "-", "9",      ".",       "^{a}",       "\\left",  "\\boxed{", " ", "\xff", "\xe2\x88"}) {
        for (const size_t length : {1u, 60u, 600u, 4000u, 100000u}) {
            std::string text;
            while (text.size() < length) text += part;
            hostile.push_back(text);
            hostile.push_back(text + "5");
            std::string closed = text + "5";
            for (size_t i = 0; i < text.size() / part.size() && part.back() == '{'; ++i) closed += '}';
            hostile.push_back(closed);
        }
    }
    hostile.push_back(std::string("5\0", 2));
    for (const std::string& text : hostile) {
        const std::string start = text.substr(0, 20);
        EXPECT_NE(compare_answers(text, "5318008").verdict, Verdict::Equal) << start;
        EXPECT_NE(compare_answers("5318008", text).verdict, Verdict::Equal) << start;
        if (!text.empty() && text.find_first_not_of(" $") != std::string::npos) {
            EXPECT_EQ(compare_answers(text, text).verdict, Verdict::Equal) << start;
        }
    }
    EXPECT_EQ(compare_answers(std::string(401, '9'), std::string(401, '8')).verdict, Verdict::Unknown);
    EXPECT_EQ(compare_answers(std::string(400, '9'), std::string(400, '8')).verdict, Verdict::Different);
}

} // namespace
} // namespace stillroom::maths
