// SPDX-License-Identifier: GPL-3.0-or-later
#include "maths/verdict.h"

#include "base/strings.h"
#include "maths/normal_form.h"
#include "maths/quantity.h"

namespace stillroom::maths {

namespace {

struct Finding {
    Verdict verdict;
    std::string why;
};

/// One side is a percentage, the other a bare number or another unit.
Finding compare_percentage(const Quantity& answer, const Quantity& gold) {
    const bool gold_is_percent = gold.unit == "%";
    const Quantity& percentage = gold_is_percent ? gold : answer;
    const Quantity& other = gold_is_percent ? answer : gold;
    const std::string values =
        to_string(answer.value) + answer.unit + " against " + to_string(gold.value) + gold.unit;
    if (!other.unit.empty()) return {Verdict::Unknown, "a percentage against another unit: " + values};
    if (answer.value == gold.value) {
        if (gold_is_percent) return {Verdict::Equal, "the same number; the gold answer is in percent"};
        return {Verdict::Unknown, "the answer is in percent, the gold answer does not say so: " + values};
    }
    if (percentage.value == other.value * 100) {
        return {Verdict::Unknown, "the same value, once in percent and once not: " + values};
    }
    return {Verdict::Different, "different numbers: " + values};
}

Finding compare_quantities(const Quantity& answer, const Quantity& gold) {
    if (!answer.variable.empty() && !gold.variable.empty() && answer.variable != gold.variable) {
        return {Verdict::Unknown,
                "values of different variables, " + answer.variable + " and " + gold.variable};
    }
    if ((answer.unit == "%") != (gold.unit == "%")) return compare_percentage(answer, gold);
    if (!answer.unit.empty() && !gold.unit.empty() && answer.unit != gold.unit) {
        return {Verdict::Unknown, "different units, " + answer.unit + " and " + gold.unit};
    }
    if (answer.value == gold.value) return {Verdict::Equal, "equal as numbers: " + to_string(gold.value)};
    return {Verdict::Different,
            "different numbers: " + to_string(answer.value) + " against " + to_string(gold.value)};
}

} // namespace

const char* to_string(Verdict verdict) {
    switch (verdict) {
    case Verdict::Equal:
        return "equal";
    case Verdict::Different:
        return "different";
    case Verdict::Unknown:
        return "unknown";
    }
    return "";
}

Judgement compare_answers(std::string_view answer, std::string_view gold) {
    Judgement judgement;
    const auto decide = [&](Verdict verdict, std::string why) {
        judgement.verdict = verdict;
        judgement.why = std::move(why);
        return judgement;
    };
    answer = trimmed(answer);
    gold = trimmed(gold);
    if (gold.empty()) return decide(Verdict::Unknown, "the gold answer is empty");
    if (answer.empty()) return decide(Verdict::Different, "the answer is empty");
    if (answer.size() > longest_answer || gold.size() > longest_answer) {
        if (answer == gold) return decide(Verdict::Equal, "the same text");
        return decide(Verdict::Unknown, "longer than " + std::to_string(longest_answer) + " bytes");
    }
    const std::string answer_marked = marked_form(answer), gold_marked = marked_form(gold);
    judgement.answer_normal = plain_form(answer_marked);
    judgement.gold_normal = plain_form(gold_marked);
    if (answer == gold) return decide(Verdict::Equal, "the same text");
    if (judgement.answer_normal.empty()) return decide(Verdict::Different, "the answer is empty");
    if (judgement.answer_normal == judgement.gold_normal) return decide(Verdict::Equal, "the same text");
    const auto answer_quantity = parse_quantity(answer_marked), gold_quantity = parse_quantity(gold_marked);
    if (answer_quantity && gold_quantity) {
        Finding finding = compare_quantities(*answer_quantity, *gold_quantity);
        return decide(finding.verdict, std::move(finding.why));
    }
    const std::string sides = !answer_quantity && !gold_quantity ? "neither side is"
                              : !answer_quantity                 ? "the answer is not"
                                                                 : "the gold answer is not";
    return decide(Verdict::Unknown, "different texts, and " + sides + " a plain number");
}

Judgement check(std::string_view prediction, std::string_view gold, Rule rule) {
    auto extracted = extract(prediction, rule);
    if (!extracted) {
        Judgement judgement;
        judgement.verdict = Verdict::Different;
        judgement.why = std::string("no answer found by the rule ") + to_string(rule);
        judgement.gold_normal = gold.size() <= longest_answer ? plain_form(marked_form(gold)) : "";
        return judgement;
    }
    Judgement judgement = compare_answers(*extracted, gold);
    judgement.extracted = std::move(extracted);
    return judgement;
}

} // namespace stillroom::maths
