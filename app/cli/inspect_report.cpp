// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/inspect_report.h"

#include "base/hash.h"
#include "base/strings.h"
#include "formats/check_weights.h"
#include "formats/gguf.h"
#include "formats/gguf_vocabulary.h"
#include "formats/json_lines.h"
#include "record/queries.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

#include <algorithm>

namespace stillroom::cli {

namespace fs = std::filesystem;
using formats::ModelConfig;
using Report = nlohmann::ordered_json;

namespace {

bool is_there(const fs::path& path) {
    std::error_code ignored;
    return fs::exists(path, ignored);
}

Report id_or_null(const std::optional<int64_t>& id) { return id ? Report(*id) : Report(nullptr); }

Report architecture(const ModelConfig& config) {
    Report report{{"family", formats::to_string(config.family)},
                  {"vocabulary", config.vocab},
                  {"hidden", config.hidden},
                  {"intermediate", config.intermediate},
                  {"layers", config.layers},
                  {"heads", config.heads},
                  {"kv_heads", config.kv_heads},
                  {"head_size", config.head_size},
                  {"context", config.context},
                  {"norm_eps", config.norm_eps},
                  {"rope_theta", config.rope_theta}};
    if (const auto& scaling = config.rope_scaling) {
        report["rope_scaling"] = {{"type", "llama3"},
                                  {"factor", scaling->factor},
                                  {"low_freq_factor", scaling->low_freq_factor},
                                  {"high_freq_factor", scaling->high_freq_factor},
                                  {"original_context", scaling->original_context}};
    }
    report["qkv_bias"] = config.qkv_bias;
    report["qk_norm"] = config.qk_norm;
    report["tied_head"] = config.tied;
    if (!config.dtype.empty()) report["dtype"] = config.dtype;
    report["eos_ids"] = config.eos_ids;
    report["bos_id"] = id_or_null(config.bos_id);
    report["pad_id"] = id_or_null(config.pad_id);
    return report;
}

Report vocabulary(const text::Tokenizer& tokenizer) {
    Report report{{"size", tokenizer.size()},
                  {"bos", tokenizer.bos_token().value_or("")},
                  {"eos", tokenizer.eos_token().value_or("")},
                  {"pad", tokenizer.pad_token().value_or("")},
                  {"adds_bos", tokenizer.adds_bos()},
                  {"chat_template", !tokenizer.chat_template().empty()},
                  {"fingerprint", tokenizer.fingerprint()}};
    if (!tokenizer.chat_template().empty()) text::ChatTemplate::of(tokenizer).value();
    return report;
}

void add_tensors(Report& report, const std::vector<formats::TensorView>& tensors) {
    int64_t parameters = 0;
    Report list = Report::array();
    for (const formats::TensorView& tensor : tensors) {
        parameters += formats::elements_of(tensor.shape).value_or(0);
        list.push_back({{"name", tensor.name},
                        {"type", formats::to_string(tensor.dtype)},
                        {"shape", tensor.shape},
                        {"bytes", tensor.bytes.size()}});
    }
    report["tensor_count"] = tensors.size();
    report["elements"] = parameters;
    report["tensors"] = std::move(list);
}

Report safetensors(const fs::path& file) {
    const auto opened = formats::Safetensors::open(file);
    opened.value();
    Report report{{"kind", "safetensors"}};
    if (!opened->metadata().empty()) report["metadata"] = opened->metadata();
    add_tensors(report, opened->tensors());
    return report;
}

void add_weights(Report& report, const formats::WeightFiles& weights) {
    report["files"] = Report::array();
    for (const fs::path& file : weights.files()) report["files"].push_back(file.filename().string());
    add_tensors(report, weights.tensors());
}

Report index(const fs::path& file) {
    const auto weights = formats::WeightFiles::open_index(file);
    weights.value();
    Report report{{"kind", "index"}};
    add_weights(report, *weights);
    return report;
}

Report config(const fs::path& file) {
    return {{"kind", "config"}, {"architecture", architecture(formats::read_model_config(file).value())}};
}

Report tokenizer(const fs::path& file) {
    return {{"kind", "tokenizer"}, {"vocabulary", vocabulary(text::Tokenizer::load(file).value())}};
}

Report generation(const formats::GenerationConfig& config) {
    Report report{{"eos_ids", config.eos_ids}};
    if (config.temperature) report["temperature"] = *config.temperature;
    if (config.top_p) report["top_p"] = *config.top_p;
    if (config.top_k) report["top_k"] = *config.top_k;
    return report;
}

// A GGUF file may hold any tensors; it is meant as a model when it has sizes, a tokenizer or an embedding.
bool is_meant_as_a_model(const formats::Gguf& file, const std::string& architecture) {
    return file.find("token_embd.weight") || std::ranges::any_of(file.metadata(), [&](const auto& entry) {
               return entry.first.starts_with(architecture + ".") || entry.first.starts_with("tokenizer.");
           });
}

Report gguf(const fs::path& path) {
    const auto file = formats::Gguf::open(path);
    file.value();
    Report report{{"kind", "gguf"}, {"version", file->version()}};
    for (const auto& [key, value] : file->metadata()) report["metadata"][key] = formats::to_string(value);

    const auto found = file->metadata().find("general.architecture");
    const auto* name = found == file->metadata().end() ? nullptr : std::get_if<std::string>(&found->second);
    if (!name)
        throw ErrorException(
            {"general.architecture is missing, the name of an architecture is expected", path.string()});
    if (is_meant_as_a_model(*file, *name)) {
        const auto model = formats::model_config_of(*file);
        model.value();
        formats::check_model(*file, *model).value();
        report["architecture"] = architecture(*model);
        report["vocabulary"] = vocabulary(
            text::Tokenizer::from_gguf(formats::vocabulary_of(*file).value(), path.string()).value());
    }
    report["tensor_count"] = file->tensors().size();
    report["tensors"] = Report::array();
    for (const formats::GgufTensor& tensor : file->tensors()) {
        report["tensors"].push_back({{"name", tensor.name},
                                     {"type", tensor.type_name},
                                     {"shape", tensor.shape},
                                     {"bytes", tensor.bytes.size()}});
    }
    return report;
}

bool has_tokenizer(const fs::path& folder) {
    return is_there(folder / "tokenizer.json") || is_there(folder / "vocab.json") ||
           is_there(folder / "encoder.json");
}

void add_vocabulary(Report& report, const fs::path& folder, std::optional<int64_t> rows) {
    if (!has_tokenizer(folder)) return;
    const auto loaded = text::Tokenizer::load(folder).value();
    if (rows && loaded.size() > *rows) {
        throw ErrorException({"the tokenizer has ids up to " + std::to_string(loaded.size() - 1) +
                                  ", the model has only " + std::to_string(*rows) + " rows",
                              folder.string()});
    }
    report["vocabulary"] = vocabulary(loaded);
}

bool has_weights(const fs::path& folder) {
    return is_there(folder / "model.safetensors") || is_there(folder / "model.safetensors.index.json");
}

Report model_folder(const fs::path& folder) {
    const auto config = formats::read_model_config(folder / "config.json").value();
    Report report{{"kind", has_weights(folder) ? "model folder" : "model folder without weights"},
                  {"architecture", architecture(config)}};
    const auto generation_config = formats::read_generation_config(folder).value();
    if (!generation_config.source.is_null()) report["generation"] = generation(generation_config);
    add_vocabulary(report, folder, config.vocab);
    if (!has_weights(folder)) return report;
    const auto weights = formats::WeightFiles::open(folder);
    weights.value();
    formats::check_weights(*weights, config, folder.string()).value();
    add_weights(report, *weights);
    return report;
}

// What a checkpoint says of itself, the hash of every file compared.
Report checkpoint(const fs::path& folder) {
    const fs::path file = folder / "stillroom.json";
    const auto about = formats::read_json(file).value();
    const auto files = about.is_object() ? about.find("files") : about.end();
    if (!about.is_object() || files == about.end() || !files->is_object()) {
        throw ErrorException({"has no list of files", file.string()});
    }
    for (const auto& [name, expected] : files->items()) {
        if (!formats::stays_inside(name) || !expected.is_string()) {
            throw ErrorException(
                {"files: " + stillroom::quoted(name) + " is no file inside the folder with a hash",
                 file.string()});
        }
        const auto hash = sha256_of_file(folder / name).value();
        if (hash != expected.get<std::string>()) {
            throw ErrorException({"its SHA-256 is " + hash + ", stillroom.json says " +
                                      stillroom::quoted(expected.get<std::string>(), 64),
                                  (folder / name).string()});
        }
    }
    Report report = model_folder(folder);
    report["kind"] = "checkpoint";
    for (const auto& [key, value] : about.items()) {
        if (key != "files") report["checkpoint"][key] = value;
    }
    report["checkpoint"]["files_verified"] = files->size();
    return report;
}

Report run(const fs::path& folder) {
    const auto reader = record::RunReader::open(folder);
    reader.value();
    const auto summary = reader->summary().value();
    if (const auto faults = reader->faults().value(); !faults.empty()) {
        throw ErrorException({"is damaged: " + faults.front(), (folder / "run.sqlite").string()});
    }
    Report report{{"kind", "run"},
                  {"name", summary.name},
                  {"state", record::state_line(summary)},
                  {"step", summary.step},
                  {"steps_planned", summary.steps_planned},
                  {"rollouts", summary.rollouts},
                  {"recipe_hash", summary.recipe_hash}};
    const auto checkpoints = reader->checkpoints().value();
    report["checkpoints"] = Report::array();
    for (const auto& saved : checkpoints) {
        if (saved.removed) continue;
        report["checkpoints"].push_back({{"step", saved.step},
                                         {"folder", saved.folder},
                                         {"bytes", saved.bytes},
                                         {"sha256", saved.sha256}});
    }
    return report;
}

Report folder(const fs::path& path) {
    if (is_there(path / "run.sqlite")) return run(path);
    if (is_there(path / "stillroom.json")) return checkpoint(path);
    if (is_there(path / "config.json") || has_weights(path)) return model_folder(path);
    if (!has_tokenizer(path)) {
        throw ErrorException({"holds no config.json, weights, tokenizer or run.sqlite", path.string(),
                              "a model, checkpoint or run folder is expected"});
    }
    Report report{{"kind", "tokenizer folder"}};
    add_vocabulary(report, path, std::nullopt);
    return report;
}

// By its name where that says what it is, else by its keys.
Report json_file(const fs::path& path) {
    const std::string name = path.filename().string();
    if (name.ends_with(".index.json")) return index(path);
    if (name == "generation_config.json") {
        return {{"kind", "generation config"},
                {"generation", generation(formats::read_generation_config(path.parent_path()).value())}};
    }
    if (name == "stillroom.json") return checkpoint(path.parent_path());
    if (name.starts_with("tokenizer") && name != "tokenizer_config.json") return tokenizer(path);
    if (name.starts_with("config")) return config(path);
    const auto value = formats::read_json(path).value();
    if (value.contains("weight_map")) return index(path);
    if (value.contains("model_type") || value.contains("architectures")) return config(path);
    if (value.contains("model")) return tokenizer(path);
    throw ErrorException({"is JSON, but no config.json, tokenizer.json or index of shards", path.string()});
}

} // namespace

Result<Report> inspected(const fs::path& path) try {
    std::error_code fault;
    const auto status = fs::status(path, fault);
    if (!fs::exists(status)) return Error{"there is no such file or folder", path.string()};
    if (fs::is_directory(status)) return folder(path);
    const std::string extension = path.extension().string();
    if (extension == ".safetensors") return safetensors(path);
    if (extension == ".gguf") return gguf(path);
    if (extension == ".json") return json_file(path);
    if (path.filename() == "run.sqlite")
        return run(path.has_parent_path() ? path.parent_path() : fs::path("."));
    return Error{"is of no kind that is read", path.string(),
                 ".safetensors, .gguf, .json, or a model, checkpoint or run folder"};
} catch (const ErrorException& error) {
    return error.error();
}

} // namespace stillroom::cli
