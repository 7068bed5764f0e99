// SPDX-License-Identifier: GPL-3.0-or-later
// Writing a tokenizer: the files it came from as they were, or a tokenizer.json that Hugging Face loads.
#include "text/tokenizer_parts.h"

#include "base/files.h"

#include <algorithm>

namespace stillroom::text {

namespace {

using nlohmann::ordered_json;

ordered_json normalizer_json(const std::vector<NormalForm>& forms) {
    ordered_json list = ordered_json::array();
    for (const NormalForm form : forms) list.push_back({{"type", to_string(form)}});
    if (list.empty()) return nullptr;
    if (list.size() == 1) return list.front();
    return {{"type", "Sequence"}, {"normalizers", list}};
}

ordered_json step_json(const SplitStep& step) {
    switch (step.kind) {
    case SplitStep::Kind::Digits:
        return {{"type", "Digits"}, {"individual_digits", step.individual_digits}};
    case SplitStep::Kind::ByteLevel:
        return {{"type", "ByteLevel"},
                {"add_prefix_space", step.add_prefix_space},
                {"trim_offsets", true},
                {"use_regex", step.use_regex}};
    case SplitStep::Kind::Pattern:
    case SplitStep::Kind::Literal:
        break;
    }
    const char* key = step.kind == SplitStep::Kind::Pattern ? "Regex" : "String";
    return {{"type", "Split"},
            {"pattern", {{key, step.pattern}}},
            {"behavior", to_string(step.behavior)},
            {"invert", step.invert}};
}

ordered_json post_processor_json(const TokenizerParts& parts) {
    const ordered_json bytes{
        {"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", false}, {"use_regex", true}};
    if (parts.before.empty() && parts.after.empty()) return bytes;
    ordered_json single = ordered_json::array(), pair = ordered_json::array(),
                 tokens = ordered_json::object();
    const auto special = [&](ordered_json& list, TokenId id, int sequence) {
        const std::string& token = parts.tokens[size_t(id)];
        list.push_back({{"SpecialToken", {{"id", token}, {"type_id", sequence}}}});
        tokens[token] = {{"id", token}, {"ids", {id}}, {"tokens", {token}}};
    };
    const auto frame = [&](ordered_json& list, const char* name, int sequence) {
        for (const TokenId id : parts.before) special(list, id, sequence);
        list.push_back({{"Sequence", {{"id", name}, {"type_id", sequence}}}});
        for (const TokenId id : parts.after) special(list, id, sequence);
    };
    frame(single, "A", 0);
    frame(pair, "A", 0);
    frame(pair, "B", 1);
    const ordered_json frame_json{
        {"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", tokens}};
    return {{"type", "Sequence"}, {"processors", {bytes, frame_json}}};
}

ordered_json model_json(const TokenizerParts& parts) {
    ordered_json::object_t vocabulary; // a list of pairs: one look-up a key would make this quadratic
    vocabulary.reserve(parts.tokens.size());
    for (size_t i = 0; i < parts.tokens.size(); ++i) {
        if (parts.in_vocabulary[i]) vocabulary.emplace_back(parts.tokens[i], i);
    }
    ordered_json merges = ordered_json::array();
    for (const Merge& merge : parts.merges) {
        merges.push_back({parts.tokens[size_t(merge.left)], parts.tokens[size_t(merge.right)]});
    }
    ordered_json model{{"type", "BPE"}, {"dropout", nullptr}};
    model["unk_token"] =
        parts.unknown ? ordered_json(parts.tokens[size_t(*parts.unknown)]) : ordered_json(nullptr);
    model["continuing_subword_prefix"] = nullptr;
    model["end_of_word_suffix"] = nullptr;
    model["fuse_unk"] = parts.fuse_unknown;
    model["byte_fallback"] = false;
    model["ignore_merges"] = parts.ignore_merges;
    model["vocab"] = std::move(vocabulary);
    model["merges"] = std::move(merges);
    return model;
}

ordered_json token_json(const AddedToken& token) {
    return {{"content", token.content}, {"lstrip", token.lstrip},           {"normalized", token.normalized},
            {"rstrip", token.rstrip},   {"single_word", token.single_word}, {"special", token.special}};
}

std::vector<AddedToken> by_id(std::vector<AddedToken> tokens) {
    std::ranges::sort(tokens, {}, &AddedToken::id);
    return tokens;
}

} // namespace

ordered_json tokenizer_json_of(const TokenizerParts& parts) {
    ordered_json steps = ordered_json::array(), added = ordered_json::array();
    for (const SplitStep& step : parts.pre_tokenizer.steps()) steps.push_back(step_json(step));
    for (const AddedToken& token : by_id(parts.added)) {
        ordered_json entry{{"id", token.id}};
        entry.update(token_json(token));
        added.push_back(std::move(entry));
    }
    ordered_json file{{"version", "1.0"}, {"truncation", nullptr}, {"padding", nullptr}};
    file["added_tokens"] = std::move(added);
    file["normalizer"] = normalizer_json(parts.normal_forms);
    file["pre_tokenizer"] = ordered_json{{"type", "Sequence"}, {"pretokenizers", std::move(steps)}};
    file["post_processor"] = post_processor_json(parts);
    file["decoder"] = ordered_json{
        {"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", true}, {"use_regex", true}};
    file["model"] = model_json(parts);
    return file;
}

ordered_json tokenizer_config_of(const TokenizerParts& parts) {
    ordered_json added = ordered_json::object();
    for (const AddedToken& token : by_id(parts.added)) added[std::to_string(token.id)] = token_json(token);
    const auto role = [](const std::optional<std::string>& token) {
        return token ? ordered_json(*token) : ordered_json(nullptr);
    };
    ordered_json config{{"added_tokens_decoder", added}};
    config["bos_token"] = role(parts.roles.bos);
    config["eos_token"] = role(parts.roles.eos);
    config["pad_token"] = role(parts.roles.pad);
    config["unk_token"] = role(parts.roles.unk);
    config["clean_up_tokenization_spaces"] = false;
    config["tokenizer_class"] = "PreTrainedTokenizerFast";
    if (!parts.chat_template.empty()) config["chat_template"] = parts.chat_template;
    return config;
}

Result<void> Tokenizer::save(const std::filesystem::path& folder) const {
    std::error_code fault;
    std::filesystem::create_directories(folder, fault);
    if (fault) return Error{"cannot be made: " + fault.message(), folder.string()};
    std::vector<KeptFile> files = parts_->files;
    const auto lacks = [&](const char* name) {
        return std::ranges::find(files, name, &KeptFile::name) == files.end();
    };
    if (lacks("tokenizer.json")) files.push_back({"tokenizer.json", tokenizer_json_of(*parts_).dump(1)});
    if (lacks("tokenizer_config.json")) {
        files.push_back({"tokenizer_config.json", tokenizer_config_of(*parts_).dump(2)});
        if (lacks("chat_template.jinja") && !parts_->chat_template.empty()) {
            files.push_back({"chat_template.jinja", parts_->chat_template});
        }
    }
    for (const KeptFile& file : files) {
        if (auto written = write_file(folder / file.name, file.content); !written) return written;
    }
    return {};
}

} // namespace stillroom::text
