// SPDX-License-Identifier: GPL-3.0-or-later
// Properties of encoding and decoding, what is refused, saving and comparing.
#include "base/files.h"
#include "base/philox.h"
#include "base/strings.h"
#include "tests/support/golden.h"
#include "text/streaming_decoder.h"
#include "text/tokenizer.h"

#include <gtest/gtest.h>

namespace stillroom::text {
namespace {

using nlohmann::json;
using test::data;
using Ids = std::vector<TokenId>;

std::string random_bytes(PhiloxStream& random, size_t length) {
    std::string bytes;
    while (bytes.size() < length) bytes += char(random.below(256));
    return bytes;
}

// Words, blanks, digits and characters of two to four bytes.
std::string random_text(PhiloxStream& random, size_t pieces) {
    static const std::vector<std::string> parts{"a",    "the", " ",      "  ", "\n", "\r\n", "\t", "7",
                                                "2024", "½",   "é",      "日", "本", "😀",    "'s", "don't",
                                                "<|",   "|>",  "\\frac", "{",  "}",  "."};
    std::string text;
    for (size_t i = 0; i < pieces; ++i) text += parts[random.below(uint32_t(parts.size()))];
    return text;
}

// A tokenizer small enough to change by hand: "abc ab" encodes to [6, 4, 5].
json small_file() { return test::read_json(test::golden("models/malformed/tokenizer-ok-plain.json")); }

Result<Tokenizer> loaded(const json& file) {
    const test::TemporaryFolder folder;
    std::ofstream(folder / "tokenizer.json") << file;
    return Tokenizer::load(folder.path());
}

std::string message(const json& file) {
    const auto tokenizer = loaded(file);
    if (tokenizer) return "loaded";
    const std::string text = tokenizer.error().message();
    return text.substr(text.find("tokenizer.json") == std::string::npos ? 0 : text.find("tokenizer.json"));
}

TEST(Tokenizer, malformed_files_are_refused_and_sound_ones_read) {
    int errors = 0, sound = 0;
    const json manifest = test::read_json(test::golden("models/malformed/manifest.json"));
    for (const json& entry : manifest.is_array() ? manifest : manifest["files"]) {
        if (entry["kind"] != "tokenizer") continue;
        const auto file = test::golden("models/malformed/" + entry["file"].get<std::string>());
        const auto tokenizer = Tokenizer::load(file);
        if (entry["expected"] == "ok") {
            ASSERT_TRUE(tokenizer) << tokenizer.error().message();
            EXPECT_EQ(tokenizer->encode("abc ab"), (Ids{6, 4, 5}));
            ++sound;
        } else {
            ASSERT_FALSE(tokenizer) << entry["file"] << ": " << entry["problem"];
            EXPECT_NE(tokenizer.error().message().find(file.filename().string()), std::string::npos)
                << tokenizer.error().message();
            EXPECT_EQ(tokenizer.error().message().find('\n'), std::string::npos)
                << tokenizer.error().message();
            ++errors;
        }
    }
    EXPECT_EQ(errors, 11);
    EXPECT_EQ(sound, 1);
}

TEST(Tokenizer, what_would_change_ids_and_is_not_understood_is_named) {
    json file = small_file();
    file["model"]["byte_fallback"] = true;
    EXPECT_EQ(message(file),
              "tokenizer.json: model: byte_fallback is true: only byte-level tokenizers are supported");
    file = small_file();
    file["model"]["dropout"] = 0.1;
    EXPECT_EQ(message(file),
              "tokenizer.json: model: dropout is 0.1, expected null: encoding would be random");
    file = small_file();
    file["model"]["ignore_merge"] = true;
    EXPECT_EQ(message(file),
              "tokenizer.json: model: the key \"ignore_merge\" is not understood and may change ids "
              "(nearest known key: ignore_merges)");
    file = small_file();
    file["normalizer"] = {{"type", "Lowercase"}};
    EXPECT_EQ(message(file),
              "tokenizer.json: normalizer: type is \"Lowercase\", expected NFC, NFD, NFKC, NFKD or Sequence");
    file = small_file();
    file["pre_tokenizer"] = {{"type", "Metaspace"}};
    EXPECT_EQ(message(file), "tokenizer.json: pre_tokenizer: type is \"Metaspace\", expected Sequence, "
                             "Split, Digits or ByteLevel");
    file = small_file();
    file["pre_tokenizer"] = {
        {"type", "Sequence"},
        {"pretokenizers",
         {{{"type", "Split"}, {"pattern", {{"Regex", "\\h+"}}}, {"behavior", "Isolated"}},
          {{"type", "ByteLevel"}, {"use_regex", false}}}}};
    EXPECT_NE(message(file).find("\\h, which this program cannot run as Oniguruma does"), std::string::npos)
        << message(file);
    file = small_file();
    file["post_processor"] = {{"type", "BertProcessing"}};
    EXPECT_NE(message(file).find("BertProcessing"), std::string::npos) << message(file);
    file = small_file();
    file["decoder"] = {{"type", "WordPiece"}};
    EXPECT_NE(message(file).find("WordPiece"), std::string::npos) << message(file);
}

TEST(Tokenizer, ids_that_clash_or_lie_far_out_are_refused) {
    json file = small_file();
    file["model"]["vocab"]["c"] = 1;
    EXPECT_NE(message(file).find("id 1 is given to"), std::string::npos) << message(file);
    file = small_file();
    file["model"]["vocab"]["d"] = 4000000000;
    EXPECT_NE(message(file).find("has the id 4000000000"), std::string::npos) << message(file);
    file = small_file();
    file["added_tokens"][0]["content"] = "abc";
    EXPECT_NE(message(file).find("token \"abc\" has two ids, 6 and 8"), std::string::npos) << message(file);
}

TEST(Tokenizer, truncation_and_padding_are_ignored) {
    json file = small_file();
    file["truncation"] = {{"max_length", 1}};
    file["padding"] = {{"strategy", {{"Fixed", 9}}}};
    EXPECT_EQ(loaded(file)->encode("abc ab"), (Ids{6, 4, 5}));
}

TEST(Tokenizer, added_tokens_obey_their_flags) {
    json file = small_file();
    const auto encode = [&](const std::string& text, bool special = true) {
        return loaded(file)->encode(text, special);
    };
    EXPECT_EQ(encode("a<|end|>b"), (Ids{0, 8, 1}));
    EXPECT_EQ(encode("a <|end|> b"), (Ids{0, 4, 8, 4, 1}));
    file["added_tokens"][0]["lstrip"] = true;
    EXPECT_EQ(encode("a <|end|> b"), (Ids{0, 8, 4, 1}));
    file["added_tokens"][0]["rstrip"] = true;
    EXPECT_EQ(encode("a  <|end|>  b"), (Ids{0, 8, 1}));
    file = small_file();
    file["added_tokens"][0]["content"] = "cd";
    file["added_tokens"][0]["single_word"] = true;
    EXPECT_EQ(encode("a cd b"), (Ids{0, 4, 8, 4, 1}));
    EXPECT_EQ(encode("acd"), (Ids{0, 2, 3}));
    EXPECT_EQ(encode("cd cd"), (Ids{8, 4, 8}));
    EXPECT_EQ(encode("cd", false), (Ids{2, 3})); // special: text like any other
    file["added_tokens"][0]["special"] = false;
    EXPECT_EQ(encode("cd", false), (Ids{8}));
}

TEST(Tokenizer, the_longest_added_token_is_taken) {
    json file = small_file();
    json longer = file["added_tokens"][0];
    longer["id"] = 9;
    longer["content"] = "<|end|>c";
    file["added_tokens"].push_back(longer);
    EXPECT_EQ(loaded(file)->encode("<|end|>b<|end|>c"), (Ids{8, 1, 9}));
}

TEST(Tokenizer, split_behaviours_keep_what_they_say) {
    // Each behaviour on "cac" with the pattern "a", seen through words that may not merge across a cut.
    json file = small_file();
    file["model"]["vocab"] = {{"a", 0}, {"b", 1}, {"c", 2}, {"ca", 3}, {"ac", 4}};
    file["model"]["merges"] = {"c a", "a c"};
    file["added_tokens"] = json::array();
    const auto words = [&](const char* behavior, bool invert = false) {
        file["pre_tokenizer"] = {
            {"type", "Sequence"},
            {"pretokenizers",
             {{{"type", "Split"}, {"pattern", {{"String", "a"}}}, {"behavior", behavior}, {"invert", invert}},
              {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}}}}};
        return loaded(file)->encode("cac");
    };
    EXPECT_EQ(words("Isolated"), (Ids{2, 0, 2}));
    EXPECT_EQ(words("Removed"), (Ids{2, 2}));
    EXPECT_EQ(words("MergedWithPrevious"), (Ids{3, 2}));
    EXPECT_EQ(words("MergedWithNext"), (Ids{2, 4}));
    EXPECT_EQ(words("Contiguous"), (Ids{2, 0, 2}));
    EXPECT_EQ(words("Removed", true), (Ids{0}));
}

// SmolLM2 has no token for 21 bytes: control characters, and bytes that no UTF-8 text holds. They are left
// out.
bool has_token(const Tokenizer& tokenizer, char byte) {
    return !tokenizer.encode(std::string(1, byte)).empty();
}

TEST(Tokenizer, decoding_gives_any_bytes_back_that_have_tokens_where_nothing_is_normalised) {
    for (const auto& [name, bytes_without_token] : {std::pair{"gpt2", 0}, std::pair{"smollm2", 21}}) {
        const Tokenizer tokenizer = Tokenizer::load(data(std::string("tokenizers/") + name)).value();
        int lacking = 0;
        for (int byte = 0; byte < 256; ++byte) lacking += has_token(tokenizer, char(byte)) ? 0 : 1;
        EXPECT_EQ(lacking, bytes_without_token) << name;
        PhiloxStream random(7, 1);
        for (int i = 0; i < 300; ++i) {
            std::string bytes = random_bytes(random, random.below(60));
            std::erase_if(bytes, [&](char byte) { return !has_token(tokenizer, byte); });
            EXPECT_EQ(tokenizer.decode(tokenizer.encode(bytes)), bytes)
                << name << " " << stillroom::quoted(bytes);
            const std::string text = random_text(random, random.below(40));
            EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text) << name << " " << text;
            const std::string both = text + bytes + text;
            EXPECT_EQ(tokenizer.decode(tokenizer.encode(both)), both) << name;
        }
    }
}

