// SPDX-License-Identifier: GPL-3.0-or-later
// Tokenizers from GGUF metadata against the ids of the generators of tests/golden/gguf.
#include "formats/gguf.h"
#include "formats/gguf_vocabulary.h"
#include "tests/support/golden.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

#include <gtest/gtest.h>

namespace stillroom::text {
namespace {

using nlohmann::json;
using Ids = std::vector<TokenId>;

GgufVocabulary vocabulary(const std::string& name) {
    const auto file = formats::Gguf::open(test::golden("gguf/" + name + ".gguf"));
    return formats::vocabulary_of(file.value()).value();
}

int compare_tokens(const Tokenizer& tokenizer, const std::string& name) {
    int compared = 0;
    const json golden = test::read_json(test::golden("gguf/" + name + ".tokens.json"));
    for (const json& row : golden["rows"]) {
        const auto text = row["text"].get<std::string>();
        const auto ids = row["ids"].get<Ids>();
        EXPECT_EQ(tokenizer.encode(text), ids) << text;
        EXPECT_EQ(tokenizer.encode(text, false), row.value("ids_plain", ids)) << text;
        EXPECT_EQ(tokenizer.decode(ids), row.value("decoded", text)) << text;
        ++compared;
    }
    return compared;
}

class TinyGguf : public testing::TestWithParam<const char*> {};

TEST_P(TinyGguf, encodes_as_its_generator) {
    EXPECT_EQ(compare_tokens(Tokenizer::from_gguf(vocabulary(GetParam())).value(), GetParam()), 48);
}

TEST_P(TinyGguf, renders_and_encodes_the_golden_chat) {
    const Tokenizer tokenizer = Tokenizer::from_gguf(vocabulary(GetParam())).value();
    const json expected = test::read_json(test::golden(std::string("gguf/") + GetParam() + ".expected.json"));
    const auto text = render(ChatTemplate::of(tokenizer).value(), expected["messages"], true);
    ASSERT_TRUE(text) << text.error().message();
    EXPECT_EQ(*text, expected["rendered"].get<std::string>());
    EXPECT_EQ(tokenizer.encode(*text), expected["prompt_ids"].get<Ids>());
}

TEST_P(TinyGguf, saved_as_hugging_face_files_it_encodes_the_same) {
    const Tokenizer tokenizer = Tokenizer::from_gguf(vocabulary(GetParam())).value();
    const test::TemporaryFolder folder;
    ASSERT_TRUE(tokenizer.save(folder.path()));
    for (const char* name : {"tokenizer.json", "tokenizer_config.json", "chat_template.jinja"}) {
        EXPECT_TRUE(std::filesystem::exists(folder / name)) << name;
    }
    const auto again = Tokenizer::load(folder.path());
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(compare_tokens(*again, GetParam()), 48);
    EXPECT_EQ(again->fingerprint(), tokenizer.fingerprint());
    EXPECT_TRUE(differences(*again, tokenizer, 10).empty());
    EXPECT_EQ(again->bos(), tokenizer.bos());
    EXPECT_EQ(again->eos(), tokenizer.eos());
    EXPECT_EQ(again->pad(), tokenizer.pad());
    EXPECT_EQ(again->chat_template(), tokenizer.chat_template());
}

TEST_P(TinyGguf, is_read_as_a_model_of_the_command_line) {
    const auto tokenizer = Tokenizer::of_model(test::golden(std::string("gguf/") + GetParam() + ".gguf"));
    ASSERT_TRUE(tokenizer) << tokenizer.error().message();
    EXPECT_EQ(tokenizer->fingerprint(), Tokenizer::from_gguf(vocabulary(GetParam()))->fingerprint());
}

INSTANTIATE_TEST_SUITE_P(Golden, TinyGguf, testing::Values("tiny-llama", "tiny-qwen2", "tiny-qwen3"),
                         [](const auto& test) { return std::string(test.param).replace(4, 1, "_"); });

// SmolLM2's own vocabulary with the metadata of its GGUF file, where the 98 MB of weights are not at hand:
// the tokens, merges and special ids of smollm2-135m-q4_1.listing.json are those of the Hugging Face files
// (first and last agree).
TEST(GgufTokens, smollm2_encodes_as_its_gguf_file) {
    const Tokenizer published = Tokenizer::load(test::data("tokenizers/smollm2")).value();
    const json file = test::read_json(test::data("tokenizers/smollm2/tokenizer.json"));
    GgufVocabulary smollm2{.model = "gpt2", .pre = "smollm", .bos = 1, .eos = 2, .pad = 2, .unk = 0};
    for (TokenId id = 0; id < 49152; ++id) {
        smollm2.tokens.emplace_back(published.token(id));
        smollm2.types.push_back(published.is_special(id) ? 3 : 1);
    }
    for (const json& merge : file["model"]["merges"]) smollm2.merges.push_back(merge.get<std::string>());
    const auto tokenizer = Tokenizer::from_gguf(smollm2);
    ASSERT_TRUE(tokenizer) << tokenizer.error().message();
    EXPECT_EQ(compare_tokens(*tokenizer, "smollm2-135m-q4_1"), 48);
    int chats = 0;
    const json golden = test::read_json(test::golden("gguf/smollm2-135m-q4_1.chat.json"));
    for (const json& chat : golden["chats"]) {
        EXPECT_EQ(tokenizer->encode(chat["rendered"].get<std::string>()), chat["ids"].get<Ids>());
        EXPECT_EQ(tokenizer->decode(chat["tokens"].get<Ids>()), chat["text"].get<std::string>());
        ++chats;
    }
    EXPECT_EQ(chats, 3);
}

TEST(GgufTokens, malformed_vocabularies_in_files_are_refused) {
    int refused = 0;
    for (const char* name : {"model-pre-tokenizer", "model-tokenizer-model", "model-merge-unknown"}) {
        const auto tokenizer =
            Tokenizer::of_model(test::golden(std::string("gguf/malformed/") + name + ".gguf"));
        ASSERT_FALSE(tokenizer) << name;
        EXPECT_NE(tokenizer.error().message().find(std::string(name) + ".gguf"), std::string::npos)
            << tokenizer.error().message();
        ++refused;
    }
    EXPECT_EQ(refused, 3);
    const auto sound = Tokenizer::of_model(test::golden("gguf/malformed/model-ok-plain.gguf"));
    ASSERT_TRUE(sound) << sound.error().message();
    EXPECT_EQ(sound->encode("abcab"), (Ids{5, 3}));
}

TEST(GgufTokens, faults_of_a_vocabulary_are_named) {
    const GgufVocabulary sound{
        .model = "gpt2", .pre = "smollm", .tokens = {"a", "b", "ab"}, .merges = {"a b"}};
    EXPECT_EQ(Tokenizer::from_gguf(sound)->encode("abb"), (Ids{2, 1}));
    const auto message = [&](auto change) {
        GgufVocabulary changed = sound;
        change(changed);
        const auto tokenizer = Tokenizer::from_gguf(changed, "m.gguf");
        return tokenizer ? "loaded" : tokenizer.error().message();
    };
    EXPECT_EQ(
        message([](auto& v) { v.pre = "tekken"; }),
        "m.gguf: tokenizer.ggml.pre is \"tekken\", expected smollm, qwen2, llama-bpe, gpt-2 or default");
    EXPECT_EQ(message([](auto& v) { v.model = "llama"; }),
              "m.gguf: tokenizer.ggml.model is \"llama\", expected gpt2");
    EXPECT_EQ(message([](auto& v) { v.merges = {"a c"}; }),
              "m.gguf: merge 1 (\"a\", \"c\") needs \"c\", which is not in the vocabulary");
    EXPECT_EQ(message([](auto& v) { v.eos = 3; }),
              "m.gguf: the eos token has the id 3, but there are 3 tokens");
    EXPECT_EQ(message([](auto& v) {
                  v.types = {1, 1};
              }),
              "m.gguf: tokenizer.ggml.token_type has 2 entries for 3 tokens");
    EXPECT_EQ(message([](auto& v) { v.tokens[1] = "a"; }), "m.gguf: token \"a\" has two ids, 0 and 1");
}

TEST(GgufTokens, unused_tokens_count_as_padding) {
    GgufVocabulary padded{
        .model = "gpt2", .pre = "gpt-2", .tokens = {"a", "b", "[PAD2]"}, .types = {1, 1, 5}};
    GgufVocabulary bare = padded;
    bare.tokens.pop_back();
    bare.types.pop_back();
    const Tokenizer first = Tokenizer::from_gguf(padded).value(), second = Tokenizer::from_gguf(bare).value();
    EXPECT_TRUE(differences(first, second, 10).empty());
    bare.tokens[1] = "c";
    EXPECT_EQ(differences(first, Tokenizer::from_gguf(bare).value(), 10).size(), 1u);
}

} // namespace
} // namespace stillroom::text
