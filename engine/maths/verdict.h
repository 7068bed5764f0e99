// SPDX-License-Identifier: GPL-3.0-or-later
// Whether an answer is the gold answer. Equal and Different are only said where that is certain: the same
// text after normalising, or numbers compared exactly. All else is Unknown, a verdict of its own that is
// never counted as wrong in silence.
#pragma once

#include "maths/extraction.h"

#include <optional>
#include <string>
#include <string_view>

namespace stillroom::maths {

enum class Verdict { Equal, Different, Unknown };
const char* to_string(Verdict verdict); // "equal", "different", "unknown"

struct Judgement {
    Verdict verdict = Verdict::Unknown;
    std::string why;
    std::optional<std::string> extracted; // by check(); nullopt: the rule found no answer
    std::string gold_normal, answer_normal;
};

/// Compares an answer with the gold answer.
///
/// Units: one that only one side states is ignored; two different ones are Unknown (they might convert).
/// Percent: "28%" is the gold "28%" and so is "28" (the question asked for percent), but a gold without the
/// sign against an answer with it is Unknown, since 28% may mean 28 or 0.28. A mixed number is always the
/// sum. A thousands mark needs groups of three and no space. Answers longer than longest_answer
/// (normal_form.h) are Equal to the same text and else Unknown.
Judgement compare_answers(std::string_view answer, std::string_view gold);

/// Extracts by `rule` and compares. No answer, or an empty one, is Different.
Judgement check(std::string_view prediction, std::string_view gold, Rule rule);

} // namespace stillroom::maths
