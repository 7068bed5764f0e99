// SPDX-License-Identifier: GPL-3.0-or-later
// Split patterns of pre-tokenizers: regular expressions in the syntax of Oniguruma (what Hugging Face
// tokenizers use), run by PCRE2 with JIT. \s and \w are rewritten to Oniguruma's Unicode meaning; syntax that
// the two read differently is refused.
#pragma once

#include "base/result.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace stillroom::text {

class SplitPattern {
public:
    SplitPattern() = default; // matches nothing and must not be asked

    /// An error says at which character the pattern goes wrong. `where` names file and key for it.
    static Result<SplitPattern> compile(const std::string& pattern, const std::string& where);

    /// Calls `found(begin, end)` for every non-empty match in `text` (well-formed UTF-8), from left to right.
    /// Throws ErrorException where PCRE2 gives up.
    void for_each_match(std::string_view text, const std::function<void(size_t, size_t)>& found) const;

    const std::string& source() const { return source_; }

private:
    struct Code;
    std::string source_;
    std::shared_ptr<const Code> code_;
};

} // namespace stillroom::text
