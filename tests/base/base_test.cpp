// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/files.h"
#include "base/half.h"
#include "base/hash.h"
#include "base/philox.h"
#include "base/queue.h"
#include "base/strings.h"
#include "tests/support/golden.h"

#include <cmath>
#include <cstdio>
#include <gtest/gtest.h>
#include <limits>

namespace stillroom {

// The known-answer vectors of the Random123 library (kat_vectors, philox4x32 10 rounds).
TEST(Philox, agrees_with_the_published_known_answers) {
    EXPECT_EQ(philox({0, 0}, {0, 0, 0, 0}), (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    EXPECT_EQ(philox({0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}),
              (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
    EXPECT_EQ(philox({0xa4093822, 0x299f31d0}, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
              (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(PhiloxStream, bounded_numbers_are_uniform) {
    PhiloxStream stream(42, 7);
    std::vector<int> seen(10);
    for (int i = 0; i < 100000; ++i) ++seen[stream.below(10)];
    double chi_square = 0;
    for (int count : seen) chi_square += (count - 10000.0) * (count - 10000.0) / 10000.0;
    EXPECT_LT(chi_square, 27.88); // 9 degrees of freedom, p = 0.001; the seed is fixed
}

TEST(Hash, agrees_with_the_published_digests) {
    EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Half, every_half_survives_the_way_to_float_and_back) {
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
        const float value = fp16_to_float(uint16_t(bits));
        if (std::isnan(value)) continue;
        ASSERT_EQ(float_to_fp16(value), bits) << bits;
    }
    EXPECT_EQ(float_to_fp16(65519.99f), 0x7bff); // below the midpoint to infinity
    EXPECT_EQ(float_to_fp16(65520.0f), 0x7c00);
    EXPECT_EQ(float_to_fp16(0x1p-25f), 0); // ties to even
    EXPECT_EQ(float_to_fp16(0x1.8p-24f), 2);
}

TEST(Half, bf16_rounds_to_nearest_even) {
    EXPECT_EQ(float_to_bf16(1.0f), 0x3f80);
    EXPECT_EQ(float_to_bf16(std::bit_cast<float>(0x3f808000u)), 0x3f80);
    EXPECT_EQ(float_to_bf16(std::bit_cast<float>(0x3f818000u)), 0x3f82);
    EXPECT_TRUE(std::isnan(bf16_to_float(float_to_bf16(std::numeric_limits<float>::quiet_NaN()))));
}

TEST(Files, a_failed_folder_leaves_nothing_behind) {
    test::TemporaryFolder folder;
    const auto failed = write_folder(folder / "checkpoint", [](const auto& partial) -> Result<void> {
        EXPECT_TRUE(write_file(partial / "half", "written"));
        return Error{"disk full"};
    });
    EXPECT_FALSE(failed);
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Files, a_file_is_replaced_whole) {
    test::TemporaryFolder folder;
    ASSERT_TRUE(write_file(folder / "a", "first"));
    ASSERT_TRUE(write_file(folder / "a", "second"));
    EXPECT_EQ(*read_file(folder / "a"), "second");
    EXPECT_FALSE(read_file(folder / "missing"));
    EXPECT_NE(read_file(folder / "missing").error().message().find("missing"), std::string::npos);
}

TEST(Strings, the_nearest_key_is_found_and_far_words_are_not) {
    const std::vector<std::string> keys{"temperature", "top_p", "top_k"};
    EXPECT_EQ(nearest("temprature", keys), "temperature");
    EXPECT_EQ(nearest("top_q", keys), "top_p");
    EXPECT_EQ(nearest("banana", keys), "");
}

TEST(Strings, utf8_is_checked_as_unicode_defines_it) {
    EXPECT_TRUE(is_utf8("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"));
    for (const char* bad : {"\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\x80", "\xff"})
        EXPECT_FALSE(is_utf8(bad));
}

TEST(BoundedQueue, refuses_what_passes_its_capacity_and_drains_after_closing) {
    BoundedQueue<int> queue(10);
    EXPECT_TRUE(queue.try_push(1, 6));
    EXPECT_FALSE(queue.try_push(2, 6));
    EXPECT_TRUE(queue.try_push(3, 4));
    queue.close();
    EXPECT_FALSE(queue.try_push(4, 1));
    EXPECT_EQ(queue.pop(std::chrono::milliseconds(1)), 1);
    EXPECT_EQ(queue.pop(std::chrono::milliseconds(1)), 3);
    EXPECT_EQ(queue.pop(std::chrono::milliseconds(1)), std::nullopt);
}

TEST(ShellWord, is_read_by_a_shell_as_it_was) {
    for (const std::string text :
         {"plain", "a=b", "two words", "it's", "$HOME", "", "a\nb", "\"quoted\"", "*", "~"}) {
        const std::string command = "printf %s " + shell_word(text);
        std::FILE* shell = ::popen(command.c_str(), "r");
        ASSERT_TRUE(shell);
        char said[64] = {};
        const size_t length = std::fread(said, 1, sizeof said, shell);
        EXPECT_EQ(::pclose(shell), 0);
        EXPECT_EQ(std::string(said, length), text);
    }
    EXPECT_EQ(shell_word("data.files=/a/b-1.jsonl"), "data.files=/a/b-1.jsonl");
}

} // namespace stillroom
