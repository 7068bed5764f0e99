// SPDX-License-Identifier: GPL-3.0-or-later
#include "maths/normal_form.h"

#include "base/strings.h"
#include "maths/latex.h"

#include <algorithm>
#include <array>

namespace stillroom::maths {

namespace {

template <size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& words) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

constexpr std::array<std::string_view, 9> text_commands{
    "text", "textbf", "textit", "textrm", "textnormal", "mbox", "mathrm", "mathbf", "operatorname"};
constexpr std::array<std::string_view, 3> fraction_commands{"dfrac", "tfrac", "cfrac"};
constexpr std::array<std::string_view, 12> size_commands{"big",   "Big",   "bigg",         "Bigg",
                                                         "bigl",  "bigr",  "Bigl",         "Bigr",
                                                         "biggl", "biggr", "displaystyle", "textstyle"};
constexpr std::array<std::string_view, 8> space_commands{",", ";", ":", "!", " ", "quad", "qquad", "\n"};

/// The whole of `text` without a wrapper `open` ... `close` that encloses all of it; unchanged where there is
/// none.
std::string_view unwrapped(std::string_view text, std::string_view open, std::string_view close) {
    if (text.size() < open.size() + close.size() || !text.starts_with(open) || !text.ends_with(close))
        return text;
    const std::string_view inner = text.substr(open.size(), text.size() - open.size() - close.size());
    if (inner.find(open) != std::string_view::npos || inner.find(close) != std::string_view::npos)
        return text;
    return inner;
}

/// The same for `\name{...}`.
std::string_view uncommanded(std::string_view text, std::string_view name) {
    if (text.empty() || text.front() != '\\' || command_at(text, 0) != name) return text;
    const size_t brace = text.find_first_not_of(" \t\n\r", name.size() + 1);
    if (brace == std::string_view::npos || text[brace] != '{') return text;
    if (closing_brace(text, brace) != text.size() - 1) return text;
    return text.substr(brace + 1, text.size() - brace - 2);
}

std::string_view without_wrappers(std::string_view text) {
    for (size_t before = text.size() + 1; text.size() < before;) {
        before = text.size();
        text = trimmed(text);
        text = unwrapped(text, "$$", "$$");
        text = unwrapped(text, "$", "$");
        text = unwrapped(text, "\\(", "\\)");
        text = unwrapped(text, "\\[", "\\]");
        text = uncommanded(text, "boxed");
        text = uncommanded(text, "fbox");
        for (const std::string_view command : text_commands) text = uncommanded(text, command);
        if (text.size() > 1 && text.back() == '.' && text[text.size() - 2] != '.') text.remove_suffix(1);
    }
    return text;
}

/// Commands of typesetting replaced or dropped; thousands marks of LaTeX ("1{,}000", "1,\!000") as a bare
/// comma.
std::string with_plain_commands(std::string_view text) {
    // An even number of unescaped $ are delimiters; a single one is a currency sign.
    size_t dollars = 0;
    for (size_t at = 0; at < text.size(); ++at) {
        if (text[at] == '\\') {
            ++at;
        } else if (text[at] == '$') {
            ++dollars;
        }
    }
    std::string plain;
    for (size_t at = 0; at < text.size();) {
        const std::string_view rest = text.substr(at);
        if (rest.starts_with("{,}")) {
            plain += ',';
            at += 3;
        } else if (rest.starts_with(",\\!")) {
            plain += ',';
            at += 3;
            while (at < text.size() && is_space(text[at])) ++at;
        } else if (rest.starts_with("\xe2\x88\x92")) { // U+2212, minus sign
            plain += '-';
            at += 3;
        } else if (rest.starts_with("\xc2\xa0") || rest.front() == '~') { // no-break space
            plain += ' ';
            at += rest.front() == '~' ? 1 : 2;
        } else if (rest.starts_with("\xc2\xb0")) { // degree sign
            plain += "^\\circ";
            at += 2;
        } else if (rest.front() == '$') {
            plain += dollars % 2 == 0 ? " " : "\\$";
            ++at;
        } else if (rest.front() == '\\' && rest.size() > 1) {
            const std::string_view command = command_at(text, at);
            at += 1 + command.size();
            if (command == "left" || command == "right") {
                if (at < text.size() && text[at] == '.') ++at; // an invisible bracket
            } else if (is_one_of(command, size_commands)) {
                plain += ' ';
            } else if (is_one_of(command, space_commands)) {
                plain += ' ';
            } else if (is_one_of(command, fraction_commands)) {
                plain += "\\frac";
            } else if (is_one_of(command, text_commands)) {
                plain += "\\text";
            } else if (command == "%") {
                plain += '%';
            } else if (command == "le" || command == "ge" || command == "ne") {
                plain += "\\" + std::string(command) + "q";
            } else {
                plain += "\\" + std::string(command);
            }
        } else {
            plain += rest.front();
            ++at;
        }
    }
    return plain;
}

bool joins(char c) { return is_digit(c) || is_letter(c) || c == '.'; }

/// Whether a comma with `before` to its left and `after` to its right could be read as a thousands mark.
bool looks_like_thousands(std::string_view before, std::string_view after) {
    return !before.empty() && is_digit(before.back()) && after.size() >= 3 && is_digit(after[0]) &&
           is_digit(after[1]) && is_digit(after[2]) && (after.size() == 3 || !is_digit(after[3]));
}

/// Whether `text` ends in a control word such as \pi, which a digit ends as well as a space does.
bool ends_in_command(std::string_view text) {
    const size_t last = text.find_last_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    return last != std::string_view::npos && last + 1 < text.size() && text[last] == '\\';
}

/// Spaces only where they matter: between letters, digits and points, and after a comma that would otherwise
/// turn into a thousands mark ("1, 234" is two numbers).
std::string with_needed_spaces(std::string_view text) {
    std::string spaced;
    for (size_t at = 0; at < text.size();) {
        const size_t next = std::min(text.find_first_not_of(" \t\n\r", at), text.size());
        const bool apart = next > at;
        if (next == text.size()) break;
        if (text[next] == ',') {
            const size_t after = std::min(text.find_first_not_of(" \t\n\r", next + 1), text.size());
            spaced +=
                (apart || after > next + 1) && looks_like_thousands(spaced, text.substr(after)) ? ", " : ",";
            at = after;
            continue;
        }
        if (apart && !spaced.empty() && joins(spaced.back()) && joins(text[next])) {
            if (is_letter(text[next]) || !ends_in_command(spaced)) spaced += ' ';
        }
        spaced += text[next];
        at = next + 1;
    }
    return spaced;
}

/// Arguments without braces get them: \frac12, \frac{1}2, \sqrt3; and {5} after ^ or _ loses them where TeX
/// needs none.
std::string with_canonical_braces(std::string_view text) {
    std::string braced;
    int arguments = 0; // still expected by a \frac or \sqrt
    for (size_t at = 0; at < text.size();) {
        if (arguments > 0 && text[at] == ' ') {
            ++at; // \frac 12
            continue;
        }
        if (arguments > 0) {
            --arguments;
            if (text[at] == '{') {
                const size_t close = closing_brace(text, at);
                if (close == std::string_view::npos) return std::string(text);
                // The inner part is written as it stands; nested fractions are braced by their own turn
                // below.
                braced += '{' + with_canonical_braces(text.substr(at + 1, close - at - 1)) + '}';
                at = close + 1;
                continue;
            }
            if (is_digit(text[at]) || is_letter(text[at])) {
                braced += std::string("{") + text[at++] + '}';
                continue;
            }
            arguments = 0;
        }
        if (text[at] == '\\') {
            const std::string_view command = command_at(text, at);
            braced += text.substr(at, 1 + command.size());
            at += 1 + command.size();
            if (command == "frac") arguments = 2;
            if (command == "sqrt" && (at >= text.size() || text[at] != '[')) arguments = 1;
            continue;
        }
        const std::string_view group = text.substr(at, 4);
        if ((text[at] == '^' || text[at] == '_') && group.size() >= 4 && group[1] == '{' && group[3] == '}' &&
            (is_digit(group[2]) || is_letter(group[2])) && (at + 4 == text.size() || !joins(text[at + 4]))) {
            braced += group.substr(0, 1);
            braced += group[2];
            at += 4;
            continue;
        }
        braced += text[at++];
    }
    return braced;
}

int deepest_nesting(std::string_view text) {
    int depth = 0, deepest = 0;
    for (const char c : text) {
        depth += c == '{' ? 1 : c == '}' ? -1 : 0;
        deepest = std::max(deepest, depth);
    }
    return deepest;
}

} // namespace

std::string marked_form(std::string_view answer) {
    constexpr int deepest_allowed = 64; // bounds the recursion over nested fractions
    std::string text = with_needed_spaces(with_plain_commands(without_wrappers(answer)));
    if (deepest_nesting(text) <= deepest_allowed) text = with_canonical_braces(text);
    return std::string(without_wrappers(text));
}

std::string plain_form(std::string_view marked) {
    std::string plain;
    std::string_view rest = marked;
    // Each turn takes one mark off and leaves its content to the next, so nested marks go too.
    std::string buffer;
    constexpr std::string_view mark = "\\text{";
    for (size_t at = rest.find(mark); at != std::string_view::npos; at = rest.find(mark)) {
        const size_t brace = at + mark.size() - 1, close = closing_brace(rest, brace);
        if (close == std::string_view::npos) break;
        plain += rest.substr(0, at);
        plain += ' ';
        std::string following(rest.substr(brace + 1, close - brace - 1));
        following += ' ';
        following += rest.substr(close + 1);
        buffer = std::move(following);
        rest = buffer;
    }
    plain += rest;
    return with_needed_spaces(plain);
}

} // namespace stillroom::maths