TEST(Tokenizer, decoding_gives_the_normal_form_back_where_the_text_is_normalised) {
    const Tokenizer tokenizer = Tokenizer::load(data("tokenizers/qwen3")).value();
    EXPECT_EQ(tokenizer.decode(tokenizer.encode("e\xcc\x81")), "\xc3\xa9");
    PhiloxStream random(7, 2);
    for (int i = 0; i < 300; ++i) { // all of these parts are in normal form C
        const std::string text = random_text(random, random.below(40));
        EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
    }
}

TEST(Tokenizer, ids_of_a_long_word_are_those_of_its_merges) {
    // 2^20 equal letters: with merges a+a, aa+aa, ... the result is one token; time grows as n log n, not n
    // squared.
    json file = small_file();
    file["added_tokens"] = json::array();
    file["model"]["vocab"] = json::object();
    file["model"]["merges"] = json::array();
    std::string token = "a";
    file["model"]["vocab"][token] = 0;
    for (int i = 1; i <= 10; ++i) {
        file["model"]["merges"].push_back(json::array({token, token}));
        token += token;
        file["model"]["vocab"][token] = i;
    }
    const Tokenizer tokenizer = loaded(file).value();
    EXPECT_EQ(tokenizer.encode(std::string(size_t{1} << 20, 'a')), Ids(1024, 10));
    EXPECT_EQ(tokenizer.encode(std::string(7, 'a')), (Ids{2, 1, 0}));
}

