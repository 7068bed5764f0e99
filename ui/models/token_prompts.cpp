// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/token_prompts.h"

#include <algorithm>

namespace stillroom::ui {

namespace {

using Ids = std::span<const int32_t>;
constexpr size_t largest_table = 8u << 20; // cells; above it the middles count as replaced
constexpr size_t shortest_common = 4;      // tokens; shorter runs inside an insertion are chance

/// Which ids of both middles belong together: a longest common subsequence, as pairs of places.
std::vector<std::pair<size_t, size_t>> common_places(Ids a, Ids b) {
    if (a.empty() || b.empty() || a.size() * b.size() > largest_table) return {};
    const size_t columns = b.size() + 1;
    std::vector<uint16_t> length((a.size() + 1) * columns, 0);
    for (size_t i = a.size(); i-- > 0;) {
        for (size_t j = b.size(); j-- > 0;) {
            length[i * columns + j] =
                a[i] == b[j] ? uint16_t(length[(i + 1) * columns + j + 1] + 1)
                             : std::max(length[(i + 1) * columns + j], length[i * columns + j + 1]);
        }
    }
    std::vector<std::pair<size_t, size_t>> places;
    for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
        if (a[i] == b[j]) {
            places.emplace_back(i++, j++);
        } else if (length[(i + 1) * columns + j] >= length[i * columns + j + 1]) {
            ++i;
        } else {
            ++j;
        }
    }
    return places;
}

class Aligner {
public:
    Aligner(const TokenTexts& student, const TokenTexts& teacher) : a_(student.ids), b_(teacher.ids) {}

    std::vector<PromptPart> align() {
        size_t head = 0, tail = 0;
        while (head < a_.size() && head < b_.size() && a_[head] == b_[head]) ++head;
        while (tail < a_.size() - head && tail < b_.size() - head &&
               a_[a_.size() - 1 - tail] == b_[b_.size() - 1 - tail])
            ++tail;
        take_common(head);
        const size_t middle_a = a_.size() - tail, middle_b = b_.size() - tail;
        const auto places =
            common_places(Ids(a_).subspan(head, middle_a - head), Ids(b_).subspan(head, middle_b - head));
        for (size_t begin = 0; begin < places.size();) {
            const auto [i, j] = places[begin];
            size_t length = 1;
            while (begin + length < places.size() &&
                   places[begin + length] == std::pair(i + length, j + length))
                ++length;
            if (length >= shortest_common) {
                skip_to(head + i, head + j);
                take_common(length);
            }
            begin += length;
        }
        skip_to(middle_a, middle_b);
        take_common(tail);
        return std::move(parts_);
    }

private:
    void take_common(size_t count) {
        if (count == 0) return;
        if (!parts_.empty() && parts_.back().in == PromptPart::In::Both) {
            parts_.back().student.second += count;
            parts_.back().teacher.second += count;
        } else {
            parts_.push_back({PromptPart::In::Both, {at_a_, at_a_ + count}, {at_b_, at_b_ + count}});
        }
        at_a_ += count;
        at_b_ += count;
    }
    void skip_to(size_t a, size_t b) {
        if (a > at_a_) parts_.push_back({PromptPart::In::Student, {at_a_, a}, {at_b_, at_b_}});
        if (b > at_b_) parts_.push_back({PromptPart::In::Teacher, {a, a}, {at_b_, b}});
        at_a_ = a;
        at_b_ = b;
    }

