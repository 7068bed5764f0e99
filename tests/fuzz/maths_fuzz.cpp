// SPDX-License-Identifier: GPL-3.0-or-later
// libFuzzer over the reader and the checker: two lines are an answer and a gold answer. tests/fuzz/run.sh
// builds and runs it.
#include "maths/verdict.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>

using namespace stillroom::maths;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(bytes), size);
    const size_t line = text.find('\n');
    const std::string_view answer = text.substr(0, line);
    const std::string_view gold = line == std::string_view::npos ? "42" : text.substr(line + 1);
    const Verdict verdict = compare_answers(answer, gold).verdict;
    if (compare_answers(answer, gold).verdict != verdict) std::abort();
    if (gold.find_first_not_of(" \t\n\r\f\v") != std::string_view::npos &&
        compare_answers(gold, gold).verdict != Verdict::Equal) {
        std::abort();
    }
    for (const Rule rule : {Rule::BoxedLast, Rule::Whole, Rule::FinalAnswer}) (void)check(answer, gold, rule);
    return 0;
}