TEST(Tokenizer, long_runs_of_blanks_and_lines_are_encoded_and_decoded) {
    const Tokenizer tokenizer = Tokenizer::load(data("tokenizers/smollm2")).value();
    for (const std::string& piece :
         {std::string(" "), std::string("\n"), std::string(" \n"), std::string("1"), std::string("<|")}) {
        std::string text;
        while (text.size() < 300'000) text += piece;
        EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text) << stillroom::quoted(piece);
    }
}

TEST(Tokenizer, special_tokens_have_their_roles) {
    const Tokenizer qwen = Tokenizer::load(data("tokenizers/qwen2.5")).value();
    EXPECT_EQ(qwen.size(), 151665);
    EXPECT_EQ(qwen.bos(), std::nullopt);
    EXPECT_EQ(qwen.eos(), 151645);
    EXPECT_EQ(qwen.pad(), 151643);
    EXPECT_EQ(qwen.eos_token(), "<|im_end|>");
    EXPECT_TRUE(qwen.is_special(151645));
    EXPECT_FALSE(qwen.is_special(qwen.id_of("<tool_call>").value()));
    EXPECT_TRUE(qwen.is_known(151664));
    EXPECT_FALSE(qwen.is_known(151665)); // a row of padding of the model
    EXPECT_EQ(qwen.bytes_of(151665), "");
    EXPECT_FALSE(qwen.adds_bos());
    EXPECT_EQ(qwen.decode(Ids{151644, 872, 151645}, true), "user");
    EXPECT_EQ(qwen.decode(Ids{151644, 872, 151645}), "<|im_start|>user<|im_end|>");

    const Tokenizer gpt2 = Tokenizer::load(data("tokenizers/gpt2")).value();
    EXPECT_EQ(gpt2.eos(), 50256);
    EXPECT_EQ(gpt2.encode("<|endoftext|>"), (Ids{50256}));

    const Tokenizer smollm2 = Tokenizer::load(data("tokenizers/smollm2")).value();
    EXPECT_EQ(smollm2.pad(), 49152);
    EXPECT_EQ(smollm2.bytes_of(49152), "[PAD]");
}

