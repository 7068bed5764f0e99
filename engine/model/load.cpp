// SPDX-License-Identifier: GPL-3.0-or-later
// Loading: every parameter that the architecture has must be in the files with its shape, and nothing else
// may be.
#include "base/hash.h"
#include "base/strings.h"
#include "formats/gguf.h"
#include "formats/gguf_vocabulary.h"
#include "formats/safetensors.h"
#include "model/initial.h"
#include "model/layout.h"

#include <algorithm>
#include <set>

namespace stillroom::model {

namespace fs = std::filesystem;
using formats::DType;

namespace {

std::string shown(const std::vector<int64_t>& shape) {
    return formats::to_string(std::span<const int64_t>(shape));
}

torch::Dtype torch_type(const formats::TensorView& tensor, const std::string& where) {
    switch (tensor.dtype) {
    case DType::F64:
        return torch::kFloat64;
    case DType::F32:
        return torch::kFloat32;
    case DType::F16:
        return torch::kFloat16;
    case DType::BF16:
        return torch::kBFloat16;
    default:
        throw ErrorException({"tensor " + tensor.name + " has type " + formats::to_string(tensor.dtype) +
                                  ", one of F32, F16, BF16, F64 is expected",
                              where});
    }
}

/// The tensor of a mapped file, in its own type. It shares the file's memory where that is aligned.
torch::Tensor tensor_of(const formats::TensorView& view, const std::string& where) {
    const auto options = torch::dtype(torch_type(view, where));
    void* bytes = const_cast<std::byte*>(view.bytes.data()); // never written to
    if (reinterpret_cast<uintptr_t>(bytes) % c10::elementSize(options.dtype().toScalarType()) == 0) {
        return torch::from_blob(bytes, view.shape, options);
    }
    auto copy = torch::empty(view.shape, options);
    std::copy(view.bytes.begin(), view.bytes.end(), static_cast<std::byte*>(copy.data_ptr()));
    return copy;
}

std::vector<int64_t> shape_of(const Slice& slice, const Slice::Part& part) {
    std::vector<int64_t> shape = slice.shape;
    shape[0] = part.rows;
    return shape;
}

/// SHA-256 of the files' contents one after the other; for a single file the same as that file's.
std::string sha256_of(std::vector<fs::path> files) {
    std::ranges::sort(files);
    Sha256 hash;
    for (const fs::path& file : files) {
        const auto mapped = MappedFile::open(file);
        hash.add(mapped.value().bytes().data(), mapped.value().bytes().size());
    }
    return hash.hex();
}

/// Tensors that some programs write although they follow from the rest.
bool follows_from_the_rest(const formats::TensorView& tensor, const formats::WeightFiles& files,
                           const formats::ModelConfig& config, const std::string& where) {
    if (tensor.name.ends_with("rotary_emb.inv_freq")) return true;
    if (tensor.name != "lm_head.weight" || !config.tied) return false;
    const formats::TensorView* embedding = files.find("model.embed_tokens.weight");
    if (embedding && embedding->shape == tensor.shape &&
        tensor_of(*embedding, where).equal(tensor_of(tensor, where))) {
        return true;
    }
    throw ErrorException({"lm_head.weight differs from model.embed_tokens.weight, but config.json ties them "
                          "(tie_word_embeddings)",
                          where});
}

void fill_from_folder(Model& model, const fs::path& folder) {
    const auto files = formats::WeightFiles::open(folder);
    files.value();
    const std::string where = folder.string();
    std::set<std::string> expected;
    for (const Slice& slice : model.weights.layout->slices) {
        const auto fused = model.weights.view(slice);
        for (const Slice::Part& part : slice.parts) {
            expected.insert(part.hf_name);
            const auto shape = shape_of(slice, part);
            const formats::TensorView* found = files->find(part.hf_name);
            if (!found) {
                throw ErrorException(
                    {"tensor " + part.hf_name + " is missing, shape " + shown(shape) + " is expected",
                     where});
            }
            if (found->shape != shape) {
                throw ErrorException({"tensor " + part.hf_name + " has shape " + shown(found->shape) + ", " +
                                          shown(shape) + " is expected",
                                      where});
            }
            fused.narrow(0, part.row, part.rows).copy_(tensor_of(*found, where));
        }
    }
    for (const formats::TensorView& tensor : files->tensors()) {
        if (expected.contains(tensor.name) || follows_from_the_rest(tensor, *files, model.config, where))
            continue;
        throw ErrorException({"tensor " + stillroom::quoted(tensor.name) + " of shape " +
                                  shown(tensor.shape) + " belongs to no part of a " +
                                  formats::to_string(model.config.family) + " model",
                              where});
    }
    model.weights_sha256 = sha256_of(files->files());
}

void fill_from_gguf(Model& model, const formats::Gguf& file) {
    for (const Slice& slice : model.weights.layout->slices) {
        const auto fused = model.weights.view(slice);
        for (const Slice::Part& part : slice.parts) {
            auto values = formats::values_of(file, model.config, part.hf_name).value();
            const auto shape = shape_of(slice, part);
            fused.narrow(0, part.row, part.rows)
                .copy_(torch::from_blob(values.data(), shape, torch::kFloat32));
        }
    }
    model.weights_sha256 = sha256_of({file.path()});
}

Model empty_model(formats::ModelConfig config, const fs::path& source, const LoadOptions& options) {
    Model model;
    model.config = std::move(config);
    model.source = source;
    const auto layout = std::make_shared<const ParameterLayout>(ParameterLayout::of(model.config));
    model.weights = empty_arena(layout, torch::dtype(options.dtype).device(options.device));
    return model;
}

bool has_tokenizer(const fs::path& folder) {
    return fs::exists(folder / "tokenizer.json") || fs::exists(folder / "vocab.json") ||
           fs::exists(folder / "encoder.json");
}

} // namespace

Model model_without_weights(const fs::path& folder, const LoadOptions& options) {
    Model model = empty_model(formats::read_model_config(folder / "config.json").value(), folder, options);
    model.generation = formats::read_generation_config(folder).value();
    for (const int64_t id : model.generation.eos_ids) {
        if (id < model.config.vocab) continue;
        throw ErrorException({"eos_token_id " + std::to_string(id) + " is outside the vocabulary of " +
                                  std::to_string(model.config.vocab),
                              (folder / "generation_config.json").string()});
    }
    if (has_tokenizer(folder)) model.tokenizer = text::Tokenizer::load(folder).value();
    return model;
}

Result<Model> load_model(const fs::path& path, const LoadOptions& options) try {
    const torch::NoGradGuard no_grad;
    if (!fs::exists(path)) return Error{"there is no such file or folder", path.string()};
    if (fs::is_directory(path)) {
        Model model = model_without_weights(path, options);
        fill_from_folder(model, path);
        return model;
    }
    if (path.extension() != ".gguf") {
        return Error{"is no model", path.string(),
                     "a Hugging Face folder, a checkpoint folder or a .gguf file is expected"};
    }
    const auto file = formats::Gguf::open(path);
    const auto config = formats::model_config_of(file.value());
    formats::check_model(*file, config.value()).value();
    Model model = empty_model(*config, path, options);
    model.tokenizer =
        text::Tokenizer::from_gguf(formats::vocabulary_of(*file).value(), path.string()).value();
    fill_from_gguf(model, *file);
    return model;
} catch (const ErrorException& error) {
    return error.error();
} catch (const fs::filesystem_error& error) {
    return Error{error.code().message(), path.string()};
} catch (const c10::Error& error) { // the device's memory is full, say
    return Error{error.what_without_backtrace(), path.string()};
}

} // namespace stillroom::model
