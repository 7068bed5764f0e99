// SPDX-License-Identifier: GPL-3.0-or-later
// The bytes of a rollout's token record and top-16 record (ui.md 4.1). Little-endian; 16-bit floats are IEEE
// binary16, so a value x is kept within |x| / 2048 (a log-prob of -10 within 0.005 nats), beyond 65504 as
// infinite, and NaN, "not computed", as NaN.
//
//   header   uint32 record version, uint32 L (the number of response tokens)
//   tokens   20 bytes a token, one array after the other: int32 id[L]; half student_logprob[L],
//   teacher_logprob[L],
//            teacher_plain_logprob[L], student_entropy[L], teacher_entropy[L], kl[L], clipped[L]; uint8
//            overlap[L], flags[L]
//   top-16   260 bytes a token, one array after the other: int32 student_ids[16 L], teacher_ids[16 L];
//            half student_ids_student[16 L], student_ids_teacher[16 L], teacher_ids_student[16 L],
//            teacher_ids_teacher[16 L], student_tail[L], teacher_tail[L]
#pragma once

#include "base/result.h"
#include "record/records.h"

#include <cstddef>
#include <span>

namespace stillroom::record {

inline constexpr uint32_t token_record_version = 1;
inline constexpr size_t blob_header_bytes = 8, token_record_bytes = 20, top16_record_bytes = 260;

/// `tokens` as bytes. A field that is empty is written as not computed; asserts that the others have the
/// length of `ids`.
std::string encode(const TokenRecord& tokens);
std::string encode(const Top16Record& top16);

/// What `bytes` hold. An error names what is wrong: another version, or a size that does not fit the length.
/// `sampler_logprob` comes back empty.
Result<TokenRecord> decode_tokens(std::span<const std::byte> bytes);
Result<Top16Record> decode_top16(std::span<const std::byte> bytes);

/// Ids alone (prompts, answers): int32, no header.
std::string encode_ids(std::span<const int32_t> ids);
Result<std::vector<int32_t>> decode_ids(std::span<const std::byte> bytes);

} // namespace stillroom::record
