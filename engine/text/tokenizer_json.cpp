// SPDX-License-Identifier: GPL-3.0-or-later
// Reads tokenizer.json, the file of Hugging Face tokenizers. Every key is either understood, known not to
// change ids, or refused by name.
#include "text/json_reading.h"
#include "text/tokenizer_parts.h"

#include "base/strings.h"

#include <algorithm>

namespace stillroom::text {

namespace {

using nlohmann::json;

SplitBehavior behavior_named(const std::string& name, const std::string& where) {
    for (const auto behavior :
         {SplitBehavior::Removed, SplitBehavior::Isolated, SplitBehavior::MergedWithPrevious,
          SplitBehavior::MergedWithNext, SplitBehavior::Contiguous}) {
        if (to_string(behavior) == name) return behavior;
    }
    throw ErrorException(
        {"behavior is " + stillroom::quoted(name) +
             ", expected Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous",
         where});
}

std::string type_of(const json& object, const std::string& where) { return text_at(object, "type", where); }

[[noreturn]] void refuse_type(const std::string& type, const std::string& expected,
                              const std::string& where) {
    throw ErrorException({"type is " + stillroom::quoted(type) + ", expected " + expected, where});
}

void read_normalizer(const json& object, const std::string& where, TokenizerSource& source) {
    if (object.is_null()) return;
    const std::string type = type_of(object, where);
    if (type == "Sequence") {
        only_keys(object, {"type", "normalizers"}, where);
        const json& list = list_at(object, "normalizers", where);
        for (size_t i = 0; i < list.size(); ++i) {
            read_normalizer(list[i], where + ".normalizers[" + std::to_string(i) + "]", source);
        }
        return;
    }
    only_keys(object, {"type"}, where);
    for (const auto form : {NormalForm::C, NormalForm::D, NormalForm::KC, NormalForm::KD}) {
        if (to_string(form) == type) return source.normal_forms.push_back(form);
    }
    refuse_type(type, "NFC, NFD, NFKC, NFKD or Sequence", where);
}

SplitStep split_step(const json& object, const std::string& where) {
    only_keys(object, {"type", "pattern", "behavior", "invert"}, where);
    SplitStep step;
    const json& pattern = member(object, "pattern", where);
    if (!pattern.is_object() || pattern.size() != 1 ||
        (!pattern.contains("Regex") && !pattern.contains("String"))) {
        throw ErrorException({"pattern is not {\"Regex\": ...} or {\"String\": ...}", where});
    }
    const bool regex = pattern.contains("Regex");
    step.kind = regex ? SplitStep::Kind::Pattern : SplitStep::Kind::Literal;
    step.pattern = text_at(pattern, regex ? "Regex" : "String", where + ".pattern");
    step.behavior = behavior_named(text_at(object, "behavior", where), where);
    step.invert = flag_at(object, "invert", false, where);
    return step;
}

void read_pre_tokenizer(const json& object, const std::string& where, TokenizerSource& source) {
    if (object.is_null()) return;
    const std::string type = type_of(object, where);
    if (type == "Sequence") {
        only_keys(object, {"type", "pretokenizers"}, where);
        const json& list = list_at(object, "pretokenizers", where);
        for (size_t i = 0; i < list.size(); ++i) {
            read_pre_tokenizer(list[i], where + ".pretokenizers[" + std::to_string(i) + "]", source);
        }
    } else if (type == "Split") {
        source.steps.push_back(split_step(object, where));
    } else if (type == "Digits") {
        only_keys(object, {"type", "individual_digits"}, where);
        source.steps.push_back({.kind = SplitStep::Kind::Digits,
                                .individual_digits = flag_at(object, "individual_digits", false, where)});
    } else if (type == "ByteLevel") {
        only_keys(object, {"type", "add_prefix_space", "trim_offsets", "use_regex"}, where);
        source.steps.push_back({.kind = SplitStep::Kind::ByteLevel,
                                .add_prefix_space = flag_at(object, "add_prefix_space", true, where),
                                .use_regex = flag_at(object, "use_regex", true, where)});
    } else {
        refuse_type(type, "Sequence, Split, Digits or ByteLevel", where);
    }
}

void read_template(const json& object, const std::string& where, TokenizerSource& source) {
    only_keys(object, {"type", "single", "pair", "special_tokens"}, where);
    const json& pieces = list_at(object, "single", where);
    bool behind = false;
    for (size_t i = 0; i < pieces.size(); ++i) {
        const std::string place = where + ".single[" + std::to_string(i) + "]";
        if (pieces[i].is_object() && pieces[i].contains("Sequence")) {
            if (behind) throw ErrorException({"the text stands in the template twice", place});
            behind = true;
        } else if (pieces[i].is_object() && pieces[i].contains("SpecialToken")) {
            auto& side = behind ? source.after : source.before;
            side.push_back(text_at(pieces[i]["SpecialToken"], "id", place));
        } else {
            throw ErrorException({"found neither SpecialToken nor Sequence", place});
        }
    }
    if (!behind) throw ErrorException({"the template has no place for the text", where + ".single"});
}

void read_post_processor(const json& object, const std::string& where, TokenizerSource& source) {
    if (object.is_null()) return;
    const std::string type = type_of(object, where);
    if (type == "Sequence") {
        const json& list = list_at(object, "processors", where);
        for (size_t i = 0; i < list.size(); ++i) {
            read_post_processor(list[i], where + ".processors[" + std::to_string(i) + "]", source);
        }
    } else if (type == "TemplateProcessing") {
        if (!source.before.empty() || !source.after.empty()) {
            throw ErrorException({"there are two TemplateProcessing, expected one", where});
        }
        read_template(object, where, source);
    } else if (type != "ByteLevel") { // which moves offsets only
        refuse_type(type, "ByteLevel, TemplateProcessing or Sequence", where);
    }
}

void check_decoder(const json& object, const std::string& where) {
    if (object.is_null()) return;
    const std::string type = type_of(object, where);
    if (type == "Sequence") {
        const json& list = list_at(object, "decoders", where);
        for (size_t i = 0; i < list.size(); ++i) {
            check_decoder(list[i], where + ".decoders[" + std::to_string(i) + "]");
        }
    } else if (type != "ByteLevel") {
        refuse_type(type, "ByteLevel", where);
    }
}

void read_model(const json& model, const std::string& where, TokenizerSource& source) {
    if (!model.is_object()) throw ErrorException({"is not an object", where});
    if (model.contains("type") || !model.contains("merges")) {
        const std::string type = type_of(model, where); // very old files leave it out
        if (type != "BPE") refuse_type(type, "BPE", where);
    }
    only_keys(model,
              {"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
               "byte_fallback", "ignore_merges", "vocab", "merges"},
              where);
    if (model.contains("dropout") && !model["dropout"].is_null() && model["dropout"] != 0.0) {
        throw ErrorException(
            {"dropout is " + model["dropout"].dump() + ", expected null: encoding would be random", where});
    }
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
        const auto affix = optional_text_at(model, key, where);
        if (affix && !affix->empty()) {
            throw ErrorException(
                {std::string(key) + " is " + stillroom::quoted(*affix) + ", expected none", where});
        }
    }
    if (flag_at(model, "byte_fallback", false, where)) {
        throw ErrorException({"byte_fallback is true: only byte-level tokenizers are supported", where});
    }
    source.ignore_merges = flag_at(model, "ignore_merges", false, where);
    source.fuse_unknown = flag_at(model, "fuse_unk", false, where);
    source.unknown_token = optional_text_at(model, "unk_token", where);