Tokenizer deepseek() {
    return Tokenizer::from_vocab_and_merges(
               data("tokenizers/qwen2.5/vocab.json"), data("tokenizers/qwen2.5/merges.txt"),
               data("tokenizers/deepseek-r1-distill-qwen/tokenizer_config.json"), SplitScheme::Qwen2)
        .value();
}

TEST(Tokenizer, deepseek_distill_has_its_own_added_tokens_over_qwens_vocabulary) {
    const Tokenizer tokenizer = deepseek();
    EXPECT_EQ(tokenizer.bos(), 151646);
    EXPECT_EQ(tokenizer.eos(), 151643);
    EXPECT_EQ(tokenizer.bytes_of(151643), "<｜end▁of▁sentence｜>");
    EXPECT_EQ(tokenizer.id_of("<think>"), 151648);
    EXPECT_EQ(tokenizer.encode("<｜User｜>Hi<｜Assistant｜><think>\n"),
              (Ids{151644, 13048, 151645, 151648, 198}));
    EXPECT_TRUE(tokenizer.adds_bos());
    EXPECT_EQ(tokenizer.encode_with_bos("Hi"), (Ids{151646, 13048}));
    EXPECT_EQ(tokenizer.encode_with_bos("<｜begin▁of▁sentence｜>Hi"), (Ids{151646, 13048})); // not doubled
    EXPECT_NE(tokenizer.chat_template().find("<｜Assistant｜>"), std::string::npos);
}

TEST(Tokenizer, a_class_that_does_not_say_how_words_are_cut_is_refused) {
    const auto tokenizer = Tokenizer::from_vocab_and_merges(
        data("tokenizers/qwen2.5/vocab.json"), data("tokenizers/qwen2.5/merges.txt"),
        data("tokenizers/deepseek-r1-distill-qwen/tokenizer_config.json"));
    ASSERT_FALSE(tokenizer);
    EXPECT_NE(tokenizer.error().message().find("LlamaTokenizerFast"), std::string::npos)
        << tokenizer.error().message();
}

// Its tokens have no ids there, and numbering them on would give begin of text the id 151643 instead of
// 151646.
TEST(Tokenizer, special_tokens_without_ids_are_refused_rather_than_numbered) {
    const auto tokenizer = Tokenizer::from_vocab_and_merges(
        data("tokenizers/qwen2.5/vocab.json"), data("tokenizers/qwen2.5/merges.txt"),
        data("tokenizers/deepseek-r1-distill-qwen/tokenizer_config.published-form.json"), SplitScheme::Qwen2);
    ASSERT_FALSE(tokenizer);
    EXPECT_NE(tokenizer.error().message().find("bos_token \"<｜begin▁of▁sentence｜>\" has no id"),
              std::string::npos)
        << tokenizer.error().message();
}

TEST(Tokenizer, a_folder_without_tokenizer_files_says_so) {
    const test::TemporaryFolder folder;
    const auto tokenizer = Tokenizer::load(folder.path());
    ASSERT_FALSE(tokenizer);
    EXPECT_NE(tokenizer.error().message().find("neither tokenizer.json nor vocab.json with merges.txt"),
              std::string::npos);
    EXPECT_FALSE(Tokenizer::load(folder / "absent"));
}

TEST(Tokenizer, streaming_gives_the_whole_text_and_never_part_of_a_character) {
    const Tokenizer tokenizer = Tokenizer::load(data("tokenizers/gpt2")).value();
    PhiloxStream random(7, 3);
    for (int i = 0; i < 300; ++i) {
        const bool sound = i % 2 == 0; // well-formed text, or a text with stray bytes
        const std::string text =
            random_text(random, 20) + (sound ? "" : random_bytes(random, 12) + random_text(random, 5));
        StreamingDecoder decoder(tokenizer);
        std::string joined;
        for (const TokenId id : tokenizer.encode(text)) {
            const std::string piece = decoder.push(id);
            if (sound) {
                EXPECT_TRUE(is_utf8(piece)) << stillroom::quoted(piece);
            }
            joined += piece;
        }
        const std::string rest = decoder.flush();
        if (sound) {
            EXPECT_EQ(rest, "");
        }
        EXPECT_EQ(joined + rest, text);
    }
}

