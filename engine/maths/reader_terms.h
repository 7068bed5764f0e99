// SPDX-License-Identifier: GPL-3.0-or-later
// The reader behind read(): recursive descent over the tokens, its depth counted.
#pragma once

#include "maths/reader.h"

namespace stillroom::maths {

class Reader {
public:
    explicit Reader(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}
    int whole();
    Tree take_tree() { return std::move(tree_); }

private:
    struct Depth {
        explicit Depth(Reader& reader) : reader_(reader) {
            if (++reader_.depth_ > deepest) throw Unreadable("nested too deeply");
        }
        ~Depth() { --reader_.depth_; }
        Depth(const Depth&) = delete;
        Depth& operator=(const Depth&) = delete;
        static constexpr int deepest = 80;
        Reader& reader_;
    };

    const Token& now() const { return tokens_[at_]; }
    const Token& after() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
    void next() {
        if (at_ + 1 < tokens_.size()) ++at_;
    }
    void expect(char sign);
    static std::string shown(const Token& token);

    // reader.cpp
    int answer();
    int item();
    int relation(int first);
    int ratio();
    int set_expression();
    int bracketed(char open);
    int set();
    enum class Between { Nothing, Comma, Semicolon, And, Or };
    Between separator();
    int choice();
    int words(const std::string& text);
    bool ends_here() const;
    bool is_prose(int node) const;
    size_t words_ahead() const;
    int grouped(const std::vector<std::vector<int>>& groups, const std::string& connector);

    // reader_terms.cpp
    int sum();
    int product();
    int implicit_product();
    int mixed_number(int whole);
    int power();
    int postfixed(int base);
    int exponent();
    int argument();
    int group();
    int primary();
    int scientific(const std::string& digits);
    int periodic(const std::string& text);
    int letters();
    int symbol(std::string name);
    int text();
    bool starts_factor() const;
    bool inverse_follows(const std::string& name) const;
    bool is_applied(const std::string& name) const;

    // reader_commands.cpp
    int command();
    int root();
    int function(std::string name);
    int series(const std::string& name);
    int between(std::string_view close, const std::string& name);
    int bars();
    int environment();
    std::string word_in_group();
    bool degrees_follow();
    int with_degrees(int base);
    bool ordinal_follows();
    bool measure_follows() const;
    int measured(int value);

    std::vector<Token> tokens_;
    size_t at_ = 0;
    int depth_ = 0, in_abs_ = 0, in_set_ = 0;
    bool after_box_ = false;
    std::set<std::string> bound_; // indices of the series being read
    Tree tree_;
};

} // namespace stillroom::maths
