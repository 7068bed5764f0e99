// SPDX-License-Identifier: GPL-3.0-or-later
// The inputs that fuzzing kept (tests/fuzz): each ends in the same verdict twice, and a gold answer equals
// itself.
#include "maths/verdict.h"
#include "tests/support/golden.h"

#include <fstream>
#include <gtest/gtest.h>

namespace stillroom::maths {
namespace {

/// A byte is the character of its number (tests/fuzz/corpus.py).
std::string bytes_of(const std::string& utf8) {
    std::string bytes;
    for (size_t i = 0; i < utf8.size(); ++i) {
        const auto first = static_cast<unsigned char>(utf8[i]);
        bytes += first < 0x80 ? char(first) : char((first & 3) << 6 | (utf8[++i] & 0x3f));
    }
    return bytes;
}

TEST(FuzzCorpus, every_input_ends_in_one_verdict) {
    int count = 0;
    std::ifstream stream(test::source_folder() / "tests/fuzz/maths_corpus.jsonl");
    for (std::string packed; std::getline(stream, packed);) {
        const std::string text = bytes_of(nlohmann::json::parse(packed).get<std::string>());
        const size_t line = text.find('\n');
        const std::string answer = text.substr(0, line),
                          gold = line == std::string::npos ? "42" : text.substr(line + 1);
        const Verdict verdict = compare_answers(answer, gold).verdict;
        EXPECT_EQ(compare_answers(answer, gold).verdict, verdict) << packed;
        if (gold.find_first_not_of(" \t\n\r\f\v") != std::string::npos) {
            EXPECT_EQ(compare_answers(gold, gold).verdict, Verdict::Equal) << packed;
        }
        ++count;
    }
    EXPECT_GT(count, 100);
}

} // namespace
} // namespace stillroom::maths
