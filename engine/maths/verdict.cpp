// SPDX-License-Identifier: GPL-3.0-or-later
#include "maths/verdict.h"

#include "base/strings.h"
#include "maths/comparison.h"
#include "maths/latex.h"
#include "maths/normal_form.h"
#include "maths/readings.h"
#include "maths/vocabulary.h"

#include <algorithm>
#include <mutex>
#include <vector>

namespace stillroom::maths {

namespace {

/// The letters of an answer that is one word of three or more, lower case; else empty.
std::string single_word(std::string_view plain) {
    std::string word;
    for (const char c : plain) {
        if (is_letter(c)) {
            word += lower(c);
        } else if (std::string_view(" .()").find(c) == std::string_view::npos) {
            return {};
        }
    }
    const bool named = is_function(word) || constant(word) || is_greek(word);
    return word.size() >= 3 && !named && plain.find("  ") == std::string_view::npos ? word : std::string{};
}

std::optional<Outcome> compare_words(const std::string& answer, const std::string& gold) {
    const std::string word = single_word(answer), gold_word = single_word(gold);
    if (word.empty() || gold_word.empty()) return std::nullopt;
    if (word == gold_word) return Outcome{Verdict::Equal, "the same word"};
    const bool anagram = std::is_permutation(word.begin(), word.end(), gold_word.begin(), gold_word.end());
    if (anagram && is_product_of_letters(word)) {
        return Outcome{Verdict::Unknown, "words, or products of the same letters"};
    }
    return Outcome{Verdict::Different, "different words"};
}

/// A text that is read, and whether it was only guessed to be the answer.
struct Said {
    std::string text;
    bool guessed = false;
};

/// What follows the last "is" of a text, up to the end of the sentence.
std::string after_is(std::string_view text) {
    const size_t is = text.rfind(" is ");
    if (is == std::string_view::npos) return {};
    text.remove_prefix(is + 4);
    return std::string(trimmed(text.substr(0, std::min(text.find(". "), text.find('\n')))));
}

/// Where an answer may be prose, what it says, the likeliest first: its last boxes, unless a "final answer"
/// comes after them; the line that states the answer; in a text of several words, guesses.
std::vector<Said> said_in_prose(std::string_view text) {
    std::vector<Said> all;
    const auto add = [&](std::optional<std::string> said, bool guessed) {
        if (said && !said->empty() && said->size() <= longest_answer)
            all.push_back({std::move(*said), guessed});
    };
    const auto line = extract(text, Rule::AnswerLine);
    const size_t box = text.rfind("\\boxed"), final_answer = text.rfind("inal answer is");
    const auto boxes = last_boxes(text);
    if (boxes && final_answer != std::string_view::npos && final_answer > box) add(line, false);
    add(boxes, false);
    if (boxes) return all;
    constexpr int sentence = 4;
    int words = 0;
    for (size_t at = 0; at < text.size();) {
        size_t end = at;
        while (end < text.size() && is_letter(text[end])) ++end;
        if (end - at >= 2) ++words;
        at = std::max(end, at + 1);
    }
    const bool is_sentence = words >= sentence;
    if (line) {
        add(line, false);
        add(after_is(*line), false);
    }
    add(extract(text, Rule::LastFormula), is_sentence && formula_count(text) > 1);
    if (!is_sentence) return all;
    add(after_is(text), true);
    return all;
}

/// One side as read; where it is not, `why`.
struct Understood {
    Readings read;
    bool guessed = false;
};

Understood understood(std::string_view text, bool may_be_prose) {
    const bool boxed = last_boxes(text).has_value();
    Understood side;
    if (!boxed && text.size() <= longest_answer) side.read = readings(text);
    if (!side.read.trees.empty()) return side;
    std::vector<Said> said_there;
    if (may_be_prose) {
        said_there = said_in_prose(text);
    } else if (boxed) {
        said_there = {{*last_boxes(text), false}};
    }
    for (const Said& said : said_there) {
        Readings read = readings(said.text);
        if (read.trees.empty()) continue;
        return {std::move(read), said.guessed};
    }
    if (boxed) side.read.why = "what is boxed is not read";
    if (side.read.why.empty()) side.read.why = "longer than " + std::to_string(longest_answer) + " bytes";
    return side;
}

Outcome compare_readings(Readings& answer, Readings& gold, const Policy& policy) {
    static std::mutex one_at_a_time; // CLN and GiNaC count references without atomics
    const std::lock_guard lock(one_at_a_time);
    Work work;
    Outcome first;
    bool all_different = true;
    for (Tree& a : answer.trees) {
        for (Tree& g : gold.trees) {
            Outcome outcome;
            try {
                outcome = compare_trees(a, g, policy, work);
            } catch (const Unreadable& fault) {
                outcome.why = fault.what();
            }
            if (outcome.verdict == Verdict::Equal) return outcome;
            all_different = all_different && outcome.verdict == Verdict::Different;
            if (first.why.empty() ||
                (first.verdict == Verdict::Different && outcome.verdict == Verdict::Unknown))
                first = outcome;
        }
    }
    if (!all_different) first.verdict = Verdict::Unknown;
    return first;
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

namespace {

Judgement judged(std::string_view answer, std::string_view gold, const Policy& policy, bool may_be_prose) {
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
    if (answer == gold) return decide(Verdict::Equal, "the same text");
    if (answer.size() <= longest_answer && gold.size() <= longest_answer) {
        judgement.answer_normal = plain_form(marked_form(answer));
        judgement.gold_normal = plain_form(marked_form(gold));
        if (judgement.answer_normal.empty()) return decide(Verdict::Different, "the answer is empty");
        if (judgement.answer_normal == judgement.gold_normal) return decide(Verdict::Equal, "the same text");
        const auto by_word = compare_words(judgement.answer_normal, judgement.gold_normal);
        if (by_word) return decide(by_word->verdict, by_word->why);
    }
    Understood answers = understood(answer, may_be_prose), golds = understood(gold, may_be_prose);
    const auto show = [](const Understood& side, std::string& normal) {
        if (!side.read.trees.empty()) normal = to_text(side.read.trees[0], side.read.trees[0].root);
    };
    show(answers, judgement.answer_normal);
    show(golds, judgement.gold_normal);
    if (answers.read.trees.empty())
        return decide(Verdict::Unknown, "the answer is not read: " + answers.read.why);
    if (golds.read.trees.empty())
        return decide(Verdict::Unknown, "the gold answer is not read: " + golds.read.why);
    Outcome outcome = compare_readings(answers.read, golds.read, policy);
    if (outcome.verdict == Verdict::Different && (answers.guessed || golds.guessed)) {
        return decide(Verdict::Unknown, "prose; what was taken as the answer differs: " + outcome.why);
    }
    return decide(outcome.verdict, std::move(outcome.why));
}

} // namespace

Judgement compare_answers(std::string_view answer, std::string_view gold, const Policy& policy) {
    return judged(answer, gold, policy, /*may_be_prose=*/false);
}

Judgement check(std::string_view prediction, std::string_view gold, Rule rule, const Policy& policy) {
    auto extracted = extract(prediction, rule);
    if (!extracted) {
        Judgement judgement;
        judgement.verdict = Verdict::Different;
        judgement.why = std::string("no answer found by the rule ") + to_string(rule);
        judgement.gold_normal = gold.size() <= longest_answer ? plain_form(marked_form(gold)) : "";
        return judgement;
    }
    Judgement judgement = judged(*extracted, gold, policy, rule == Rule::Whole);
    judgement.extracted = std::move(extracted);
    return judgement;
}

} // namespace stillroom::maths
