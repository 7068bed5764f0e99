// SPDX-License-Identifier: GPL-3.0-or-later
#include "data/answers.h"

#include "base/strings.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace stillroom::data {

namespace {

bool is_digit(char character) { return character >= '0' && character <= '9'; }

void erase_all(std::string& text, std::string_view part) {
    for (size_t at; (at = text.find(part)) != std::string::npos;) text.erase(at, part.size());
}

void replace_all(std::string& text, std::string_view part, std::string_view by) {
    for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += by.size())
        text.replace(at, part.size(), by);
}

/// Commas between a digit and three more digits.
std::string without_thousands_commas(std::string_view text) {
    std::string kept;
    for (size_t i = 0; i < text.size(); ++i) {
        const auto digit = [&](size_t at) { return at < text.size() && is_digit(text[at]); };
        const bool group = text[i] == ',' && i > 0 && digit(i - 1) && digit(i + 1) && digit(i + 2) &&
                           digit(i + 3) && !digit(i + 4);
        if (!group) kept += text[i];
    }
    return kept;
}

/// The content of the braces that open at `open`; nothing where they never close.
std::optional<std::string> braced(std::string_view text, size_t open) {
    int depth = 0;
    for (size_t i = open; i < text.size(); ++i) {
        if (text[i] == '\\') {
            ++i; // \{ and \} are characters
        } else if (text[i] == '{') {
            ++depth;
        } else if (text[i] == '}' && --depth == 0) {
            return std::string(text.substr(open + 1, i - open - 1));
        }
    }
    return std::nullopt;
}

std::optional<std::string> last_boxed(std::string_view text) {
    for (size_t at = text.size(); (at = text.rfind("\\boxed", at)) != std::string_view::npos;) {
        size_t open = at + 6;
        while (open < text.size() && text[open] == ' ') ++open;
        if (open < text.size() && text[open] == '{') {
            if (auto content = braced(text, open)) return content;
        } else if (open > at + 6 && open < text.size()) { // "\boxed 5"
            return std::string(
                text.substr(open, std::min(text.find_first_of(" $\n", open), text.size()) - open));
        }
        if (at == 0) break;
        --at;
    }
    return std::nullopt;
}

std::string canonical(std::string_view answer) {
    std::string text(trimmed(answer));
    for (const std::string_view noise :
         {"\\left", "\\right", "\\!", "\\,", "\\;", "\\ ", "\\$", "$", "^\\circ", "^{\\circ}"}) {
        erase_all(text, noise);
    }
    for (const std::string_view wrapper : {"\\text", "\\mbox", "\\textbf", "\\mathrm"}) {
        for (size_t at; (at = text.find(std::string(wrapper) + "{")) != std::string::npos;) {
            const auto content = braced(text, at + wrapper.size());
            if (!content) break;
            text.replace(at, wrapper.size() + content->size() + 2, *content);
        }
    }
    replace_all(text, "\\dfrac", "\\frac");
    replace_all(text, "\\tfrac", "\\frac");
    replace_all(text, "\\%", "%");
    std::string tight;
    for (const char character : without_thousands_commas(text)) {
        if (std::string_view(" \t\r\n~").find(character) == std::string_view::npos) tight += character;
    }
    while (!tight.empty() && tight.back() == '.') tight.pop_back();
    return tight;
}

std::optional<double> plain_number(std::string_view text) {
    if (text.starts_with('+')) text.remove_prefix(1);
    double value = 0;
    const auto read =
        std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
    const bool whole = !text.empty() && read.ec == std::errc() && read.ptr == text.data() + text.size();
    return whole && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

/// "7", "-0.5", "3/4", "\frac{3}{4}", "\frac34".
std::optional<double> number(std::string text) {
    if (auto value = plain_number(text)) return value;
    double sign = 1;
    if (text.starts_with('-')) {
        sign = -1;
        text.erase(0, 1);
    }
    std::optional<double> above, below;
    if (text.starts_with("\\frac{")) {
        const auto numerator = braced(text, 5);
        if (!numerator) return std::nullopt;
        const size_t next = 5 + numerator->size() + 2;
        const auto denominator = next < text.size() && text[next] == '{' ? braced(text, next) : std::nullopt;
        if (!denominator || next + denominator->size() + 2 != text.size()) return std::nullopt;
        above = plain_number(*numerator), below = plain_number(*denominator);
    } else if (text.starts_with("\\frac") && text.size() == 7) {
        above = plain_number(text.substr(5, 1)), below = plain_number(text.substr(6, 1));
    } else if (const size_t slash = text.find('/'); slash != std::string::npos) {
        above = plain_number(text.substr(0, slash)), below = plain_number(text.substr(slash + 1));
    }
    if (!above || !below || *below == 0) return std::nullopt;
    return sign * *above / *below;
}

} // namespace

std::optional<std::string> final_answer(std::string_view solution) {
    constexpr std::string_view mark = "####";
    if (const size_t at = solution.rfind(mark); at != std::string_view::npos) {
        const std::string_view rest = solution.substr(at + mark.size());
        const std::string_view line = trimmed(rest.substr(0, rest.find('\n')));
        if (!line.empty()) return without_thousands_commas(line);
    }
    return last_boxed(solution);
}

bool answers_agree(std::string_view left, std::string_view right) {
    const std::string a = canonical(left), b = canonical(right);
    if (a == b) return !a.empty();
    const auto x = number(a), y = number(b);
    return x && y && std::abs(*x - *y) <= 1e-9 * std::max(std::abs(*x), std::abs(*y));
}

std::string wrong_answer(const std::string& answer) {
    const auto last = std::find_if(answer.rbegin(), answer.rend(), is_digit);
    if (last != answer.rend()) {
        constexpr size_t longest = 9; // digits that are changed, so that they fit a number
        const size_t end = size_t(answer.rend() - last);
        size_t begin = end;
        while (begin > 0 && is_digit(answer[begin - 1]) && end - begin < longest) --begin;
        const int64_t value = std::stoll(answer.substr(begin, end - begin));
        std::string changed = std::to_string(value + 1 + value % 7);
        if (changed.size() < end - begin) changed.insert(0, end - begin - changed.size(), '0');
        std::string wrong = answer.substr(0, begin) + changed + answer.substr(end);
        if (!answers_agree(wrong, answer)) return wrong;
    }
    // A choice of a test: the next letter.
    if (answer.size() == 1 && answer[0] >= 'A' && answer[0] <= 'E')
        return std::string(1, answer[0] == 'E' ? 'A' : char(answer[0] + 1));
    return answers_agree(answer, "0") ? "1" : "0";
}

} // namespace stillroom::data
