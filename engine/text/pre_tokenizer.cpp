// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/pre_tokenizer.h"

#include "text/unicode.h"

#include <optional>

namespace stillroom::text {

namespace {

struct Stretch {
    size_t begin, end;
    bool matched;
};

// Collects matches and the gaps between them into stretches that cover the whole piece.
class Stretches {
public:
    void match(size_t begin, size_t end) {
        if (begin > covered_) list_.push_back({covered_, begin, false});
        list_.push_back({begin, end, true});
        covered_ = end;
    }
    std::vector<Stretch> finish(size_t size, bool invert) {
        if (covered_ < size) list_.push_back({covered_, size, false});
        if (invert) {
            for (Stretch& stretch : list_) stretch.matched = !stretch.matched;
        }
        return std::move(list_);
    }

private:
    std::vector<Stretch> list_;
    size_t covered_ = 0;
};

void apply(SplitBehavior behavior, std::vector<Stretch>& stretches) {
    std::vector<Stretch> kept;
    kept.reserve(stretches.size());
    bool previous_matched = false;
    switch (behavior) {
    case SplitBehavior::Isolated:
        return;
    case SplitBehavior::Removed:
        for (const Stretch& stretch : stretches) {
            if (!stretch.matched) kept.push_back(stretch);
        }
        break;
    case SplitBehavior::Contiguous:
        for (const Stretch& stretch : stretches) {
            if (!kept.empty() && kept.back().matched == stretch.matched) {
                kept.back().end = stretch.end;
            } else {
                kept.push_back(stretch);
            }
        }
        break;
    case SplitBehavior::MergedWithPrevious:
        for (const Stretch& stretch : stretches) {
            if (stretch.matched && !previous_matched && !kept.empty()) {
                kept.back().end = stretch.end;
            } else {
                kept.push_back(stretch);
            }
            previous_matched = stretch.matched;
        }
        break;
    case SplitBehavior::MergedWithNext:
        for (size_t i = stretches.size(); i-- > 0;) {
            const Stretch& stretch = stretches[i];
            if (stretch.matched && !previous_matched && !kept.empty()) {
                kept.back().begin = stretch.begin;
            } else {
                kept.push_back(stretch);
            }
            previous_matched = stretch.matched;
        }
        kept = {kept.rbegin(), kept.rend()};
        break;
    }
    stretches = std::move(kept);
}

Stretches numerals(std::string_view piece) {
    Stretches found;
    for (size_t at = 0; at < piece.size();) {
        const size_t begin = at;
        if (is_numeric(next_character(piece, at))) found.match(begin, at);
    }
    return found;
}

Stretches occurrences(std::string_view piece, std::string_view literal) {
    Stretches found;
    for (size_t at = piece.find(literal); at != std::string_view::npos;
         at = piece.find(literal, at + literal.size())) {
        found.match(at, at + literal.size());
    }
    return found;
}

} // namespace

std::string_view to_string(SplitBehavior behavior) {
    switch (behavior) {
    case SplitBehavior::Removed:
        return "Removed";
    case SplitBehavior::Isolated:
        return "Isolated";
    case SplitBehavior::MergedWithPrevious:
        return "MergedWithPrevious";
    case SplitBehavior::MergedWithNext:
        return "MergedWithNext";
    case SplitBehavior::Contiguous:
        return "Contiguous";
    }
    return "";
}

Result<PreTokenizer> PreTokenizer::of(std::vector<SplitStep> steps, const std::string& where) {
    PreTokenizer result;
    for (size_t i = 0; i < steps.size(); ++i) {
        const bool last = i + 1 == steps.size();
        if ((steps[i].kind == SplitStep::Kind::ByteLevel) != last) {
            return Error{
                last ? "the last pre-tokenizer is not ByteLevel: only byte-level tokenizers are supported"
                     : "a pre-tokenizer follows ByteLevel, which must be the last",
                where};
        }
    }
    if (steps.empty()) {
        return Error{"there is no pre-tokenizer: only byte-level tokenizers are supported", where};
    }
    for (const SplitStep& step : steps) {
        const bool gpt2 = step.kind == SplitStep::Kind::ByteLevel && step.use_regex;
        if (step.kind == SplitStep::Kind::Literal && step.pattern.empty()) {
            return Error{"a Split pre-tokenizer has an empty pattern", where};
        }
        if (step.kind == SplitStep::Kind::Pattern || gpt2) {
            auto compiled = SplitPattern::compile(gpt2 ? std::string(gpt2_pattern) : step.pattern, where);
            if (!compiled) return compiled.error();
            result.patterns_.push_back(std::move(*compiled));
        } else {
            result.patterns_.push_back(SplitPattern{});
        }
    }
    result.steps_ = std::move(steps);
    return result;
}

void PreTokenizer::for_each_word(std::string_view text,
                                 const std::function<void(std::string_view)>& word) const {
    if (!text.empty()) cut(0, text, word);
}

void PreTokenizer::cut(size_t step_index, std::string_view piece,
                       const std::function<void(std::string_view)>& word) const {
    if (step_index == steps_.size()) return word(piece);
    const SplitStep& step = steps_[step_index];
    std::string prefixed;
    if (step.kind == SplitStep::Kind::ByteLevel) {
        if (step.add_prefix_space && piece.front() != ' ') {
            prefixed = " " + std::string(piece);
            piece = prefixed;
        }
        if (!step.use_regex) return cut(step_index + 1, piece, word);
    }
    Stretches found;
    if (step.kind == SplitStep::Kind::Digits) {
        found = numerals(piece);
    } else if (step.kind == SplitStep::Kind::Literal) {
        found = occurrences(piece, step.pattern);
    } else {
        patterns_[step_index].for_each_match(piece,
                                             [&](size_t begin, size_t end) { found.match(begin, end); });
    }
    std::vector<Stretch> stretches = found.finish(piece.size(), step.invert);
    const bool digit_runs = step.kind == SplitStep::Kind::Digits && !step.individual_digits;
    apply(digit_runs ? SplitBehavior::Contiguous : step.behavior, stretches);
    for (const Stretch& stretch : stretches) {
        cut(step_index + 1, piece.substr(stretch.begin, stretch.end - stretch.begin), word);
    }
}

} // namespace stillroom::text
