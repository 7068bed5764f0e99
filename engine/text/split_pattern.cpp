// SPDX-License-Identifier: GPL-3.0-or-later
#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/split_pattern.h"

#include "base/strings.h"

#include <algorithm>
#include <pcre2.h>

namespace stillroom::text {

namespace {

// White_Space; PCRE2's own \s also takes U+180E, which left that property in Unicode 6.3.
constexpr std::string_view space_set = "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{"
                                       "2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}";
constexpr std::string_view word_set = "\\p{L}\\p{M}\\p{Nd}\\p{Pc}";

// Escapes that mean the same in both, besides escaped punctuation: classes by property, control characters.
constexpr std::string_view shared_escapes = "pPnrtfaexdDAzZ0123456789";

std::string in_pcre_syntax(const std::string& pattern, const std::string& where) {
    const auto refuse = [&](const std::string& what) {
        throw ErrorException({"the split pattern " + stillroom::quoted(pattern, 120) + " uses " + what +
                                  ", which this program cannot run as Oniguruma does",
                              where});
    };
    std::string result;
    bool in_set = false;
    for (size_t i = 0; i < pattern.size(); ++i) {
        const char c = pattern[i];
        const char next = i + 1 < pattern.size() ? pattern[i + 1] : '\0';
        if (c == '\\' && next != '\0') {
            ++i;
            const bool letter = std::isalnum(static_cast<unsigned char>(next)) != 0;
            if (next == 's' || next == 'w') {
                const std::string_view set = next == 's' ? space_set : word_set;
                result += in_set ? std::string(set) : "[" + std::string(set) + "]";
            } else if ((next == 'S' || next == 'W') && !in_set) {
                result += "[^" + std::string(next == 'S' ? space_set : word_set) + "]";
            } else if (letter && shared_escapes.find(next) == std::string_view::npos) {
                refuse(std::string("\\") + next);
            } else {
                result += {c, next};
                const bool braced = (next == 'p' || next == 'P' || next == 'x') && pattern[i + 1] == '{';
                while (braced && i + 1 < pattern.size() && result.back() != '}') result += pattern[++i];
            }
            continue;
        }
        if (c == '[') {
            if (in_set) {
                if (next == ':') refuse("[:...:]");
                refuse("a set inside a set");
            }
            in_set = true;
            result += c;
            if (next == '^') result += pattern[++i];
            if (i + 1 < pattern.size() && pattern[i + 1] == ']') refuse("a set that starts with ]");
            continue;
        }
        if (in_set && c == ']') in_set = false;
        if (in_set && c == '&' && next == '&') refuse("&& in a set");
        if (!in_set && c == '}' && next == '+') refuse("{...}+");
        result += c;
    }
    return result;
}

std::string pcre_message(int code) {
    PCRE2_UCHAR text[200];
    pcre2_get_error_message(code, text, sizeof text);
    return reinterpret_cast<const char*>(text);
}

struct Match {
    explicit Match(const pcre2_code* code) : data(pcre2_match_data_create_from_pattern(code, nullptr)) {}
    Match(const Match&) = delete;
    Match& operator=(const Match&) = delete;
    ~Match() { pcre2_match_data_free(data); }
    pcre2_match_data* data;
};

} // namespace

struct SplitPattern::Code {
    Code() = default;
    Code(const Code&) = delete;
    Code& operator=(const Code&) = delete;
    ~Code() { pcre2_code_free(compiled); }
    pcre2_code* compiled = nullptr;
};

Result<SplitPattern> SplitPattern::compile(const std::string& pattern, const std::string& where) {
    if (!is_utf8(pattern)) return Error{"the split pattern is not UTF-8", where};
    std::string translated;
    try {
        translated = in_pcre_syntax(pattern, where);
    } catch (const ErrorException& fault) {
        return fault.error();
    }
    const std::unique_ptr<pcre2_compile_context, decltype(&pcre2_compile_context_free)> context(
        pcre2_compile_context_create(nullptr), &pcre2_compile_context_free);
    pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
    int code = 0;
    PCRE2_SIZE offset = 0;
    auto compiled = std::make_shared<Code>();
    // Oniguruma's default syntax is Ruby's: ^ and $ are the ends of lines.
    compiled->compiled = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                                       PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C,
                                       &code, &offset, context.get());
    if (compiled->compiled == nullptr) {
        return Error{"the split pattern " + stillroom::quoted(pattern, 120) +
                         " is not a regular expression: " + pcre_message(code),
                     where};
    }
    pcre2_jit_compile(compiled->compiled, PCRE2_JIT_COMPLETE); // without JIT it runs interpreted
    SplitPattern result;
    result.source_ = pattern;
    result.code_ = std::move(compiled);
    return result;
}

void SplitPattern::for_each_match(std::string_view text,
                                  const std::function<void(size_t, size_t)>& found) const {
    const Match match(code_->compiled);
    const std::unique_ptr<pcre2_match_context, decltype(&pcre2_match_context_free)> context(
        pcre2_match_context_create(nullptr), &pcre2_match_context_free);
    // PCRE2's own limit is 10 million steps a match; a run of blanks costs a step or two a byte.
    pcre2_set_match_limit(context.get(),
                          uint32_t(std::clamp<size_t>(64 * text.size(), 10'000'000, 4'000'000'000)));
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    for (size_t at = 0; at < text.size();) {
        uint32_t options = PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY;
        int count =
            pcre2_match(code_->compiled, subject, text.size(), at, options, match.data, context.get());
        if (count == PCRE2_ERROR_JIT_STACKLIMIT) { // the interpreter keeps its stack on the heap
            options |= PCRE2_NO_JIT;
            count =
                pcre2_match(code_->compiled, subject, text.size(), at, options, match.data, context.get());
        }
        if (count == PCRE2_ERROR_NOMATCH) return;
        if (count < 0) {
            throw ErrorException({"the split pattern " + stillroom::quoted(source_, 120) +
                                  " cannot be applied to a text of " + std::to_string(text.size()) +
                                  " bytes: " + pcre_message(count)});
        }
        const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(match.data);
        found(ends[0], ends[1]);
        at = ends[1];
    }
}

} // namespace stillroom::text
