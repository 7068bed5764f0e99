// SPDX-License-Identifier: GPL-3.0-or-later
// One rollout, token by token.
#include "app/cli/run_tables.h"

#include "base/strings.h"

#include <cmath>
#include <iostream>
#include <limits>
#include <span>

namespace stillroom::cli {

using nlohmann::json;

namespace {

constexpr size_t top = 16;
constexpr uint8_t clamped = 1, end_token = 2, not_a_row = 4, overlap_unknown = 255;

/// Value t, or undefined where the record lacks it: in a record, NaN says that nothing was computed.
double at(const std::vector<float>& values, size_t t) {
    return t < values.size() && !std::isnan(values[t]) ? double(values[t]) : record::Undefined;
}

/// a[t] - b[t], undefined where one of them is.
double difference(const std::vector<float>& a, const std::vector<float>& b, size_t t) {
    const double first = at(a, t), second = at(b, t);
    return record::is_undefined(first) || record::is_undefined(second) ? record::Undefined : first - second;
}

double gap(const record::TokenRecord& tokens, size_t t) {
    return difference(tokens.student_logprob, tokens.teacher_logprob, t);
}

double gain(const record::TokenRecord& tokens, size_t t) {
    return difference(tokens.teacher_logprob, tokens.teacher_plain_logprob, t);
}

std::string token_text(int32_t id, const std::optional<text::Tokenizer>& tokenizer) {
    if (!tokenizer) return "";
    // An id past the vocabulary is a padding row of the model.
    return tokenizer->is_known(id) ? stillroom::quoted(tokenizer->bytes_of(id), 24) : "(none)";
}

std::string flag_words(uint8_t flags) {
    std::string words;
    const auto add = [&](uint8_t bit, const char* word) {
        if (flags & bit) words += (words.empty() ? "" : " ") + std::string(word);
    };
    add(clamped, "clamped");
    add(end_token, "end");
    add(not_a_row, "masked");
    return words;
}

/// One model's 16 best at position t, with the log-probs of both.
struct Candidates {
    std::span<const int32_t> ids;
    std::span<const float> student, teacher;
};
Candidates candidates(const record::Top16Record& top16, bool of_student, size_t t) {
    const auto& ids = of_student ? top16.student_ids : top16.teacher_ids;
    const auto& student = of_student ? top16.student_ids_student : top16.teacher_ids_student;
    const auto& teacher = of_student ? top16.student_ids_teacher : top16.teacher_ids_teacher;
    return {std::span(ids).subspan(t * top, top), std::span(student).subspan(t * top, top),
            std::span(teacher).subspan(t * top, top)};
}

void print_text(const char* heading, const std::string& text) {
    std::cout << '\n' << heading << '\n' << text << (text.ends_with('\n') ? "" : "\n");
}

std::string prompt_text(const std::vector<int32_t>& ids, const std::optional<text::Tokenizer>& tokenizer) {
    if (tokenizer) return tokenizer->decode(ids);
    std::string text;
    for (const int32_t id : ids) text += (text.empty() ? "" : " ") + std::to_string(id);
    return text;
}

void print_top16(const record::RolloutRecord& rollout, const std::optional<text::Tokenizer>& tokenizer) {
    const auto& top16 = *rollout.top16;
    std::cout << "\nthe 16 best of each model, best first: token, log pS / log pT; then the log of the mass "
                 "outside\n";
    const auto line = [&](size_t t, bool of_student) {
        std::cout << (of_student ? "  S" : "  T");
        const Candidates one = candidates(top16, of_student, t);
        for (size_t k = 0; k < top; ++k) {
            std::cout << (k > 0 ? ", " : " ")
                      << (tokenizer ? token_text(one.ids[k], tokenizer) : std::to_string(one.ids[k])) << ' '
                      << fixed(one.student[k], 2) << '/' << fixed(one.teacher[k], 2);
        }
        std::cout << "; " << fixed(at(of_student ? top16.student_tail : top16.teacher_tail, t), 2) << '\n';
    };
    for (size_t t = 0; t < top16.student_ids.size() / top; ++t) {
        const int32_t id = t < rollout.tokens.ids.size() ? rollout.tokens.ids[t] : -1;
        std::cout << t << ' ' << id << ' ' << token_text(id, tokenizer) << '\n';
        line(t, true);
        line(t, false);
    }
}

} // namespace

void print_rollout(int64_t id, const record::RolloutRecord& rollout,
                   const std::optional<text::Tokenizer>& tokenizer) {
    const auto& tokens = rollout.tokens;
    std::cout << "rollout " << id << " of step " << rollout.step << ": prompt " << rollout.prompt_id
              << ", sample " << rollout.sample << ", " << rollout.length << " tokens, finish "
              << rollout.finish_reason << (rollout.pinned ? ", pinned" : "") << '\n'
              << "answer: "
              << (rollout.extracted.empty() ? "none" : stillroom::quoted(rollout.extracted, 200)) << ", gold "
              << stillroom::quoted(rollout.gold, 200) << ": " << rollout.verdict
              << (rollout.why.empty() ? "" : " (" + rollout.why + ")") << ", format "
              << (rollout.format_ok ? "ok" : "not ok") << '\n'
              << "top-16 record: "
              << (rollout.top16 ? "kept (" + rollout.kept_because + ")" : std::string("not kept")) << '\n';
    if (!rollout.means.empty()) {
        std::cout << "means:";
        for (const auto& [name, value] : rollout.means) std::cout << ' ' << name << ' ' << shortest(value, 4);
        std::cout << '\n';
    }
    const auto size = [](const std::vector<int32_t>& ids) { return std::to_string(ids.size()) + " tokens:"; };
    if (rollout.prompt_ids.empty()) {
        print_text("problem:", rollout.problem);
    } else {
        print_text(("prompt, " + size(rollout.prompt_ids)).c_str(),
                   prompt_text(rollout.prompt_ids, tokenizer));
    }
    if (!rollout.teacher_prompt_ids.empty() && rollout.teacher_prompt_ids != rollout.prompt_ids) {
        print_text(("teacher's prompt, " + size(rollout.teacher_prompt_ids)).c_str(),
                   prompt_text(rollout.teacher_prompt_ids, tokenizer));
    }
    print_text("response:", rollout.text);
    if (tokens.ids.empty()) {
        std::cout << "\nno token record is kept\n";
        return;
    }
    std::cout << '\n';
    Table table({"token", "id", "<text", "log pS", "log pT", "gap", "gain", "H(S)", "H(T)", "KL", "clipped",
                 "overlap", "<flags"});
    for (size_t t = 0; t < tokens.ids.size(); ++t) {
        const uint8_t overlap = t < tokens.overlap.size() ? tokens.overlap[t] : overlap_unknown;
        table.add({std::to_string(t), std::to_string(tokens.ids[t]), token_text(tokens.ids[t], tokenizer),
                   fixed(at(tokens.student_logprob, t), 4), fixed(at(tokens.teacher_logprob, t), 4),
                   fixed(gap(tokens, t), 4), fixed(gain(tokens, t), 4),
                   fixed(at(tokens.student_entropy, t), 4), fixed(at(tokens.teacher_entropy, t), 4),
                   fixed(at(tokens.kl, t), 4), fixed(at(tokens.clipped, t), 4),
                   overlap == overlap_unknown ? "-" : std::to_string(overlap),
                   flag_words(t < tokens.flags.size() ? tokens.flags[t] : 0)});
    }
    table.print();
    if (rollout.top16) print_top16(rollout, tokenizer);
}

json as_json(int64_t id, const record::RolloutRecord& rollout,
             const std::optional<text::Tokenizer>& tokenizer) {
    const auto& tokens = rollout.tokens;
    const auto text_of = [&](int32_t token) {
        return tokenizer && tokenizer->is_known(token) ? json(std::string(tokenizer->bytes_of(token)))
                                                       : json();
    };
    json rows = json::array();
    for (size_t t = 0; t < tokens.ids.size(); ++t) {
        const uint8_t overlap = t < tokens.overlap.size() ? tokens.overlap[t] : overlap_unknown;
        json row{{"id", tokens.ids[t]},
                 {"text", text_of(tokens.ids[t])},
                 {"student_logprob", number(at(tokens.student_logprob, t))},
                 {"teacher_logprob", number(at(tokens.teacher_logprob, t))},
                 {"teacher_plain_logprob", number(at(tokens.teacher_plain_logprob, t))},
                 {"gap", number(gap(tokens, t))},
                 {"gain", number(gain(tokens, t))},
                 {"student_entropy", number(at(tokens.student_entropy, t))},
                 {"teacher_entropy", number(at(tokens.teacher_entropy, t))},
                 {"kl", number(at(tokens.kl, t))},
                 {"clipped", number(at(tokens.clipped, t))},
                 {"overlap", overlap == overlap_unknown ? json() : json(overlap)},
                 {"flags", t < tokens.flags.size() ? tokens.flags[t] : 0}};
        if (rollout.top16 && (t + 1) * top <= rollout.top16->student_ids.size()) {
            for (const bool of_student : {true, false}) {
                const Candidates best = candidates(*rollout.top16, of_student, t);
                json list = json::array();
                for (size_t k = 0; k < top; ++k) {
                    list.push_back({{"id", best.ids[k]},
                                    {"text", text_of(best.ids[k])},
                                    {"student_logprob", number(best.student[k])},
                                    {"teacher_logprob", number(best.teacher[k])}});
                }
                row[of_student ? "student_top16" : "teacher_top16"] = std::move(list);
            }
            row["student_log_tail"] = number(at(rollout.top16->student_tail, t));
            row["teacher_log_tail"] = number(at(rollout.top16->teacher_tail, t));
        }
        rows.push_back(std::move(row));
    }
    return {{"id", id},
            {"step", rollout.step},
            {"prompt", rollout.prompt_id},
            {"prompt_index", rollout.prompt},
            {"sample", rollout.sample},
            {"length", rollout.length},
            {"problem", rollout.problem},
            {"prompt_ids", rollout.prompt_ids},
            {"teacher_prompt_ids", rollout.teacher_prompt_ids},
            {"text", rollout.text},
            {"finish_reason", rollout.finish_reason},
            {"gold", rollout.gold},
            {"extracted", rollout.extracted},
            {"verdict", rollout.verdict},
            {"why", rollout.why},
            {"format_ok", rollout.format_ok},
            {"pinned", rollout.pinned},
            {"kept_because", rollout.kept_because},
            {"means", numbers(rollout.means)},
            {"tokens", std::move(rows)}};
}

} // namespace stillroom::cli