    const std::vector<int32_t>&a_, &b_;
    std::vector<PromptPart> parts_;
    size_t at_a_ = 0, at_b_ = 0;
};

size_t count_role(const TokenTexts& texts, SpecialRole role, size_t begin, size_t end) {
    return size_t(std::count(texts.special.begin() + std::ptrdiff_t(begin),
                             texts.special.begin() + std::ptrdiff_t(end), role));
}

size_t specials(const TokenTexts& texts, const std::pair<size_t, size_t>& range) {
    return range.second - range.first - count_role(texts, SpecialRole::None, range.first, range.second);
}

/// Tokens from the end up to the last special one, which opens the answer.
size_t opening_length(const TokenTexts& texts) {
    for (size_t at = texts.size(); at-- > 0;) {
        if (texts.special[at] != SpecialRole::None) return texts.size() - at;
    }
    return 0;
}

std::string_view bytes_in(const TokenTexts& texts, const std::pair<size_t, size_t>& range) {
    return std::string_view(texts.bytes)
        .substr(texts.offset[range.first], texts.offset[range.second] - texts.offset[range.first]);
}

/// How often `text` holds the answer, as a number of its own where it is one.
size_t times_stated(std::string_view text, const std::string& answer) {
    size_t times = 0;
    const auto is_part = [](char c) { return c >= '0' && c <= '9'; };
    for (size_t at = text.find(answer); !answer.empty() && at != std::string_view::npos;
         at = text.find(answer, at + 1)) {
        const size_t end = at + answer.size();
        const bool longer = (at > 0 && is_part(text[at - 1]) && is_part(answer.front())) ||
                            (end < text.size() && is_part(text[end]) && is_part(answer.back()));
        times += !longer;
    }
    return times;
}

} // namespace

PromptComparison compare_prompts(const TokenTexts& student, const TokenTexts& teacher,
                                 const std::string& gold) {
    PromptComparison comparison;
    comparison.parts = Aligner(student, teacher).align();
    size_t inserted = 0, insertions = 0, stated = 0, removed = 0, inserted_specials = 0;
    for (PromptPart& part : comparison.parts) {
        if (part.in == PromptPart::In::Student) removed += part.student.second - part.student.first;
        if (part.in != PromptPart::In::Teacher) continue;
        ++insertions;
        inserted += part.teacher.second - part.teacher.first;
        inserted_specials += specials(teacher, part.teacher);
        part.times_stated = times_stated(bytes_in(teacher, part.teacher), gold);
        stated += part.times_stated;
    }
    const auto tokens = [](size_t count) {
        return QString::number(count) + (count == 1 ? " token" : " tokens");
    };
    comparison.headline =
        QStringLiteral("student %1, teacher %2").arg(tokens(student.size()), tokens(teacher.size()));
    if (inserted + removed == 0) {
        comparison.headline += QStringLiteral(": the same prompt");
        return comparison;
    }
    comparison.headline += QStringLiteral(": +%1 in %2").arg(inserted).arg(insertions) +
                           (insertions == 1 ? " insertion" : " insertions");
    if (removed) comparison.headline += QStringLiteral(", %1 left out").arg(tokens(removed));
    if (stated)
        comparison.headline += QStringLiteral("; the answer is stated %1")
                                   .arg(stated == 1   ? "once"
                                        : stated == 2 ? "twice"
                                                      : QString::number(stated) + " times");

    const size_t begins = count_role(teacher, SpecialRole::Begin, 0, teacher.size());
    const size_t begins_of_student = count_role(student, SpecialRole::Begin, 0, student.size());
    comparison.checks.push_back(
        {inserted_specials == 0 ? QStringLiteral("insertions inside one turn")
                                : QStringLiteral("insertions hold %1 special").arg(tokens(inserted_specials)),
         inserted_specials == 0});
    comparison.checks.push_back(
        {begins == 0 && begins_of_student == 0
             ? QStringLiteral("no begin of text in either")
             : QStringLiteral("begin of text %1 and %2 times").arg(begins_of_student).arg(begins),
         begins == begins_of_student && begins <= 1});
    const size_t opening = opening_length(student);
    const bool same_opening = opening == opening_length(teacher) &&
                              std::equal(student.ids.end() - std::ptrdiff_t(opening), student.ids.end(),
                                         teacher.ids.end() - std::ptrdiff_t(opening));
    comparison.checks.push_back({same_opening
                                     ? QStringLiteral("the answer opens alike (%1)").arg(tokens(opening))
                                     : QStringLiteral("the answer opens differently"),
                                 same_opening});
    return comparison;
}

} // namespace stillroom::ui
