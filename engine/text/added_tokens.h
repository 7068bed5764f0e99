// SPDX-License-Identifier: GPL-3.0-or-later
// Added tokens: strings that are found in a text before anything else is done to it, and are one token each.
#pragma once

#include "text/bpe.h"

#include <array>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace stillroom::text {

struct AddedToken {
    TokenId id = 0;
    std::string content;
    bool special = false; // left out by decoding without special tokens; text only, where they are not parsed
    bool single_word = false; // only where no word character touches it
    bool lstrip = false;      // takes the white space before it along
    bool rstrip = false;      // takes the white space behind it along
    bool normalized = false;  // looked for in the normalised text
};

/// Finds the longest of some tokens at each place, from left to right.
class AddedTokenFinder {
public:
    /// `written` are the strings to look for (one a token: its content, normalised or not).
    AddedTokenFinder(std::vector<AddedToken> tokens, const std::vector<std::string>& written);

    /// Cuts `text` at the tokens: calls `gap` for each stretch between and `token` for each token found, in
    /// order. Special tokens are passed over unless `parse_special`.
    void cut(std::string_view text, bool parse_special, const std::function<void(std::string_view)>& gap,
             const std::function<void(TokenId)>& token) const;

    bool empty() const { return tokens_.empty(); }

private:
    struct Node {
        std::map<unsigned char, int32_t> next;
        int32_t token = -1; // index in tokens_ of the one that ends here
    };
    std::vector<AddedToken> tokens_;
    std::vector<Node> nodes_{1};
    std::array<bool, 256> starts_{}; // bytes that begin a token
};

} // namespace stillroom::text
