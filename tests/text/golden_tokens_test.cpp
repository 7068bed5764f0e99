// SPDX-License-Identifier: GPL-3.0-or-later
// The tokenizer against published ids and against ids on which independent encoders agree
// (tests/data/README.md). Each test asserts how many rows it compared, so that none drops out unseen.
#include "tests/support/golden.h"
#include "text/tokenizer.h"

#include <gtest/gtest.h>

namespace stillroom::text {
namespace {

using test::data;

using Ids = std::vector<TokenId>;

Tokenizer loaded(const std::string& name) { return Tokenizer::load(data("tokenizers/" + name)).value(); }

// Llama 3's licence keeps its files out of the repository.
std::optional<Tokenizer> llama3() {
    const auto folder = test::shared("data/tokenizers/llama3");
    if (!folder) return std::nullopt;
    return Tokenizer::load(*folder).value();
}

const std::string no_llama3 = "no ../shared/data/tokenizers/llama3 beside this checkout";

// Rows of derived.jsonl that have ids under `key`: encoded, and decoded again.
int compare_derived(const Tokenizer& tokenizer, const std::string& key, bool normalises) {
    int compared = 0;
    for (const auto& row : test::read_json_lines(data("tokenizer_golden/derived.jsonl"))) {
        if (!row.contains(key)) continue;
        const auto text = row["text"].get<std::string>();
        const auto expected = row[key].get<Ids>();
        EXPECT_EQ(tokenizer.encode(text), expected) << row["id"] << " " << text;
        if (!normalises) {
            EXPECT_EQ(tokenizer.decode(expected), text) << row["id"];
        }
        ++compared;
    }
    return compared;
}

// Rows of a published list: ids of the text, and the text of the ids.
int compare_published(const Tokenizer& tokenizer, const std::string& file) {
    int compared = 0;
    for (const auto& row : test::read_json_lines(data("tokenizer_golden/" + file))) {
        const auto text = row["text"].get<std::string>();
        const auto expected = row["ids"].get<Ids>();
        EXPECT_EQ(tokenizer.encode(text), expected) << row["id"] << " " << text;
        EXPECT_EQ(tokenizer.decode(expected), text) << row["id"];
        if (!row["special"].get<bool>()) {
            EXPECT_EQ(tokenizer.encode(text, false), expected) << row["id"] << " " << text;
        }
        ++compared;
    }
    return compared;
}

// llama.cpp's files: texts between separator lines, ids one line a text.
int compare_ggml(const Tokenizer& tokenizer, const std::string& name) {
    const auto content = [&](const std::string& ending) {
        std::ifstream stream(data("tokenizer_golden/ggml-vocab-" + name + ".gguf" + ending),
                             std::ios::binary);
        return std::string(std::istreambuf_iterator<char>(stream), {});
    };
    const std::string separator = "\n__ggml_vocab_test__\n";
    std::string texts = content(".inp");
    std::istringstream lines(content(".out"));
    int compared = 0;
    for (size_t at = 0; at < texts.size();) {
        const size_t end = texts.find(separator, at);
        if (end == std::string::npos) break;
        std::string line;
        EXPECT_TRUE(std::getline(lines, line)) << "no ids for text " << compared;
        std::istringstream numbers(line);
        const Ids expected{std::istream_iterator<TokenId>(numbers), {}};
        const std::string text = texts.substr(at, end - at);
        EXPECT_EQ(tokenizer.encode(text, false), expected) << "text " << compared << ": " << text;
        at = end + separator.size();
        ++compared;
    }
    return compared;
}

TEST(GoldenTokens, qwen2_5_from_vocab_and_merges_gives_the_derived_ids) {
    EXPECT_EQ(compare_derived(loaded("qwen2.5"), "qwen", true), 141);
}

TEST(GoldenTokens, qwen3_from_tokenizer_json_gives_the_derived_ids) {
    EXPECT_EQ(compare_derived(loaded("qwen3"), "qwen", true), 141);
}

TEST(GoldenTokens, deepseek_distill_from_qwen_vocabulary_gives_the_derived_ids) {
    const auto tokenizer = Tokenizer::from_vocab_and_merges(
        data("tokenizers/qwen2.5/vocab.json"), data("tokenizers/qwen2.5/merges.txt"),
        data("tokenizers/deepseek-r1-distill-qwen/tokenizer_config.json"), SplitScheme::Qwen2);
    ASSERT_TRUE(tokenizer) << tokenizer.error().message();
    EXPECT_EQ(compare_derived(*tokenizer, "qwen", true), 141);
}

TEST(GoldenTokens, smollm2_gives_the_derived_ids) {
    EXPECT_EQ(compare_derived(loaded("smollm2"), "smollm2", false), 140); // the encoders disagree on one text
}

TEST(GoldenTokens, gpt2_gives_the_derived_ids) {
    EXPECT_EQ(compare_derived(loaded("gpt2"), "gpt2", false), 141);
}

TEST(GoldenTokens, llama3_gives_the_derived_ids) {
    const auto tokenizer = llama3();
    if (!tokenizer) GTEST_SKIP() << no_llama3;
    EXPECT_EQ(compare_derived(*tokenizer, "llama3", false), 141);
}

TEST(GoldenTokens, gpt2_gives_the_published_ids) {
    EXPECT_EQ(compare_published(loaded("gpt2"), "gpt2.jsonl"), 66);
}

TEST(GoldenTokens, qwen2_gives_the_published_ids) {
    EXPECT_EQ(compare_published(loaded("qwen2.5"), "qwen2.jsonl"), 65);
}

TEST(GoldenTokens, llama3_gives_the_published_ids) {
    const auto tokenizer = llama3();
    if (!tokenizer) GTEST_SKIP() << no_llama3;
    int compared = 0, decoded_only = 0, framed = 0, need_other_names = 0;
    for (const auto& row : test::read_json_lines(data("tokenizer_golden/llama3.jsonl"))) {
        if (row.contains("added_tokens")) { // names of Llama 3.1; these are Llama 3.0's files
            EXPECT_EQ(row["added_tokens"], "llama3.1");
            ++need_other_names;
            continue;
        }
        const auto text = row["text"].get<std::string>();
        auto expected = row["ids"].get<Ids>();
        if (row.value("decode_only", false)) {
            EXPECT_EQ(tokenizer->decode(expected), text) << row["id"];
            ++decoded_only;
            continue;
        }
        const bool bos = row.value("add_bos", false), eos = row.value("add_eos", false);
        framed += bos || eos;
        if (eos) { // Llama 3 frames with begin of text alone; the end is the caller's
            ASSERT_EQ(expected.back(), tokenizer->id_of("<|end_of_text|>").value());
            expected.pop_back();
        }
        EXPECT_EQ(bos ? tokenizer->encode_with_bos(text) : tokenizer->encode(text), expected)
            << row["id"] << " " << text;
        ++compared;
    }
    EXPECT_EQ(compared, 65);
    EXPECT_EQ(framed, 5);
    EXPECT_EQ(decoded_only, 3);
    EXPECT_EQ(need_other_names, 5);
}

// The five rows above, with the added tokens named as in Llama 3.1.
TEST(GoldenTokens, llama3_with_the_names_of_llama3_1_gives_the_published_ids) {
    const auto folder = test::shared("data/tokenizers/llama3");
    if (!folder) GTEST_SKIP() << no_llama3;
    auto file = test::read_json(*folder / "tokenizer.json");
    std::map<int, std::string> names{{128004, "<|finetune_right_pad_id|>"},
                                     {128005, "<|reserved_special_token_2|>"},
                                     {128008, "<|eom_id|>"},
                                     {128010, "<|python_tag|>"}};
    for (int id = 128011; id <= 128255; ++id) {
        names[id] = "<|reserved_special_token_" + std::to_string(id - 128008) + "|>";
    }
    for (auto& token : file["added_tokens"]) {
        if (const auto name = names.find(token["id"].get<int>()); name != names.end())
            token["content"] = name->second;
    }
    const test::TemporaryFolder scratch;
    std::ofstream(scratch / "tokenizer.json") << file;
    const auto tokenizer = Tokenizer::load(scratch / "tokenizer.json");
    ASSERT_TRUE(tokenizer) << tokenizer.error().message();
    int compared = 0;
    for (const auto& row : test::read_json_lines(data("tokenizer_golden/llama3.jsonl"))) {
        if (!row.contains("added_tokens")) continue;
        const auto expected = row["ids"].get<Ids>();
        if (!row.value("decode_only", false)) {
            EXPECT_EQ(tokenizer->encode(row["text"].get<std::string>()), expected) << row["id"];
        }
        EXPECT_EQ(tokenizer->decode(expected), row["text"].get<std::string>()) << row["id"];
        ++compared;
    }
    EXPECT_EQ(compared, 5);
}

TEST(GoldenTokens, ggml_vectors_of_gpt2) { EXPECT_EQ(compare_ggml(loaded("gpt2"), "gpt-2"), 46); }

TEST(GoldenTokens, ggml_vectors_of_qwen2) { EXPECT_EQ(compare_ggml(loaded("qwen2.5"), "qwen2"), 46); }

TEST(GoldenTokens, ggml_vectors_of_llama3) {
    const auto tokenizer = llama3();
    if (!tokenizer) GTEST_SKIP() << no_llama3;
    EXPECT_EQ(compare_ggml(*tokenizer, "llama-bpe"), 46);
}

} // namespace
} // namespace stillroom::text
