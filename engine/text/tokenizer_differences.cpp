// SPDX-License-Identifier: GPL-3.0-or-later
// Whether two tokenizers are the same: by a fingerprint, and token by token.
#include "text/tokenizer_parts.h"

#include "base/hash.h"

#include <algorithm>

namespace stillroom::text {

namespace {

class Print {
public:
    void add(std::string_view text) {
        add(int64_t(text.size()));
        hash_.add(text.data(), text.size());
    }
    void add(int64_t number) {
        unsigned char bytes[8];
        for (int i = 0; i < 8; ++i) bytes[i] = static_cast<unsigned char>(uint64_t(number) >> (8 * i));
        hash_.add(bytes, sizeof bytes);
    }
    void add(bool flag) { add(int64_t{flag}); }
    std::string hex() { return hash_.hex(); }

private:
    Sha256 hash_;
};

} // namespace

std::string Tokenizer::fingerprint() const {
    Print print;
    print.add(size());
    for (TokenId id = 0; id < size(); ++id) {
        print.add(is_known(id));
        print.add(is_special(id));
        print.add(bytes_of(id));
    }
    print.add(int64_t(parts_->merges.size()));
    for (const Merge& merge : parts_->merges) {
        print.add(int64_t{merge.left});
        print.add(int64_t{merge.right});
    }
    for (const NormalForm form : parts_->normal_forms) print.add(to_string(form));
    for (const SplitStep& step : parts_->pre_tokenizer.steps()) {
        print.add(int64_t(step.kind));
        print.add(step.pattern);
        print.add(int64_t(step.behavior));
        for (const bool flag : {step.invert, step.individual_digits, step.add_prefix_space, step.use_regex})
            print.add(flag);
    }
    std::vector<AddedToken> added = parts_->added;
    std::ranges::sort(added, {}, &AddedToken::id);
    for (const AddedToken& token : added) {
        print.add(int64_t{token.id});
        for (const bool flag : {token.single_word, token.lstrip, token.rstrip, token.normalized})
            print.add(flag);
    }
    print.add(parts_->ignore_merges);
    print.add(int64_t{parts_->unknown.value_or(-1)});
    print.add(parts_->fuse_unknown);
    return print.hex();
}

std::vector<TokenDifference> differences(const Tokenizer& first, const Tokenizer& second, int64_t limit) {
    std::vector<TokenDifference> found;
    const auto bytes = [](const Tokenizer& tokenizer, TokenId id) {
        return tokenizer.is_known(id) ? std::optional(std::string(tokenizer.bytes_of(id))) : std::nullopt;
    };
    const int64_t size = std::max(first.size(), second.size());
    for (TokenId id = 0; id < size && int64_t(found.size()) < limit; ++id) {
        const bool same = first.is_known(id) == second.is_known(id) &&
                          (!first.is_known(id) || (first.bytes_of(id) == second.bytes_of(id) &&
                                                   first.is_special(id) == second.is_special(id)));
        if (!same) {
            found.push_back(
                {id, bytes(first, id), bytes(second, id), first.is_special(id), second.is_special(id)});
        }
    }
    return found;
}

} // namespace stillroom::text
