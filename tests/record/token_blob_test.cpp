// SPDX-License-Identifier: GPL-3.0-or-later
#include "record/token_blob.h"

#include "base/ensure.h"
#include "tests/record/examples.h"

#include <cmath>
#include <cstring>

namespace stillroom::record {
namespace {

std::span<const std::byte> bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

// An independent reading of the documented layout.
template <typename T>
T at(const std::string& blob, size_t offset) {
    T value;
    std::memcpy(&value, blob.data() + offset, sizeof value);
    return value;
}

TEST(TokenBlob, has_20_bytes_a_token_at_the_documented_offsets) {
    const TokenRecord tokens = example_rollout(1, 0, 5).tokens;
    const std::string blob = encode(tokens);
    ASSERT_EQ(blob.size(), 8 + 20 * 5u);
    EXPECT_EQ(at<uint32_t>(blob, 0), 1u); // version
    EXPECT_EQ(at<uint32_t>(blob, 4), 5u); // length
    EXPECT_EQ(at<int32_t>(blob, 8 + 4 * 2), 100'002);
    const size_t halves = 8 + 4 * 5;
    // Token 4: student log-prob -1.0 is 0xbc00, teacher's -2.0 is 0xc000, teacher's without the context not
    // computed.
    EXPECT_EQ(at<uint16_t>(blob, halves + 2 * 4), 0xbc00);
    EXPECT_EQ(at<uint16_t>(blob, halves + 10 + 2 * 4), 0xc000);
    EXPECT_TRUE(at<uint16_t>(blob, halves + 20 + 2 * 4) > 0x7c00);
    // Entropies 0.5 and 0.25, KL 0.125, clipped 0.0625.
    EXPECT_EQ(at<uint16_t>(blob, halves + 30 + 2 * 4), 0x3800);
    EXPECT_EQ(at<uint16_t>(blob, halves + 40 + 2 * 4), 0x3400);
    EXPECT_EQ(at<uint16_t>(blob, halves + 50 + 2 * 4), 0x3000);
    EXPECT_EQ(at<uint16_t>(blob, halves + 60 + 2 * 4), 0x2c00);
    EXPECT_EQ(at<uint8_t>(blob, halves + 70 + 3), 3);
    EXPECT_EQ(at<uint8_t>(blob, halves + 75 + 4), 2);
}

TEST(TokenBlob, comes_back_with_empty_fields_as_not_computed) {
    const TokenRecord tokens = example_rollout(1, 0, 300).tokens;
    const auto decoded = decode_tokens(bytes(encode(tokens)));
    ASSERT_TRUE(decoded);
    EXPECT_EQ(decoded->ids, tokens.ids);
    EXPECT_EQ(decoded->student_logprob, tokens.student_logprob);
    EXPECT_EQ(decoded->teacher_logprob, tokens.teacher_logprob);
    EXPECT_EQ(decoded->student_entropy, tokens.student_entropy);
    EXPECT_EQ(decoded->teacher_entropy, tokens.teacher_entropy);
    EXPECT_EQ(decoded->kl, tokens.kl);
    EXPECT_EQ(decoded->clipped, tokens.clipped);
    EXPECT_EQ(decoded->overlap, tokens.overlap);
    EXPECT_EQ(decoded->flags, tokens.flags);
    ASSERT_EQ(decoded->teacher_plain_logprob.size(), 300u);
    for (const float value : decoded->teacher_plain_logprob) EXPECT_TRUE(std::isnan(value));
}

TEST(TokenBlob, keeps_log_probs_within_the_documented_error_and_non_finite_ones_as_they_are) {
    TokenRecord tokens;
    tokens.student_logprob = {-1e-3f, -0.6931472f, -10.3f, -37.77f, -INFINITY, NAN, -70000.f};
    tokens.ids.resize(tokens.student_logprob.size());
    const auto decoded = decode_tokens(bytes(encode(tokens)));
    ASSERT_TRUE(decoded);
    for (size_t i = 0; i < 4; ++i) {
        // binary16 has 11 significant bits: half a unit in the last place is at most |x| / 2048.
        EXPECT_NEAR(decoded->student_logprob[i], tokens.student_logprob[i],
                    std::abs(tokens.student_logprob[i]) / 2048);
    }
    EXPECT_EQ(decoded->student_logprob[4], -INFINITY);
    EXPECT_TRUE(std::isnan(decoded->student_logprob[5]));
    EXPECT_EQ(decoded->student_logprob[6], -INFINITY);
}

TEST(TokenBlob, of_an_empty_rollout_is_a_header) {
    EXPECT_EQ(encode(TokenRecord{}).size(), 8u);
    const auto decoded = decode_tokens(bytes(encode(TokenRecord{})));
    ASSERT_TRUE(decoded);
    EXPECT_TRUE(decoded->ids.empty());
}

TEST(Top16Blob, has_260_bytes_a_token_and_comes_back) {
    const Top16Record top16 = example_top16(9);
    const std::string blob = encode(top16);
    ASSERT_EQ(blob.size(), 8 + 260 * 9u);
    const auto decoded = decode_top16(bytes(blob));
    ASSERT_TRUE(decoded);
    EXPECT_EQ(decoded->student_ids, top16.student_ids);
    EXPECT_EQ(decoded->teacher_ids, top16.teacher_ids);
    EXPECT_EQ(decoded->student_ids_student, top16.student_ids_student);
    EXPECT_EQ(decoded->student_ids_teacher, top16.student_ids_teacher);
    EXPECT_EQ(decoded->teacher_ids_student, top16.teacher_ids_student);
    EXPECT_EQ(decoded->teacher_ids_teacher, top16.teacher_ids_teacher);
    EXPECT_EQ(decoded->student_tail, top16.student_tail);
    EXPECT_EQ(decoded->teacher_tail, top16.teacher_tail);
}

TEST(TokenBlob, of_another_version_or_size_is_refused_with_its_numbers) {
    std::string blob = encode(example_rollout(1, 0, 4).tokens);
    const auto cut = decode_tokens(bytes(blob.substr(0, blob.size() - 1)));
    ASSERT_FALSE(cut);
    EXPECT_NE(cut.error().message().find("87 bytes, expected 88 for 4 tokens"), std::string::npos)
        << cut.error().message();
    for (size_t size = 0; size < blob.size(); ++size)
        EXPECT_FALSE(decode_tokens(bytes(blob.substr(0, size))));
    std::string longer = blob;
    longer[4] = longer[5] = longer[6] = longer[7] = '\xff'; // 2^32 - 1 tokens
    EXPECT_FALSE(decode_tokens(bytes(longer)));
    EXPECT_FALSE(decode_top16(bytes(longer)));
    blob[0] = 9;
    const auto newer = decode_tokens(bytes(blob));
    ASSERT_FALSE(newer);
    EXPECT_NE(newer.error().message().find("record version 9"), std::string::npos) << newer.error().message();
}

TEST(TokenBlob, of_fields_with_different_lengths_is_a_broken_invariant) {
    TokenRecord tokens = example_rollout(1, 0, 4).tokens;
    tokens.kl.pop_back();
    EXPECT_THROW(encode(tokens), BrokenInvariant);
}

} // namespace
} // namespace stillroom::record
