// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/token_json.h"

#include "base/strings.h"
#include "record/token_blob.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace stillroom::ui {

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t top = 16;

/// JSON has no infinities: they are words, as in the command line's output.
Json number(float value) {
    if (std::isnan(value)) return nullptr;
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    return double(value);
}

Json text_or_null(std::string_view bytes) {
    return is_utf8(bytes) ? Json(std::string(bytes)) : Json(nullptr);
}

std::string hex(std::string_view bytes) {
    return QByteArray(bytes.data(), qsizetype(bytes.size())).toHex().toStdString();
}

Json top16_of(const TokenRollout& rollout, size_t token, bool of_student) {
    const record::Top16Record& lists = *rollout.record.top16;
    Json list = Json::array();
    for (size_t i = token * top; i < (token + 1) * top; ++i) {
        list.push_back({{"id", of_student ? lists.student_ids[i] : lists.teacher_ids[i]},
                        {"student_logprob",
                         number(of_student ? lists.student_ids_student[i] : lists.teacher_ids_student[i])},
                        {"teacher_logprob",
                         number(of_student ? lists.student_ids_teacher[i] : lists.teacher_ids_teacher[i])}});
    }
    return list;
}

Json token_of(const TokenRollout& rollout, size_t token) {
    const record::TokenRecord& tokens = rollout.record.tokens;
    const std::string_view bytes = rollout.response.bytes_of(token);
    const float student = recorded(tokens.student_logprob, token),
                teacher = recorded(tokens.teacher_logprob, token),
                plain = recorded(tokens.teacher_plain_logprob, token);
    const uint8_t common = token < tokens.overlap.size() ? tokens.overlap[token] : no_overlap;
    Json row{{"index", token},
             {"id", tokens.ids[token]},
             {"text", rollout.tokenizer ? text_or_null(bytes) : Json(nullptr)},
             {"bytes", hex(bytes)},
             {"student_logprob", number(student)},
             {"teacher_logprob", number(teacher)},
             {"teacher_plain_logprob", number(plain)},
             {"gap", number(student - teacher)},
             {"gain", number(teacher - plain)},
             {"student_entropy", number(recorded(tokens.student_entropy, token))},
             {"teacher_entropy", number(recorded(tokens.teacher_entropy, token))},
             {"kl", number(recorded(tokens.kl, token))},
             {"clipped", number(recorded(tokens.clipped, token))},
             {"overlap", common == no_overlap ? Json(nullptr) : Json(common)},
             {"flags", token < tokens.flags.size() ? tokens.flags[token] : 0}};
    if (rollout.record.top16 && (token + 1) * top <= rollout.record.top16->student_ids.size()) {
        row["student_top16"] = top16_of(rollout, token, true);
        row["teacher_top16"] = top16_of(rollout, token, false);
        row["student_log_tail"] = number(recorded(rollout.record.top16->student_tail, token));
        row["teacher_log_tail"] = number(recorded(rollout.record.top16->teacher_tail, token));
    }
    return row;
}

} // namespace

QByteArray tokens_as_json(const TokenRollout& rollout, TokenRange range, const TokenSource& source) {
    const auto& ids = rollout.record.tokens.ids;
    const size_t end = std::min(range.second + 1, rollout.size()), begin = std::min(range.first, end);
    Json rows = Json::array();
    for (size_t token = begin; token < end; ++token) rows.push_back(token_of(rollout, token));
    const size_t first_byte = rollout.response.offset[begin], last_byte = rollout.response.offset[end];
    const std::string_view bytes =
        std::string_view(rollout.response.bytes).substr(first_byte, last_byte - first_byte);
    const Json object{
        {"run", source.run},
        {"seed", source.seed},
        {"step", rollout.record.step},
        {"rollout", rollout.id},
        {"prompt", rollout.record.prompt_id},
        {"sample", rollout.record.sample},
        {"tokens_from", begin},
        {"tokens_to", end == begin ? begin : end - 1},
        {"ids", std::vector<int32_t>(ids.begin() + std::ptrdiff_t(begin), ids.begin() + std::ptrdiff_t(end))},
        {"text", text_or_null(bytes)},
        {"units", {{"logprob, gap, gain, entropy, kl, clipped", "nats"}, {"overlap", "of 16 ids"}}},
        {"record_version", record::token_record_version},
        {"tokens", std::move(rows)}};
    return QByteArray::fromStdString(object.dump(2, ' ', false, Json::error_handler_t::replace));
}

} // namespace stillroom::ui
