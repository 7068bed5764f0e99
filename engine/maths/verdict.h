// SPDX-License-Identifier: GPL-3.0-or-later
// Whether an answer is the gold answer. Equal and Different are only said where that is certain by the rules
// below; all else is Unknown, a verdict of its own that is never counted as wrong in silence.
#pragma once

#include "maths/extraction.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stillroom::maths {

enum class Verdict { Equal, Different, Unknown };
const char* to_string(Verdict verdict); // "equal", "different", "unknown"

/// Longer texts are compared as prose, or as they stand.
constexpr size_t longest_answer = 4096;
/// Steps of work on one pair, about one operation on 60 digits each.
constexpr int64_t most_steps = 200'000;

/// Choices where public graders disagree. The defaults are what people mean by an answer to a question.
struct Policy {
    enum class Percent {
        Written, // "10%" is "10" (the question asks for percent); against "0.1" it is Unknown
        Value,   // "10%" is "0.1" and nothing else
    };
    enum class Order {
        Tuples, // "1, -2" is "-2, 1", but a point or vector keeps its order
        All,    // lists keep theirs too
        None,   // nor do tuples: "(1, 2)" is "(2, 1)"
    };
    enum class Units {
        Optional, // a unit that only one side states is ignored; two are converted, or differ
        Required, // a unit that only one side states is a difference
    };
    Percent percent = Percent::Written;
    Order order = Order::Tuples;
    Units units = Units::Optional;
    std::optional<int>
        decimals; // a decimal is equal to what it is rounded from, to so many places; none: exact
};

struct Judgement {
    Verdict verdict = Verdict::Unknown;
    std::string why;
    std::optional<std::string> extracted; // by check(); nullopt: the rule found no answer
    std::string gold_normal, answer_normal;
};

/// Compares an answer with the gold answer. Both are read (reader.h) and compared by shape and value: numbers
/// exactly where they are rational, else to at least 40 digits; functions of symbols at points where both are
/// defined, with expansion as proof where it can be had.
///
/// A list is unordered, a set without repetitions, a tuple ordered; "(a, b)" is a point or an open interval,
/// whichever the other side is. "x = 5", "x in A" and "f(x) = 2x" are what stands behind the sign; names that
/// differ are Unknown where the values agree. A base that the answer leaves out is that of the gold answer. A
/// set of one element is that element. A comma between digits is tried as a thousands mark, a separator and a
/// decimal point: one reading in which both are equal decides. Words are equal to the same words; different
/// single words are Different. Where boxes stand in an answer, the last ones count.
///
/// Never hangs: text, depth, parts, digits, exponents and steps are limited, and what is beyond is Unknown.
/// Safe from several threads, one of which works at a time.
Judgement compare_answers(std::string_view answer, std::string_view gold, const Policy& policy = {});

/// Extracts by `rule` and compares. No answer, or an empty one, is Different. By the rule whole either side
/// may be prose: then its last boxes count, what it says after "answer is", or its last formula; where
/// several might be meant, what differs is Unknown.
Judgement check(std::string_view prediction, std::string_view gold, Rule rule, const Policy& policy = {});

} // namespace stillroom::maths
