// SPDX-License-Identifier: GPL-3.0-or-later
#include "maths/extraction.h"

#include "base/strings.h"
#include "maths/latex.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace stillroom::maths {

namespace {

constexpr std::array<std::pair<Rule, const char*>, 7> rule_names{{{Rule::BoxedLast, "boxed_last"},
                                                                  {Rule::Gsm8kHash, "gsm8k_hash"},
                                                                  {Rule::AnswerLine, "answer_line"},
                                                                  {Rule::Whole, "whole"},
                                                                  {Rule::LastFormula, "last_formula"},
                                                                  {Rule::LastNumber, "last_number"},
                                                                  {Rule::FinalAnswer, "final_answer"}}};

/// What follows the last </think>; nullopt if a thought is open to the end.
std::optional<std::string_view> after_thinking(std::string_view response) {
    constexpr std::string_view open = "<think>", close = "</think>";
    const size_t closed = response.rfind(close);
    if (closed != std::string_view::npos) response.remove_prefix(closed + close.size());
    if (response.find(open) != std::string_view::npos) return std::nullopt;
    return response;
}

std::string without_commas(std::string_view number) {
    std::string plain(number);
    std::erase(plain, ',');
    return plain;
}

/// Digits with an optional sign and decimal places, nothing else.
bool is_plain_number(std::string_view text) {
    if (!text.empty() && text.front() == '-') text.remove_prefix(1);
    return !text.empty() && is_digit(text.back()) && std::count(text.begin(), text.end(), '.') <= 1 &&
           std::all_of(text.begin(), text.end(), [](char c) { return is_digit(c) || c == '.' || c == ','; });
}

/// `\boxed 7`: TeX would take one character; people mean the number that stands there.
std::optional<std::string> unbraced_box(std::string_view rest) {
    rest = trimmed(rest.substr(0, rest.find_first_of("\n$")));
    rest = rest.substr(0, rest.find_first_of(" \t\\"));
    while (!rest.empty() && (rest.back() == '.' || rest.back() == ',')) rest.remove_suffix(1);
    if (!is_plain_number(rest)) return std::nullopt;
    return std::string(rest);
}

std::optional<std::string> last_box(std::string_view text) {
    size_t start = std::string_view::npos, content = 0;
    for (const std::string_view command : {"\\boxed", "\\fbox"}) {
        for (size_t at = text.rfind(command); at != std::string_view::npos;
             at = at == 0 ? std::string_view::npos : text.rfind(command, at - 1)) {
            const size_t end = at + command.size();
            if (end < text.size() && is_letter(text[end])) continue; // another command
            if (start == std::string_view::npos || at > start) {
                start = at;
                content = end;
            }
            break;
        }
    }
    if (start == std::string_view::npos) return std::nullopt;
    const size_t brace = text.find_first_not_of(" \t\n\r", content);
    if (brace == std::string_view::npos) return std::nullopt;
    if (text[brace] != '{') return unbraced_box(text.substr(content));
    const size_t close = closing_brace(text, brace);
    if (close == std::string_view::npos) return std::nullopt;
    return std::string(text.substr(brace + 1, close - brace - 1));
}

/// -? [0-9,]* .? [0-9]+ at the start of `text`, as long as it goes and ending in a digit; empty if there is
/// none.
std::string_view hash_number(std::string_view text) {
    const size_t sign = !text.empty() && text.front() == '-' ? 1 : 0;
    size_t whole = sign;
    while (whole < text.size() && (is_digit(text[whole]) || text[whole] == ',')) ++whole;
    size_t end = whole;
    if (end + 1 < text.size() && text[end] == '.' && is_digit(text[end + 1])) {
        for (++end; end < text.size() && is_digit(text[end]);) ++end;
    }
    while (end > sign && !is_digit(text[end - 1])) --end;
    return end > sign ? text.substr(0, end) : std::string_view{};
}

std::optional<std::string> number_after_hashes(std::string_view text) {
    constexpr std::string_view mark = "####";
    for (size_t at = text.rfind(mark); at != std::string_view::npos;
         at = at == 0 ? std::string_view::npos : text.rfind(mark, at - 1)) {
        std::string_view rest = text.substr(at + mark.size());
        if (!rest.empty() && rest.front() == ':') rest.remove_prefix(1);
        rest.remove_prefix(std::min(rest.find_first_not_of(" \t\n\r\f\v"), rest.size()));
        if (!rest.empty() && rest.front() == '$') rest.remove_prefix(1);
        const std::string_view number = hash_number(rest);
        if (!number.empty()) return without_commas(number);
    }
    return std::nullopt;
}

/// -? [0-9] [0-9,]* (. [0-9]+)?, the last of those that a scan from the left finds.
std::optional<std::string> last_number(std::string_view text) {
    size_t last = std::string_view::npos, last_end = 0;
    for (size_t at = 0; at < text.size();) {
        if (!is_digit(text[at])) {
            ++at;
            continue;
        }
        const size_t start = at > 0 && text[at - 1] == '-' ? at - 1 : at;
        while (at < text.size() && (is_digit(text[at]) || text[at] == ',')) ++at;
        if (at + 1 < text.size() && text[at] == '.' && is_digit(text[at + 1])) {
            for (++at; at < text.size() && is_digit(text[at]);) ++at;
        }
        last = start;
        last_end = at;
    }
    if (last == std::string_view::npos) return std::nullopt;
    return without_commas(text.substr(last, last_end - last));
}

bool starts_with_word(std::string_view text, std::string_view word) {
    if (text.size() < word.size()) return false;
    return std::equal(word.begin(), word.end(), text.begin(), [](char a, char b) { return a == lower(b); });
}

std::string_view without_ends(std::string_view text, std::string_view characters) {
    const size_t first = text.find_first_not_of(characters);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(characters) - first + 1);
}

