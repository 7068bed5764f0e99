// SPDX-License-Identifier: GPL-3.0-or-later
// Finds and reads the tokenizer files of a Hugging Face folder.
#include "text/json_reading.h"
#include "text/tokenizer_parts.h"

#include "base/files.h"
#include "base/strings.h"

#include <algorithm>

namespace stillroom::text {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// Files that belong to a tokenizer and are kept for saving. The readers below look at most of them.
constexpr const char* tokenizer_files[] = {"tokenizer.json",
                                           "tokenizer_config.json",
                                           "special_tokens_map.json",
                                           "added_tokens.json",
                                           "vocab.json",
                                           "merges.txt",
                                           "encoder.json",
                                           "vocab.bpe",
                                           "chat_template.jinja"};

const std::string* kept(const TokenizerSource& source, const std::string& name) {
    const auto found = std::ranges::find(source.files, name, &KeptFile::name);
    return found == source.files.end() ? nullptr : &found->content;
}

void keep(const fs::path& file, const std::string& name, TokenizerSource& source) {
    std::string content = read_file(file).value();
    if (!is_utf8(content)) throw ErrorException({"is not UTF-8", file.string()});
    source.files.push_back({name, std::move(content)});
}

// A token is written as a string or as {"content": ...}.
std::optional<std::string> token_at(const json& object, const std::string& key, const std::string& where) {
    if (!object.contains(key) || object[key].is_null()) return std::nullopt;
    if (object[key].is_object()) return text_at(object[key], "content", where + ": " + key);
    return text_at(object, key, where);
}

void read_roles(const json& object, const std::string& where, SpecialRoles& roles) {
    const auto take = [&](const char* key, std::optional<std::string>& role) {
        if (auto token = token_at(object, key, where)) role = std::move(token);
    };
    take("bos_token", roles.bos);
    take("eos_token", roles.eos);
    take("pad_token", roles.pad);
    take("unk_token", roles.unk);
    for (const char* key : {"sep_token", "cls_token", "mask_token"}) {
        if (auto token = token_at(object, key, where)) roles.others.push_back(*token);
    }
    if (!object.contains("additional_special_tokens") || object["additional_special_tokens"].is_null())
        return;
    const json& list = list_at(object, "additional_special_tokens", where);
    for (const json& entry : list) {
        if (entry.is_string()) {
            roles.others.push_back(entry.get<std::string>());
        } else {
            roles.others.push_back(text_at(entry, "content", where + ": additional_special_tokens"));
        }
    }
}

// Added tokens of tokenizer_config.json come on top of those of tokenizer.json; where both have an id they
// must agree.
void merge_added(AddedToken token, const std::string& where, TokenizerSource& source) {
    const auto same_id = std::ranges::find(source.added, token.id, &AddedToken::id);
    if (same_id != source.added.end()) {
        if (same_id->content != token.content) {
            throw ErrorException(
                {"id " + std::to_string(token.id) + " is " + stillroom::quoted(token.content) +
                     ", but another file of the tokenizer calls it " + stillroom::quoted(same_id->content),
                 where});
        }
        return;
    }
    source.added.push_back(std::move(token));
}

std::string default_template(const json& value, const std::string& where) {
    if (value.is_string()) return value.get<std::string>();
    if (value.is_array()) {
        for (const json& entry : value) {
            if (text_at(entry, "name", where) == "default") return text_at(entry, "template", where);
        }
        throw ErrorException({"chat_template is a list without one named \"default\"", where});
    }
    throw ErrorException({"chat_template is neither a string nor a list of named templates", where});
}

// Returns tokenizer_class, empty if there is none.
std::string read_config(const std::string& content, const std::string& where, TokenizerSource& source) {
    const json config = parsed_json(content, where);
    if (!config.is_object()) throw ErrorException({"is not a JSON object", where});
    if (config.contains("added_tokens_decoder") && !config["added_tokens_decoder"].is_null()) {
        const json& added = config["added_tokens_decoder"];
        if (!added.is_object())
            throw ErrorException({"added_tokens_decoder is not an object of id: token", where});
        for (const auto& [key, value] : added.items()) {
            const bool number = !key.empty() && key.size() < 10 &&
                                std::ranges::all_of(key, [](char c) { return c >= '0' && c <= '9'; });
            if (!number)
                throw ErrorException({"added_tokens_decoder has the id " + stillroom::quoted(key), where});
            merge_added(added_token(value, std::stoll(key), where + ": added_tokens_decoder." + key), where,
                        source);
        }
    }
    read_roles(config, where, source.roles);
    if (config.contains("add_bos_token") && !config["add_bos_token"].is_null()) {
        source.add_bos = flag_at(config, "add_bos_token", false, where);
    }
    if (config.contains("chat_template") && !config["chat_template"].is_null()) {
        source.chat_template = default_template(config["chat_template"], where);
    }
    return optional_text_at(config, "tokenizer_class", where).value_or("");
}

void read_added_tokens(const std::string& content, const std::string& where, TokenizerSource& source) {
    const json added = parsed_json(content, where);
    if (!added.is_object()) throw ErrorException({"is not an object of token: id", where});
    for (const auto& [token, id] : added.items()) {
        if (!id.is_number_integer())
            throw ErrorException({"the id of " + stillroom::quoted(token) + " is not a whole number", where});
        merge_added(added_token({{"content", token}}, id.get<int64_t>(), where), where, source);
    }
}

void read_merges(const std::string& content, const std::string& where, TokenizerSource& source) {
    size_t number = 0;
    for (size_t at = 0; at < content.size();) {
        const size_t end = std::min(content.find('\n', at), content.size());
        std::string line = content.substr(at, end - at);
        at = end + 1;
        ++number;
        if (!line.empty() && line.back() == '\r') line.pop_back();
        if (line.empty() || line.starts_with("#version")) continue;
        source.merges.push_back(merge_line(line, where + ":" + std::to_string(number)));
    }
}

std::optional<SplitScheme> scheme_of(const std::string& tokenizer_class) {
    if (tokenizer_class.starts_with("Qwen2Tokenizer")) return SplitScheme::Qwen2;
    if (tokenizer_class.starts_with("GPT2Tokenizer")) return SplitScheme::Gpt2;
    return std::nullopt;
}

// What comes with the vocabulary, from the files already kept in `source`.
std::string read_companions(const std::function<std::string(const std::string&)>& place,
                            TokenizerSource& source) {
    std::string tokenizer_class;
    if (const auto* content = kept(source, "tokenizer_config.json")) {
        tokenizer_class = read_config(*content, place("tokenizer_config.json"), source);
    }
    if (const auto* content = kept(source, "added_tokens.json")) {
        read_added_tokens(*content, place("added_tokens.json"), source);
    }
    if (const auto* content = kept(source, "special_tokens_map.json")) {
        const std::string where = place("special_tokens_map.json");
        SpecialRoles named;
        read_roles(parsed_json(*content, where), where, named);
        const auto fill = [](std::optional<std::string>& role, std::optional<std::string>& other) {
            if (!role) role = std::move(other); // tokenizer_config.json counts first
        };
        fill(source.roles.bos, named.bos);
        fill(source.roles.eos, named.eos);
        fill(source.roles.pad, named.pad);
        fill(source.roles.unk, named.unk);
        source.roles.others.insert(source.roles.others.end(), named.others.begin(), named.others.end());
    }
    if (const auto* content = kept(source, "chat_template.jinja")) source.chat_template = *content;
    return tokenizer_class;
}

void read_vocab_and_merges(const std::string& vocab, const std::string& merges,
                           const std::function<std::string(const std::string&)>& place,
                           TokenizerSource& source) {
    read_vocabulary(parsed_json(*kept(source, vocab), place(vocab)), place(vocab), source);
    read_merges(*kept(source, merges), place(merges), source);
}

void use_scheme(std::optional<SplitScheme> scheme, const std::string& tokenizer_class,
                TokenizerSource& source) {
    if (!scheme) scheme = scheme_of(tokenizer_class);
    if (!scheme) {
        throw ErrorException({"tokenizer_class " + stillroom::quoted(tokenizer_class) +
                                  " does not say how vocab.json and merges.txt cut words",
                              source.where, "add the tokenizer.json"});
    }
    apply(*scheme, source);
}

TokenizerSource source_of_folder(const fs::path& folder) {
    TokenizerSource source{.where = folder.string()};
    for (const char* name : tokenizer_files) {
        if (fs::exists(folder / name)) keep(folder / name, name, source);
    }
    const auto place = [&](const std::string& name) { return (folder / name).string(); };
    if (const auto* content = kept(source, "tokenizer.json")) {
        read_tokenizer_json(*content, place("tokenizer.json"), source);
        read_companions(place, source);
        return source;
    }
    const bool gpt2_names = kept(source, "vocab.json") == nullptr;
    const std::string vocab = gpt2_names ? "encoder.json" : "vocab.json";
    const std::string merges = kept(source, "merges.txt") == nullptr ? "vocab.bpe" : "merges.txt";
    if (kept(source, vocab) == nullptr || kept(source, merges) == nullptr) {
        throw ErrorException(
            {"holds no tokenizer: neither tokenizer.json nor vocab.json with merges.txt", source.where});
    }
    std::string tokenizer_class = read_companions(place, source);
    read_vocab_and_merges(vocab, merges, place, source);
    if (gpt2_names && kept(source, "tokenizer_config.json") == nullptr) { // GPT-2 as OpenAI published it
        tokenizer_class = "GPT2Tokenizer";
        source.roles.bos = source.roles.eos = source.roles.unk = "<|endoftext|>";
    }
    use_scheme(std::nullopt, tokenizer_class, source);
    return source;
}

} // namespace

