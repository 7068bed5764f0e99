// SPDX-License-Identifier: GPL-3.0-or-later
// Typed reading of GGUF metadata for the model and the vocabulary; a missing or faulty key throws the Error
// naming it.
#pragma once

#include "formats/gguf.h"

#include <set>

namespace stillroom::formats {

class MetadataReader {
public:
    explicit MetadataReader(const Gguf& file) : file_(file) {}

    bool has(const std::string& key) { return find(key) != nullptr; }
    std::string shown(const std::string& key) const { return to_string(file_.metadata().at(key)); }

    std::string text(const std::string& key); // UTF-8
    double number(const std::string& key);
    double positive(const std::string& key);
    int64_t size(const std::string& key); // 1 to 2^31 - 1
    bool flag(const std::string& key, bool absent);
    std::vector<std::string> texts(const std::string& key); // each UTF-8
    std::vector<int64_t> whole_numbers(const std::string& key);
    std::optional<int64_t> token_id(const std::string& key, int64_t vocab);

    /// Keys with this prefix that nobody asked for.
    std::vector<std::string> unasked(const std::string& prefix) const;
    [[noreturn]] void fail(const std::string& key, const std::string& what) const;

private:
    const GgufValue* find(const std::string& key);
    const GgufValue& need(const std::string& key);

    const Gguf& file_;
    std::set<std::string> asked_;
};

} // namespace stillroom::formats