/// What a line says after "answer:", "answer is", "answer is:"; empty where it says neither, or nothing after
/// it.
std::string_view said_answer(std::string_view line) {
    constexpr std::string_view word = "answer";
    line = without_ends(line, " \t\r*_");
    std::string_view said;
    for (size_t at = 0; at + word.size() <= line.size(); ++at) {
        if (!starts_with_word(line.substr(at), word) || (at > 0 && is_letter(line[at - 1]))) continue;
        std::string_view rest = line.substr(at + word.size());
        rest.remove_prefix(std::min(rest.find_first_not_of(" \t*_"), rest.size()));
        bool stated = false;
        if (starts_with_word(rest, "is") && (rest.size() == 2 || !is_letter(rest[2]))) {
            rest.remove_prefix(2);
            rest.remove_prefix(std::min(rest.find_first_not_of(" \t*_"), rest.size()));
            stated = true;
        }
        if (!rest.empty() && rest.front() == ':') {
            rest.remove_prefix(1);
            stated = true;
        }
        if (stated) said = rest;
    }
    said = said.substr(0, said.find(". ")); // another sentence follows
    said = without_ends(said, " \t*_");
    while (!said.empty() && said.back() == '.') said.remove_suffix(1);
    return said;
}

std::optional<std::string> answer_line(std::string_view text) {
    for (size_t end = text.size();;) {
        const size_t line_break = end == 0 ? std::string_view::npos : text.rfind('\n', end - 1);
        const size_t start = line_break == std::string_view::npos ? 0 : line_break + 1;
        const std::string_view said = said_answer(text.substr(start, end - start));
        if (!said.empty()) return std::string(said);
        if (start == 0) return std::nullopt;
        end = start - 1;
    }
}