    const json& vocabulary = member(model, "vocab", where);
    read_vocabulary(vocabulary, where + ".vocab", source);
    const json& merges = list_at(model, "merges", where);
    source.merges.reserve(merges.size());
    for (size_t i = 0; i < merges.size(); ++i) {
        const json& entry = merges[i];
        if (entry.is_string()) {
            source.merges.push_back(merge_line(entry.get_ref<const std::string&>(),
                                               where + ".merges[" + std::to_string(i) + "]"));
        } else if (entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_string()) {
            source.merges.emplace_back(entry[0].get<std::string>(), entry[1].get<std::string>());
        } else {
            throw ErrorException({"is " + stillroom::quoted(entry.dump()) + ", expected two tokens",
                                  where + ".merges[" + std::to_string(i) + "]"});
        }
    }
}

} // namespace

void read_vocabulary(const nlohmann::json& vocabulary, const std::string& where, TokenizerSource& source) {
    if (!vocabulary.is_object()) throw ErrorException({"is not an object of token: id", where});
    source.vocabulary.reserve(vocabulary.size());
    for (const auto& [token, id] : vocabulary.items()) {
        if (!id.is_number_integer()) {
            throw ErrorException({"the id of " + stillroom::quoted(token) + " is " +
                                      stillroom::quoted(id.dump()) + ", expected a whole number",
                                  where});
        }
        source.vocabulary.emplace_back(token, id.get<int64_t>());
    }
}