TEST(Tokenizer, streaming_over_single_bytes_holds_back_only_what_can_still_become_a_character) {
    const Tokenizer tokenizer = Tokenizer::load(data("tokenizers/gpt2")).value();
    const auto byte = [&](char b) { return tokenizer.encode(std::string(1, b)).front(); };
    StreamingDecoder decoder(tokenizer);
    EXPECT_EQ(decoder.push(byte('\xf0')), "");
    EXPECT_EQ(decoder.push(byte('\x9f')), "");
    EXPECT_EQ(decoder.push(byte('\x98')), "");
    EXPECT_EQ(decoder.push(byte('\x80')), "😀");
    EXPECT_EQ(decoder.push(byte('\xe0')), "");
    EXPECT_EQ(decoder.push(byte('\x80')), "\xe0\x80"); // overlong: no character can come of it
    EXPECT_EQ(decoder.push(byte('\x80')), "\x80");
    EXPECT_EQ(decoder.push(byte('\xc3')), "");
    EXPECT_EQ(decoder.push(byte('a')), "\xc3"
                                       "a");
    EXPECT_EQ(decoder.push(byte('\xe2')), "");
    EXPECT_EQ(decoder.flush(), "\xe2");
    EXPECT_EQ(decoder.flush(), "");
}

TEST(Tokenizer, saving_copies_the_files_byte_for_byte) {
    const test::TemporaryFolder folder;
    ASSERT_TRUE(Tokenizer::load(data("tokenizers/smollm2"))->save(folder / "saved"));
    int compared = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder / "saved")) {
        EXPECT_EQ(read_file(entry.path()).value(),
                  read_file(data("tokenizers/smollm2/" + entry.path().filename().string())).value());
        ++compared;
    }
    EXPECT_EQ(compared, 6);
}

TEST(Tokenizer, saving_writes_a_tokenizer_json_where_there_was_none) {
    const test::TemporaryFolder folder;
    const Tokenizer original = deepseek();
    ASSERT_TRUE(original.save(folder.path()));
    const auto again = Tokenizer::load(folder.path());
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(again->fingerprint(), original.fingerprint());
    EXPECT_EQ(again->chat_template(), original.chat_template());
    EXPECT_EQ(again->encode_with_bos("Hi 2024"), original.encode_with_bos("Hi 2024"));
    EXPECT_TRUE(again->adds_bos());
}

TEST(Tokenizer, equal_vocabularies_differ_in_nothing) {
    const Tokenizer qwen3 = Tokenizer::load(data("tokenizers/qwen3")).value();
    EXPECT_TRUE(differences(qwen3, qwen3, 10).empty());
    const Tokenizer qwen2 = Tokenizer::load(data("tokenizers/qwen2.5")).value();
    EXPECT_NE(qwen2.fingerprint(), qwen3.fingerprint());
}

TEST(Tokenizer, differing_tokens_are_listed_with_both_meanings) {
    const Tokenizer qwen2 = Tokenizer::load(data("tokenizers/qwen2.5")).value();
    const Tokenizer qwen3 = Tokenizer::load(data("tokenizers/qwen3")).value();
    const auto added = differences(qwen2, qwen3, 100); // the four that Qwen3 added
    ASSERT_EQ(added.size(), 4u);
    EXPECT_EQ(added[0].id, 151665);
    EXPECT_EQ(added[0].first, std::nullopt);
    EXPECT_EQ(added[0].second, "<tool_response>");
    EXPECT_EQ(added[3].second, "</think>");

    const auto renamed = differences(qwen2, deepseek(), 100); // 151643 to 151649 mean something else
    ASSERT_EQ(renamed.size(), 7u);
    EXPECT_EQ(renamed[0].id, 151643);
    EXPECT_EQ(renamed[0].first, "<|endoftext|>");
    EXPECT_EQ(renamed[0].second, "<｜end▁of▁sentence｜>");
    EXPECT_EQ(renamed[6].id, 151649);
    EXPECT_EQ(differences(qwen2, deepseek(), 3).size(), 3u);
}

} // namespace
} // namespace stillroom::text