/// Contents of the complete $...$, $$...$$, \(...\) and \[...\].
std::vector<std::string_view> formulas(std::string_view text) {
    std::vector<std::string_view> all;
    size_t open = std::string_view::npos; // where the content of the open formula starts
    std::string_view closing;
    for (size_t at = 0; at < text.size(); ++at) {
        const std::string_view two = text.substr(at, 2);
        std::string_view delimiter;
        if (two == "\\(" || two == "\\)" || two == "\\[" || two == "\\]" || two == "$$") {
            delimiter = two;
        } else if (text[at] == '$') {
            delimiter = text.substr(at, 1);
        } else if (text[at] == '\\') {
            ++at; // an escaped character, "\$" too
        }
        if (delimiter.empty()) continue;
        if (open != std::string_view::npos && delimiter == closing) {
            all.push_back(text.substr(open, at - open));
            open = std::string_view::npos;
        } else if (open == std::string_view::npos && delimiter != "\\)" && delimiter != "\\]") {
            open = at + delimiter.size();
            closing = delimiter == "\\(" ? "\\)" : delimiter == "\\[" ? "\\]" : delimiter;
        }
        at += delimiter.size() - 1;
    }
    return all;
}

std::optional<std::string> last_formula(std::string_view text) {
    const auto all = formulas(text);
    if (all.empty()) return std::nullopt;
    return std::string(all.back());
}

std::optional<std::string> final_answer(std::string_view text) {
    for (const auto find : {last_box, answer_line, last_formula, last_number}) {
        if (const auto found = find(text)) return std::string(trimmed(*found));
    }
    return std::nullopt;
}

/// Whether the text between two boxes makes them one answer.
bool joins(std::string_view between) {
    constexpr int most_words = 4;
    int words = 0;
    bool connects = false;
    for (size_t at = 0; at < between.size();) {
        if (is_digit(between[at]) && (at == 0 || between[at - 1] != '_')) return false;
        if (between[at] == '\\') {
            at += 1 + std::max<size_t>(command_at(between, at).size(), 1);
            continue;
        }
        size_t end = at;
        while (end < between.size() && is_letter(between[end])) ++end;
        const std::string_view word = between.substr(at, end - at);
        if (word == "and" || word == "or") connects = true;
        if (!word.empty()) ++words;
        at = std::max(end, at + 1);
    }
    return words == 0 || (connects && words <= most_words);
}

} // namespace

const char* to_string(Rule rule) {
    for (const auto& [known, name] : rule_names) {
        if (known == rule) return name;
    }
    return "";
}

std::optional<Rule> parse_rule(std::string_view name) {
    for (const auto& [rule, known] : rule_names) {
        if (known == name) return rule;
    }
    return std::nullopt;
}

std::optional<std::string> extract(std::string_view response, Rule rule) {
    const auto text = after_thinking(response);
    if (!text) return std::nullopt;
    switch (rule) {
    case Rule::BoxedLast:
        return last_box(*text);
    case Rule::Gsm8kHash:
        return number_after_hashes(*text);
    case Rule::AnswerLine:
        return answer_line(*text);
    case Rule::Whole:
        return std::string(trimmed(*text));
    case Rule::LastFormula:
        return last_formula(*text);
    case Rule::LastNumber:
        return last_number(*text);
    case Rule::FinalAnswer:
        return final_answer(*text);
    }
    return std::nullopt;
}

size_t formula_count(std::string_view text) { return formulas(text).size(); }

std::optional<std::string> last_boxes(std::string_view text) {
    struct Box {
        size_t start, end;
        std::string_view content;
    };
    std::vector<Box> boxes;
    for (size_t at = text.find("\\boxed"); at != std::string_view::npos; at = text.find("\\boxed", at + 1)) {
        const size_t open = text.find_first_not_of(" \t\n", at + 6);
        if (open == std::string_view::npos || text[open] != '{') continue;
        const size_t close = closing_brace(text, open);
        if (close == std::string_view::npos) break;
        boxes.push_back({at, close + 1, text.substr(open + 1, close - open - 1)});
    }
    if (boxes.empty()) return std::nullopt;
    std::string joined(boxes.back().content);
    for (size_t i = boxes.size() - 1; i > 0; --i) {
        const size_t from = boxes[i - 1].end, to = boxes[i].start;
        if (from > to || !joins(text.substr(from, to - from))) break;
        joined = std::string(boxes[i - 1].content) + ", " + joined;
    }
    return joined;
}

} // namespace stillroom::maths