std::pair<std::string, std::string> merge_line(const std::string& line, const std::string& where) {
    const size_t space = line.find(' ');
    if (space == std::string::npos || space == 0 || space + 1 == line.size() ||
        line.find(' ', space + 1) != std::string::npos) {
        throw ErrorException(
            {"the merge is " + stillroom::quoted(line) + ", expected two tokens with one space between",
             where});
    }
    return {line.substr(0, space), line.substr(space + 1)};
}

AddedToken added_token(const nlohmann::json& object, int64_t id, const std::string& where) {
    AddedToken token{.content = text_at(object, "content", where),
                     .special = flag_at(object, "special", false, where),
                     .single_word = flag_at(object, "single_word", false, where),
                     .lstrip = flag_at(object, "lstrip", false, where),
                     .rstrip = flag_at(object, "rstrip", false, where)};
    token.normalized = flag_at(object, "normalized", !token.special, where);
    if (id < 0 || id > std::numeric_limits<TokenId>::max()) {
        throw ErrorException(
            {"the added token " + stillroom::quoted(token.content) + " has the id " + std::to_string(id),
             where});
    }
    token.id = TokenId(id);
    return token;
}

void read_tokenizer_json(const std::string& content, const std::string& where, TokenizerSource& source) {
    const json file = parsed_json(content, where);
    if (!file.is_object()) throw ErrorException({"is not a JSON object", where});
    only_keys(file,
              {"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer",
               "post_processor", "decoder", "model"},
              where);
    const json& model = member(file, "model", where);
    const auto part = [&](const char* key) { return file.contains(key) ? file[key] : json(nullptr); };
    read_normalizer(part("normalizer"), where + ": normalizer", source);
    read_pre_tokenizer(part("pre_tokenizer"), where + ": pre_tokenizer", source);
    read_post_processor(part("post_processor"), where + ": post_processor", source);
    check_decoder(part("decoder"), where + ": decoder");
    read_model(model, where + ": model", source);
    if (file.contains("added_tokens") && !file["added_tokens"].is_null()) {
        const json& list = list_at(file, "added_tokens", where);
        for (size_t i = 0; i < list.size(); ++i) {
            const std::string place = where + ": added_tokens[" + std::to_string(i) + "]";
            only_keys(list[i], {"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"},
                      place);
            const json& id = member(list[i], "id", place);
            if (!id.is_number_integer()) throw ErrorException({"id is not a whole number", place});
            source.added.push_back(added_token(list[i], id.get<int64_t>(), place));
        }
    }
}

} // namespace stillroom::text
