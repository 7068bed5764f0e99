// SPDX-License-Identifier: GPL-3.0-or-later
#include "record/token_blob.h"

#include "base/ensure.h"
#include "base/half.h"

#include <bit>
#include <cstring>
#include <limits>

namespace stillroom::record {

static_assert(std::endian::native == std::endian::little, "the records are written as they lie in memory");

namespace {

constexpr float not_computed = std::numeric_limits<float>::quiet_NaN();

/// Appends arrays of `count` elements; a field that is empty becomes `count` times its filler.
class BlobWriter {
public:
    BlobWriter(size_t length, size_t bytes_per_token)
        : bytes_(blob_header_bytes + length * bytes_per_token, '\0') {
        ensure(length <= std::numeric_limits<uint32_t>::max(), "a response of more than 2^32 tokens");
        copy(&token_record_version, sizeof token_record_version);
        const uint32_t count = uint32_t(length);
        copy(&count, sizeof count);
    }
    template <typename T>
    void array(const std::vector<T>& values, size_t count, T filler) {
        check(values.size(), count);
        if (values.empty()) {
            for (size_t i = 0; i < count; ++i) copy(&filler, sizeof filler);
        } else {
            copy(values.data(), count * sizeof(T));
        }
    }
    void halves(const std::vector<float>& values, size_t count) {
        check(values.size(), count);
        for (size_t i = 0; i < count; ++i) {
            const uint16_t half = float_to_fp16(values.empty() ? not_computed : values[i]);
            copy(&half, sizeof half);
        }
    }
    std::string finish() {
        ensure(at_ == bytes_.size(), "a record of another size than its layout");
        return std::move(bytes_);
    }

private:
    static void check(size_t found, size_t expected) {
        ensure(found == 0 || found == expected,
               "a field of " + std::to_string(found) + " values in a record of " + std::to_string(expected));
    }
    void copy(const void* from, size_t count) {
        if (count == 0) return;
        std::memcpy(bytes_.data() + at_, from, count);
        at_ += count;
    }
    std::string bytes_;
    size_t at_ = 0;
};

class BlobReader {
public:
    static Result<BlobReader> open(std::span<const std::byte> bytes, size_t bytes_per_token) {
        if (bytes.size() < blob_header_bytes) {
            return Error{"a record of " + std::to_string(bytes.size()) + " bytes, expected a header of 8"};
        }
        BlobReader reader(bytes);
        const uint32_t version = reader.one<uint32_t>();
        if (version != token_record_version) {
            return Error{"record version " + std::to_string(version) + ", this program reads version " +
                             std::to_string(token_record_version),
                         {},
                         "open it with a newer Stillroom"};
        }
        reader.length_ = reader.one<uint32_t>();
        const size_t expected = blob_header_bytes + reader.length_ * bytes_per_token;
        if (bytes.size() != expected) {
            return Error{"a record of " + std::to_string(bytes.size()) + " bytes, expected " +
                         std::to_string(expected) + " for " + std::to_string(reader.length_) + " tokens"};
        }
        return reader;
    }
    size_t length() const { return length_; }
    template <typename T>
    std::vector<T> array(size_t count) {
        std::vector<T> values(count);
        if (count > 0) std::memcpy(values.data(), bytes_.data() + at_, count * sizeof(T));
        at_ += count * sizeof(T);
        return values;
    }
    std::vector<float> halves(size_t count) {
        std::vector<float> values(count);
        for (float& value : values) value = fp16_to_float(one<uint16_t>());
        return values;
    }

private:
    explicit BlobReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
    template <typename T>
    T one() {
        T value;
        std::memcpy(&value, bytes_.data() + at_, sizeof value);
        at_ += sizeof value;
        return value;
    }
    std::span<const std::byte> bytes_;
    size_t at_ = 0, length_ = 0;
};

} // namespace

std::string encode(const TokenRecord& tokens) {
    const size_t length = tokens.ids.size();
    BlobWriter writer(length, token_record_bytes);
    writer.array<int32_t>(tokens.ids, length, -1);
    for (const auto* field :
         {&tokens.student_logprob, &tokens.teacher_logprob, &tokens.teacher_plain_logprob,
          &tokens.student_entropy, &tokens.teacher_entropy, &tokens.kl, &tokens.clipped}) {
        writer.halves(*field, length);
    }
    writer.array<uint8_t>(tokens.overlap, length, 255);
    writer.array<uint8_t>(tokens.flags, length, 0);
    return writer.finish();
}

Result<TokenRecord> decode_tokens(std::span<const std::byte> bytes) {
    auto reader = BlobReader::open(bytes, token_record_bytes);
    if (!reader) return reader.error();
    const size_t length = reader->length();
    TokenRecord tokens;
    tokens.ids = reader->array<int32_t>(length);
    for (auto* field : {&tokens.student_logprob, &tokens.teacher_logprob, &tokens.teacher_plain_logprob,
                        &tokens.student_entropy, &tokens.teacher_entropy, &tokens.kl, &tokens.clipped}) {
        *field = reader->halves(length);
    }
    tokens.overlap = reader->array<uint8_t>(length);
    tokens.flags = reader->array<uint8_t>(length);
    return tokens;
}

std::string encode(const Top16Record& top16) {
    const size_t count = top16.student_ids.size(), length = count / 16;
    ensure(count % 16 == 0, "a top-16 record of " + std::to_string(count) + " ids");
    BlobWriter writer(length, top16_record_bytes);
    writer.array<int32_t>(top16.student_ids, count, -1);
    writer.array<int32_t>(top16.teacher_ids, count, -1);
    for (const auto* field : {&top16.student_ids_student, &top16.student_ids_teacher,
                              &top16.teacher_ids_student, &top16.teacher_ids_teacher}) {
        writer.halves(*field, count);
    }
    writer.halves(top16.student_tail, length);
    writer.halves(top16.teacher_tail, length);
    return writer.finish();
}

Result<Top16Record> decode_top16(std::span<const std::byte> bytes) {
    auto reader = BlobReader::open(bytes, top16_record_bytes);
    if (!reader) return reader.error();
    const size_t length = reader->length(), count = 16 * length;
    Top16Record top16;
    top16.student_ids = reader->array<int32_t>(count);
    top16.teacher_ids = reader->array<int32_t>(count);
    for (auto* field : {&top16.student_ids_student, &top16.student_ids_teacher, &top16.teacher_ids_student,
                        &top16.teacher_ids_teacher}) {
        *field = reader->halves(count);
    }
    top16.student_tail = reader->halves(length);
    top16.teacher_tail = reader->halves(length);
    return top16;
}

std::string encode_ids(std::span<const int32_t> ids) {
    return {reinterpret_cast<const char*>(ids.data()), ids.size_bytes()};
}

Result<std::vector<int32_t>> decode_ids(std::span<const std::byte> bytes) {
    if (bytes.size() % sizeof(int32_t) != 0) {
        return Error{"ids of " + std::to_string(bytes.size()) + " bytes, expected a multiple of 4"};
    }
    std::vector<int32_t> ids(bytes.size() / sizeof(int32_t));
    if (!ids.empty()) std::memcpy(ids.data(), bytes.data(), bytes.size());
    return ids;
}

} // namespace stillroom::record