Result<Tokenizer> Tokenizer::load(const fs::path& folder_or_file) {
    try {
        if (fs::is_directory(folder_or_file)) return Tokenizer(assemble(source_of_folder(folder_or_file)));
        TokenizerSource source{.where = folder_or_file.string()};
        keep(folder_or_file, "tokenizer.json", source);
        read_tokenizer_json(source.files.front().content, source.where, source);
        return Tokenizer(assemble(std::move(source)));
    } catch (const ErrorException& fault) {
        return fault.error();
    } catch (const std::exception& fault) { // the file system, memory
        return Error{fault.what(), folder_or_file.string()};
    }
}

Result<Tokenizer> Tokenizer::from_vocab_and_merges(const fs::path& vocab, const fs::path& merges,
                                                   const fs::path& tokenizer_config,
                                                   std::optional<SplitScheme> scheme) {
    try {
        TokenizerSource source{.where = tokenizer_config.string()};
        keep(vocab, "vocab.json", source);
        keep(merges, "merges.txt", source);
        keep(tokenizer_config, "tokenizer_config.json", source);
        const fs::path chat_template = tokenizer_config.parent_path() / "chat_template.jinja";
        if (fs::exists(chat_template)) keep(chat_template, "chat_template.jinja", source);
        const auto place = [&](const std::string& name) {
            if (name == "vocab.json") return vocab.string();
            return name == "merges.txt" ? merges.string() : (tokenizer_config.parent_path() / name).string();
        };
        const std::string tokenizer_class = read_companions(place, source);
        read_vocab_and_merges("vocab.json", "merges.txt", place, source);
        use_scheme(scheme, tokenizer_class, source);
        return Tokenizer(assemble(std::move(source)));
    } catch (const ErrorException& fault) {
        return fault.error();
    } catch (const std::exception& fault) {
        return Error{fault.what(), tokenizer_config.string()};
    }
}

} // namespace stillroom::text
